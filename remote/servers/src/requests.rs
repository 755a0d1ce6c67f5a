//! A proxy in front of an HTTP server that sees single requests: it refuses some, counts the others,
//! and lets something happen between two of them. A request's body has a length.

use std::io::{BufRead, BufReader, Read, Write, copy, sink};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// Answers that report an overloaded server.
#[derive(Default)]
struct Busy {
    status: u16,
    retry_after: Option<u32>,
    left: u32,
}

type Act = Box<dyn FnOnce() + Send>;

/// Functions to be called between two requests.
#[derive(Default)]
struct Happenings {
    next: Option<(u32, Act)>,
    before: Vec<(String, Act)>,
    requests: u32,
}

#[derive(Default)]
struct State {
    busy: Arc<Mutex<Busy>>,
    happenings: Happenings,
}

/// Lets a proxy refuse requests.
#[derive(Clone)]
pub struct Refusals {
    busy: Arc<Mutex<Busy>>,
}

impl Refusals {
    /// Answers the next `requests` with `status` alone, and with `Retry-After` if seconds are given.
    pub fn refuse_next(&self, requests: u32, status: u16, retry_after: Option<u32>) {
        *self.busy.lock().unwrap() = Busy { status, retry_after, left: requests };
    }

    /// Returns the number of requests that are still to be refused.
    pub fn left(&self) -> u32 {
        self.busy.lock().unwrap().left
    }
}

/// A proxy that listens until the process ends.
pub(crate) struct Requests {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
}

impl Requests {
    /// Passes all requests on to `server`, for now.
    pub(crate) fn start(server: SocketAddr) -> Requests {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::<Mutex<State>>::default();
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let state = Arc::clone(&shared);
                thread::spawn(move || serve(&client, server, &state));
            }
        });
        Requests { address, state }
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns what refuses requests, from another thread or between two of them.
    pub(crate) fn refusals(&self) -> Refusals {
        Refusals { busy: Arc::clone(&self.state.lock().unwrap().busy) }
    }

    /// Passes `requests` on, and calls `act` before the next one.
    pub(crate) fn after(&self, requests: u32, act: impl FnOnce() + Send + 'static) {
        let next = Some((requests, Box::new(act) as Act));
        self.state.lock().unwrap().happenings =
            Happenings { next, before: Vec::new(), requests: 0 };
    }

    /// Calls `act` before the next request whose first line has `text` in it.
    pub(crate) fn before(&self, text: &str, act: impl FnOnce() + Send + 'static) {
        let before = (text.to_owned(), Box::new(act) as Act);
        self.state.lock().unwrap().happenings.before.push(before);
    }

    /// Returns the number of requests that were passed on since [`Requests::after`], or since the start.
    pub(crate) fn passed(&self) -> u32 {
        self.state.lock().unwrap().happenings.requests
    }
}

impl State {
    /// Returns what is to be called before a request.
    fn acts(&mut self, head: &[u8]) -> Vec<Act> {
        let happenings = &mut self.happenings;
        let next = happenings.next.take_if(|(before, _)| *before == happenings.requests);
        let first_line = head.split(|&byte| byte == b'\r').next().unwrap_or_default();
        let first_line = String::from_utf8_lossy(first_line);
        let mut before = happenings.before.iter();
        let place = before.position(|(text, _)| first_line.contains(&**text));
        let before = place.map(|place| happenings.before.remove(place).1);
        next.map(|(_, act)| act).into_iter().chain(before).collect()
    }

    /// Returns the answer to a request that is refused; `None` for one that is passed on.
    fn refusal(&mut self, head: &[u8]) -> Option<String> {
        let mut busy = self.busy.lock().unwrap();
        if let Some(left) = busy.left.checked_sub(1) {
            busy.left = left;
            return Some(busy.refusal(head.starts_with(b"HEAD ")));
        }
        self.happenings.requests += 1;
        None
    }
}

impl Busy {
    fn refusal(&self, head_alone: bool) -> String {
        let body = "<Error><Code>SlowDown</Code><Message>Reduce your rate.</Message></Error>";
        let (status, length) = (self.status, body.len());
        let when = self.retry_after.map(|seconds| format!("Retry-After: {seconds}\r\n"));
        let when = when.unwrap_or_default();
        format!(
            "HTTP/1.1 {status} Busy\r\n{when}Content-Length: {length}\r\n\r\n{}",
            if head_alone { "" } else { body }
        )
    }
}

fn serve(mut client: &TcpStream, server: SocketAddr, state: &Mutex<State>) {
    let Ok(server) = TcpStream::connect(server) else { return };
    thread::scope(|scope| {
        scope.spawn(|| {
            let _ = copy(&mut &server, &mut &*client);
            let _ = client.shutdown(Shutdown::Both);
        });
        let mut requests = BufReader::new(client);
        while let Some(request) = head(&mut requests) {
            // One that waits holds up no other request.
            let acts = state.lock().unwrap().acts(&request);
            acts.into_iter().for_each(|act| act());
            let refusal = state.lock().unwrap().refusal(&request);
            let mut body = (&mut requests).take(body_bytes(&request));
            let passed = match refusal {
                Some(refusal) => {
                    copy(&mut body, &mut sink()).and_then(|_| client.write_all(refusal.as_bytes()))
                }
                None => (&server)
                    .write_all(&request)
                    .and_then(|()| copy(&mut body, &mut &server).map(drop)),
            };
            if passed.is_err() {
                break;
            }
        }
        let _ = server.shutdown(Shutdown::Both);
    });
}

/// Returns the head of the next request, with the empty line that ends it; `None` after the last one.
fn head(from: &mut impl BufRead) -> Option<Vec<u8>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let count = from.take(MOST_HEAD_BYTES).read_until(b'\n', &mut head).ok()?;
        if count == 0 {
            return None;
        }
    }
    Some(head)
}

/// Returns the length of the body that follows a head.
fn body_bytes(head: &[u8]) -> u64 {
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
    length.and_then(|length| length.trim().parse().ok()).unwrap_or(0)
}

const MOST_HEAD_BYTES: u64 = 64 << 10;

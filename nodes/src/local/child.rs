//! A node as the driver sees it: the pipes to its process or the socket to it, the threads that read from it, and its
//! end.

use super::frame;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tegula::{Error, Result};

/// Orders that may wait for the pipe.
const ORDERS_MOST: usize = 8;
/// How long a node may read nothing of a full pipe.
const FULL_MOST: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(2);

/// What comes from a node, by its number.
pub(super) enum Event {
    Told(usize, Vec<u8>),
    /// Nothing will come any more; if reading failed, why.
    Gone(usize, Option<String>),
}

/// A node. It ends when this is dropped.
#[derive(Debug)]
pub(super) struct Child {
    link: Link,
    orders: Option<SyncSender<Vec<u8>>>,
    /// Returns the last line of its standard error.
    errors: Option<JoinHandle<Option<String>>>,
    pub(super) has_left: bool,
}

#[derive(Debug)]
enum Link {
    Process(std::process::Child),
    Socket(UnixStream),
}

impl Link {
    /// Ends the node at once. It may have ended by itself.
    fn cut(&mut self) {
        let _ = match self {
            Link::Process(process) => process.kill(),
            Link::Socket(socket) => socket.shutdown(Shutdown::Both),
        };
    }
}

impl Child {
    /// Starts a process as a node.
    pub(super) fn start(
        number: usize,
        mut command: Command,
        events: &SyncSender<Event>,
    ) -> Result<Child> {
        let fault = |cause| Error::System { action: "start a node", cause };
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.spawn().map_err(fault)?;
        let errors = process.stderr.take();
        let errors = errors.map(|errors| thread::spawn(move || last_line(errors)));
        let (orders, reports) = (process.stdin.take(), process.stdout.take());
        let (Some(orders), Some(reports)) = (orders, reports) else {
            return Err(fault(io::ErrorKind::BrokenPipe.into()));
        };
        let orders = carry(number, orders, reports, events).map_err(fault)?;
        Ok(Child { link: Link::Process(process), orders: Some(orders), errors, has_left: false })
    }

    /// Takes a node at the other end of a socket.
    pub(super) fn connected(
        number: usize,
        socket: UnixStream,
        events: &SyncSender<Event>,
    ) -> io::Result<Child> {
        let orders = carry(number, socket.try_clone()?, socket.try_clone()?, events)?;
        let (link, orders) = (Link::Socket(socket), Some(orders));
        Ok(Child { link, orders, errors: None, has_left: false })
    }

    /// Sends an order. A pipe that is broken, or stays full because the process was stopped, ends the node; the thread
    /// that reads from it finds that out.
    pub(super) fn tell(&mut self, order: &[u8]) {
        let Some(orders) = &self.orders else { return };
        let (mut order, began) = (order.to_vec(), Instant::now());
        loop {
            match orders.try_send(order) {
                Ok(()) => return,
                Err(TrySendError::Full(again)) if began.elapsed() < FULL_MOST => order = again,
                Err(TrySendError::Full(_)) => {
                    self.link.cut();
                    break;
                }
                Err(TrySendError::Disconnected(_)) => break,
            }
            thread::sleep(PAUSE);
        }
        self.orders = None;
    }

    /// Ends the node at once.
    pub(super) fn end(&mut self) {
        self.has_left = true;
        self.orders = None;
        self.link.cut();
        if let Link::Process(process) = &mut self.link {
            let _ = process.wait();
        }
    }

    /// Returns why the node has ended, which nothing comes from any more.
    pub(super) fn ended(&mut self, cause: Option<String>) -> String {
        let was_left = std::mem::replace(&mut self.has_left, true);
        self.orders = None;
        if cause.is_some() || was_left {
            self.link.cut();
        }
        let status = match &mut self.link {
            Link::Process(process) => process.wait().ok(),
            Link::Socket(_) => None,
        };
        let line = self.errors.take().and_then(|errors| errors.join().ok().flatten());
        let signal = status.and_then(|status| status.signal());
        let signal = signal.map(|signal| format!("it was ended by signal {signal}"));
        let ended = || "it has ended".to_owned();
        cause.or(signal).or(line).unwrap_or_else(ended)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.end();
    }
}

/// Starts the threads that carry messages. Returns where orders are put.
fn carry(
    number: usize,
    orders: impl Write + Send + 'static,
    reports: impl Read + Send + 'static,
    events: &SyncSender<Event>,
) -> io::Result<SyncSender<Vec<u8>>> {
    let events = events.clone();
    let read = move || read_all(number, reports, &events);
    thread::Builder::new().name(format!("node {number}")).spawn(read)?;
    let (sender, waiting) = sync_channel(ORDERS_MOST);
    let write = move || write_all(orders, &waiting);
    thread::Builder::new().name(format!("to {number}")).spawn(write)?;
    Ok(sender)
}

/// Writes orders until one cannot be written, or no more come.
fn write_all(mut pipe: impl Write, orders: &Receiver<Vec<u8>>) {
    orders.iter().map_while(|order| frame::write(&mut pipe, &order).ok()).for_each(drop);
}

/// Hands on all reports of a node.
fn read_all(number: usize, mut reports: impl Read, events: &SyncSender<Event>) {
    let cause = loop {
        let message = match frame::read(&mut reports) {
            Ok(Some(message)) => message,
            Ok(None) => break None,
            Err(cause) => break Some(cause.to_string()),
        };
        if events.send(Event::Told(number, message)).is_err() {
            return;
        }
    };
    let _ = events.send(Event::Gone(number, cause));
}

fn last_line(errors: impl Read) -> Option<String> {
    let lines = BufReader::new(errors).lines().map_while(std::result::Result::ok);
    lines.filter(|line| !line.trim().is_empty()).last()
}

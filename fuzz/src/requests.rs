//! Requests to the server of jobs. An input is a method with a path, headers, an empty line and a body, as in HTTP; what
//! would end the message elsewhere is left out, because the framing is the library's. The server gives each an answer that is no
//! fault of its own, a refusal is JSON with its cause, a body is taken for a job where serde_json takes it for one, and a
//! job that was submitted is told again as it was given.

use crate::folder;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::{LazyLock, Mutex, mpsc};
use std::thread;
use std::time::Duration;
use tegula_server::{Config, Listen, Request, Roots};

/// The users: jobs of the first are refused, because none may wait; the other's begin with a program that is not there.
const TOKENS: &str = "none 0123456789abcdef 1 0\nall fedcba9876543210 1";
const TOKEN: &str = "Bearer 0123456789abcdef";
/// The token of a user whose jobs are kept, so that a run of the fuzzer takes few of them.
const KEEPER: &str = "fedcba9876543210";
const KEPT_MOST: usize = 200;
/// Headers that the message needs, or that change how it is framed.
const FRAMING: [&str; 7] =
    ["connection", "content-length", "expect", "host", "te", "transfer-encoding", "upgrade"];

/// The server, and a connection to it.
struct Client {
    host: String,
    connection: Option<BufReader<TcpStream>>,
    kept: usize,
}

static CLIENT: LazyLock<Mutex<Client>> = LazyLock::new(|| {
    let (home, root) = (folder("server"), folder("root"));
    std::fs::write(root.join("text"), "a b\n").unwrap();
    let config = Config {
        home,
        listen: Listen::Tcp(([127, 0, 0, 1], 0).into()),
        hosts: vec!["example.org".to_owned()],
        program: PathBuf::from("/nowhere"),
        python: PathBuf::from("/nowhere"),
        roots: Roots::new(&[root], &["s3://bucket/".to_owned()]).unwrap(),
        token: String::new(),
        tokens: Some(TOKENS.to_owned()),
        workers: Some(2),
        jobs_at_once: None,
        memory_bytes: Some(1 << 30),
        queue_most: 1000,
        keep: Duration::from_secs(3600),
        keep_bytes: None,
        send_within: Duration::from_secs(10),
        allow_code: true,
        signals: Vec::new(),
    };
    let (ready, is_ready) = mpsc::channel();
    thread::spawn(move || {
        let ready = move |listen: &Listen| ready.send(listen.clone()).unwrap();
        tegula_server::serve(config, tegula_cli::parts::check_submitted, ready).unwrap();
    });
    let Listen::Tcp(address) = is_ready.recv().unwrap() else { panic!("no address") };
    Mutex::new(Client { host: address.to_string(), connection: None, kept: 0 })
});

/// An answer: its status, the kind of its body, and that.
struct Answer {
    status: u16,
    kind: String,
    body: Vec<u8>,
}

impl Client {
    /// Sends a request, and returns the answer; without a body if that has no end.
    fn ask(&mut self, method: &str, target: &str, headers: &str, body: &[u8]) -> Answer {
        let head = format!(
            "{method} {target} HTTP/1.1\r\nhost: {}\r\ncontent-length: {}\r\n{headers}\r\n",
            self.host,
            body.len()
        );
        let connect = || BufReader::new(TcpStream::connect(&self.host).unwrap());
        let mut connection = self.connection.take().unwrap_or_else(connect);
        // A header that is too long is answered while it is sent.
        let _ = connection.get_mut().write_all(&[head.as_bytes(), body].concat());
        let mut line = || {
            let mut line = String::new();
            connection.read_line(&mut line).unwrap();
            line.trim_end().to_ascii_lowercase()
        };
        let first = line();
        let status = first.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.unwrap_or_else(|| panic!("{method} {target} has no answer: {first}"));
        let (mut kind, mut length, mut is_last) = (String::new(), None, false);
        loop {
            let header = line();
            match header.split_once(": ") {
                Some(("content-type", value)) => kind = value.to_owned(),
                Some(("content-length", value)) => length = Some(value.parse().unwrap()),
                Some(("connection", "close")) => is_last = true,
                Some(_) => {}
                None => break,
            }
        }
        let has_body = method != "HEAD" && status != 204 && status != 304;
        let mut body = vec![0; length.filter(|_| has_body).unwrap_or(0)];
        connection.read_exact(&mut body).unwrap();
        if !is_last && (length.is_some() || !has_body) {
            self.connection = Some(connection);
        }
        Answer { status, kind, body }
    }
}

pub(crate) fn run(bytes: &[u8]) {
    let mut lines = bytes.split(|&byte| byte == b'\n');
    let first = lines.next().unwrap_or_default();
    let mut read = first.len() + 1;
    let text = |bytes: &[u8], is_kept: fn(&u8) -> bool| -> String {
        bytes.iter().copied().filter(is_kept).map(char::from).collect()
    };
    let first = text(first, |byte| matches!(byte, b' '..=b'~'));
    let (method, target) = first.split_once(' ').unwrap_or(("GET", &first));
    let target: String = target.chars().filter(|character| *character != ' ').collect();
    let is_method = !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_uppercase());
    // It would end the connection.
    let method = if is_method && method != "CONNECT" { method } else { "GET" };
    let mut headers = String::new();
    let mut token = TOKEN.to_owned();
    for line in lines {
        read += line.len() + 1;
        let line = text(line, |byte| matches!(byte, b' '..=b'~'));
        let Some((name, value)) = line.split_once(':') else { break };
        let name = name.trim().to_ascii_lowercase();
        let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if !is_name || name.is_empty() || FRAMING.contains(&&*name) {
            continue;
        }
        if name == "authorization" {
            token = value.trim().to_owned();
        } else {
            headers.push_str(&format!("{name}: {}\r\n", value.trim()));
        }
    }
    let body = bytes.get(read..).unwrap_or_default();
    let mut client = CLIENT.lock().unwrap();
    let keeps = token.contains(KEEPER);
    if keeps && client.kept >= KEPT_MOST {
        return;
    }
    headers.push_str(&format!("authorization: {token}\r\n"));
    let target = if target.starts_with('/') { target } else { format!("/{target}") };
    let answer = client.ask(method, &target, &headers, body);
    let what = || format!("{method} {target}: {}", String::from_utf8_lossy(&answer.body));
    assert!((200..500).contains(&answer.status), "{} {}", answer.status, what());
    if answer.status >= 400 && answer.kind == "application/json" && !answer.body.is_empty() {
        let cause: Value = serde_json::from_slice(&answer.body).unwrap();
        assert!(cause["error"].as_str().is_some_and(|cause| !cause.is_empty()), "{}", what());
    }
    if method != "POST" || target != "/api/jobs" || matches!(answer.status, 401 | 403) {
        return;
    }
    let request = serde_json::from_slice::<Request>(body);
    if let Err(error) = &request {
        assert!(matches!(answer.status, 400 | 413), "{error}: {} {}", answer.status, what());
    }
    if answer.status == 201 {
        client.kept += 1;
        let id = serde_json::from_slice::<Value>(&answer.body).unwrap()["id"].as_u64().unwrap();
        let headers = format!("authorization: {TOKEN}\r\n");
        let told = client.ask("GET", &format!("/api/jobs/{id}"), &headers, b"");
        let told: Value = serde_json::from_slice(&told.body).unwrap();
        let request = request.unwrap();
        assert_eq!(told["command"], Value::from(request.command));
        assert_eq!(told["priority"], Value::from(request.priority));
    }
}

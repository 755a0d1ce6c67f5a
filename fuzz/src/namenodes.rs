//! Answers of a namenode of HDFS. The library parses them, and Tegula the rest. An input is a URL, and then the answers to
//! the calls that it leads to, each after a line with `=== ` and its kind: lists and files as lines, an error by its
//! class, or the bytes of a message. A namenode on loopback gives them in turn, and then closes the connection. Whatever
//! they are, a run is refused by name; a file has the path, length and order that the answers said.

use crate::objects::{check, parts};
use crate::{folder, named};
use rustix::net::sockopt::set_socket_linger;
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::panic;
use std::sync::{LazyLock, Mutex};
use std::thread;
use std::time::Duration;
use tegula_remote::Settings;

/// The answers that are left.
static ANSWERS: Mutex<VecDeque<Vec<u8>>> = Mutex::new(VecDeque::new());

/// Where the namenode listens.
static NAMENODE: LazyLock<SocketAddr> = LazyLock::new(|| {
    pass_over_the_library();
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for connection in listener.incoming().map_while(io::Result::ok) {
            thread::spawn(|| serve(connection));
        }
    });
    address
});

/// Lets panics of the library pass, which Tegula catches; the fuzzer takes every panic for a failure.
fn pass_over_the_library() {
    let all = panic::take_hook();
    panic::set_hook(Box::new(move |about| {
        let is_of_library = about.location().is_some_and(|at| at.file().contains("/hdfs-native-"));
        if !is_of_library {
            all(about);
        }
    }));
}

pub(crate) fn run(bytes: &[u8]) {
    let mut left = parts(bytes);
    let asked = String::from_utf8_lossy(&left.pop_front().unwrap_or_default()).into_owned();
    let Some((how, path)) = asked.split_once(" hdfs:") else { return };
    let url = format!("hdfs://{}{path}", *NAMENODE);
    *ANSWERS.lock().unwrap() = left;
    let settings = Settings::new()
        .with("HADOOP_USER_NAME", "user")
        .with("TEGULA_REMOTE_TRIES", "1")
        .with("TEGULA_REMOTE_SECONDS", "2");
    if how == "state" {
        if let Ok(folders) = settings.folders(&url, &folder("scratch")) {
            let _ = crate::objects::state(&*folders);
        }
        return;
    }
    let Ok(input) = named(settings.input(&url)) else { return };
    check(&input);
    let mut into = [0; 16];
    for file in input.listing().take(4) {
        // No datanode is there, so no byte can come.
        assert!(file.bytes() == Some(0) || file.read_at(0, &mut into).is_err());
    }
}

/// Answers the calls of a client, until it goes or nothing is left.
fn serve(mut connection: TcpStream) {
    let _ = connection.set_nodelay(true);
    let _ = answer_all(&mut connection);
    // A port would not be free for a minute after each connection.
    let _ = set_socket_linger(&connection, Some(Duration::ZERO));
}

fn answer_all(connection: &mut TcpStream) -> io::Result<()> {
    let mut hello = [0; 7];
    connection.read_exact(&mut hello)?;
    loop {
        let mut length = [0; 4];
        connection.read_exact(&mut length)?;
        let mut call = vec![0; u32::from_be_bytes(length) as usize];
        connection.read_exact(&mut call)?;
        // Negative numbers are of the connection itself, and get no answer.
        let Some(number) = call_number(&call).filter(|number| *number < 1 << 31) else { continue };
        let Some(answer) = ANSWERS.lock().unwrap().pop_front() else { return Ok(()) };
        connection.write_all(&response(number, &answer))?;
    }
}

/// Returns the number of a call from its header, as its answer has it; of the connection's own, more than that.
fn call_number(mut call: &[u8]) -> Option<u64> {
    let length = varint(&mut call)?;
    let mut header = call.get(..length as usize)?;
    while let Some(key) = varint(&mut header) {
        match key & 7 {
            0 => {
                let value = varint(&mut header)?;
                if key >> 3 == 3 {
                    // Zigzag: even numbers are not negative.
                    return Some(if value & 1 == 0 { value >> 1 } else { u64::MAX });
                }
            }
            2 => {
                let length = varint(&mut header)?;
                header = header.get(length as usize..)?;
            }
            _ => return None,
        }
    }
    None
}

fn varint(from: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = from.split_first()?;
        *from = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

/// Returns the frame of an answer.
fn response(number: u64, answer: &[u8]) -> Vec<u8> {
    let (kind, body) = split(answer, b'\n');
    let (kind, rest) = split(kind, b' ');
    let mut header = Message::default().number(1, number);
    let message = match kind {
        b"error" | b"fatal" => {
            let status = if kind == b"error" { 1 } else { 2 };
            header = header.number(2, status).bytes(4, rest).bytes(5, body);
            Vec::new()
        }
        b"list" => {
            let files = body.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
            let list = files.fold(Message::default(), |list, line| list.bytes(1, &status(line)));
            Message::default().bytes(1, &list.number(2, decimal(rest)).0).0
        }
        b"file" => Message::default().bytes(1, &status(rest)).0,
        // A length, and no blocks.
        b"blocks" => {
            let blocks = Message::default().number(1, decimal(rest)).number(3, 0).number(5, 1);
            Message::default().bytes(1, &blocks.0).0
        }
        b"nothing" => Vec::new(),
        _ => body.to_vec(),
    };
    if !matches!(kind, b"error" | b"fatal") {
        header = header.number(2, 0);
    }
    let frame = Message::default().delimited(&header.0).delimited(&message).0;
    [&(frame.len() as u32).to_be_bytes()[..], &frame].concat()
}

/// Returns the status of a file from `f 12 1700000000 name`, or of a folder from `d`.
fn status(line: &[u8]) -> Vec<u8> {
    let (kind, rest) = split(line, b' ');
    let (length, rest) = split(rest, b' ');
    let (time, name) = split(rest, b' ');
    let mode = Message::default().number(1, 0o644);
    let status = Message::default().number(1, if kind == b"d" { 1 } else { 2 }).bytes(2, name);
    let status = status.number(3, decimal(length)).bytes(4, &mode.0).bytes(5, b"o").bytes(6, b"g");
    status.number(7, decimal(time)).number(8, 0).0
}

fn split(bytes: &[u8], at: u8) -> (&[u8], &[u8]) {
    match bytes.iter().position(|&byte| byte == at) {
        Some(place) => (&bytes[..place], &bytes[place + 1..]),
        None => (bytes, &[]),
    }
}

fn decimal(digits: &[u8]) -> u64 {
    std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()).unwrap_or_default()
}

/// A message of protocol buffers.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(mut self, mut number: u64) -> Message {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
        self
    }

    fn number(self, field: u64, number: u64) -> Message {
        self.varint(field << 3).varint(number)
    }

    fn bytes(self, field: u64, bytes: &[u8]) -> Message {
        self.varint(field << 3 | 2).delimited(bytes)
    }

    fn delimited(self, bytes: &[u8]) -> Message {
        let mut longer = self.varint(bytes.len() as u64);
        longer.0.extend_from_slice(bytes);
        longer
    }
}

//! As much of HTTP as it takes to fill a store: one request a connection.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

/// Sends a request and returns the status of the answer and all that came.
pub(crate) fn send(server: SocketAddr, method: &str, path: &str, body: &[u8]) -> (u16, String) {
    let mut connection = TcpStream::connect(server).unwrap();
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {server}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    connection.write_all(head.as_bytes()).unwrap();
    connection.write_all(body).unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
    (status.unwrap_or_else(|| panic!("{method} {path}: {answer}")), answer)
}

/// Returns a name as written in a URL; slashes are kept.
pub(crate) fn escaped(name: &str) -> String {
    let mut escaped = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"/._-".contains(&byte) {
            escaped.push(byte.into());
        } else {
            write!(escaped, "%{byte:02X}").unwrap();
        }
    }
    escaped
}

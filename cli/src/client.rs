//! Asks a server of jobs: one request a connection, over TCP or a socket in the file system. What is sent and received
//! is small and plain, so this needs no library.

use serde_json::Value;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fs};
use tegula::{Error, Result};

/// The port of a server, unless it is told another.
pub(crate) const DEFAULT_PORT: u16 = 8642;
/// How long a server may take to answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// The flags for finding a server.
#[derive(clap::Args)]
pub(crate) struct ServerFlags {
    /// The server: http://ADDRESS:PORT, or unix:PATH [default: $TEGULA_SERVER, or http://127.0.0.1:8642].
    #[arg(long, value_name = "URL", help_heading = "Server")]
    server: Option<String>,

    /// The file of its token [default: $TEGULA_TOKEN_FILE, or that which `tegula serve` has left].
    #[arg(long, value_name = "FILE", help_heading = "Server")]
    token_file: Option<PathBuf>,
}

/// A server, and the token for it.
pub(crate) struct Server {
    address: String,
    token: String,
}

/// What a server answered.
pub(crate) struct Reply {
    pub(crate) status: u16,
    header: String,
    pub(crate) body: Vec<u8>,
}

trait Connection: Read + Write {}
impl<C: Read + Write> Connection for C {}

/// Returns the folder of this user.
pub(crate) fn own_folder() -> Result<PathBuf> {
    match env::home_dir() {
        Some(home) if !home.as_os_str().is_empty() => Ok(home.join(".tegula")),
        _ => Err(fault("there is no home folder ($HOME); say where to keep the jobs, --home DIR")),
    }
}

/// Returns the file in which a server at an address leaves its token.
pub(crate) fn token_file_of(address: &str) -> Result<PathBuf> {
    match address.strip_prefix("unix:") {
        Some(path) => Ok(PathBuf::from(format!("{path}.token"))),
        None => {
            let port = address.rsplit(':').next().unwrap_or_default().trim_end_matches('/');
            Ok(own_folder()?.join(format!("serve-{port}.token")))
        }
    }
}

impl ServerFlags {
    /// Returns the server that the flags name.
    pub(crate) fn open(&self) -> Result<Server> {
        let address = self.server.clone().or_else(|| env::var("TEGULA_SERVER").ok());
        let address = address.unwrap_or_else(|| format!("http://127.0.0.1:{DEFAULT_PORT}"));
        let file =
            self.token_file.clone().or_else(|| env::var_os("TEGULA_TOKEN_FILE").map(PathBuf::from));
        let file = file.map_or_else(|| token_file_of(&address), Ok)?;
        let token = fs::read_to_string(&file).map_err(|cause| {
            fault(&format!(
                "{}: cannot read the token: {cause}; is a server at {address}? start it with `tegula serve`",
                file.display()
            ))
        })?;
        Ok(Server { address, token: token.trim().to_owned() })
    }
}

impl Server {
    /// Asks, and returns the answer if the server does what was asked.
    pub(crate) fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Reply> {
        let reply = self.try_ask(method, path, body)?;
        match reply.status {
            200..300 => Ok(reply),
            status => {
                let told = serde_json::from_slice::<Value>(&reply.body).unwrap_or_default();
                let cause =
                    told["error"].as_str().map_or(format!("status {status}"), str::to_owned);
                Err(fault(&cause))
            }
        }
    }

    /// Asks for JSON.
    pub(crate) fn json(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value> {
        let reply = self.ask(method, path, body)?;
        serde_json::from_slice(&reply.body).map_err(|_| fault("the server's answer is no JSON"))
    }

    fn try_ask(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Reply> {
        let cannot = |cause: io::Error| {
            fault(&format!(
                "{}: {cause}; is a server there? start it with `tegula serve`",
                self.address
            ))
        };
        let (mut connection, host) = self.connect().map_err(cannot)?;
        let body = body.map(Value::to_string).unwrap_or_default();
        let (token, length) = (&self.token, body.len());
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nContent-Type: \
             application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        );
        let mut reply = Vec::new();
        let exchanged = connection
            .write_all(request.as_bytes())
            .and_then(|()| connection.read_to_end(&mut reply));
        exchanged.map_err(cannot)?;
        Reply::parse(&reply)
            .ok_or_else(|| fault(&format!("{}: this is no server of jobs", self.address)))
    }

    fn connect(&self) -> io::Result<(Box<dyn Connection>, String)> {
        if let Some(path) = self.address.strip_prefix("unix:") {
            let stream = UnixStream::connect(Path::new(path))?;
            stream.set_read_timeout(Some(PATIENCE))?;
            return Ok((Box::new(stream), "localhost".to_owned()));
        }
        let host = self.address.strip_prefix("http://").unwrap_or(&self.address);
        let host = host.trim_end_matches('/');
        let stream = TcpStream::connect(host)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok((Box::new(stream), host.to_owned()))
    }
}

impl Reply {
    fn parse(bytes: &[u8]) -> Option<Reply> {
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
        let header = std::str::from_utf8(&bytes[..end]).ok()?.to_owned();
        let status = header.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
        let mut reply = Reply { status, header, body: bytes[end + 4..].to_vec() };
        if reply.field("transfer-encoding") == Some("chunked") {
            reply.body = joined(&reply.body)?;
        }
        let length = reply.field("content-length").and_then(|length| length.parse::<usize>().ok());
        length.is_none_or(|length| length == reply.body.len()).then_some(reply)
    }

    /// Returns a field of the header.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let fields = self.header.lines().filter_map(|line| line.split_once(':'));
        let mut found = fields.filter(|(field, _)| field.eq_ignore_ascii_case(name));
        found.next().map(|(_, value)| value.trim())
    }
}

/// Joins the chunks of a body.
fn joined(mut chunks: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let end = chunks.windows(2).position(|window| window == b"\r\n")?;
        let length = usize::from_str_radix(std::str::from_utf8(&chunks[..end]).ok()?, 16).ok()?;
        let chunk = chunks.get(end + 2..)?.get(..length)?;
        if length == 0 {
            return Some(body);
        }
        body.extend_from_slice(chunk);
        chunks = chunks.get(end + 2 + length + 2..)?;
    }
}

pub(crate) fn fault(cause: &str) -> Error {
    Error::System { action: "ask the server", cause: io::Error::other(cause.to_owned()) }
}

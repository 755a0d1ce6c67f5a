//! `tegula serve` from outside: HTTP as anyone may send it, and jobs of the built program. One file per behaviour.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod a_disk_takes_nothing;
mod a_run_is_watched_without_a_server;
mod examples_of_the_interface_are_answered;
mod flags_of_server_and_clients_do_something;
mod jobs_share_the_machine;
mod killed_servers_and_jobs_go_on;
mod only_users_may_ask;
mod paths_stay_below_the_roots;
mod sockets_belong_to_one_server;
mod strangers_cannot_harm_it;
mod submitted_commands_are_read_as_typed;
mod watchers_see_the_newest_state;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A server of its own, with a folder of input. It is killed when it is dropped.
struct Server {
    place: TempDir,
    child: Option<Child>,
    port: u16,
    token: String,
    arguments: Vec<String>,
}

/// An answer.
struct Reply {
    status: u16,
    header: String,
    body: Vec<u8>,
}

impl Reply {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| {
            panic!("{error}: {} {}", self.status, String::from_utf8_lossy(&self.body))
        })
    }

    fn field(&self, name: &str) -> Option<&str> {
        let fields = self.header.lines().filter_map(|line| line.split_once(": "));
        let mut found = fields.filter(|(field, _)| field.eq_ignore_ascii_case(name));
        found.next().map(|(_, value)| value)
    }
}

impl Server {
    fn start(arguments: &[&str]) -> Server {
        Server::start_in(tempfile::tempdir().unwrap(), arguments)
    }

    fn start_in(place: TempDir, arguments: &[&str]) -> Server {
        fs::create_dir(place.path().join("data")).unwrap();
        fs::write(place.path().join("data/text"), "to be or not to be\n".repeat(1000)).unwrap();
        let arguments = arguments.iter().map(|&argument| argument.to_owned()).collect();
        let mut server = Server { place, child: None, port: 0, token: String::new(), arguments };
        server.begin();
        server
    }

    fn data(&self) -> PathBuf {
        self.place.path().join("data")
    }

    fn home(&self) -> PathBuf {
        self.place.path().join("home")
    }

    fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tegula"));
        command.env("HOME", self.place.path()).current_dir(self.data());
        command.env("TEGULA_SERVER", format!("http://127.0.0.1:{}", self.port));
        command
    }

    fn serve_command(&self) -> Command {
        let mut command = self.command();
        let address = format!("127.0.0.1:{}", self.port);
        command.args(["serve", "--listen", &address, "--home"]).arg(self.home());
        command.arg("--root").arg(self.data()).args(["-j", "4", "--memory", "4G"]);
        command.args(&self.arguments).stdout(Stdio::piped()).stderr(Stdio::inherit());
        command
    }

    /// Starts it, also once more.
    fn begin(&mut self) {
        self.begin_as(self.serve_command());
    }

    fn begin_as(&mut self, mut command: Command) {
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address =
            line.trim().strip_prefix("http://127.0.0.1:").unwrap_or_else(|| panic!("{line}"));
        let (port, token) = address.split_once("/#token=").unwrap_or((address, ""));
        (self.port, self.token) = (port.parse().unwrap(), token.to_owned());
        self.child = Some(child);
    }

    fn kill(&mut self) {
        let mut child = self.child.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Sends bytes as they are; returns what comes back until the connection ends.
    fn raw(&self, request: &[u8]) -> Vec<u8> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        // A server that refuses may close before all is sent.
        let _ = stream.write_all(request);
        let mut reply = Vec::new();
        let _ = stream.read_to_end(&mut reply);
        reply
    }

    /// Asks with these header lines and no others but those that every request needs.
    fn send(&self, method: &str, path: &str, header: &str, body: &[u8]) -> Reply {
        let host = match header.contains("Host:") {
            true => String::new(),
            false => format!("Host: 127.0.0.1:{}\r\n", self.port),
        };
        let length = body.len();
        let mut request = format!(
            "{method} {path} HTTP/1.1\r\n{host}{header}Content-Length: {length}\r\nConnection: close\r\n\r\n"
        )
        .into_bytes();
        request.extend_from_slice(body);
        parse(&self.raw(&request))
    }

    fn bearer(&self) -> String {
        format!("Authorization: Bearer {}\r\n", self.token)
    }

    fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Reply {
        let body = body.map(Value::to_string).unwrap_or_default();
        self.send(method, path, &self.bearer(), body.as_bytes())
    }

    fn get(&self, path: &str) -> Value {
        let reply = self.ask("GET", path, None);
        assert_eq!(reply.status, 200, "{path}: {}", String::from_utf8_lossy(&reply.body));
        reply.json()
    }

    fn submit(&self, command: &[&str]) -> u64 {
        self.submit_with(&json!({ "command": command }))
    }

    fn submit_with(&self, request: &Value) -> u64 {
        let reply = self.ask("POST", "/api/jobs", Some(request));
        assert_eq!(reply.status, 201, "{request}: {}", String::from_utf8_lossy(&reply.body));
        reply.json()["id"].as_u64().unwrap()
    }

    /// Waits until a job is in one of these states.
    fn wait(&self, id: u64, states: &[&str]) -> Value {
        within(60, || {
            let job = self.get(&format!("/api/jobs/{id}"));
            states.contains(&job["state"].as_str().unwrap()).then_some(job)
        })
    }

    fn answer(&self, id: u64) -> Vec<u8> {
        let job = self.wait(id, &["done", "failed", "cancelled"]);
        assert_eq!(job["state"], "done", "{job}");
        let reply = self.ask("GET", &format!("/api/jobs/{id}/answer"), None);
        assert_eq!(reply.status, 200);
        reply.body
    }

    /// Submits a job that runs until it is cancelled: nobody writes to the pipe that it reads.
    fn hold(&self) -> u64 {
        let id = self.submit_held();
        self.wait(id, &["running"]);
        id
    }

    fn submit_held(&self) -> u64 {
        self.submit_with(&json!({ "command": ["wordcount", self.pipe()] }))
    }

    /// Makes a pipe among the input.
    fn pipe(&self) -> String {
        let name = format!("pipe-{}", fs::read_dir(self.data()).unwrap().count());
        let mode = Mode::from_raw_mode(0o600);
        mknodat(CWD, self.data().join(&name), FileType::Fifo, mode, 0).unwrap();
        name
    }

    fn cancel(&self, id: u64) {
        assert_eq!(self.ask("DELETE", &format!("/api/jobs/{id}"), None).status, 202);
        self.wait(id, &["cancelled"]);
    }

    /// Writes input on which `SLOW` takes some seconds with one core; returns the answer of a run without a server.
    fn write_long(&self) -> Vec<u8> {
        let mut text = String::new();
        for number in 0..20_000_u32 {
            text.push_str(&format!("w{:x} ", number.wrapping_mul(2_654_435_761) % 5000));
            if number % 10 == 0 {
                text.push('\n');
            }
        }
        fs::write(self.data().join("long"), text.repeat(1000)).unwrap();
        let run = self.command().args(SLOW).output().unwrap();
        assert!(run.status.success());
        run.stdout
    }

    fn submit_slow(&self) -> u64 {
        self.submit_with(&json!({ "command": SLOW, "most": 1 }))
    }
}

/// A command that takes some seconds with one core.
const SLOW: &[&str] = &["grep", "--by", "match", "(?i)W\\w*", "--tile", "1M", "long"];

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn parse(bytes: &[u8]) -> Reply {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n");
    let end = end.unwrap_or_else(|| panic!("no reply: {:?}", String::from_utf8_lossy(bytes)));
    let header = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let status = header.split(' ').nth(1).unwrap().parse().unwrap();
    Reply { status, header, body: bytes[end + 4..].to_vec() }
}

/// Looks again and again until there is something.
fn within<T>(seconds: u64, look: impl Fn() -> Option<T>) -> T {
    let limit = Instant::now() + Duration::from_secs(seconds);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < limit, "not within {seconds} s");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Returns the processes whose command line names a folder.
fn processes_of(folder: &Path) -> Vec<i32> {
    let name = folder.to_str().unwrap();
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let is_of = |id: &i32| {
        let line = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(name)
    };
    ids.filter(is_of).collect()
}

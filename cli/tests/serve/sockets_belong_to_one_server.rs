//! `--socket PATH` takes a path that is free or that a server has left, and removes nothing but its own socket.

use super::*;
use rustix::process::{Pid, Signal, kill_process};
use std::os::unix::net::UnixStream;

/// Returns a command that serves at a socket, from a folder of its own.
fn serve_at(server: &Server, socket: &Path, home: &str) -> Command {
    let mut command = server.command();
    command.args(["serve", "--socket"]).arg(socket).arg("--home");
    command.arg(server.place.path().join(home)).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn begin_at(server: &Server, socket: &Path, home: &str) -> Child {
    let mut child = serve_at(server, socket, home).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with("unix:"), "{line}");
    // It watches for signals when it answers.
    let mut stream = UnixStream::connect(socket).unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: any\r\n\r\n").unwrap();
    stream.read_exact(&mut [0]).unwrap();
    child
}

fn refused_at(server: &Server, socket: &Path) -> String {
    let output = serve_at(server, socket, "other").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains(&format!("{}: cannot listen", socket.display())), "{said}");
    said
}

fn end(mut child: Child) {
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert!(child.wait().unwrap().success());
}

#[test]
fn what_is_no_socket_stays() {
    let server = Server::start(&[]);
    let file = server.data().join("text");
    let before = fs::read(&file).unwrap();
    assert!(refused_at(&server, &file).contains("no socket"));
    assert_eq!(fs::read(&file).unwrap(), before);
    let link = server.place.path().join("link");
    std::os::unix::fs::symlink(&file, &link).unwrap();
    assert!(refused_at(&server, &link).contains("no socket"));
    assert!(link.is_symlink());
}

#[test]
fn a_second_server_at_a_path_is_refused_and_the_first_goes_on() {
    let server = Server::start(&[]);
    let socket = server.place.path().join("socket");
    let first = begin_at(&server, &socket, "first");
    assert!(refused_at(&server, &socket).contains("another server"));
    UnixStream::connect(&socket).unwrap();
    // Its socket is no longer there when it ends; another's is.
    let moved = server.place.path().join("moved");
    fs::rename(&socket, &moved).unwrap();
    let second = begin_at(&server, &socket, "second");
    end(first);
    UnixStream::connect(&socket).unwrap();
    end(second);
    assert!(!socket.exists() && moved.exists());
}

#[test]
fn a_socket_that_was_left_is_replaced() {
    let server = Server::start(&[]);
    let socket = server.place.path().join("socket");
    let mut first = begin_at(&server, &socket, "first");
    first.kill().unwrap();
    first.wait().unwrap();
    assert!(socket.exists());
    end(begin_at(&server, &socket, "first"));
    assert!(!socket.exists());
}

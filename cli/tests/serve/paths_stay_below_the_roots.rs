//! A job reads only what is below the roots, wherever links and dots lead, and writes only what the server says. A
//! request's path never names a file (Flink, CVE-2020-17519).

use super::*;
use std::os::unix::fs::symlink;

#[test]
fn input_is_below_a_root() {
    let server = Server::start(&[]);
    fs::write(server.place.path().join("secret"), "secret").unwrap();
    symlink(server.place.path(), server.data().join("out")).unwrap();
    symlink("/etc", server.data().join("etc")).unwrap();
    for path in [
        "/etc/passwd",
        "/proc/self/environ",
        "../secret",
        "out/secret",
        "out",
        "etc/passwd",
        "e*/passwd",
        "text/../../secret",
        "*",
        "-",
        "file:///etc/passwd",
        "s3://bucket/key",
        "/dev/stdin",
        "out/home/jobs",
    ] {
        let reply =
            server.ask("POST", "/api/jobs", Some(&json!({ "command": ["wordcount", path] })));
        assert_eq!(reply.status, 403, "{path}: {}", String::from_utf8_lossy(&reply.body));
    }
    for folder in ["/etc", "..", "out", "/", "text", "missing"] {
        let folder = server.data().join(folder);
        let request = json!({ "command": ["wordcount", "text"], "folder": folder });
        assert_eq!(server.ask("POST", "/api/jobs", Some(&request)).status, 403, "{request}");
    }
    fs::write(server.data().join("keys"), "to be").unwrap();
    for command in [
        json!(["stringmatch", "--keys", "/etc/passwd", "text"]),
        json!(["index", "--words-from", "../secret", "text"]),
        json!(["wordcount", "--", "../secret"]),
        json!(["wordcount", "text", "../secret"]),
    ] {
        let request = json!({ "command": command });
        assert_eq!(server.ask("POST", "/api/jobs", Some(&request)).status, 403, "{command}");
    }
    server.answer(server.submit(&["wordcount", "./text"]));
    // Where relative paths begin does not matter to others.
    let text = server.data().join("text");
    let request = json!({ "command": ["wordcount", text], "folder": "/" });
    server.answer(server.submit_with(&request));
    let request = json!({ "command": ["wordcount", "/etc/passwd"], "folder": "/" });
    assert_eq!(server.ask("POST", "/api/jobs", Some(&request)).status, 403);
}

#[test]
fn what_was_a_file_when_it_came_and_is_a_link_when_it_begins_is_not_read() {
    let server = Server::start(&["--jobs-at-once", "1"]);
    let first = server.hold();
    fs::write(server.data().join("later"), "a").unwrap();
    let second = server.submit(&["wordcount", "later"]);
    fs::remove_file(server.data().join("later")).unwrap();
    symlink("/etc/passwd", server.data().join("later")).unwrap();
    server.cancel(first);
    let job = server.wait(second, &["failed", "done"]);
    assert!(job["message"].as_str().unwrap().contains("not below a root"), "{job}");
}

#[test]
fn the_server_says_where_files_are_written() {
    let server = Server::start(&[]);
    for flags in [
        &["-o", "/etc/passwd"][..],
        &["--output=x"],
        &["-ox"],
        &["--state", "x", "--job", "y"],
        &["--scratch", "."],
        &["--events", "x"],
        &["--nodes", "local:2"],
        &["--control", "0"],
        &["--timeline", "x.svg"],
        &["--stats-json", "x"],
        &["--show", "every=5%", "--show-to", "x"],
        &["--groups", "/etc/passwd"],
        &["-j", "64"],
        &["--memory", "1T"],
        &["--progress", "json"],
    ] {
        let command = [&["wordcount", "text"][..], flags].concat();
        let reply = server.ask("POST", "/api/jobs", Some(&json!({ "command": command })));
        assert_eq!(reply.status, 403, "{flags:?}: {}", String::from_utf8_lossy(&reply.body));
        assert!(reply.json()["error"].as_str().unwrap().starts_with("--"));
    }
    assert!(!server.data().join("x").exists());
}

#[test]
fn only_commands_that_run_jobs_are_run() {
    let server = Server::start(&[]);
    for command in [
        &["serve"][..],
        &["submit", "--", "wordcount"],
        &["state", "list", "."],
        &["show"],
        &["generate", "stations", "5"],
        &["teragen", "5"],
        &["topology"],
        &["devices"],
        &["help"],
        &["rm", "-rf", "/"],
        &[""],
        &["--help"],
        &[],
    ] {
        let reply = server.ask("POST", "/api/jobs", Some(&json!({ "command": command })));
        assert_eq!(reply.status, 403, "{command:?}");
    }
    let native = json!({ "command": ["run", "text", "text", "--map", "m", "--combine", "count"] });
    let reply = server.ask("POST", "/api/jobs", Some(&native));
    assert!(
        reply.status == 403 && reply.json()["error"].as_str().unwrap().contains("--allow-code")
    );
    for (command, program, status) in [
        (json!(["python", "text"]), json!("code"), 403),
        (json!(["python", "text"]), Value::Null, 403),
        (json!(["wordcount", "text"]), json!("code"), 400),
    ] {
        let request = json!({ "command": command, "program": program });
        assert_eq!(server.ask("POST", "/api/jobs", Some(&request)).status, status, "{request}");
    }
    for command in [
        &["wordcount"][..],
        &["wordcount", "text", "--nonsense"],
        &["wordcount", "te\0xt"],
        &["wordcount", "--help"],
    ] {
        let reply = server.ask("POST", "/api/jobs", Some(&json!({ "command": command })));
        assert_eq!(reply.status, 400, "{command:?}: {}", String::from_utf8_lossy(&reply.body));
    }
}

#[test]
fn the_path_of_a_request_names_no_file() {
    let server = Server::start(&[]);
    server.answer(server.submit(&["wordcount", "text"]));
    for path in [
        "/../home/token",
        "/..%2fhome/token",
        "/%2e%2e/home/token",
        "/page/../Cargo.toml",
        "//etc/passwd",
        "/index.html/..",
        "/api/jobs/../../token",
        "/api/jobs/1%2f..%2f..%2ftoken/log",
        "/api/jobs/1/../1/job.json",
        "/api/jobs/1/job.json",
        "/api/jobs/1/answer/../../token",
        "/api/jobs/-1",
        "/api/jobs/1e3",
        "/api/jobs/99999999999999999999",
        "/api/jobs/%31%00",
        "/api/jobs/1/state/run",
        "/.tegula",
    ] {
        let reply = server.ask("GET", path, None);
        assert!(matches!(reply.status, 400 | 404), "{path}: {}", reply.status);
        assert!(!String::from_utf8_lossy(&reply.body).contains(&server.token));
    }
}

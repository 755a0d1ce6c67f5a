//! Flags of `tegula serve` and of its clients that no other test tries.

use super::*;
use std::process::Output;

fn ask(server: &Server, words: &[&str]) -> Output {
    let address = format!("--server=http://127.0.0.1:{}", server.port);
    let mut client = server.command();
    // A wrong place, which the flag overrides.
    client.env("TEGULA_SERVER", "http://127.0.0.1:1").args(&words[..1]).arg(address);
    client.args(&words[1..]).output().unwrap()
}

fn text(output: Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn of_clients() {
    let server = Server::start(&[]);
    let submit = ["submit", "--priority=7", "--least=2", "--most=3", "--memory=256M", "--"];
    let id = text(ask(&server, &[&submit[..], &["wordcount", "text", "--stats"]].concat()));
    let id = id.trim();
    let log = text(ask(&server, &["logs", "--follow", id]));
    assert!(log.contains("throughput"), "{log}");
    assert_eq!(text(ask(&server, &["ps", "--json"])).matches("\"priority\"").count(), 0);
    let listed: Value =
        serde_json::from_str(&text(ask(&server, &["ps", "--all", "--json"]))).unwrap();
    let job = &listed["jobs"][0];
    // Where no server is, any token does.
    let mut lost = server.command();
    let lost = lost
        .args(["ps", "--server=http://127.0.0.1:1", "--token-file=/dev/null"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&lost.stderr);
    assert_eq!(lost.status.code(), Some(1), "{said}");
    assert!(
        said.contains("http://127.0.0.1:1: Connection refused") && said.contains("tegula serve")
    );
    let figures = ["priority", "least", "most", "memory_bytes"].map(|name| job[name].as_u64());
    assert_eq!(figures, [Some(7), Some(2), Some(3), Some(256 << 20)], "{job}");
}

#[test]
fn jobs_that_run_are_listed_beside_any_number_that_wait() {
    let mut server = Server::start(&["--jobs-at-once", "1"]);
    let held = server.hold();
    let waiting = server.submit(&["wordcount", "text"]);
    server.kill();
    // More than a page of the server's, as it leaves them.
    let folder = |id: u64| server.home().join(format!("jobs/{id}"));
    let record = fs::read_to_string(folder(waiting).join("job.json")).unwrap();
    for id in waiting + 1..waiting + 1050 {
        fs::create_dir(folder(id)).unwrap();
        let record = record.replace("\"id\":2,", &format!("\"id\":{id},"));
        fs::write(folder(id).join("job.json"), record).unwrap();
    }
    server.begin();
    server.wait(held, &["running"]);
    let listed = text(ask(&server, &["ps"]));
    assert_eq!(listed.lines().count(), 1 + 1051);
    assert!(listed.lines().last().unwrap().trim_start().starts_with("1  running"), "{listed}");
    let listed: Value = serde_json::from_str(&text(ask(&server, &["ps", "--json"]))).unwrap();
    let jobs = listed["jobs"].as_array().unwrap();
    assert_eq!((jobs.len(), &jobs[1050]["id"]), (1051, &held.into()));
}

#[test]
fn of_the_server() {
    let flags = ["--host=jobs.example", "--url=s3://open/", "--allow-code", "--python=/bin/false"];
    let mut server = Server::start(&flags);
    let status_as = |host: &str| {
        let header = format!("Host: {host}\r\n{}", server.bearer());
        server.send("GET", "/api/jobs", &header, b"").status
    };
    assert_eq!(status_as("jobs.example"), 200);
    assert_ne!(status_as("other.example"), 200);
    let status_of = |url: &str| {
        let job = json!({ "command": ["wordcount", url], "least": 4 });
        server.ask("POST", "/api/jobs", Some(&job)).status
    };
    assert_eq!(status_of("s3://open/file"), 201);
    assert_ne!(status_of("s3://closed/file"), 201);
    let python = server.submit_with(&json!({ "command": ["python"], "program": "{}" }));
    assert_eq!(server.wait(python, &["done", "failed"])["state"], "failed");
    let done = server.submit(&["wordcount", "text"]);
    server.answer(done);
    for forgets in ["--keep-bytes=1", "--keep-days=0"] {
        server.kill();
        server.arguments = vec![forgets.to_owned()];
        server.begin();
        within(20, || server.get("/api/jobs")["jobs"].as_array().unwrap().is_empty().then_some(()));
        server.answer(server.submit(&["wordcount", "text"]));
    }
}

//! Jobs run at once on parts of the cores, which grow when another job ends; what cannot begin waits in order; answers
//! are those of runs without a server.

use super::*;

#[test]
fn a_job_gets_the_cores_of_one_that_ended() {
    let server = Server::start(&["--jobs-at-once", "2"]);
    let expected = server.write_long();
    let held = server.hold();
    let slow = server.submit(SLOW);
    within(10, || {
        let machine = server.get("/api/machine");
        let cores = machine["cores"].as_array().unwrap().clone();
        let of = |id: u64| cores.iter().filter(|core| **core == id).count();
        ((of(held), of(slow)) == (2, 2)).then_some(())
    });
    let waits = server.submit(&["wordcount", "text"]);
    assert_eq!(server.get(&format!("/api/jobs/{waits}"))["place"], 1);
    server.cancel(waits);
    server.cancel(held);
    assert_eq!(server.get(&format!("/api/jobs/{held}"))["code"], 130);
    let job = server.get(&format!("/api/jobs/{slow}"));
    assert!(job["state"] == "done" || job["cores"] == "0-3", "{job}");
    assert!(server.answer(slow) == expected);
}

#[test]
fn mixed_jobs_answer_as_without_a_server() {
    let server = Server::start(&["--jobs-at-once", "3"]);
    let stations = "b;1.5\na;-2.0\nb;3.5\n".repeat(1000);
    fs::write(server.data().join("stations"), stations).unwrap();
    let commands: &[&[&str]] = &[
        &["wordcount", "stations", "--top", "7"],
        &["wordcount", "text", "--format", "jsonl"],
        &["stations", "stations"],
        &["grep", "[0-9]+", "stations", "--top", "5"],
        &["sort", "stations"],
        &["index", "text", "--word", "be"],
        &["top", "3", "stations", "--separator", ";"],
    ];
    let ids: Vec<u64> = commands.iter().map(|command| server.submit(command)).collect();
    for (command, id) in commands.iter().zip(ids) {
        let expected = server.command().args(*command).output().unwrap();
        assert!(expected.status.success(), "{}", String::from_utf8_lossy(&expected.stderr));
        assert!(server.answer(id) == expected.stdout, "{command:?}");
        let job = server.get(&format!("/api/jobs/{id}"));
        assert!(job["stats"]["bytes"].as_u64() > Some(0), "{job}");
    }
}

#[test]
fn core_seconds_grow_while_a_job_runs() {
    let server = Server::start(&[]);
    let held = server.hold();
    let core_s = || server.get("/api/machine")["users"][0]["core_s"].as_f64().unwrap();
    let before_s = core_s();
    thread::sleep(Duration::from_millis(500));
    // A process that only starts has a core.
    assert!(core_s() >= before_s + 0.4, "{before_s} and {}", core_s());
    let text = String::from_utf8(server.ask("GET", "/metrics", None).body).unwrap();
    let line =
        text.lines().find_map(|line| line.strip_prefix("tegula_recent_core_seconds{user=\"me\"} "));
    assert!(line.unwrap().parse::<f64>().unwrap() > before_s, "{text}");
    server.cancel(held);
}

#[test]
fn a_higher_priority_begins_first() {
    let server = Server::start(&["--jobs-at-once", "1"]);
    let held = server.hold();
    let low = server.submit(&["wordcount", "text"]);
    let high = server.submit_with(&json!({ "command": ["wordcount", "text"], "priority": 7 }));
    assert_eq!(server.get("/api/machine")["queue"], json!([high, low]));
    let path = format!("/api/jobs/{low}/priority");
    let reply = server.ask("POST", &path, Some(&json!({ "priority": 8 })));
    assert_eq!((reply.status, &reply.json()["priority"]), (200, &json!(8)));
    assert_eq!(server.get("/api/machine")["queue"], json!([low, high]));
    server.cancel(held);
    server.answer(low);
    server.answer(high);
    assert_eq!(server.ask("POST", &path, Some(&json!({ "priority": 8 }))).status, 409);
}

#[test]
fn a_job_that_cannot_start_holds_up_no_other() {
    let server = Server::start(&["--jobs-at-once", "1"]);
    let held = server.hold();
    let folder = server.data().join("folder");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("text"), "to be\n").unwrap();
    let command = ["wordcount", "text"];
    let without = [0; 3]
        .map(|_| server.submit_with(&json!({ "command": command, "folder": folder.to_str() })));
    let after = server.submit(&command);
    fs::remove_dir_all(folder).unwrap();
    server.cancel(held);
    server.answer(after);
    for id in without {
        assert_eq!(server.get(&format!("/api/jobs/{id}"))["state"], "failed");
    }
}

#[test]
fn memory_is_divided_when_a_job_begins() {
    let server = Server::start(&["--jobs-at-once", "4"]);
    let large =
        || json!({ "command": ["wordcount", server.pipe()], "memory_bytes": 3_000_000_000_u64 });
    let [first, second] = [server.submit_with(&large()), server.submit_with(&large())];
    server.wait(first, &["running"]);
    assert_eq!(server.get(&format!("/api/jobs/{second}"))["state"], "queued");
    let machine = server.get("/api/machine");
    assert_eq!(machine["memory_free_bytes"], (4_u64 << 30) - 3_000_000_000);
    server.cancel(first);
    server.wait(second, &["running"]);
    server.cancel(second);
}

#[test]
fn a_job_that_fails_says_why() {
    let server = Server::start(&[]);
    let id = server.submit(&["wordcount", "missing"]);
    let job = server.wait(id, &["failed"]);
    assert_eq!((&job["code"], &job["signal"]), (&json!(1), &Value::Null));
    assert!(job["message"].as_str().unwrap().contains("missing: no such file"), "{job}");
    let log = server.ask("GET", &format!("/api/jobs/{id}/log"), None);
    assert!(String::from_utf8_lossy(&log.body).contains("no such file"));
    let reply = server.ask("POST", &format!("/api/jobs/{id}/again"), None);
    assert_eq!((reply.status, reply.json()["id"].as_u64()), (201, Some(id + 1)));
}

#[test]
fn the_command_line_does_what_the_page_does() {
    let server = Server::start(&[]);
    let run = |arguments: &[&str]| server.command().args(arguments).output().unwrap();
    let text = |output: std::process::Output| {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let submitted = ["submit", "--name", "the text", "--", "wordcount", "text", "--top", "2"];
    assert_eq!(text(run(&submitted)), "1\n");
    assert_eq!(text(run(&["wait", "1"])), "be\t2000\nto\t2000\n");
    let list = text(run(&["ps", "--all"]));
    assert!(list.lines().nth(1).unwrap().ends_with("the text"), "{list}");
    assert_eq!(text(run(&["again", "1"])), "2\n");
    let file = server.place.path().join("answer");
    text(run(&["wait", "2", "-o", file.to_str().unwrap()]));
    assert_eq!(fs::read(file).unwrap(), b"be\t2000\nto\t2000\n");
    let failed = run(&["submit", "--wait", "--", "wordcount", "missing"]);
    assert_eq!(failed.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&failed.stderr).contains("no such file"));
    assert!(text(run(&["logs", "3", "-f"])).contains("no such file"));
    let over = run(&["cancel", "1"]);
    assert!(String::from_utf8_lossy(&over.stderr).contains("job 1 is over: done"));
    let pipe = server.pipe();
    text(run(&["submit", "--", "wordcount", &pipe]));
    text(run(&["cancel", "4"]));
    assert_eq!(run(&["wait", "4"]).status.code(), Some(130));
    let nobody =
        server.command().env("TEGULA_SERVER", "http://127.0.0.1:1").arg("ps").output().unwrap();
    assert!(String::from_utf8_lossy(&nobody.stderr).contains("tegula serve"));
}

#[test]
fn a_server_listens_on_a_socket_of_the_file_system() {
    use std::os::unix::fs::PermissionsExt;
    let server = Server::start(&[]);
    let socket = server.place.path().join("socket");
    let mut command = server.command();
    command
        .args(["serve", "--socket"])
        .arg(&socket)
        .arg("--home")
        .arg(server.place.path().join("other"));
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o600);
    let mut submit = server.command();
    submit.env("TEGULA_SERVER", line.trim()).args(["submit", "--wait", "--", "wordcount", "text"]);
    let output = submit.output().unwrap();
    assert!(output.stdout.starts_with(b"be\t"), "{}", String::from_utf8_lossy(&output.stderr));
    child.kill().unwrap();
    child.wait().unwrap();
}

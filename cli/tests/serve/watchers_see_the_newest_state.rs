//! Streams carry state: a snapshot first, then changes, the newest only. Whoever comes back gets what is new.

use super::*;

/// Reads a stream until `ends` says so; returns its events, by kind and data.
fn events(
    server: &Server,
    path: &str,
    header: &str,
    mut ends: impl FnMut(&str, &Value) -> bool,
) -> Vec<(String, Value, Option<String>)> {
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let (port, bearer) = (server.port, server.bearer());
    let request = format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{bearer}{header}\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let (mut kind, mut id, mut seen) = (String::new(), None, Vec::new());
    let mut lines = BufReader::new(stream).lines();
    let header = lines.by_ref().map(Result::unwrap).take_while(|line| !line.is_empty());
    assert!(header.count() > 0);
    let first = lines.by_ref().map(Result::unwrap).find(|line| line.contains(": "));
    assert_eq!(first.unwrap(), "retry: 1000");
    for line in lines {
        let line = line.unwrap();
        if let Some(name) = line.strip_prefix("event: ") {
            kind = name.to_owned();
        } else if let Some(number) = line.strip_prefix("id: ") {
            id = Some(number.to_owned());
        } else if let Some(data) = line.strip_prefix("data: ") {
            let data: Value = serde_json::from_str(data).unwrap();
            seen.push((kind.clone(), data.clone(), None));
        } else if line.is_empty() && id.is_some() {
            seen.last_mut().unwrap().2 = id.take();
        }
        if line.is_empty()
            && let Some((kind, data, _)) = seen.last()
            && ends(kind, data)
        {
            break;
        }
    }
    seen
}

/// Returns the kinds of the events that come within a second to one who comes back with an id.
fn events_of_a_second(server: &Server, path: &str, id: &str) -> Vec<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    let (port, bearer) = (server.port, server.bearer());
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{bearer}Last-Event-ID: {id}\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    let lines = BufReader::new(stream).lines().map_while(Result::ok);
    let lines: Vec<String> = lines.collect();
    assert!(lines.iter().any(|line| line == "retry: 1000"), "{lines:?}");
    lines.iter().filter_map(|line| line.strip_prefix("event: ").map(str::to_owned)).collect()
}

#[test]
fn a_stream_of_a_job_leads_to_the_snapshot_of_its_end() {
    let server = Server::start(&[]);
    server.write_long();
    let command = [SLOW, &["--top", "3"]].concat();
    let id = server.submit_with(&json!({ "command": command, "most": 1 }));
    let path = format!("/api/events?job={id}");
    let is_over = |kind: &str, data: &Value| {
        matches!(kind, "snapshot" | "summary") && data["state"] == "done"
    };
    let began = Instant::now();
    let seen = events(&server, &path, "", is_over);
    let took = began.elapsed().as_secs_f64();
    assert_eq!(seen[0].0, "snapshot");
    for kind in ["progress", "tiles", "lanes"] {
        let count = seen.iter().filter(|(seen, ..)| seen == kind).count();
        assert!(count >= 1 && count as f64 <= 4.0 * took + 2.0, "{count} x {kind} in {took} s");
    }
    for (kind, data, _) in &seen {
        assert!(
            matches!(kind.as_str(), "snapshot" | "summary") || data["job"] == id,
            "{kind} {data}"
        );
    }
    let last = &seen.last().unwrap().1;
    let job = server.get(&format!("/api/jobs/{id}"));
    assert_eq!((&last["tiles"], &last["stats"]), (&job["tiles"], &job["stats"]));
    let tiles = &job["tiles"];
    assert_eq!(tiles["counts"]["saved"], tiles["tiles"], "{tiles}");
    assert!(
        job["lanes"]["lanes"].as_array().unwrap().iter().any(|lane| lane["name"] == "worker-0")
    );
    assert_eq!(
        job["history"]["bytes_done"].as_array().unwrap().last().unwrap(),
        &job["stats"]["bytes"]
    );
    assert_eq!(job["show"]["pairs"].as_array().unwrap().len(), 3);
    let progress = seen.iter().rfind(|(kind, ..)| kind == "progress").unwrap();
    assert_eq!((&progress.1["spilled_bytes"], &progress.1["log_bytes"]), (&json!(0), &json!(0)));
    let stages: Vec<_> = job["stages"].as_array().unwrap().iter().collect();
    assert!(stages.iter().any(|stage| stage["stage"] == "map"), "{stages:?}");
    let from_s = |stage: &&Value| stage["from_s"].as_f64().unwrap();
    assert!(stages.iter().map(from_s).is_sorted() && from_s(&stages[0]) == 0.0, "{stages:?}");
    let places = server.get(&format!("/api/jobs/{id}/places"));
    assert_eq!((&tiles["places"], &places["bytes"]), (&json!(1), &job["stats"]["bytes"]));
    assert!(places["paths"][0].as_str().unwrap().ends_with("long"), "{places}");
    let cells = places["cells"].as_array().unwrap();
    assert_eq!(
        (cells.len() as u64, &cells[1]),
        (tiles["tiles"].as_u64().unwrap(), &json!([0, 1 << 20, 0]))
    );
}

#[test]
fn streams_end_at_once_when_the_server_does() {
    use rustix::process::{Pid, Signal, kill_process};
    let mut server = Server::start(&[]);
    let mut child = server.child.take().unwrap();
    let mut told = None;
    let seen = events(&server, "/api/events", "", |_, _| {
        kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
        told = Some(Instant::now());
        false
    });
    assert!(told.unwrap().elapsed() < Duration::from_secs(2));
    assert_eq!(seen.len(), 1);
    assert!(child.wait().unwrap().success());
}

#[test]
fn who_comes_back_with_the_newest_id_gets_no_snapshot() {
    let mut server = Server::start(&[]);
    let id = server.submit(&["wordcount", "text"]);
    server.answer(id);
    for path in ["/api/events".to_owned(), format!("/api/events?job={id}")] {
        let first = events(&server, &path, "", |_, _| true);
        assert_eq!((first.len(), first[0].0.as_str()), (1, "snapshot"));
        let newest = first[0].2.clone().unwrap();
        let back = |server: &Server, id: &str| {
            let header = format!("Last-Event-ID: {id}\r\n");
            let submitted = server.submit(&["wordcount", "text"]);
            let seen = events(server, "/api/events", &header, |kind, data| {
                kind == "snapshot" || kind == "job" && data["id"] == submitted
            });
            seen[0].0.clone()
        };
        // Nothing has changed since.
        assert_eq!(events_of_a_second(&server, &path, &newest), Vec::<String>::new());
        assert_eq!(events_of_a_second(&server, &path, "other-1"), ["snapshot"]);
        if path == "/api/events" {
            // Something has changed since, which a snapshot tells best.
            assert_eq!(back(&server, &newest), "snapshot");
            assert_eq!(back(&server, "other-1"), "snapshot");
        }
    }
    server.kill();
    server.begin();
    let again = events(&server, "/api/events", "", |_, _| true);
    assert_eq!(again[0].1["jobs"].as_array().unwrap().len(), 3);
}

#[test]
fn a_stream_of_all_jobs_tells_of_new_and_changed_ones() {
    let server = Server::start(&[]);
    let seen = thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(300));
            server.submit(&["wordcount", "text"]);
        });
        events(&server, "/api/events", "", |kind, data| kind == "job" && data["state"] == "done")
    });
    assert_eq!(seen[0].0, "snapshot");
    assert_eq!(seen[0].1["machine"]["workers"], 4);
    assert!(seen.iter().any(|(kind, data, _)| kind == "machine" && data["workers"] == 4));
}

#[test]
fn metrics_are_text_that_ends_as_it_should() {
    let server = Server::start(&[]);
    server.answer(server.submit(&["wordcount", "text"]));
    let reply = server.ask("GET", "/metrics", None);
    assert!(reply.field("content-type").unwrap().starts_with("application/openmetrics-text"));
    let text = String::from_utf8(reply.body).unwrap();
    assert!(
        text.ends_with("# EOF\n") && text.contains("tegula_jobs{state=\"done\"} 1\n"),
        "{text}"
    );
    let names: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect();
    let mut sorted = names.clone();
    sorted.dedup();
    assert_eq!(names.len(), sorted.len());
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (name, value) = line.rsplit_once(' ').unwrap();
        assert!(
            value.parse::<f64>().is_ok() && names.iter().any(|known| name.starts_with(known)),
            "{line}"
        );
    }
}

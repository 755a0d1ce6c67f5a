//! Every example of docs/api.md is sent, in its order, and answered with the status and the fields that are said there.

use super::*;

/// An example: a request, its body, the status, and the body of the answer as far as it is told.
struct Example {
    method: String,
    path: String,
    body: Option<Value>,
    status: u16,
    kind: Option<String>,
    answer: String,
}

fn examples() -> Vec<Example> {
    let text = include_str!("../../../docs/api.md");
    let mut examples = Vec::new();
    // An example is a block of lines that are indented, the first of them a method and a path.
    for block in text.split("\n\n") {
        let lines: Vec<&str> = block.lines().filter_map(|line| line.strip_prefix("    ")).collect();
        let Some((method, path)) = lines.first().and_then(|line| line.split_once(' ')) else {
            continue;
        };
        if !["GET", "POST", "DELETE"].contains(&method) {
            continue;
        }
        let at = lines.iter().position(|line| line.starts_with("→ ")).unwrap();
        let (status, kind) = lines[at][4..]
            .split_once(' ')
            .map_or((&lines[at][4..], None), |(status, kind)| (status, Some(kind.to_owned())));
        let body = lines[1..at].concat();
        examples.push(Example {
            method: method.to_owned(),
            path: path.to_owned(),
            body: (!body.is_empty()).then(|| serde_json::from_str(&body).unwrap()),
            status: status.parse().unwrap_or_else(|_| panic!("{block}")),
            kind,
            answer: lines[at + 1..].join("\n"),
        });
    }
    examples
}

/// Returns the fields that an object in the text has, such as those of a summary.
fn fields_in(text: &str, begins: &str) -> Vec<String> {
    let line = text.lines().map(str::trim).find(|line| line.starts_with(begins)).unwrap();
    let object: Value = serde_json::from_str(line).unwrap();
    object.as_object().unwrap().keys().cloned().collect()
}

#[test]
fn every_example_is_answered_as_it_says() {
    // The example of a job runs while others are sent: it reads a pipe.
    let server = Server::start(&["--jobs-at-once", "1"]);
    let books = server.data().join("books");
    mknodat(CWD, &books, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    let text = include_str!("../../../docs/api.md");
    let summary = fields_in(text, "{\"id\":1,\"name\":\"books");
    let machine = fields_in(text, "{\"version\"");
    let examples = examples();
    assert!(examples.len() >= 12, "{} examples", examples.len());
    for Example { method, path, mut body, status, kind, answer } in examples {
        if let Some(folder) = body.as_mut().and_then(|body| body.get_mut("folder")) {
            *folder = json!(server.data());
        }
        if path.ends_with("/answer?from=0&count=10") || path.ends_with("timeline.svg") {
            if server.get("/api/jobs/1")["state"] == "running" {
                fs::write(&books, "to be or not to be\n").unwrap();
            }
            server.wait(1, &["done"]);
        }
        if path.starts_with("/api/events") {
            // A stream does not end; `watchers_see_the_newest_state` reads it.
            let bearer = server.bearer();
            let request =
                format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n{bearer}\r\n", server.port);
            let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
            stream.write_all(request.as_bytes()).unwrap();
            let mut first = [0; 12];
            stream.read_exact(&mut first).unwrap();
            assert!(first.ends_with(b"200"), "{path}");
            continue;
        }
        let reply = server.ask(&method, &path, body.as_ref());
        let said = String::from_utf8_lossy(&reply.body).into_owned();
        assert_eq!(reply.status, status, "{method} {path}: {said}");
        if let Some(kind) = kind {
            assert!(reply.field("content-type").unwrap().starts_with(&kind), "{path}");
            continue;
        }
        let has_all = |value: &Value, fields: &[String]| {
            let missing: Vec<_> =
                fields.iter().filter(|field| value.get(field).is_none()).collect();
            assert!(missing.is_empty(), "{method} {path} lacks {missing:?}: {value}");
        };
        match answer.as_str() {
            "" if status < 400 => assert!(said.is_empty()),
            "" => assert!(reply.json()["error"].is_string()),
            "SUMMARY" => has_all(&reply.json(), &summary),
            answer if answer.starts_with("{...SUMMARY") => {
                let snapshot =
                    ["tiles", "lanes", "history", "show", "bad", "stats", "stages", "shares"];
                has_all(&reply.json(), &summary);
                has_all(&reply.json(), &snapshot.map(str::to_owned));
            }
            answer if answer.contains("SUMMARY") => has_all(&reply.json()["jobs"][0], &summary),
            answer if answer.starts_with("{\"version\"") => has_all(&reply.json(), &machine),
            answer => assert_eq!(reply.json(), serde_json::from_str::<Value>(answer).unwrap()),
        }
    }
    assert_eq!(server.ask("DELETE", "/api/jobs/1", None).status, 409);
}

//! Requests that are too large, too slow, half or senseless end with themselves; the server goes on for others.

use super::*;

#[test]
fn too_large_too_long_and_malformed_requests_are_refused() {
    let server = Server::start(&[]);
    server.answer(server.submit(&["wordcount", "text"]));
    let bearer = server.bearer();
    let large = vec![b' '; 2 << 20];
    for path in ["/api/jobs", "/api/jobs/1/priority"] {
        assert_eq!(server.send("POST", path, &bearer, &large).status, 413, "{path}");
        for body in [
            &b""[..],
            b"{",
            b"[]",
            b"null",
            b"\xff\xfe",
            br#"{"command":"#,
            br#"{"command":"wordcount"}"#,
            br#"{"command":[1]}"#,
            br#"{"command":["wordcount","text"],"more":1}"#,
            br#"{"priority":"high"}"#,
            br#"{"priority":1e99}"#,
            br#"{"command":["wordcount","text"],"priority":101}"#,
            br#"{"command":["wordcount","text"],"memory_bytes":0}"#,
            br#"{"command":["wordcount","text"],"memory_bytes":99999999999999}"#,
            br#"{"command":["wordcount","text"],"least":9}"#,
            br#"{"command":["wordcount","text"],"least":3,"most":2}"#,
            br#"{"command":["wordcount","text"],"least":0}"#,
        ] {
            let reply = server.send("POST", path, &bearer, body);
            assert_eq!(reply.status, 400, "{path} {}", String::from_utf8_lossy(body));
        }
    }
    let nested = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(server.send("POST", "/api/jobs", &bearer, nested.as_bytes()).status, 400);
    let header = format!("{bearer}X: {}\r\n", "x".repeat(20_000));
    assert_eq!(server.send("GET", "/api/jobs", &header, b"").status, 431);
    for query in ["state=lost", "before=x", "count=-1", "other=1", "state=done&state=done"] {
        let status = server.ask("GET", &format!("/api/jobs?{query}"), None).status;
        assert_eq!(status, 400, "{query}");
    }
    for path in ["/api/jobs/1/answer?from=-1", "/api/jobs/1/log?tail=x", "/api/events?job=x"] {
        assert_eq!(server.ask("GET", path, None).status, 400, "{path}");
    }
    for (method, path) in [
        ("PUT", "/api/jobs"),
        ("POST", "/api/jobs/1"),
        ("DELETE", "/api/machine"),
        ("PATCH", "/api/jobs/1/priority"),
        ("POST", "/"),
        ("TRACE", "/api/jobs"),
    ] {
        let reply = server.ask(method, path, None);
        assert_eq!(reply.status, 405, "{method} {path}");
    }
    for bytes in [
        &b"\0\0\0\0\r\n\r\n"[..],
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\r\n\r\n",
    ] {
        let reply = String::from_utf8_lossy(&server.raw(bytes)).into_owned();
        assert!(reply.is_empty() || reply.contains(" 400 ") || reply.contains(" 505 "), "{reply}");
    }
    assert_eq!(server.get("/api/jobs")["jobs"].as_array().unwrap().len(), 1);
}

#[test]
fn a_thousand_clients_that_say_or_read_nothing_leave_room_for_others() {
    let server = Server::start(&[]);
    let silent: Vec<TcpStream> = (0..1000)
        .map(|number| {
            let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
            let request =
                format!("GET /uplot.js HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", server.port);
            match number % 3 {
                0 => stream.write_all(b"GET /api/jobs HTTP/1.1\r\nHost: ").unwrap(),
                // What it asks for is more than the system keeps for it.
                1 => stream.write_all(request.repeat(8).as_bytes()).unwrap(),
                _ => {}
            }
            stream
        })
        .collect();
    server.answer(server.submit(&["wordcount", "text"]));
    drop(silent);
}

/// More than may be connected, none of whom reads.
#[test]
fn clients_that_read_nothing_lose_their_places() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    const CLIENTS: usize = 1100;
    let mut files = getrlimit(Resource::Nofile);
    if files.maximum.is_some_and(|most| most < 4096) {
        println!("skipped: this process may have {:?} open files", files.maximum);
        return;
    }
    files.current = files.current.map(|now| now.max(4096));
    setrlimit(Resource::Nofile, files).unwrap();
    let server = Server::start(&["--send-within", "1"]);
    let request = format!("GET /uplot.js HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", server.port);
    // What it asks for is more than the system keeps for it.
    let request = request.repeat(64);
    let connect = || {
        let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        stream
    };
    let silent: Vec<TcpStream> = (0..CLIENTS).map(|_| connect()).collect();
    server.answer(server.submit(&["wordcount", "text"]));
    drop(silent);
}

#[test]
fn who_sends_slowly_is_cut_off() {
    let server = Server::start(&["--send-within", "1"]);
    let host = format!("Host: 127.0.0.1:{}\r\n", server.port);
    let bearer = server.bearer();
    let header = format!("GET /api/jobs HTTP/1.1\r\n{host}");
    let body = format!("POST /api/jobs HTTP/1.1\r\n{host}{bearer}Content-Length: 50\r\n\r\n");
    // Each has a byte a while after the last, so that the connection is never silent for long.
    let slow: Vec<_> = [header, body]
        .into_iter()
        .map(|begin| {
            let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
            stream.write_all(begin.as_bytes()).unwrap();
            let mut sends = stream.try_clone().unwrap();
            thread::spawn(move || {
                while sends.write_all(b"x").is_ok() {
                    thread::sleep(Duration::from_millis(100));
                }
            });
            stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
            (Instant::now(), stream)
        })
        .collect();
    for (began, mut stream) in slow {
        let mut reply = Vec::new();
        // It ends, by a reset if bytes were still on their way.
        let ended = stream.read_to_end(&mut reply);
        let is_late = ended.is_err_and(|cause| cause.kind() == std::io::ErrorKind::WouldBlock);
        assert!(!is_late && began.elapsed() < Duration::from_secs(8));
        assert!(!String::from_utf8_lossy(&reply).contains("HTTP/1.1 20"));
    }
    server.answer(server.submit(&["wordcount", "text"]));
}

#[test]
fn streams_that_nobody_reads_are_bounded() {
    let server = Server::start(&[]);
    let request = format!(
        "GET /api/events HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n{}\r\n",
        server.port,
        server.bearer()
    );
    let open = || {
        let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut status = [0; 12];
        stream.read_exact(&mut status).unwrap();
        (status, stream)
    };
    let streams: Vec<_> = (0..64).map(|_| open()).collect();
    assert!(streams.iter().all(|(status, _)| status.ends_with(b"200")));
    let (status, mut refused) = open();
    assert!(status.ends_with(b"429"));
    let mut rest = [0; 400];
    let _ = refused.read(&mut rest);
    assert!(String::from_utf8_lossy(&rest).to_lowercase().contains("retry-after: "));
    // Nobody reads them, and jobs go on.
    for _ in 0..5 {
        server.answer(server.submit(&["wordcount", "text"]));
    }
    drop(streams);
    within(10, || open().0.ends_with(b"200").then_some(()));
}

#[test]
fn a_full_queue_says_when_to_come_again() {
    let server = Server::start(&["--queue", "2", "--jobs-at-once", "1"]);
    let first = server.hold();
    let waiting = [server.submit(&["wordcount", "text"]), server.submit(&["wordcount", "text"])];
    let request = json!({ "command": ["wordcount", "text"] });
    let reply = server.ask("POST", "/api/jobs", Some(&request));
    assert_eq!((reply.status, reply.field("retry-after").is_some()), (429, true));
    assert_eq!(server.ask("POST", &format!("/api/jobs/{first}/again"), None).status, 429);
    for id in [waiting[0], waiting[1], first] {
        assert_eq!(server.ask("DELETE", &format!("/api/jobs/{id}"), None).status, 202);
    }
}

#[test]
fn answers_cannot_become_pages() {
    let server = Server::start(&[]);
    let text = "<img src=x onerror=alert(1)> </script> \u{202e}abc\n";
    fs::write(server.data().join("odd"), text).unwrap();
    let id = server.submit(&["wordcount", "odd"]);
    server.answer(id);
    for path in [
        "/",
        "/api/jobs/1",
        "/api/jobs/1/answer?count=5",
        "/api/jobs/1/log",
        "/api/jobs/1/timeline.svg",
        "/nothing",
    ] {
        let reply = server.ask("GET", path, None);
        assert_eq!(reply.field("x-content-type-options"), Some("nosniff"), "{path}");
        let policy = reply.field("content-security-policy").unwrap();
        assert!(
            policy.contains("default-src 'self'") || policy.contains("default-src 'none'"),
            "{path}"
        );
        assert!(path == "/" || !reply.field("content-type").unwrap().contains("html"), "{path}");
        assert_eq!(reply.field("cache-control"), Some("no-store"), "{path}");
    }
}

#[test]
fn files_of_the_page_are_compressed_for_those_who_can_read_it() {
    let server = Server::start(&[]);
    let packed = server.send("GET", "/app.js", "Accept-Encoding: gzip, br\r\n", b"");
    assert_eq!(
        (packed.field("content-encoding"), &packed.body[..2]),
        (Some("gzip"), &b"\x1f\x8b"[..])
    );
    let plain = server.send("GET", "/app.js", "", b"");
    assert_eq!(plain.field("content-encoding"), None);
    let mut content = Vec::new();
    flate2::read::GzDecoder::new(&packed.body[..]).read_to_end(&mut content).unwrap();
    assert!(content == plain.body && content == include_bytes!("../../../server/page/app.js"));
}

#[test]
fn two_servers_cannot_have_one_folder_or_one_port() {
    let server = Server::start(&[]);
    let mut command = server.command();
    let other = server.place.path().join("other");
    let address = format!("127.0.0.1:{}", server.port);
    command.args(["serve", "--listen", &address, "--home"]).arg(other);
    let taken = command.output().unwrap();
    let said = String::from_utf8_lossy(&taken.stderr).into_owned();
    assert!(taken.status.code() == Some(1) && said.contains("cannot listen"), "{said}");
    let mut command = server.command();
    command.args(["serve", "--listen", "127.0.0.1:0", "--home"]).arg(server.home());
    let locked = command.output().unwrap();
    let said = String::from_utf8_lossy(&locked.stderr).into_owned();
    assert!(locked.status.code() == Some(1) && said.contains("another server uses"), "{said}");
    server.answer(server.submit(&["wordcount", "text"]));
}

//! Every route wants the token, in a header or as a cookie; other sites cannot make a browser ask. Ray's jobs API had no
//! authentication at all (CVE-2023-48022).

use super::*;

/// Every route, with a method that it has and a body that makes sense.
const ROUTES: &[(&str, &str, &str)] = &[
    ("POST", "/api/session", ""),
    ("POST", "/api/jobs", r#"{"command":["wordcount","text"]}"#),
    ("GET", "/api/jobs", ""),
    ("GET", "/api/jobs/1", ""),
    ("DELETE", "/api/jobs/1", ""),
    ("POST", "/api/jobs/1/priority", r#"{"priority":1}"#),
    ("POST", "/api/jobs/1/again", ""),
    ("GET", "/api/jobs/1/places", ""),
    ("GET", "/api/jobs/1/answer", ""),
    ("GET", "/api/jobs/1/log", ""),
    ("GET", "/api/jobs/1/timeline.svg", ""),
    ("GET", "/api/machine", ""),
    ("GET", "/api/events", ""),
    ("GET", "/api/events?job=1", ""),
    ("GET", "/metrics", ""),
    ("GET", "/api/nothing", ""),
    ("PUT", "/api/jobs", "{}"),
];

#[test]
fn every_route_wants_the_token() {
    let server = Server::start(&[]);
    server.answer(server.submit(&["wordcount", "text"]));
    let wrong = format!("{:0<64}", &server.token[..63]);
    let port = server.port;
    let headers = [
        String::new(),
        "Authorization: Bearer \r\n".to_owned(),
        format!("Authorization: Bearer {wrong}\r\n"),
        format!("Authorization: Basic {}\r\n", server.token),
        format!("Authorization: {}\r\n", server.token),
        format!("Cookie: tegula-{port}={}\r\n", server.token),
        format!("Cookie: tegula-{port}=9999999999.{}\r\n", server.token),
    ];
    for (method, path, body) in ROUTES {
        for header in &headers {
            if wrong == server.token && header.contains(&wrong) {
                continue;
            }
            let reply = server.send(method, path, header, body.as_bytes());
            assert_eq!(reply.status, 401, "{method} {path} {header}");
            assert!(reply.json()["error"].is_string());
        }
    }
    // A token in the address ends in logs, so it does not count there.
    let path = format!("/api/jobs?token={}", server.token);
    assert_eq!(server.send("GET", &path, "", b"").status, 401);
    assert_eq!(server.get("/api/jobs")["jobs"].as_array().unwrap().len(), 1);
}

#[test]
fn other_sites_cannot_ask() {
    let server = Server::start(&[]);
    server.answer(server.submit(&["wordcount", "text"]));
    let bearer = server.bearer();
    for (method, path, body) in ROUTES {
        for host in ["evil.example", "127.0.0.1.evil.example", "127.0.0.1:1", "", "127.0.0.1"] {
            let header = format!("Host: {host}\r\n{bearer}");
            let reply = server.send(method, path, &header, body.as_bytes());
            assert_eq!(reply.status, 403, "{method} {path} {host}");
        }
        if *method == "GET" {
            continue;
        }
        for origin in ["http://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1"] {
            let header = format!("Origin: {origin}\r\n{bearer}");
            let reply = server.send(method, path, &header, body.as_bytes());
            assert_eq!(reply.status, 403, "{method} {path} {origin}");
        }
    }
    assert_eq!(server.get("/api/jobs")["jobs"].as_array().unwrap().len(), 1);
    // It may be asked by its names, and its own page may change things.
    let port = server.port;
    for host in [format!("localhost:{port}"), format!("[::1]:{port}")] {
        let header = format!("Host: {host}\r\nOrigin: http://{host}\r\n{bearer}");
        let body = br#"{"command":["wordcount","text"]}"#;
        assert_eq!(server.send("POST", "/api/jobs", &header, body).status, 201, "{host}");
    }
}

#[test]
fn a_page_trades_the_token_for_a_cookie_that_outlives_the_server() {
    let mut server = Server::start(&[]);
    let reply = server.ask("POST", "/api/session", None);
    assert_eq!((reply.status, reply.body.len()), (204, 0));
    let cookie = reply.field("set-cookie").unwrap();
    assert!(cookie.contains("; HttpOnly") && cookie.contains("; SameSite=Strict"), "{cookie}");
    assert!(!cookie.contains(&server.token));
    let header = format!("Cookie: {}\r\n", cookie.split(';').next().unwrap());
    assert_eq!(server.send("GET", "/api/jobs", &header, b"").status, 200);
    let token = server.token.clone();
    server.kill();
    // At the same port.
    server.begin();
    assert_eq!(server.token, token);
    assert_eq!(server.send("GET", "/api/jobs", &header, b"").status, 200);
}

#[test]
fn the_token_is_in_a_file_that_only_its_owner_reads() {
    use std::os::unix::fs::PermissionsExt;
    let server = Server::start(&[]);
    for path in [
        server.home().join("token"),
        server.home().join("session.key"),
        server.place.path().join(format!(".tegula/serve-{}.token", server.port)),
    ] {
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", path.display());
    }
    let mode = fs::metadata(server.home().join("jobs")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn a_token_that_others_know_or_guess_is_refused_and_kept() {
    use std::os::unix::fs::PermissionsExt;
    let server = Server::start(&[]);
    let file = server.place.path().join("chosen");
    let long = "a token that a person has chosen";
    for (token, mode, cause) in
        [(long, 0o644, "others can read"), ("short", 0o600, "16 characters")]
    {
        fs::write(&file, token).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        let mut command = server.command();
        command.args(["serve", "--listen", "127.0.0.1:0", "--token-file"]).arg(&file);
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(1) && said.contains(cause), "{said}");
        assert_eq!(fs::read_to_string(&file).unwrap(), token);
    }
}

#[test]
fn users_have_names_and_a_server_for_others_needs_them() {
    let place = tempfile::tempdir().unwrap();
    let tokens = place.path().join("tokens");
    fs::write(&tokens, "ann 0123456789abcdef 2\nbob fedcba9876543210 1 1\n").unwrap();
    let mut server = Server::start(&["--tokens", tokens.to_str().unwrap(), "--jobs-at-once", "1"]);
    server.token = "fedcba9876543210".to_owned();
    let id = server.submit(&["wordcount", "text"]);
    assert_eq!(server.wait(id, &["done"])["user"], "bob");
    server.token = "0123456789abcdef".to_owned();
    assert_eq!(server.get("/api/jobs?user=ann")["jobs"], json!([]));
    assert_eq!(server.get("/api/machine")["users"][0]["name"], "ann");

    let mut open = server.command();
    let open = open.args(["serve", "--listen", "0.0.0.0:0"]).output().unwrap();
    assert_eq!(open.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&open.stderr).contains("--token-file"));
}

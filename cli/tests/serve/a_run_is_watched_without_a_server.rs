//! `--watch` serves the page for one run, as long as that lasts, and leaves nothing behind.

use super::*;

#[test]
fn the_page_of_a_run_shows_it_while_it_lasts() {
    let mut server = Server::start(&[]);
    let pipe = server.pipe();
    let answer = server.place.path().join("answer");
    let temporary = server.place.path().join("temporary");
    fs::create_dir(&temporary).unwrap();
    let mut command = server.command();
    command.env("TMPDIR", &temporary).args(["wordcount", &pipe, "--watch", "-o"]).arg(&answer);
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("tegula: watch at http://127.0.0.1:");
    let (port, token) = address.unwrap_or_else(|| panic!("{line}")).split_once("/#token=").unwrap();
    // The same questions, to the other address.
    let own = (server.port, server.token.clone());
    (server.port, server.token) = (port.parse().unwrap(), token.to_owned());
    let job = within(10, || {
        let job = server.get("/api/jobs/1");
        job["progress"].is_object().then_some(job)
    });
    assert_eq!((&job["state"], &job["command"][0]), (&json!("running"), &json!("wordcount")));
    assert_eq!(server.ask("GET", "/", None).status, 200);
    assert_eq!(server.send("GET", "/api/jobs/1", "", b"").status, 401);
    let more = json!({ "command": ["wordcount", "text"] });
    assert!(matches!(server.ask("POST", "/api/jobs", Some(&more)).status, 403 | 429));
    fs::write(server.data().join(&pipe), "to be or not to be").unwrap();
    let job = server.wait(1, &["done"]);
    assert_eq!(job["stats"]["keys"], 4);
    assert!(child.wait().unwrap().success());
    assert_eq!(fs::read(answer).unwrap(), b"be\t2\nnot\t1\nor\t1\nto\t2\n");
    assert_eq!(fs::read_dir(temporary).unwrap().count(), 0);
    (server.port, server.token) = own;
}

/// A process that was killed leaves its folder, and another one may have its number.
#[test]
fn a_folder_that_was_left_behind_is_let_be() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("text"), "to be").unwrap();
    let script = r#"mkdir tegula-watch-$$ tegula-watch-$$-1 && exec "$0" wordcount text --watch"#;
    let mut run = Command::new("sh");
    run.args(["-c", script, env!("CARGO_BIN_EXE_tegula")]).current_dir(folder);
    let output = run.env("TMPDIR", folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.stdout, b"be\t1\nto\t1\n");
    assert_eq!(fs::read_dir(folder).unwrap().count(), 3);
}

//! A disk that is full refuses jobs and stops no server; a folder that cannot be written is said at once.

use super::*;
use std::os::unix::fs::symlink;

/// A small file system in memory, unmounted when it is dropped.
struct Small(PathBuf);

impl Small {
    /// Mounts one; `None` where this process may not.
    fn mount(at: PathBuf) -> Option<Small> {
        fs::create_dir(&at).unwrap();
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", "size=4m", "tmpfs"]).arg(&at).output();
        mounted.is_ok_and(|mounted| mounted.status.success()).then_some(Small(at))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_refuses_jobs_and_stops_no_server() {
    let place = tempfile::tempdir().unwrap();
    let Some(small) = Small::mount(place.path().join("home")) else {
        println!("skipped: this user may not mount a file system");
        return;
    };
    let server = Server::start_in(place, &[]);
    let before = server.answer(server.submit(&["wordcount", "text"]));
    let filler = small.0.join("filler");
    let mut file = fs::File::create(&filler).unwrap();
    while file.write_all(&[0; 4096]).is_ok() {}
    drop(file);
    let request = json!({ "command": ["wordcount", "text"] });
    let reply = server.ask("POST", "/api/jobs", Some(&request));
    let said = String::from_utf8_lossy(&reply.body).into_owned();
    assert!(reply.status == 500 && said.contains("cannot be kept"), "{}: {said}", reply.status);
    assert_eq!(server.get("/api/jobs")["jobs"].as_array().unwrap().len(), 1);
    assert_eq!(fs::read_dir(small.0.join("jobs")).unwrap().count(), 1);
    fs::remove_file(filler).unwrap();
    assert!(server.answer(server.submit(&["wordcount", "text"])) == before);
    drop(server);
}

/// A limit on the size of files stops the write as a full disk does; without the trap, it kills the server there.
#[test]
fn a_token_that_could_not_be_written_is_made_at_the_next_start() {
    for trap in ["trap '' XFSZ;", ""] {
        let place = tempfile::tempdir().unwrap();
        let home = place.path().join("home");
        let program = env!("CARGO_BIN_EXE_tegula");
        let serve =
            format!("{trap} ulimit -c 0; ulimit -f 0; exec {program} serve --listen 127.0.0.1:0");
        let mut command = Command::new("sh");
        command.arg("-c").arg(serve + " --home \"$HOME/home\"").env("HOME", place.path());
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && !home.join("token").exists(), "{trap}: {said}");
        if !trap.is_empty() {
            assert!(said.contains("home/token: cannot write"), "{said}");
            assert_eq!(fs::read_dir(&home).unwrap().count(), 0);
        }
        let server = Server::start_in(place, &[]);
        assert_eq!(server.token.len(), 64);
    }
}

#[test]
fn an_answer_that_does_not_fit_fails_its_job() {
    let place = tempfile::tempdir().unwrap();
    let Some(_small) = Small::mount(place.path().join("home")) else {
        println!("skipped: this user may not mount a file system");
        return;
    };
    let server = Server::start_in(place, &[]);
    let words: String = (0..400_000).map(|number| format!("word-{number} ")).collect();
    fs::write(server.data().join("many"), words).unwrap();
    let id = server.submit(&["wordcount", "many"]);
    let job = server.wait(id, &["failed", "done"]);
    assert!(job["message"].as_str().unwrap().contains("No space left"), "{job}");
    assert!(server.answer(server.submit(&["wordcount", "text"])).starts_with(b"be\t"));
    drop(server);
}

#[test]
fn a_folder_that_cannot_be_written_is_said_at_once() {
    let server = Server::start(&[]);
    let mut command = server.command();
    command.args(["serve", "--listen", "127.0.0.1:0", "--home", "/proc/tegula"]);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(1) && said.contains("/proc/tegula"), "{said}");

    // Without a place for the token, the server serves, and says that other commands will not find it.
    let place = tempfile::tempdir().unwrap();
    symlink("/proc/tegula", place.path().join(".tegula")).unwrap();
    let mut command = server.command();
    command.env("HOME", place.path()).args(["serve", "--listen", "127.0.0.1:0", "--home"]);
    command.arg(place.path().join("home")).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    child.kill().unwrap();
    let said = String::from_utf8(child.wait_with_output().unwrap().stderr).unwrap();
    assert!(
        line.starts_with("http://127.0.0.1:") && said.contains("the token is not kept"),
        "{said}"
    );
}

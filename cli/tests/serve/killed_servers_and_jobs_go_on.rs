//! `kill -9` of the server, of a job, or of both: all goes on from what was saved, the answers have the same bytes,
//! nothing that was done is done again, and no process is left.

use super::*;
use rustix::process::{Pid, Signal, kill_process};

fn kill_9(id: i32) {
    let _ = kill_process(Pid::from_raw(id).unwrap(), Signal::KILL);
}

fn state_of(server: &Server, id: u64) -> PathBuf {
    server.home().join(format!("jobs/{id}"))
}

/// Changes fields of the record of a job, while no server runs.
fn change_record(server: &Server, id: u64, fields: &Value) {
    let path = state_of(server, id).join("job.json");
    let mut job: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    job.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    fs::write(&path, job.to_string()).unwrap();
}

/// Waits until a job runs and has mapped something.
fn wait_until_it_maps(server: &Server, id: u64) {
    within(30, || {
        let job = server.get(&format!("/api/jobs/{id}"));
        assert!(job["state"] != "failed", "{job}");
        (job["state"] != "queued" && job["progress"]["bytes_done"].as_u64() > Some(0)).then_some(())
    });
}

/// Waits until a job has saved some of what it mapped.
fn wait_until_it_has_saved(server: &Server, id: u64) {
    within(30, || {
        let job = server.get(&format!("/api/jobs/{id}"));
        assert!(matches!(job["state"].as_str(), Some("queued" | "running")), "{job}");
        (job["tiles"]["counts"]["saved"].as_u64() > Some(0)).then_some(())
    });
}

#[test]
fn a_job_goes_on_after_kills_of_the_server_of_itself_and_of_both() {
    let mut server = Server::start(&[]);
    let expected = server.write_long();
    let done = server.submit(&["wordcount", "text"]);
    server.answer(done);
    for victims in ["server", "job", "both"] {
        let id = server.submit_slow();
        wait_until_it_has_saved(&server, id);
        if victims != "server" {
            let processes = processes_of(&state_of(&server, id));
            assert!(!processes.is_empty(), "{victims}: the job was over before it was killed");
            processes.into_iter().for_each(kill_9);
        }
        if victims != "job" {
            server.kill();
            within(10, || processes_of(&server.home()).is_empty().then_some(()));
            server.begin();
        }
        assert!(server.answer(id) == expected, "{victims}");
        let job = server.get(&format!("/api/jobs/{id}"));
        assert_eq!(job["attempts"], 2, "{victims}: {job}");
        assert!(job["stats"]["restored_bytes"].as_u64() > Some(0), "{victims}: {job}");
        assert!(!state_of(&server, id).join("state").exists());
    }
    assert_eq!(server.get(&format!("/api/jobs/{done}"))["attempts"], 1);
    server.kill();
    within(10, || processes_of(server.place.path()).is_empty().then_some(()));
}

#[test]
fn a_job_that_signals_end_again_and_again_fails_with_the_signal() {
    let server = Server::start(&[]);
    let id = server.submit_held();
    let job = within(60, || {
        processes_of(&state_of(&server, id)).into_iter().for_each(kill_9);
        let job = server.get(&format!("/api/jobs/{id}"));
        (job["state"] == "failed").then_some(job)
    });
    assert_eq!(
        (&job["signal"], &job["attempts"], &job["code"]),
        (&json!(9), &json!(3), &Value::Null)
    );
    assert!(job["message"].as_str().unwrap().contains("signal 9"), "{job}");
    assert_eq!(server.ask("GET", &format!("/api/jobs/{id}/answer"), None).status, 409);
}

#[test]
fn a_server_that_is_asked_to_end_leaves_its_jobs_to_the_next() {
    let mut server = Server::start(&["--jobs-at-once", "1"]);
    let expected = server.write_long();
    let ids = [server.submit_slow(), server.submit(&["wordcount", "text"])];
    wait_until_it_maps(&server, ids[0]);
    let ran_s = server.get(&format!("/api/jobs/{}", ids[0]))["elapsed_s"].as_f64().unwrap();
    let child = server.child.as_mut().unwrap();
    let pid = Pid::from_child(child);
    kill_process(pid, Signal::TERM).unwrap();
    assert!(child.wait().unwrap().success());
    server.child = None;
    within(10, || processes_of(&server.home()).is_empty().then_some(()));
    let record = fs::read(state_of(&server, ids[0]).join("job.json")).unwrap();
    let record: Value = serde_json::from_slice(&record).unwrap();
    assert!(record["elapsed_s"].as_f64().unwrap() >= ran_s, "{record}");
    server.begin();
    assert!(server.answer(ids[0]) == expected);
    server.answer(ids[1]);
}

#[test]
fn a_server_outlives_its_terminal_under_nohup() {
    let mut server = Server::start(&[]);
    server.kill();
    let command = server.serve_command();
    let mut nohup = Command::new("nohup");
    nohup.arg(command.get_program()).args(command.get_args()).current_dir(server.data());
    nohup.env("HOME", server.place.path()).stdin(Stdio::null());
    nohup.stdout(Stdio::piped());
    server.begin_as(nohup);
    let pid = Pid::from_child(server.child.as_ref().unwrap());
    // It watches for signals when it answers.
    server.get("/api/machine");
    kill_process(pid, Signal::HUP).unwrap();
    // It would be gone by then.
    thread::sleep(Duration::from_millis(500));
    server.answer(server.submit(&["wordcount", "text"]));
    kill_process(pid, Signal::TERM).unwrap();
    assert!(server.child.take().unwrap().wait().unwrap().success());
}

#[test]
fn damaged_folders_and_a_clock_that_was_set_back_stop_no_server() {
    let mut server = Server::start(&[]);
    let id = server.submit(&["wordcount", "text"]);
    server.answer(id);
    server.kill();
    let jobs = server.home().join("jobs");
    fs::create_dir(jobs.join("7")).unwrap();
    fs::create_dir(jobs.join("8")).unwrap();
    fs::write(jobs.join("8/job.json"), "{\"id\":8").unwrap();
    fs::write(jobs.join("stray"), "").unwrap();
    let record = fs::read_to_string(jobs.join("1/job.json")).unwrap();
    let later = record.replace("\"created_at_s\":1", "\"created_at_s\":9");
    fs::write(jobs.join("1/job.json"), later).unwrap();
    server.begin();
    assert_eq!(server.get("/api/jobs/1")["state"], "done");
    assert_eq!(server.ask("GET", "/api/jobs/8", None).status, 404);
    // A number that a folder has is never given again.
    assert_eq!(server.submit(&["wordcount", "text"]), 9);
}

/// As a server leaves it that is killed before the process of the job has ended.
#[test]
fn a_job_that_was_cancelled_does_not_run_again() {
    let mut server = Server::start(&[]);
    let id = server.hold();
    server.kill();
    let state = state_of(&server, id).join("state");
    fs::create_dir_all(&state).unwrap();
    change_record(&server, id, &json!({ "cancelling": true }));
    for _ in 0..2 {
        server.begin();
        let job = server.get(&format!("/api/jobs/{id}"));
        assert_eq!((&job["state"], &job["cancelling"]), (&json!("cancelled"), &json!(false)));
        assert!(job["ended_at_s"].as_f64() > job["started_at_s"].as_f64(), "{job}");
        assert!(!state.exists());
        server.kill();
    }
}

/// As when a server with more memory and cores has taken it in.
#[test]
fn a_job_that_asked_for_more_than_the_server_has_gets_what_there_is() {
    let mut server = Server::start(&["--jobs-at-once", "1"]);
    let held = server.hold();
    let ids = [(); 2].map(|()| server.submit(&["wordcount", "text"]));
    server.kill();
    change_record(&server, held, &json!({ "state": "cancelled", "ended_at_s": 1e9 }));
    let more = json!({ "memory_bytes": 9_u64 << 40, "least": 5, "most": 1000 });
    change_record(&server, ids[0], &more);
    server.begin();
    ids.iter().for_each(|&id| drop(server.answer(id)));
    let job = server.get(&format!("/api/jobs/{}", ids[0]));
    let given = (&job["memory_bytes"], &job["least"], &job["most"]);
    assert_eq!(given, (&json!(4_u64 << 30), &json!(4), &json!(4)));
}

/// What a request leaves open is for the server to decide that runs the job.
#[test]
fn a_job_that_is_submitted_again_has_the_limits_of_the_present_server() {
    let mut server = Server::start(&["--jobs-at-once", "1"]);
    let id = server.submit(&["wordcount", "text"]);
    let most = server.submit_with(&json!({ "command": ["wordcount", "text"], "most": 3 }));
    [id, most].iter().for_each(|&id| drop(server.answer(id)));
    server.kill();
    server.arguments = ["--jobs-at-once", "4"].map(str::to_owned).to_vec();
    server.begin();
    for (id, most) in [(id, 4), (most, 3)] {
        let reply = server.ask("POST", &format!("/api/jobs/{id}/again"), None);
        let again = server.get(&format!("/api/jobs/{}", reply.json()["id"]));
        assert_eq!((&again["memory_bytes"], &again["most"]), (&json!(1 << 30), &json!(most)));
    }
}

/// As a server leaves them that was killed while it removed the state of a job.
#[test]
fn states_of_jobs_that_are_over_are_removed_by_the_next_server() {
    let mut server = Server::start(&[]);
    let id = server.submit(&["wordcount", "text"]);
    server.answer(id);
    server.kill();
    let left = ["state", "state.removed", "scratch"].map(|name| state_of(&server, id).join(name));
    for folder in &left {
        fs::create_dir_all(folder.join("run")).unwrap();
        fs::write(folder.join("run/snapshot-00000001"), "").unwrap();
    }
    server.begin();
    assert_eq!(server.get(&format!("/api/jobs/{id}"))["state"], "done");
    assert!(left.iter().all(|folder| !folder.exists()));
}

#[test]
fn jobs_that_are_over_for_long_are_removed() {
    let mut server = Server::start(&[]);
    let ids = [server.submit(&["wordcount", "text"]), server.submit(&["wordcount", "text"])];
    ids.iter().for_each(|&id| drop(server.answer(id)));
    server.kill();
    change_record(&server, ids[0], &json!({ "ended_at_s": 1000.0 }));
    server.begin();
    within(10, || (server.ask("GET", "/api/jobs/1", None).status == 404).then_some(()));
    assert!(!server.home().join("jobs/1").exists());
    assert_eq!(server.get("/api/jobs/2")["state"], "done");
    server.kill();
    change_record(&server, ids[1], &json!({ "ended_at_s": 1000.0 }));
    server.begin();
    within(10, || (server.ask("GET", "/api/jobs/2", None).status == 404).then_some(()));
    server.kill();
    server.begin();
    // Numbers that were given are not given again.
    assert_eq!(server.submit(&["wordcount", "text"]), 3);
}

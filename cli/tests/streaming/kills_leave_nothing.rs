//! A run that is killed or interrupted leaves no process, no folder and no part of an answer; the same command then gives
//! the whole answer.

use super::Place;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use std::fs::{self, File};
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

/// Writes its number to a file and waits, in a child of its own.
const STUCK: &str = "sh -c 'sleep 1000 & echo $! > $NOTE; wait'";

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(20), "not within 20 s: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

fn is_alive(note: &Path) -> bool {
    let pid = fs::read_to_string(note).unwrap().trim().parse().unwrap();
    test_kill_process(Pid::from_raw(pid).unwrap()).is_ok()
}

#[test]
fn neither_map_nor_reduce_outlives_its_run() {
    for (signal, code) in
        [(Signal::KILL, None), (Signal::INT, Some(130)), (Signal::TERM, Some(130))]
    {
        for stuck in [["-mapper", STUCK, "-reducer", "cat"], ["-mapper", "cat", "-reducer", STUCK]]
        {
            let place = Place::with(&[("in", b"a\nb\n")]);
            let note = place.path("note");
            let mut command = place.command(&stuck);
            let run = command.env("NOTE", &note).stderr(Stdio::null()).spawn();
            let mut run = run.unwrap();
            wait_until("the command runs", || {
                fs::read_to_string(&note).is_ok_and(|it| it.ends_with('\n'))
            });
            kill_process(Pid::from_child(&run), signal).unwrap();
            let mut ended = None;
            wait_until("the run ends", || {
                ended = run.try_wait().unwrap();
                ended.is_some()
            });
            assert_eq!(ended.unwrap().code(), code, "{stuck:?}");
            wait_until("its process is gone", || !is_alive(&note));
            wait_until("its folders are gone", || place.is_clean());
            assert!(!place.path("out").exists());
            assert_eq!(place.single(&["-mapper", "cat", "-reducer", "cat"]), "a\t\nb\t\n");
        }
    }
}

#[test]
fn what_a_killed_run_left_is_no_part_of_an_answer() {
    // As after a loss of power between the last part file and the folder's name.
    let left = ".out._temporary-1-0";
    let place = Place::with(&[
        ("in", b"a\n"),
        (&format!("{left}/part-00009"), b"old\n"),
        (&format!("{left}/_SUCCESS"), b""),
    ]);
    let hour_ago = SystemTime::now() - Duration::from_secs(3600);
    File::open(place.path(left)).unwrap().set_modified(hour_ago).unwrap();
    let parts = place.answer(&["-mapper", "cat", "-reducer", "cat"]);
    assert_eq!(
        parts.into_iter().collect::<Vec<_>>(),
        [("part-00000".to_owned(), "a\t\n".to_owned())]
    );
    assert!(place.is_clean());
}

#[test]
fn two_runs_do_not_write_one_answer() {
    let place = Place::with(&[("in", b"a\n")]);
    let note = place.path("note");
    let mut first = place
        .command(&["-mapper", STUCK])
        .env("NOTE", &note)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_until("the first runs", || note.exists());
    let second = place.command(&["-mapper", "cat"]).output().unwrap();
    assert!(super::said(&second).contains("another run is writing it"), "{}", super::said(&second));
    first.kill().unwrap();
    first.wait().unwrap();
    wait_until("its folders are gone", || place.is_clean());
}

#[test]
fn nor_does_a_run_that_is_killed_while_it_begins() {
    let place = Place::with(&[("in", b"a\n")]);
    for half_ms in 0..80 {
        let mut command = place.command(&["-mapper", STUCK]);
        let mut run = command.env("NOTE", "note").stderr(Stdio::null()).spawn().unwrap();
        thread::sleep(Duration::from_micros(500 * half_ms));
        run.kill().unwrap();
        run.wait().unwrap();
        wait_until("its folders are gone", || place.is_clean());
    }
}

#[test]
fn nor_does_a_run_that_is_killed_while_it_ends() {
    const FILES: &str = "sh -c 'i=0; while [ $i -lt 400 ]; do : > $mapreduce_job_local_dir/$i; i=$((i+1)); done; cat'";
    let place = Place::with(&[("in", b"a\n")]);
    let run = || {
        let _ = fs::remove_dir_all(place.path("out"));
        let mut command = place.command(&["-mapper", FILES, "-reducer", "cat"]);
        command.stderr(Stdio::null()).spawn().unwrap()
    };
    for half_ms in 0..30 {
        let mut run = run();
        // The answer has its name before the folders go.
        wait_until("the answer is there", || place.path("out/_SUCCESS").exists());
        thread::sleep(Duration::from_micros(500 * half_ms));
        let _ = run.kill();
        run.wait().unwrap();
        wait_until("its folders are gone", || place.is_clean());
    }
}

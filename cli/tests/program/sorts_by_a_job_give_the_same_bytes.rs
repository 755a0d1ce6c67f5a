//! A sort that is done by a job, because its flags ask for a state, tiles, groups or nodes, writes the bytes of the other
//! sort; killed, it goes on from what was saved.

use super::*;
use rustix::process::{Pid, Signal, kill_process};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Returns bytes that look random and are always the same.
fn noise(count: usize, least: u8, kinds: u64) -> Vec<u8> {
    let mut number = 0x9e37_79b9_7f4a_7c15_u64;
    let next = |_| {
        number =
            number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        least + ((number >> 40) % kinds) as u8
    };
    (0..count).map(next).collect()
}

fn sorted(folder: &Path, arguments: &[&str]) -> Vec<u8> {
    let output = tegula().arg("sort").args(arguments).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

#[test]
fn with_all_that_can_be_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    // Lines of few letters, many of them alike or empty, some with a zero byte; the last lines of both files have no end.
    let mut lines = noise(60_000, b'a', 6);
    lines.iter_mut().filter(|byte| **byte == b'e').for_each(|byte| *byte = b'\n');
    lines.iter_mut().filter(|byte| **byte == b'f').for_each(|byte| *byte = 0);
    lines.push(b'x');
    write(folder.path(), "lines/1", &lines);
    write(folder.path(), "lines/2", &lines[..7001]);
    write(folder.path(), "records/1", noise(60_000, 0, 256));
    write(folder.path(), "records/2", noise(3_000, 250, 6));
    for what in [
        &["lines"][..],
        &["lines", "--reverse"],
        &["lines", "--unique"],
        &["lines", "--key=1..3"],
        &["lines", "--key=1..3", "--reverse", "--unique"],
        &["records", "--records=fixed:3"],
        &["records", "--records=fixed:4", "--key=1..2"],
        &["records", "--records=terasort", "--reverse"],
    ] {
        let expected = sorted(folder.path(), what);
        assert!(!expected.is_empty());
        for how in [&["--tile=4k", "-j3"][..], &["--pipeline=off", "-j1"], &["--groups=2", "-j2"]] {
            assert!(sorted(folder.path(), &[what, how].concat()) == expected, "{what:?} {how:?}");
        }
    }
    let expected = sorted(folder.path(), &["lines", "--key=0..2"]);
    for how in [&["--nodes=local:2"][..], &["--tile=4k", "--memory=64M"]] {
        let what = [&["lines", "--key=0..2"], how].concat();
        assert!(sorted(folder.path(), &what) == expected, "{how:?}");
    }
}

#[test]
fn after_a_kill_without_doing_again_what_was_saved() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let text: String = (0..300_000_u64)
        .map(|i| format!("{:05} {i}\n", i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48))
        .collect();
    fs::write(path("text"), &text).unwrap();
    let expected = sorted(folder.path(), &["text", "--key=0..5"]);
    let command = || {
        let mut command = tegula();
        command.args(["sort", "text", "--key=0..5", "--state=state", "--job=job", "-o", "out"]);
        command.args(["--tile=64k", "--save-every=1tiles", "--stats-json=stats"]);
        command.current_dir(folder.path());
        command
    };
    let mut killed = command().spawn().unwrap();
    let begin = Instant::now();
    let saved = || path("state/job/manifest").exists();
    while !saved() && killed.try_wait().unwrap().is_none() {
        assert!(begin.elapsed() < Duration::from_secs(20), "nothing was saved");
        sleep(Duration::from_millis(1));
    }
    let _ = kill_process(Pid::from_child(&killed), Signal::KILL);
    assert!(!killed.wait().unwrap().success() && !path("out").exists());
    let report = || tegula::state::report(&path("state"), "job").unwrap().unwrap();
    let there = report().mapped_bytes;
    let restored = || {
        assert!(command().status().unwrap().success());
        assert!(fs::read(path("out")).unwrap() == expected);
        let stats = fs::read(path("stats")).unwrap();
        let stats: serde_json::Value = serde_json::from_slice(&stats).unwrap();
        stats["restored_bytes"].as_u64().unwrap()
    };
    assert_eq!(restored(), there);
    assert!(report().done);
    assert_eq!(restored(), text.len() as u64);
    // In another order, and only the first of each key: the same records are there.
    let more = ["--state=state", "--job=job", "--tile=64k", "--key=0..5", "--reverse", "--unique"];
    let found = sorted(folder.path(), &[&["text"], &more[..]].concat());
    assert!(found == sorted(folder.path(), &["text", "--key=0..5", "--reverse", "--unique"]));
    let other = tegula()
        .args(["sort", "text", "--state=state", "--job=job", "--tile=64k"])
        .current_dir(folder.path())
        .output();
    check_fault(&other.unwrap(), 1, &["another job", "key was"]);
}

//! Each node writes its part of an answer to a file of its own: one after the other, the files are the answer of one
//! machine, whichever node is lost, and the driver holds none of it.

use super::*;
use crate::interrupts_leave_nothing_behind::{interruptible, start};
use crate::nodes_survive_kills::nodes_of;
use rustix::process::{Pid, Signal, kill_process};
use std::os::unix::fs::symlink;
use std::process::Child;

fn started(folder: &Path, arguments: &[&str]) -> Child {
    let mut command = tegula();
    command.args(arguments).current_dir(folder);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    started(folder, arguments).wait_with_output().unwrap()
}

/// The parts in a folder, one after the other.
fn joined(folder: &Path) -> Vec<u8> {
    let parts = names(folder);
    let named = (0..parts.len()).map(|at| format!("part-{at:05}"));
    assert_eq!(parts, named.collect::<Vec<_>>());
    parts.iter().flat_map(|part| fs::read(folder.join(part)).unwrap()).collect()
}

#[test]
fn which_are_the_answer_one_after_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let words = (0..60_000).map(|at| format!("word{} {at}\n", at * 7 % 997));
    write(at, "text", words.collect::<String>());
    write(at, "none", "");
    let cases: &[(&[&str], &str, usize)] = &[
        (&["wordcount", "text"], "local:2x1", 2),
        (&["wordcount", "text", "--format", "jsonl"], "local:1x1,1x1:64M:streamed", 1),
        (&["grep", "word1", "text"], "local:3x1", 3),
        (&["wordcount", "none"], "local:2x1", 1),
    ];
    for (number, (command, nodes, parts)) in cases.iter().enumerate() {
        let common = [*command, &["--order", "none", "--tile", "32k"]].concat();
        let alone = answer(run(at, &common));
        let out = format!("out{number}");
        let written = run(at, &[&common[..], &["--nodes", nodes, "--parts", &out]].concat());
        assert!(answer(written).is_empty(), "the answer is in files");
        // A node that comes late has no part.
        assert!((1..=*parts).contains(&names(&at.join(&out)).len()), "{command:?}");
        assert!(joined(&at.join(&out)) == alone, "{command:?} over {nodes}");
    }
    assert_eq!(names(at), ["none", "out0", "out1", "out2", "out3", "text"]);
}

#[test]
fn whichever_node_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write(
        at,
        "text",
        (0..400_000).map(|at| format!("w{} ", at * 31 % 300_007)).collect::<String>(),
    );
    let common = ["wordcount", "text", "--order", "none", "--tile", "256k"];
    let alone = answer(run(at, &common));
    let mut losses = 0;
    for delay_ms in [0, 20, 60, 200, 600] {
        let out = format!("out{delay_ms}");
        let driver =
            started(at, &[&common[..], &["--nodes", "local:3x1", "--parts", &out]].concat());
        wait_until("nodes are started", || nodes_of(&driver).len() == 3);
        sleep(Duration::from_millis(delay_ms));
        // It may have ended already.
        nodes_of(&driver).first().map(|&node| kill_process(node, Signal::KILL));
        assert!(answer(driver.wait_with_output().unwrap()).is_empty());
        losses += usize::from(names(&at.join(&out)).len() < 3);
        assert!(joined(&at.join(&out)) == alone, "killed after {delay_ms} ms");
    }
    assert!(losses > 0, "no node was lost in time");
    assert!(names(at).iter().all(|name| !name.starts_with('.')), "{:?}", names(at));
}

/// The nodes that have written their parts make others when one is lost before all have.
#[test]
fn also_when_some_have_written_theirs() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write(
        at,
        "text",
        (0..300_000).map(|at| format!("w{} ", at * 31 % 300_007)).collect::<String>(),
    );
    let common = ["wordcount", "text", "--order", "none", "--tile", "256k"];
    let alone = answer(run(at, &common));
    let hidden = || names(at).into_iter().find(|name| name.starts_with('.'));
    // The parts in the hidden folder, by attempt and number.
    let parts = || {
        let found = hidden().and_then(|hidden| fs::read_dir(at.join(hidden)).ok());
        let found = found.into_iter().flatten().filter_map(Result::ok);
        found.map(|part| part.file_name().into_string().unwrap()).collect::<Vec<String>>()
    };
    let was_written_again = (0..10).any(|attempt| {
        let out = format!("out{attempt}");
        let nodes = ["--nodes", "local:4x1", "--parts", &out];
        let mut driver = started(at, &[&common[..], &nodes].concat());
        while driver.try_wait().unwrap().is_none() && parts().is_empty() {}
        nodes_of(&driver).first().map(|&node| kill_process(node, Signal::KILL));
        let mut is_second = false;
        while driver.try_wait().unwrap().is_none() {
            is_second |= parts().iter().any(|part| !part.starts_with("1-") && part != "whole");
        }
        assert!(answer(driver.wait_with_output().unwrap()).is_empty());
        assert!(joined(&at.join(&out)) == alone);
        is_second
    });
    assert!(was_written_again, "no node was lost in time");
}

/// The pairs of three million keys take more than 100 MB on one machine.
#[test]
fn and_keep_the_driver_small() {
    const KEYS: usize = 3_000_000;
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write(at, "text", (0..KEYS).map(|at| format!("{:x}\n", at * 7919)).collect::<String>());
    let common = ["wordcount", "text", "--order", "none", "--tile", "1M"];
    let alone = run(at, &[&common[..], &["-o", "alone", "--stats-json", "alone.json"]].concat());
    answer(alone);
    let parts = ["--nodes", "local:2x1", "--parts", "out", "--stats-json", "driver.json"];
    answer(run(at, &[&common[..], &parts].concat()));
    let stats = |file: &str| {
        let text = fs::read(at.join(file)).unwrap();
        serde_json::from_slice::<serde_json::Value>(&text).unwrap()
    };
    let (alone, driver) = (stats("alone.json"), stats("driver.json"));
    for figure in ["keys", "key_value_bytes", "pairs"] {
        assert_eq!(alone[figure], driver[figure], "{figure}");
    }
    assert_eq!(alone["keys"], KEYS);
    let peak = |stats: &serde_json::Value| stats["memory_resident_peak"].as_u64().unwrap();
    assert!(peak(&driver) * 3 < peak(&alone), "{} beside {}", peak(&driver), peak(&alone));
    assert!(joined(&at.join("out")) == fs::read(at.join("alone")).unwrap());
}

/// Nodes put their parts there while the driver ends.
#[test]
fn and_nothing_of_them_is_left_after_an_interrupt() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write(at, "text", (0..100_000).map(|at| format!("w{at} ")).collect::<String>());
    let hidden = || names(at).into_iter().find(|name| name.starts_with('.'));
    let has_parts = || {
        let parts = hidden().and_then(|hidden| fs::read_dir(at.join(hidden)).ok());
        parts.is_some_and(|mut parts| parts.next().is_some())
    };
    let mut interrupts = 0;
    for attempt in 0..8 {
        let out = format!("out{attempt}");
        let command = ["wordcount", "text", "--order", "none", "--tile", "64k"];
        let parts = ["--nodes", "local:4x1", "--parts", &out];
        let mut driver = start(interruptible().args(command).args(parts).current_dir(at));
        while driver.try_wait().unwrap().is_none() && !has_parts() {}
        if driver.try_wait().unwrap().is_none() {
            kill_process(Pid::from_child(&driver), Signal::INT).unwrap();
        }
        interrupts += usize::from(driver.wait().unwrap().code() == Some(130));
        assert_eq!(hidden(), None);
    }
    assert!(interrupts > 0, "no run was interrupted in time");
}

#[test]
fn only_where_that_can_be() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write(at, "text", "a b\n");
    write(at, "full/file", "");
    let nodes = ["--nodes", "local:2x1", "--parts", "out"];
    let none = ["--order", "none"];
    let cases: &[(&[&str], &[&str], &str)] = &[
        (&["wordcount", "text"], &nodes, "--order none"),
        (&["wordcount", "text", "--top", "1"], &[&none[..], &nodes].concat(), "--top"),
        (
            &["wordcount", "text", "--state", "s", "--job", "j"],
            &[&none[..], &nodes].concat(),
            "--state",
        ),
        (&["index", "text"], &[&none[..], &nodes].concat(), "--output"),
        (
            &["wordcount", "text"],
            &[&none[..], &["--nodes", "local:2x1", "--parts", "full"]].concat(),
            "has files",
        ),
    ];
    for (command, more, said) in cases {
        check_fault(&run(at, &[*command, more].concat()), 2, &["--parts", said]);
    }
    for more in [&["--parts", "out"][..], &[&nodes[..], &["-o", "file"]].concat()] {
        assert_eq!(run(at, &[&["wordcount", "text"], more].concat()).status.code(), Some(2));
    }
    let refused = ["wordcount", "text", "--order", "none", "--nodes", "local:2x1"];
    symlink("nowhere", at.join("dangling")).unwrap();
    for folder in ["not/there", "text", "dangling"] {
        let output = run(at, &[&refused[..], &["--parts", folder]].concat());
        check_fault(&output, 1, &[folder, "cannot be created"]);
    }
    symlink("empty", at.join("link")).unwrap();
    fs::create_dir(at.join("empty")).unwrap();
    assert!(answer(run(at, &[&refused[..], &["--parts", "link"]].concat())).is_empty());
    assert_eq!(joined(&at.join("empty")), answer(run(at, &refused[..4])));
    assert_eq!(names(at), ["dangling", "empty", "full", "link", "text"]);
}

#[test]
fn and_an_interrupt_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write(at, "text", (0..400_000).map(|at| format!("w{at} ")).collect::<String>());
    // Of much input, so that nodes are at work for seconds unless they are stopped.
    let command =
        [&["wordcount"][..], &["text"; 400], &["--order", "none", "--tile", "1m"]].concat();
    let parts = ["--nodes", "local:2x1", "--parts", "out"];
    let driver = start(interruptible().args(command).args(parts).current_dir(at));
    wait_until("nodes are started", || nodes_of(&driver).len() == 2);
    nodes_of(&driver).iter().for_each(|&node| kill_process(node, Signal::STOP).unwrap());
    wait_until("a folder is made", || names(at).len() == 2);
    kill_process(Pid::from_child(&driver), Signal::INT).unwrap();
    let output = driver.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(names(at), ["text"]);
}

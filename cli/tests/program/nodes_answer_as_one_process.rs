//! `--nodes` changes no byte of an answer, whatever the command, the nodes, and the moment at which some are lost.

use super::*;
use crate::nodes_survive_kills::nodes_of;
use rustix::process::{Pid, Signal, kill_process};

/// Runs a command alone, and over nodes.
fn both(arguments: &[&str], nodes: &str, folder: &Path) -> (Vec<u8>, Vec<u8>) {
    let run = |more: &[&str]| {
        let mut command = tegula();
        command.args(&arguments[..1]).args(more).args(&arguments[1..]).current_dir(folder);
        answer(command.output().unwrap())
    };
    (run(&[]), run(&["--nodes", nodes]))
}

fn lines(count: usize) -> String {
    (0..count).map(|at| format!("word{} {at};{}.{}\n", at * 7 % 997, at % 90, at % 10)).collect()
}

#[test]
fn for_each_command() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write(at, "text/a", lines(30_000));
    write(at, "text/b", lines(900));
    write(at, "text/empty", "");
    let points = (0..3000).map(|at| format!("{} {}\n", at * 7 % 997, at * 3 % 101));
    write(at, "points", points.collect::<String>());
    let log = (0..3000).map(|at| format!("user{} login {at}\n", at * 7 % 97));
    write(at, "log", log.collect::<String>());
    let pixels = (0..90 * 70 * 3).map(|at| (at * 7 % 251) as u8);
    write(at, "picture.ppm", b"P6 90 70 255\n".iter().copied().chain(pixels).collect::<Vec<u8>>());
    let commands: &[&[&str]] = &[
        &["wordcount", "text", "--tile", "32k"],
        &["wordcount", "text", "--tile", "32k", "--top", "7", "--words", "alpha"],
        &["wordcount", "text", "--tile", "32k", "--order", "none", "--format", "jsonl"],
        &["index", "text", "--tile", "32k"],
        &["stations", "text", "--tile", "32k"],
        &["grep", "word1", "text", "--tile", "32k"],
        &["top", "5", "text", "--tile", "32k", "--separator", ";"],
        &["kmeans", "-k", "3", "points", "--tile", "4k"],
        &["linreg", "points", "--tile", "4k"],
        &["logstats", "log", "--tile", "4k"],
        &["histogram", "picture.ppm", "--tile", "4k"],
        &["stringmatch", "--key", "word7 1;1.1", "text", "--tile", "32k"],
    ];
    for (at_command, command) in commands.iter().enumerate() {
        let nodes = ["local:2x1", "local:1", "local:3x1,1x2"][at_command % 3];
        let (alone, together) = both(command, nodes, at);
        assert!(!alone.is_empty() && alone == together, "{command:?} over {nodes}");
    }
}

#[test]
fn however_many_tiles_there_are() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "small", "to be or not to be\n");
    write(folder.path(), "none", "");
    write(folder.path(), "one", "word".repeat(300_000));
    for file in ["small", "none", "one"] {
        let (alone, together) =
            both(&["wordcount", file, "--tile", "1k"], "local:4x1", folder.path());
        assert!(alone == together, "{file}");
    }
}

/// A byte of pairs is enough for an exchange with `--gather 1`.
#[test]
fn when_nodes_exchange_their_pairs() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write(at, "text/a", lines(20_000));
    write(at, "text/b", lines(900));
    let commands: &[&[&str]] = &[
        &["wordcount", "text"],
        &["wordcount", "text", "--order", "value"],
        &["wordcount", "text", "--order", "none", "--format", "jsonl"],
        &["wordcount", "text", "--top", "7"],
        &["wordcount", "text", "--top", "700", "--order", "key"],
        &["index", "text"],
        &["stations", "text"],
    ];
    for (at_command, command) in commands.iter().enumerate() {
        let nodes = ["local:2x1", "local:3x1,1x2", "local:1x1,2x1:64M:streamed"][at_command % 3];
        let run = |more: &[&str]| {
            let mut run = tegula();
            run.args(*command).args(["--tile", "32k"]).args(more).current_dir(at);
            answer(run.output().unwrap())
        };
        let (alone, together) = (run(&[]), run(&["--nodes", nodes, "--gather", "1"]));
        assert!(!alone.is_empty() && alone == together, "{command:?} over {nodes}");
    }
}

#[test]
fn with_little_memory() {
    let folder = tempfile::tempdir().unwrap();
    let words: String = (0..700_000).map(|at| format!("w{} ", at * 31 % 500_009)).collect();
    write(folder.path(), "text", words);
    let command = ["wordcount", "text", "--tile", "256k"];
    let (alone, together) = both(&command, "local:1x1:64M,1x1", folder.path());
    assert!(alone == together);
}

/// The kernel's count of the largest resident size of a process, in bytes.
fn resident_most(process: Pid) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}

/// Places of words show that splits have the same numbers on a node that others send the input to, and a compressed
/// file that it is read before the first lease.
#[test]
fn with_nodes_that_are_sent_the_input() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write(at, "text/a", lines(60_000));
    write(at, "text/b", lines(900));
    write(at, "text/empty", "");
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(lines(9000).as_bytes()).unwrap();
    write(at, "text/packed.gz", packed.finish().unwrap());
    let all_units = ["streamed", "streamed=256k"];
    for (command, units) in ["wordcount", "index"].into_iter().zip(all_units) {
        let arguments = [command, "text", "--tile", "32k"];
        let (alone, together) = both(&arguments, &format!("local:1x1,2x1:64M:{units}"), at);
        assert!(!alone.is_empty() && alone == together, "{command}, {units}");
    }
}

/// A device has the points of all leases of its node from the round before, and is given those of one lease at a time.
#[test]
fn with_devices_in_rounds() {
    let folder = tempfile::tempdir().unwrap();
    let point = |row: u32| format!("{} {}\n", row.wrapping_mul(row) % 1009, row % 97);
    write(folder.path(), "points", (0..20_000).map(point).collect::<String>());
    let shape = ["--rounds", "200", "--tile", "64k", "--device", "emulated"];
    let arguments = [&["kmeans", "-k", "3", "points"], &shape[..]].concat();
    for nodes in ["local:1x1", "local:2x1"] {
        let (alone, together) = both(&arguments, nodes, folder.path());
        assert!(!alone.is_empty() && alone == together, "{nodes}");
    }
}

/// One word has more than that memory: the node cannot map it, and the driver does.
#[test]
fn and_keeps_such_a_node_to_its_memory() {
    const LIMIT: u64 = 64 << 20;
    let folder = tempfile::tempdir().unwrap();
    let words: String = (0..1_250_000).map(|at| format!("w{} ", at * 31 % 500_009)).collect();
    let long = "w".repeat(80 << 20);
    write(folder.path(), "text", [&words, &long, " ", &words].concat());
    let command = |more: &[&str]| {
        let mut command = tegula();
        command.args(["wordcount", "text", "--tile", "1M"]).args(more).current_dir(folder.path());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let alone = answer(command(&[]).wait_with_output().unwrap());
    let mut driver = command(&["--nodes", "local:1x1,1x1:64M:streamed"]);
    let mut output = driver.stdout.take().unwrap();
    let reader = std::thread::spawn(move || {
        let mut together = Vec::new();
        std::io::Read::read_to_end(&mut output, &mut together).unwrap();
        together
    });
    let mut most = 0;
    while driver.try_wait().unwrap().is_none() {
        let is_streamed = |&node: &Pid| {
            // The driver's own words follow, which name the shapes of all nodes.
            let words = fs::read_to_string(format!("/proc/{node}/cmdline")).unwrap_or_default();
            words.split('\0').any(|word| word.starts_with("--as-node") && word.contains("streamed"))
        };
        let node = nodes_of(&driver).into_iter().find(is_streamed);
        most = most.max(node.map_or(0, resident_most));
        sleep(Duration::from_millis(2));
    }
    assert!(reader.join().unwrap() == alone);
    assert!(most > LIMIT / 8 && most <= LIMIT, "{most} bytes were resident");
}

#[test]
fn the_first_bad_record_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let bad = |at: usize| if at % 5000 == 4999 { "bad" } else { "a;1.0" };
    let text: Vec<&str> = (0..40_000).map(bad).collect();
    write(folder.path(), "text", text.join("\n"));
    let run = |more: &[&str]| {
        let mut command = tegula();
        command.args(["stations", "text", "--tile", "4k"]).args(more).current_dir(folder.path());
        command.output().unwrap()
    };
    let (alone, together) = (run(&[]), run(&["--nodes", "local:3x1"]));
    check_fault(&alone, 1, &["line 5000"]);
    assert_eq!(together, alone);
    let (alone, together) = (run(&["--skip-bad"]), run(&["--skip-bad", "--nodes", "local:3x1"]));
    assert!(alone.status.success());
    assert_eq!(together, alone);
}

#[test]
fn flags_that_do_not_go_together_are_named() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "text", "a b\n");
    let run =
        |arguments: &[&str]| tegula().args(arguments).current_dir(folder.path()).output().unwrap();
    let nodes = ["--nodes", "local:2x1"];
    check_fault(&run(&[&["sort", "text"][..], &nodes].concat()), 2, &["--nodes", "one machine"]);
    check_fault(
        &run(&[&["wordcount", "text", "--show", "every=1s"][..], &nodes].concat()),
        2,
        &["--show"],
    );
    check_fault(
        &run(&["kmeans", "-k", "2", "text", "--nodes", "local:1x1,1x1:64M:streamed"]),
        2,
        &["--nodes", "leave out :streamed"],
    );
    check_fault(
        &run(&["wordcount", "text", "--nodes", "local:1x1,1x1:64M:streamed=8M"]),
        2,
        &["--nodes", "units of 256.00 KiB to 4.00 MiB"],
    );
    let output = run(&["wordcount", "text", "--nodes", "local:2x1:64M:streamed"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("at least one node must read"));
    check_fault(
        &run(&[&["wordcount", "-"][..], &nodes].concat()),
        1,
        &["standard input", "give files"],
    );
    assert_eq!(run(&["wordcount", "text", "--nodes", "local:0"]).status.code(), Some(2));
    let mut over_ray = tegula();
    over_ray.args(["wordcount", "text", "--nodes", "ray://auto"]).env("TEGULA_PYTHON", "false");
    let refused = over_ray.current_dir(folder.path()).output().unwrap();
    check_fault(&refused, 2, &["--nodes", "false must have", "ray>=2.50", "TEGULA_PYTHON"]);
}

#[test]
fn whichever_node_is_killed_or_stopped() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "text", lines(400_000));
    let command = |more: &[&str]| {
        let mut command = tegula();
        command.args(["wordcount", "text", "--tile", "64k"]).args(more).current_dir(folder.path());
        command
    };
    let alone = answer(command(&[]).output().unwrap());
    let senders = "local:2x1,1x1:64M:streamed";
    let cases = [
        (5, "local:3x1", "64M"),
        (60, senders, "64M"),
        (200, "local:3x1", "64M"),
        (350, senders, "64M"),
        (250, "local:3x1", "1"),
        (400, "local:3x1", "1"),
    ];
    for (delay_ms, nodes, gather) in cases {
        let mut driver = command(&["--nodes", nodes, "--gather", gather]);
        let driver = driver.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        wait_until("nodes are started", || nodes_of(&driver).len() == 3);
        sleep(Duration::from_millis(delay_ms));
        // It may have ended already.
        nodes_of(&driver).first().map(|&node| kill_process(node, Signal::KILL));
        let output = driver.wait_with_output().unwrap();
        assert!(answer(output) == alone, "killed after {delay_ms} ms");
    }
    let driver =
        command(&["--nodes", "local:1x1"]).stderr(Stdio::piped()).stdout(Stdio::null()).spawn();
    let driver = driver.unwrap();
    wait_until("a node is started", || !nodes_of(&driver).is_empty());
    kill_process(nodes_of(&driver)[0], Signal::KILL).unwrap();
    let output = driver.wait_with_output().unwrap();
    check_fault(&output, 1, &["no node is left", "node 0", "signal 9"]);
}

#[test]
fn no_node_outlives_its_driver() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "text", lines(400_000));
    let mut driver = tegula();
    driver.args(["wordcount", "text", "--nodes", "local:2x1"]).current_dir(folder.path());
    let mut driver = driver.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until("nodes are started", || nodes_of(&driver).len() == 2);
    let nodes = nodes_of(&driver);
    driver.kill().unwrap();
    driver.wait().unwrap();
    let is_there = |pid: &Pid| {
        let status = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        !(status.is_empty() || status.contains(") Z "))
    };
    wait_until("nodes end with their driver", || !nodes.iter().any(is_there));
}

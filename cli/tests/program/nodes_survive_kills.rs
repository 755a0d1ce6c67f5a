//! Runs over nodes with a state are killed, nodes and drivers, at times that follow from a seed. They go on with what
//! is left, or when they are started again: with the same nodes, with others, or alone. The answer is always that of an
//! undisturbed run on one machine. KILLS and SEED make a campaign of it.

use super::*;
use rustix::process::{Pid, Signal, kill_process};
use std::os::unix::process::ExitStatusExt;
use std::process::Child;

/// Numbers that follow from a seed (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}

fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// The nodes of a driver, once they run the program: until then a driver waits for the process that it has forked, and
/// would wait for ever if that were stopped.
pub(crate) fn nodes_of(driver: &Child) -> Vec<Pid> {
    // Each thread has those that it has started.
    let tasks = fs::read_dir(format!("/proc/{}/task", driver.id())).into_iter().flatten().flatten();
    let listed = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    let listed = listed.collect::<String>();
    let children = listed.split_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?));
    let is_node = |pid: &Pid| {
        let words = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        words.split('\0').any(|word| word.starts_with("--as-node"))
    };
    children.filter(is_node).collect()
}

#[test]
fn and_go_on_with_what_was_saved() {
    let (kills, seed) = (number("KILLS", 10), number("SEED", 1));
    let mut random = Random(seed);
    let folder = tempfile::tempdir().unwrap();
    let lines = (0..150_000_u64).map(|at| format!("word{} {at}\n", at * 7 % 997));
    write(folder.path(), "text", lines.collect::<String>());
    let command = |state: &str, nodes: Option<&str>| {
        let mut command = tegula();
        command.args(["index", "text", "--tile", "32k", "--split", "8k", "--state", "states"]);
        command.args(["--job", state, "--save-every", "1tiles"]).current_dir(folder.path());
        if let Some(nodes) = nodes {
            command.args(["--nodes", nodes]);
        }
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    let plain = tegula().args(["index", "text"]).current_dir(folder.path()).output().unwrap();
    let expected = answer(plain);
    let (mut killed, mut drivers, mut round) = (0, 0, 0);
    while killed < kills {
        round += 1;
        let state = format!("job-{round}");
        loop {
            // A node that is sent the input saves nothing.
            let streamed = "local:1x1,1x1:64M:streamed";
            let specs = ["local:2x1", "local:3x1", "local:1x2", "local:1x1,1x2", streamed];
            let nodes = specs.get(random.below(6) as usize).copied();
            let driver = command(&state, nodes).spawn().unwrap();
            let mut went_on = true;
            // Sometimes a node after the other, and the driver.
            for _ in 0..random.below(4) {
                sleep(Duration::from_millis(random.below(120)));
                let there = nodes_of(&driver);
                let victim = there.get(random.below(there.len() as u64 + 1) as usize).copied();
                went_on = victim.is_some();
                let sent =
                    kill_process(victim.unwrap_or(Pid::from_child(&driver)), Signal::KILL).is_ok();
                if !went_on {
                    break;
                }
                killed += u64::from(sent);
            }
            let output = driver.wait_with_output().unwrap();
            // One that has ended already takes a signal as well, until it is waited for.
            let is_killed = output.status.signal() == Some(Signal::KILL.as_raw());
            killed += u64::from(is_killed);
            drivers += u64::from(is_killed);
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            if output.status.success() {
                assert!(output.stdout == expected, "SEED={seed}, round {round}, {nodes:?}");
                break;
            }
            let no_node = said.contains("no node is left");
            assert!(!went_on || no_node, "SEED={seed}, round {round}, {nodes:?}: {said}");
        }
        // What is saved in the end is whole, and the answer once more.
        let alone = command(&state, None).output().unwrap();
        assert!(answer(alone) == expected, "SEED={seed}, round {round}, alone");
        let verified =
            tegula().args(["state", "verify", "states"]).current_dir(folder.path()).output();
        assert!(verified.unwrap().status.success(), "SEED={seed}, round {round}");
        fs::remove_dir_all(folder.path().join("states")).unwrap();
    }
    println!("{killed} kills of nodes and drivers, {drivers} of drivers");
}

#[test]
fn and_go_on_in_a_later_round() {
    let folder = tempfile::tempdir().unwrap();
    let points = (0..20_000_u64).map(|at| format!("{} {}\n", at * at % 9973, at * 31 % 9967));
    write(folder.path(), "points", points.collect::<String>());
    let command = |more: &[&str]| {
        let mut command = tegula();
        command.args(["kmeans", "-k", "2", "points", "--tile", "32k"]);
        command.args(more).current_dir(folder.path());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    let expected = answer(command(&[]).output().unwrap());
    let over = ["--nodes", "local:2x1", "--state", "states", "--job", "near"];
    let mut driver = command(&over).spawn().unwrap();
    let third = folder.path().join("states/near.3/manifest");
    wait_until("round 3 has begun", || third.exists());
    driver.kill().unwrap();
    driver.wait().unwrap();
    for _ in 0..2 {
        assert!(answer(command(&over).output().unwrap()) == expected);
    }
}

//! A node that is stopped, has a full disk, another clock, another processor or no input, or comes late changes no byte of
//! an answer; two drivers of one state are told apart.

use super::*;
use crate::nodes_survive_kills::nodes_of;
use rustix::process::{Pid, Signal, kill_process};
use std::process::Child;

fn words(count: usize) -> String {
    (0..count).map(|at| format!("word{} {at}\n", at * 7 % 997)).collect()
}

/// Nodes that wait for commands, in a folder of their own. They end when this is dropped.
struct UpNodes(Child);

impl UpNodes {
    /// Starts nodes; `limit` is a command of the shell before.
    fn start(folder: &Path, count: usize, limit: &str) -> UpNodes {
        let mut command = Command::new("sh");
        let program = env!("CARGO_BIN_EXE_tegula");
        // A command that the shell becomes, or is to do before it becomes the nodes.
        let exec = if limit.starts_with("exec unshare") { "" } else { "exec" };
        command
            .arg("-c")
            .arg(format!("{limit} {exec} {program} nodes up --demo {count} -j {count}"));
        command.env("XDG_RUNTIME_DIR", folder).stdin(Stdio::null()).stderr(Stdio::null());
        let sockets = || {
            let folders = names(folder).into_iter().map(|name| folder.join(name));
            folders.flat_map(|folder| names(&folder)).count()
        };
        let before = sockets();
        let nodes = UpNodes(command.spawn().unwrap());
        wait_until("nodes are up", || sockets() >= before + count);
        nodes
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }
}

impl Drop for UpNodes {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_stopped_node_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "text", words(400_000));
    let command = |more: &[&str]| {
        let mut command = tegula();
        command.args(["wordcount", "text", "--tile", "64k"]).args(more).current_dir(folder.path());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    let alone = answer(command(&[]).output().unwrap());
    let driver = command(&["--nodes", "local:2x1", "--gather", "1"]).spawn().unwrap();
    wait_until("nodes are started", || nodes_of(&driver).len() == 2);
    sleep(Duration::from_millis(100));
    kill_process(nodes_of(&driver)[0], Signal::STOP).unwrap();
    assert!(answer(driver.wait_with_output().unwrap()) == alone);
}

#[test]
fn nodes_that_are_up_share_the_work() {
    let (folder, sockets) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write(folder.path(), "text", words(150_000));
    let run = |more: &[&str]| {
        let mut command = tegula();
        command.args(["wordcount", "text", "--tile", "64k"]).args(more).current_dir(folder.path());
        command.env("XDG_RUNTIME_DIR", sockets.path());
        command.output().unwrap()
    };
    check_fault(&run(&["--nodes", "up"]), 1, &["tegula nodes up --demo 4"]);
    let alone = answer(run(&[]));
    let first = UpNodes::start(sockets.path(), 2, "");
    // This one can write a few KiB to a file: the first pairs that it saves end it.
    let _full = UpNodes::start(sockets.path(), 1, "ulimit -f 8;");
    for more in [&["--gather", "64M"][..], &["--gather", "1"], &["--state", "s", "--job", "j"]] {
        assert!(answer(run(&[&["--nodes", "up"], more].concat())) == alone, "{more:?}");
    }
    first.signal(Signal::TERM);
    let ours = |name: &String| name.starts_with(&format!("{}-", first.0.id()));
    let listening = || {
        let folders = names(sockets.path()).into_iter().map(|name| sockets.path().join(name));
        folders.flat_map(|folder| names(&folder)).filter(ours).count()
    };
    wait_until("sockets are removed", || listening() == 0);
}

#[test]
fn one_that_connects_and_says_nothing_does_not_keep_a_node_up() {
    use std::os::unix::net::UnixStream;
    let sockets = tempfile::tempdir().unwrap();
    let mut nodes = UpNodes::start(sockets.path(), 1, "");
    let folder = sockets.path().join(&names(sockets.path())[0]);
    let socket = folder.join(&names(&folder)[0]);
    let mut silent = None;
    wait_until("the node listens", || {
        silent = UnixStream::connect(&socket).ok();
        silent.is_some()
    });
    // It is heard by then.
    sleep(Duration::from_millis(200));
    let begun = Instant::now();
    nodes.signal(Signal::TERM);
    wait_until("the nodes end", || nodes.0.try_wait().unwrap().is_some());
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    assert!(names(&folder).is_empty());
}

#[test]
fn nodes_that_are_up_come_back_when_their_processes_are_killed() {
    let (folder, sockets) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write(folder.path(), "text", words(400_000));
    let command = |more: &[&str]| {
        let mut command = tegula();
        command.args(["wordcount", "text", "--tile", "64k"]).args(more).current_dir(folder.path());
        command.env("XDG_RUNTIME_DIR", sockets.path());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    let alone = answer(command(&[]).output().unwrap());
    let nodes = UpNodes::start(sockets.path(), 2, "");
    let mut driver = command(&["--nodes", "up"]).spawn().unwrap();
    wait_until("nodes are started", || nodes_of(&nodes.0).len() == 2);
    nodes_of(&nodes.0).iter().for_each(|&node| kill_process(node, Signal::KILL).unwrap());
    assert_eq!(driver.try_wait().unwrap(), None, "it has ended before the kill");
    assert!(answer(driver.wait_with_output().unwrap()) == alone);
}

/// The input's folder is an open file descriptor, which only some nodes have.
#[test]
fn a_node_without_the_input_is_left_out() {
    let (folder, sockets) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write(folder.path(), "text/a", words(50_000));
    let open = format!("exec 9<'{}/text';", folder.path().display());
    let run = |more: &str| {
        let program = env!("CARGO_BIN_EXE_tegula");
        let command = format!("{open} exec {program} wordcount /proc/self/fd/9 --tile 64k {more}");
        let mut command = {
            let mut shell = Command::new("sh");
            shell.arg("-c").arg(command);
            shell
        };
        command.env("XDG_RUNTIME_DIR", sockets.path()).stdin(Stdio::null()).output().unwrap()
    };
    let alone = answer(run(""));
    let _without = UpNodes::start(sockets.path(), 1, "");
    let causes = ["no node is left", "/proc/self/fd/9", "no such file"];
    check_fault(&run("--nodes up"), 1, &causes);
    let _with = UpNodes::start(sockets.path(), 1, &open);
    assert!(answer(run("--nodes up")) == alone);
}

/// The clocks that a namespace can have for itself are a day ahead; the clock of the day is asked by nobody.
#[test]
fn a_nodes_clock_does_not_matter() {
    let (folder, sockets) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write(folder.path(), "text", words(150_000));
    let unshare = "exec unshare --user --map-current-user --time --monotonic 86400 --boottime 86400 \
                   --fork --kill-child";
    let try_out = Command::new("sh").arg("-c").arg(format!("{unshare} true")).output().unwrap();
    if !try_out.status.success() {
        eprintln!("no namespace of time can be made here");
        return;
    }
    let run = |more: &[&str]| {
        let mut command = tegula();
        command.args(["wordcount", "text", "--tile", "64k"]).args(more).current_dir(folder.path());
        command.env("XDG_RUNTIME_DIR", sockets.path()).output().unwrap()
    };
    let alone = answer(run(&[]));
    let _here = UpNodes::start(sockets.path(), 1, "");
    let _there = UpNodes::start(sockets.path(), 1, unshare);
    for gather in ["64M", "1"] {
        assert!(answer(run(&["--nodes", "up", "--gather", gather])) == alone);
    }
}

/// A level that the machine lacks is that of the best tokenizer.
#[test]
fn a_nodes_processor_does_not_matter() {
    let (folder, sockets) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write(folder.path(), "text", words(100_000));
    let levels = ["avx512", "avx2", "portable"];
    let start = |level| UpNodes::start(sockets.path(), 1, &format!("export TEGULA_SIMD={level};"));
    let _nodes = levels.map(start);
    for command in ["wordcount", "index"] {
        for class in ["whitespace", "alpha"] {
            let run = |more: &[&str]| {
                let mut run = tegula();
                run.args([command, "text", "--tile", "64k", "--words", class]).args(more);
                run.current_dir(folder.path()).env("XDG_RUNTIME_DIR", sockets.path());
                answer(run.output().unwrap())
            };
            assert!(run(&["--nodes", "up"]) == run(&[]), "{command}, {class}");
        }
    }
}

#[test]
fn two_drivers_of_one_state_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "text", words(600_000));
    let command = || {
        let mut command = tegula();
        command.args(["wordcount", "text", "--tile", "32k", "--nodes", "local:2x1"]);
        command.args(["--state", "states", "--job", "words"]).current_dir(folder.path());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    let first = command().spawn().unwrap();
    wait_until("nodes are started", || nodes_of(&first).len() == 2);
    sleep(Duration::from_millis(100));
    let second = command().output().unwrap();
    let first = answer(first.wait_with_output().unwrap());
    match second.status.success() {
        // It began after the first had ended.
        true => assert!(answer(second) == first),
        false => check_fault(&second, 1, &["another run uses this state"]),
    }
}

#[test]
fn a_folder_that_is_open_to_others_is_refused() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let sockets = tempfile::tempdir().unwrap();
    let user = fs::metadata("/proc/self").unwrap().uid();
    let folder = sockets.path().join(format!("tegula-nodes-{user}"));
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
    let mut command = tegula();
    command.args(["nodes", "up", "--demo", "1"]).env("XDG_RUNTIME_DIR", sockets.path());
    let parts = [folder.to_str().unwrap(), "is open to others"];
    check_fault(&command.output().unwrap(), 1, &parts);
}

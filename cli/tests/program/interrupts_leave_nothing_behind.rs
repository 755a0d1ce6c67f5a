//! Ctrl-C (and being told to terminate) ends the program with 130 within a second, wherever it is,
//! and leaves no file and no half of one. Time for which the program waits for processors is not counted.

use super::*;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{Pid, Signal, kill_process};
use std::collections::HashMap;
#[cfg(feature = "serve")]
use std::io::{BufRead, BufReader};
use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

/// The program, started with the default action for interrupts. A shell's background job has them
/// ignored, and the program leaves an ignored signal ignored.
pub(super) fn interruptible() -> Command {
    let program = tegula();
    let mut command = Command::new("env");
    command.arg("--default-signal=INT,TERM").arg(program.get_program()).stdin(Stdio::null());
    for (name, value) in program.get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    command
}

/// Starts a run and waits until it would notice a signal.
pub(super) fn start(command: &mut Command) -> Child {
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("signals are watched", || catches_interrupts(&child));
    child
}

fn catches_interrupts(child: &Child) -> bool {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
    u64::from_str_radix(mask.trim(), 16).unwrap() >> (Signal::INT.as_raw() - 1) & 1 == 1
}

pub(super) fn check_end(child: Child, signal: Signal) {
    let pid = Pid::from_child(&child);
    let (begin, waited) = (Instant::now(), Waited::of(pid));
    kill_process(pid, signal).unwrap();
    let output = child.wait_with_output().unwrap();
    let (took, waited) = (begin.elapsed(), waited.end());
    assert_eq!(
        (output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()),
        (Some(130), "")
    );
    assert!(took < Duration::from_secs(1) + waited, "{took:?}, {waited:?} of it for processors");
}

/// Adds up how long the threads of a process, and that which waits for it, are ready and have no processor: on a busy
/// machine this is no time of the program's.
struct Waited {
    is_over: Arc<AtomicBool>,
    looking: JoinHandle<Duration>,
}

impl Waited {
    fn of(pid: Pid) -> Waited {
        let is_over = Arc::new(AtomicBool::new(false));
        let looking = {
            let is_over = Arc::clone(&is_over);
            let (tasks, own) = (format!("/proc/{pid}/task"), fs::read_link("/proc/thread-self"));
            let own = Path::new("/proc").join(own.unwrap());
            let before: HashMap<_, _> = delays(&tasks, &own).collect();
            thread::spawn(move || {
                let mut last = before.clone();
                while !is_over.load(Ordering::Relaxed) {
                    last.extend(delays(&tasks, &own));
                    sleep(Duration::from_millis(2));
                }
                last.extend(delays(&tasks, &own));
                last.iter()
                    .map(|(task, &delay)| delay - *before.get(task).unwrap_or(&Duration::ZERO))
                    .sum()
            })
        };
        Waited { is_over, looking }
    }

    fn end(self) -> Duration {
        self.is_over.store(true, Ordering::Relaxed);
        self.looking.join().unwrap()
    }
}

/// Returns the time that each task of a folder, and another one, has waited for a processor: the second number of its
/// `schedstat`, in nanoseconds.
fn delays(tasks: &str, other: &Path) -> impl Iterator<Item = (PathBuf, Duration)> {
    let tasks = fs::read_dir(tasks).into_iter().flatten().flatten().map(|task| task.path());
    tasks.chain([other.to_owned()]).filter_map(|task| {
        let text = fs::read_to_string(task.join("schedstat")).ok()?;
        let delay = text.split(' ').nth(1)?.parse().ok()?;
        Some((task, Duration::from_nanos(delay)))
    })
}

#[test]
fn while_a_pipe_gives_nothing() {
    for signal in [Signal::INT, Signal::TERM] {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).unwrap();
        for written in [None, Some("some words")] {
            let out = folder.path().join("out");
            let child = start(interruptible().arg("wordcount").arg(&pipe).arg("-o").arg(&out));
            // A writer that stays: without one the program waits for the first, with one for more.
            let writer = written.map(|text| {
                let mut writer = fs::OpenOptions::new().write(true).open(&pipe).unwrap();
                writer.write_all(text.as_bytes()).unwrap();
                writer
            });
            sleep(Duration::from_millis(100));
            check_end(child, signal);
            drop(writer);
            assert_eq!(names(folder.path()), ["pipe"]);
        }
    }
}

#[test]
fn while_standard_input_gives_nothing() {
    let mut child = start(interruptible().args(["wordcount", "-"]).stdin(Stdio::piped()));
    let _open = child.stdin.take();
    sleep(Duration::from_millis(100));
    check_end(child, Signal::INT);
}

#[test]
fn while_much_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let text: String = (0..2_000_000).map(|number| format!("w{} ", number % 70_001)).collect();
    let file = write(folder.path(), "words", text);
    let out = folder.path().join("out");
    // The same file many times over: hours of work in a few megabytes.
    let child =
        start(interruptible().arg("wordcount").args(vec![&file; 20_000]).arg("-o").arg(&out));
    sleep(Duration::from_millis(300));
    check_end(child, Signal::INT);
    assert_eq!(names(folder.path()), ["words"]);
}

#[test]
fn while_nobody_reads_the_answer() {
    let folder = tempfile::tempdir().unwrap();
    let text: String = (0..100_000).map(|number| format!("word-{number} ")).collect();
    let mut child =
        start(interruptible().arg("wordcount").arg(write(folder.path(), "words", text)));
    let unread = child.stdout.take();
    sleep(Duration::from_secs(1));
    assert!(
        child.try_wait().unwrap().is_none(),
        "it must be stuck in a write for this test to show anything"
    );
    check_end(child, Signal::INT);
    drop(unread);
}

/// The reader of its answer waits meanwhile.
#[test]
fn while_an_answer_is_written() {
    for signal in [Signal::INT, Signal::TERM] {
        let child = start(interruptible().args(["generate", "logins", "1000000"]));
        // The pipe is full by then.
        sleep(Duration::from_millis(200));
        check_end(child, signal);
    }
}

/// Neither does the page of a run, whose folder has the token.
#[cfg(feature = "serve")]
#[test]
fn while_a_run_is_watched() {
    for (signal, waits) in [(Signal::INT, true), (Signal::TERM, true), (Signal::TERM, false)] {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).unwrap();
        let words = write(folder.path(), "words", "to be or not to be ".repeat(100_000));
        // A run that waits for its input does not return; one that reads does.
        let inputs = if waits { vec![pipe] } else { vec![words; 20_000] };
        let mut command = interruptible();
        command.arg("wordcount").args(inputs).arg("--watch").env("TMPDIR", folder.path());
        let mut child = start(&mut command);
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        assert!(line.contains("watch at http://"), "{line}");
        assert_eq!(names(folder.path()).len(), 3);
        check_end(child, signal);
        assert_eq!(names(folder.path()), ["pipe", "words"], "{signal:?}");
    }
}

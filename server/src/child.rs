//! The process of a job: the same program, with the command line that a person would type, and flags of the server's; or
//! Python, with the same flags.
//! It tells what it does on its standard output and obeys on its standard input (docs/events.md), which also ends it
//! when the server is gone.

use crate::job::Job;
use crate::store::Folder;
use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};
use tokio::process::{Child, Command};

/// The name under which a job's state is kept.
const STATE_JOB: &str = "run";
/// The longest time that a killed process may need to end.
const ENDS_WITHIN: Duration = Duration::from_secs(10);

/// Starts a job's process with so many workers; on these processors alone, if some are given. Its first lines of commands
/// must follow at once: it does not end with the server before.
pub(crate) fn start(
    program: &Path,
    job: &Job,
    folder: &Folder,
    workers: usize,
    processors: Option<&[u32]>,
) -> io::Result<Child> {
    let scratch = folder.path("scratch");
    fs::create_dir_all(&scratch)?;
    let log = File::options().create(true).append(true).open(folder.path("log"))?;
    let mut command = Command::new(program);
    let (name, rest) = job.command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    if job.own.is_python {
        // Its folder is one of the input, whose files are no modules.
        command.args(["-P", "-m", "tegula._served"]);
    } else {
        command.arg(name);
    }
    command.args(["--events", "1", "--control", "0", "--progress", "off"]);
    command.arg("--output").arg(folder.path("answer"));
    command.arg("--timeline").arg(folder.path("timeline.svg")).arg("--scratch").arg(scratch);
    command.args(["--workers", &workers.to_string(), "--memory", &job.memory_bytes.to_string()]);
    if job.own.saves {
        command.arg("--state").arg(folder.path("state")).args(["--job", STATE_JOB]);
        if !job.own.is_python {
            // The answer is the job's result, and the server then removes the state.
            command.args(["--keep", "nothing"]);
        }
    }
    if job.own.is_python {
        command.arg(folder.path("program"));
    } else {
        command.args(rest);
    }
    command.current_dir(&job.folder);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log).kill_on_drop(true);
    let Some(processors) = processors else { return command.spawn() };
    // A process begins on the processors of the thread that starts it.
    let own = sched_getaffinity(None)?;
    let mut some = CpuSet::new();
    let processors = processors.iter().map(|&processor| processor as usize);
    processors.filter(|&processor| processor < CpuSet::MAX_CPU).for_each(|it| some.set(it));
    sched_setaffinity(None, &some)?;
    let child = command.spawn();
    sched_setaffinity(None, &own)?;
    child
}

/// Returns when a process began, in ticks since the system did; with its number it names a process for good.
pub(crate) fn began(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name is in brackets and may hold anything.
    let (_, fields) = stat.rsplit_once(") ")?;
    fields.split(' ').nth(19)?.parse().ok()
}

/// Kills a process that an earlier server left, and waits until it is gone.
pub(crate) fn end_left(pid: u32, pid_began: u64) {
    let is_there = || began(pid) == Some(pid_began);
    let limit = Instant::now() + ENDS_WITHIN;
    while is_there() && Instant::now() < limit {
        if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::KILL);
        }
        thread::sleep(Duration::from_millis(5));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_a_begin_and_no_other_has_its_number() {
        let pid = std::process::id();
        assert!(began(pid).is_some_and(|ticks| ticks > 0));
        assert_eq!(began(pid), began(pid));
        assert_eq!(began(u32::MAX), None);
    }

    #[test]
    fn a_left_process_is_ended_and_another_of_its_number_is_not() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let (pid, ticks) = (child.id(), began(child.id()).unwrap());
        end_left(pid, ticks + 1);
        assert!(child.try_wait().unwrap().is_none());
        let waiter = thread::spawn(move || child.wait().unwrap());
        end_left(pid, ticks);
        assert!(!waiter.join().unwrap().success());
    }
}

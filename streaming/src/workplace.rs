//! Where the tasks of a run work: a folder that is gone with the run, and a group of processes that is, too.
//!
//! A small shell is the group's leader. It waits on a pipe that ends when the run or this process does, in whatever way;
//! then a child of it kills the group and removes the folders. So nothing outlives a run that is killed, also at its very
//! end, neither commands nor what they started. Only what leaves the group does, such as the child of `timeout`, which
//! makes a group of its own: the system keeps no list of whom a process has started once that process is gone.
//!
//! Commands are started by a thread of their own: a process begins on the processors of the thread that starts it, and
//! the engine's workers are bound to one each.

use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{self, Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;
use tegula::{Error, OutputError, Result};

/// The folder and the processes of a run.
pub(crate) struct Workplace {
    folder: PathBuf,
    leader: Child,
    /// The pipe whose end the leader waits for.
    lifeline: Option<ChildStdin>,
    starter: Mutex<Sender<Start>>,
}

/// A command to start, and where its process is wanted.
struct Start {
    command: Command,
    to: SyncSender<io::Result<Child>>,
}

/// What was killed may still make a file, so that a folder cannot be removed at once.
const LEADER: &str = "read -r line; setsid sh -c 'group=$1; shift; kill -KILL -\"$group\"; \
    for again in 1 2 3 4 5; do rm -rf -- \"$@\" && break; sleep 1; done' sh $$ \"$@\"";
/// How often, and for how long each time, a run waits for its folder to go.
const WAITS: u32 = 1000;
const WAIT: Duration = Duration::from_millis(1);

/// Numbers the workplaces of this process.
static WORKPLACES: AtomicU64 = AtomicU64::new(0);

impl Workplace {
    /// Makes the folder, below `scratch`. The leader will also remove `output` if this process is killed.
    pub(crate) fn open(scratch: &Path, output: &Path) -> Result<Workplace> {
        let number = WORKPLACES.fetch_add(1, Ordering::Relaxed);
        let scratch = fs::canonicalize(scratch).unwrap_or_else(|_| scratch.to_path_buf());
        let folder = scratch.join(format!("tegula-streaming-{}-{number}", process::id()));
        // Before the folder is made, so that it is never without someone who removes it.
        let mut leader = Command::new("sh");
        leader.args(["-c", LEADER, "sh"]).arg(&folder).arg(output).process_group(0);
        leader.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut leader =
            leader.spawn().map_err(|cause| Error::System { action: "start sh", cause })?;
        let (starter, starts) = channel();
        thread::spawn(move || start_all(&starts));
        let lifeline = leader.stdin.take();
        let place = Workplace { folder, leader, lifeline, starter: Mutex::new(starter) };
        let made = fs::create_dir(&place.folder);
        made.map_err(|cause| OutputError::Create { path: place.folder.clone(), cause })?;
        Ok(place)
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Starts a command in the run's group of processes.
    pub(crate) fn start(&self, mut command: Command) -> io::Result<Child> {
        command.process_group(i32::try_from(self.leader.id()).unwrap_or_default());
        let (to, started) = sync_channel(1);
        let starter = self.starter.lock().unwrap_or_else(PoisonError::into_inner);
        let gone = |_| io::Error::other("the thread that starts commands is gone");
        starter.send(Start { command, to }).map_err(|_| gone(()))?;
        drop(starter);
        started.recv().map_err(|_| gone(()))?
    }
}

impl Drop for Workplace {
    /// The folder goes by the leader's child, as it does when this process is killed, which may be at any moment here.
    fn drop(&mut self) {
        self.lifeline = None;
        let _ = self.leader.wait();
        for _ in 0..WAITS {
            let is_gone = match fs::remove_dir_all(&self.folder) {
                Ok(()) => true,
                Err(cause) => cause.kind() == io::ErrorKind::NotFound && !self.folder.exists(),
            };
            if is_gone {
                return;
            }
            // Both remove the same files, or somebody keeps one: nothing better can be done about that.
            thread::sleep(WAIT);
        }
    }
}

fn start_all(starts: &Receiver<Start>) {
    for Start { mut command, to } in starts {
        // Who gave the order waits for the answer.
        let _ = to.send(command.spawn());
    }
}

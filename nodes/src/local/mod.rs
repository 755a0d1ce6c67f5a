//! The local carrier: nodes are processes on this machine, and orders and reports travel over pipes. A node is the
//! same command again, which serves its jobs instead of running them, so no job needs a byte form.
//!
//! Nodes may also be up before a command that needs them ([`Up`]), and come while it runs.
//!
//! A command of several jobs goes on in every process alike: each job's pairs are shared with all nodes when the next
//! job needs its answer.

mod child;
mod frame;
mod pipes;
mod relay;
mod up;

pub use pipes::seat;
pub use relay::Relay;
pub use up::{Up, folder};

use crate::carrier::{Carrier, Event};
use child::Child;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};
use tegula::{Error, Result};

/// Reports that may wait: blocks of some mebibytes.
const REPORTS_MOST: usize = 8;

/// How often a folder is looked into for nodes that came since.
const JOIN: Duration = Duration::from_secs(1);

/// Processes on this machine that do jobs together. They end when this is dropped.
#[derive(Debug)]
pub struct LocalNodes {
    children: Vec<Child>,
    events: Receiver<child::Event>,
    /// Where nodes that are up are found.
    up: Option<Looking>,
}

/// Looks for nodes in a folder.
#[derive(Debug)]
struct Looking {
    folder: PathBuf,
    greeting: Vec<u8>,
    known: BTreeSet<PathBuf>,
    looked: Instant,
    events: SyncSender<child::Event>,
}

impl LocalNodes {
    /// Starts a node with each of the commands, which read orders from standard input and write reports to standard
    /// output ([`seat`]).
    ///
    /// # Errors
    /// [`Error::System`] if a process cannot be started.
    pub fn start(commands: impl IntoIterator<Item = Command>) -> Result<LocalNodes> {
        let (sender, events) = sync_channel(REPORTS_MOST);
        let start = |(number, command)| Child::start(number, command, &sender);
        let children = commands.into_iter().enumerate().map(start).collect::<Result<_>>()?;
        Ok(LocalNodes { children, events, up: None })
    }

    /// Takes the nodes that are [`Up`] in a folder, now and later. They do the command of which these are the words.
    ///
    /// # Errors
    /// [`Error::System`] if none is there.
    pub fn up(folder: PathBuf, words: &[OsString]) -> Result<LocalNodes> {
        let fault = |cause| Error::System { action: "find nodes that are up", cause };
        let (sender, events) = sync_channel(REPORTS_MOST);
        let (greeting, known) = (up::greeting(words).map_err(fault)?, BTreeSet::new());
        let up = Looking { folder, greeting, known, looked: Instant::now(), events: sender };
        let mut nodes = LocalNodes { children: Vec::new(), events, up: Some(up) };
        nodes.look();
        match nodes.children.is_empty() {
            true => Err(fault(io::Error::other("start some: tegula nodes up --demo 4"))),
            false => Ok(nodes),
        }
    }

    /// Takes nodes that came since.
    fn look(&mut self) {
        let Some(up) = &mut self.up else { return };
        up.looked = Instant::now();
        let entries = fs::read_dir(&up.folder).into_iter().flatten().flatten();
        let mut sockets: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        sockets.sort();
        for socket in sockets {
            // A socket that nobody listens at is what a node left that was killed.
            if up.known.insert(socket.clone())
                && let Ok(mut stream) = UnixStream::connect(&socket)
                && frame::write(&mut stream, &up.greeting).is_ok()
            {
                self.children.extend(Child::connected(self.children.len(), stream, &up.events));
            }
        }
    }
}

impl Carrier for LocalNodes {
    fn name(&self, node: usize) -> String {
        format!("node {node}")
    }

    fn tell(&mut self, node: usize, order: &[u8]) {
        self.children[node].tell(order);
    }

    fn next(&mut self, most: Duration) -> Option<Event> {
        if self.up.as_ref().is_some_and(|up| up.looked.elapsed() > JOIN) {
            self.look();
        }
        match self.events.recv_timeout(most).ok()? {
            child::Event::Told(node, report) => Some(Event::Told(node, report)),
            child::Event::Gone(node, cause) => {
                Some(Event::Gone(node, self.children[node].ended(cause)))
            }
        }
    }

    fn end(&mut self, node: usize) {
        self.children[node].end();
    }

    fn present(&self) -> usize {
        self.children.iter().filter(|child| !child.has_left).count()
    }

    fn is_empty(&self) -> bool {
        self.children.iter().all(|child| child.has_left)
    }
}

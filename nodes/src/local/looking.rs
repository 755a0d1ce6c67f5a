//! The driver's look for nodes that are up: which sockets there are in a folder, and which of them it has a node at.

use super::child::{Child, Event};
use super::frame;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

/// How often the folder is looked into.
const JOIN: Duration = Duration::from_secs(1);
/// A node that ends sooner after it was taken has failed.
const LASTS_LEAST: Duration = Duration::from_secs(10);
/// Failures in a row after which a node is not taken any more.
const FAILURES_MOST: u32 = 3;

/// Looks for nodes in a folder.
#[derive(Debug)]
pub(super) struct Looking {
    folder: PathBuf,
    greeting: Vec<u8>,
    events: SyncSender<Event>,
    /// Those at which there was a node.
    sockets: BTreeMap<PathBuf, Socket>,
    looked: Instant,
    /// Whether a node has ended since, which may be taken again.
    is_due: bool,
}

#[derive(Debug)]
struct Socket {
    /// The number of the node that is there, or that the driver has ended.
    node: Option<usize>,
    taken: Instant,
    failures: u32,
}

impl Looking {
    pub(super) fn new(folder: PathBuf, greeting: Vec<u8>, events: SyncSender<Event>) -> Looking {
        let (sockets, looked) = (BTreeMap::new(), Instant::now());
        Looking { folder, greeting, events, sockets, looked, is_due: true }
    }

    /// Takes nodes that came since the last look, if that was long ago.
    pub(super) fn look_again(&mut self, nodes: &mut Vec<Child>) {
        if self.looked.elapsed() > JOIN {
            self.look(nodes);
        }
    }

    /// Takes nodes that came since the last look.
    pub(super) fn look(&mut self, nodes: &mut Vec<Child>) {
        (self.looked, self.is_due) = (Instant::now(), false);
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            let failures = match self.sockets.get(&path) {
                Some(Socket { node: Some(_), .. }) => continue,
                Some(Socket { failures, .. }) => *failures,
                None => 0,
            };
            let node = nodes.len();
            if failures < FAILURES_MOST
                && let Some(taken) = self.take(&path, node)
            {
                nodes.push(taken);
                let socket = Socket { node: Some(node), taken: Instant::now(), failures };
                self.sockets.insert(path, socket);
            }
        }
    }

    /// Notes that a node has ended by itself, or was killed: it may be taken again.
    pub(super) fn ended(&mut self, node: usize) {
        let socket = self.sockets.values_mut().find(|socket| socket.node == Some(node));
        let Some(socket) = socket else { return };
        let has_failed = socket.taken.elapsed() < LASTS_LEAST;
        socket.failures = if has_failed { socket.failures + 1 } else { 0 };
        socket.node = None;
        self.is_due = true;
    }

    /// Returns whether the next look may find nodes that the last one did not.
    pub(super) fn is_due(&self) -> bool {
        self.is_due
    }

    /// Takes the node at a socket; `None` if nobody listens there: it is what a node left that was killed.
    fn take(&self, path: &Path, number: usize) -> Option<Child> {
        let mut stream = UnixStream::connect(path).ok()?;
        frame::write(&mut stream, &self.greeting).ok()?;
        Child::connected(number, stream, &self.events).ok()
    }
}

//! The driver's look for nodes that are up: which sockets there are in a folder, and which of them it has a node at.

use super::child::{Child, Event};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

/// How often the folder is looked into.
const JOIN: Duration = Duration::from_secs(1);
/// Ends of a node after which it is not taken any more, however long it lasted each time: if its work is what ends it, the
/// command would never end.
const ENDS_MOST: u32 = 3;

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
    /// How often a node that was there has ended.
    ends: u32,
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
            let ends = match self.sockets.get(&path) {
                Some(Socket { node: Some(_), .. }) => continue,
                Some(Socket { ends, .. }) => *ends,
                None => 0,
            };
            let node = nodes.len();
            if ends < ENDS_MOST
                && let Some(taken) = self.take(&path, node)
            {
                nodes.push(taken);
                self.sockets.insert(path, Socket { node: Some(node), ends });
            }
        }
    }

    /// Notes that a node has ended by itself, or was killed: it may be taken again.
    pub(super) fn ended(&mut self, node: usize) {
        let socket = self.sockets.values_mut().find(|socket| socket.node == Some(node));
        let Some(socket) = socket else { return };
        *socket = Socket { node: None, ends: socket.ends + 1 };
        self.is_due = true;
    }

    /// Returns whether the next look may find nodes that the last one did not.
    pub(super) fn is_due(&self) -> bool {
        self.is_due
    }

    /// Takes the node at a socket; `None` if nobody listens there: it is what a node left that was killed.
    fn take(&self, path: &Path, number: usize) -> Option<Child> {
        let stream = UnixStream::connect(path).ok()?;
        let mut taken = Child::connected(number, stream, &self.events).ok()?;
        // Its own thread writes this: a node that has another driver, or was stopped, does not read it yet.
        taken.tell(&self.greeting);
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;
    use std::sync::mpsc::sync_channel;
    use std::thread;

    /// However long it lasts: no time is looked at.
    #[test]
    fn a_node_that_ends_each_time_is_taken_three_times() {
        let folder = std::env::temp_dir().join(format!("tegula-looking-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        let _first = UnixListener::bind(folder.join("first")).unwrap();
        let (events, _received) = sync_channel(8);
        let mut looking = Looking::new(folder.clone(), Vec::new(), events);
        let mut nodes = Vec::new();
        for ended in 0..10 {
            looking.look(&mut nodes);
            looking.ended(ended);
        }
        looking.look(&mut nodes);
        assert!(nodes.len() == 3 && !looking.is_due(), "{}", nodes.len());
        // One that comes later is another node.
        let _second = UnixListener::bind(folder.join("second")).unwrap();
        looking.look(&mut nodes);
        assert_eq!(nodes.len(), 4);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_node_that_reads_nothing_is_taken_at_once() {
        let folder = std::env::temp_dir().join(format!("tegula-busy-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        let _busy = UnixListener::bind(folder.join("busy")).unwrap();
        let (events, _received) = sync_channel(8);
        // More than a socket holds.
        let mut looking = Looking::new(folder.clone(), vec![b'a'; 1 << 20], events);
        let (looked, taken) = sync_channel(1);
        thread::spawn(move || {
            let mut nodes = Vec::new();
            looking.look(&mut nodes);
            looked.send(nodes.len())
        });
        assert_eq!(taken.recv_timeout(Duration::from_secs(20)), Ok(1));
        fs::remove_dir_all(&folder).unwrap();
    }
}

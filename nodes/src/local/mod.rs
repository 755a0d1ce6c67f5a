//! The local carrier: nodes are processes on this machine, and orders and reports travel over pipes. A node is the
//! same command again, which serves its jobs instead of running them, so no job needs a byte form.
//!
//! A command of several jobs goes on in every process alike: each job's pairs are shared with all nodes when the next
//! job needs its answer.

mod child;
mod frame;
mod pipes;

pub use pipes::seat;

use crate::carrier::{Carrier, Event};
use child::Child;
use std::process::Command;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;
use tegula::Result;

/// Reports that may wait: blocks of some mebibytes.
const REPORTS_MOST: usize = 8;

/// Processes on this machine that do jobs together. They end when this is dropped.
#[derive(Debug)]
pub struct LocalNodes {
    children: Vec<Child>,
    events: Receiver<child::Event>,
}

impl LocalNodes {
    /// Starts a node with each of the commands, which read orders from standard input and write reports to standard
    /// output ([`seat`]).
    ///
    /// # Errors
    /// [`Error::System`](tegula::Error::System) if a process cannot be started.
    pub fn start(commands: impl IntoIterator<Item = Command>) -> Result<LocalNodes> {
        let (sender, events) = sync_channel(REPORTS_MOST);
        let start = |(number, command)| Child::start(number, command, &sender);
        let children = commands.into_iter().enumerate().map(start).collect::<Result<_>>()?;
        Ok(LocalNodes { children, events })
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

    fn is_empty(&self) -> bool {
        self.children.iter().all(|child| child.has_left)
    }
}

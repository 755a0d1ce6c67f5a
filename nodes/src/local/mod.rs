//! The local carrier: nodes are processes on this machine, and orders and reports travel over pipes. A node is the
//! same command again, which serves its jobs instead of running them, so no job needs a byte form.
//!
//! Nodes may also be up before a command that needs them ([`Up`]), and come while it runs.
//!
//! A command of several jobs goes on in every process alike: each job's pairs are shared with all nodes when the next
//! job needs its answer.

mod child;
mod frame;
mod looking;
mod pipes;
mod relay;
mod up;

pub use pipes::seat;
pub use relay::Relay;
pub use up::{Up, folder};

use crate::carrier::{Carrier, Event};
use child::Child;
use looking::Looking;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;
use tegula::{Error, Result};

/// Reports that may wait: blocks of some mebibytes.
const REPORTS_MOST: usize = 8;

/// Processes on this machine that do jobs together. They end when this is dropped.
#[derive(Debug)]
pub struct LocalNodes {
    children: Vec<Child>,
    events: Receiver<child::Event>,
    /// Where nodes that are up are found.
    up: Option<Looking>,
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
        let mut up = Looking::new(folder, up::greeting(words).map_err(fault)?, sender);
        let mut children = Vec::new();
        up.look(&mut children);
        match children.is_empty() {
            true => Err(fault(io::Error::other("start some: tegula nodes up --demo 4"))),
            false => Ok(LocalNodes { children, events, up: Some(up) }),
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
        let LocalNodes { children, events, up } = self;
        up.iter_mut().for_each(|up| up.look_again(children));
        match events.recv_timeout(most).ok()? {
            child::Event::Told(node, report) => Some(Event::Told(node, report)),
            child::Event::Gone(node, cause) => {
                // One that the driver has ended is of no use to it.
                if !children[node].has_left {
                    up.iter_mut().for_each(|up| up.ended(node));
                }
                Some(Event::Gone(node, children[node].ended(cause)))
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
        let may_come = self.up.as_ref().is_some_and(Looking::is_due);
        self.present() == 0 && !may_come
    }
}

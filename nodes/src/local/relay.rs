//! Nodes elsewhere, behind a process on this machine that carries their messages: a program of any language, which alone
//! knows how. A message to or from it is a kind, the number of a node in four bytes, least first, and the rest. Nodes are
//! numbered in the order in which they join.

use super::REPORTS_MOST;
use super::child::{self, Child};
use crate::carrier::{Carrier, Event};
use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::process::Command;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};
use tegula::{Error, Result};

/// A node joins: its name follows.
const JOINS: u8 = 0;
/// A node tells: a report follows.
const TELLS: u8 = 1;
/// A node is gone: the cause follows.
const LEAVES: u8 = 2;
/// To a node: an order follows.
const ORDER: u8 = 0;
/// To a node: it is not needed any more.
const END: u8 = 1;

/// The nodes behind a process, which ends when this is dropped.
#[derive(Debug)]
pub struct Relay {
    process: Child,
    events: Receiver<child::Event>,
    names: Vec<String>,
    gone: BTreeSet<usize>,
    has_ended: bool,
    /// Events that were not taken yet.
    waiting: VecDeque<Event>,
}

impl Relay {
    /// Starts the process, and waits for its first node.
    ///
    /// # Errors
    /// [`Error::System`] if it cannot be started, or ends before a node joins: the cause is its last line on standard
    /// error.
    pub fn start(command: Command) -> Result<Relay> {
        let (sender, events) = sync_channel(REPORTS_MOST);
        let process = Child::start(0, command, &sender)?;
        let (names, gone, waiting) = Default::default();
        let mut relay = Relay { process, events, names, gone, has_ended: false, waiting };
        while relay.names.is_empty() {
            let event = relay.events.recv().unwrap_or(child::Event::Gone(0, None));
            if let Some(cause) = relay.hear(event) {
                let cause = io::Error::other(cause);
                return Err(Error::System { action: "reach the nodes", cause });
            }
        }
        Ok(relay)
    }

    /// Notes what the process says. Returns why it has ended, if it has.
    fn hear(&mut self, event: child::Event) -> Option<String> {
        let ended = match event {
            child::Event::Told(_, message) => match split(message) {
                Some((JOINS, node, name)) if node == self.names.len() => {
                    self.names.push(String::from_utf8_lossy(&name).into_owned());
                    return None;
                }
                Some((TELLS, node, report)) if node < self.names.len() => {
                    self.waiting.push_back(Event::Told(node, report));
                    return None;
                }
                Some((LEAVES, node, cause)) if node < self.names.len() => {
                    let cause = String::from_utf8_lossy(&cause).into_owned();
                    self.gone.insert(node);
                    self.waiting.push_back(Event::Gone(node, cause));
                    return None;
                }
                _ => Some("what it sends is no message".to_owned()),
            },
            child::Event::Gone(_, cause) => cause,
        };
        self.has_ended = true;
        let cause = self.process.ended(ended);
        let left = (0..self.names.len()).filter(|node| !self.gone.contains(node));
        self.waiting.extend(left.map(|node| Event::Gone(node, cause.clone())));
        self.gone.extend(0..self.names.len());
        Some(cause)
    }

    fn send(&mut self, kind: u8, node: usize, rest: &[u8]) {
        let number = u32::try_from(node).unwrap_or(u32::MAX).to_le_bytes();
        self.process.tell(&[&[kind], &number[..], rest].concat());
    }
}

fn split(mut message: Vec<u8>) -> Option<(u8, usize, Vec<u8>)> {
    let (&kind, rest) = message.split_first()?;
    let number = u32::from_le_bytes(*rest.first_chunk()?);
    let rest = message.split_off(1 + size_of::<u32>());
    Some((kind, number as usize, rest))
}

impl Carrier for Relay {
    fn name(&self, node: usize) -> String {
        self.names.get(node).cloned().unwrap_or_else(|| format!("node {node}"))
    }

    fn tell(&mut self, node: usize, order: &[u8]) {
        self.send(ORDER, node, order);
    }

    fn next(&mut self, most: Duration) -> Option<Event> {
        let until = Instant::now() + most;
        while self.waiting.is_empty() && !self.has_ended {
            let left = until.saturating_duration_since(Instant::now());
            let event = self.events.recv_timeout(left).ok()?;
            self.hear(event);
        }
        self.waiting.pop_front()
    }

    fn end(&mut self, node: usize) {
        self.gone.insert(node);
        self.send(END, node, &[]);
    }

    fn present(&self) -> usize {
        self.names.len().saturating_sub(self.gone.len())
    }

    fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.present() == 0
    }
}

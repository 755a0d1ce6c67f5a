//! The jobs under the supervisor's lock: those that wait, in order, those that run, and those that are over.

use super::{Denied, Result};
use crate::auth::Auth;
use crate::events::View;
use crate::job::{Job, Present, State};
use crate::parts::{self, Cores};
use crate::queue::{self, Usage, Waiting};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::{Notify, mpsc};

/// The jobs, under the lock.
pub(super) struct Jobs {
    pub(super) entries: BTreeMap<u64, Entry>,
    pub(super) usage: Usage,
    pub(super) used_at: Instant,
    pub(super) next_id: u64,
    pub(super) changes: u64,
    /// Ids of removed jobs, and the change that it was; the newest only.
    pub(super) gone: Vec<(u64, u64)>,
    /// The order of those that wait.
    pub(super) queue: Vec<u64>,
    pub(super) machine_change: u64,
    /// Set when the server ends: nothing begins any more.
    pub(super) ends: bool,
}

pub(super) struct Entry {
    pub(super) job: Job,
    /// The number of the last change, and of the last that was not only progress.
    pub(super) change: u64,
    pub(super) summary_change: u64,
    pub(super) running: Option<Running>,
}

/// What a job has while it runs.
pub(super) struct Running {
    pub(super) began: Instant,
    pub(super) cores: Cores,
    pub(super) view: View,
    /// The change with which this attempt began.
    pub(super) since: u64,
    pub(super) control: mpsc::UnboundedSender<String>,
    pub(super) kill: Arc<Notify>,
}

impl Jobs {
    pub(super) fn entry(&self, id: u64) -> Result<&Entry> {
        self.entries.get(&id).ok_or_else(|| Denied::Missing(format!("there is no job {id}")))
    }

    /// Returns a job that is not over.
    pub(super) fn open_entry(&mut self, id: u64) -> Result<&mut Entry> {
        let missing = || Denied::Missing(format!("there is no job {id}"));
        let entry = self.entries.get_mut(&id).ok_or_else(missing)?;
        match entry.job.state {
            state if state.is_over() => {
                Err(Denied::Conflict(format!("job {id} is over: {}", state.name())))
            }
            _ => Ok(entry),
        }
    }

    pub(super) fn running(&self) -> impl Iterator<Item = (&Entry, &Running)> {
        self.entries.values().filter_map(|entry| Some((entry, entry.running.as_ref()?)))
    }

    pub(super) fn granted_bytes(&self) -> u64 {
        self.running().map(|(entry, _)| entry.job.memory_bytes).sum()
    }

    pub(super) fn summary(&self, id: u64) -> Result<Map<String, Value>> {
        let entry = self.entry(id)?;
        let running = entry.running.as_ref();
        let present = Present {
            cores: running.map(|running| parts::text(&running.cores)),
            place: self.queue.iter().position(|&other| other == id).map(|place| place + 1),
            running_s: running.map_or(0.0, |running| running.began.elapsed().as_secs_f64()),
        };
        Ok(entry.job.summary(&present))
    }

    /// Notes that a job has changed; `is_all` if not only its progress.
    pub(super) fn note(&mut self, id: u64, is_all: bool) {
        self.changes += 1;
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.change = self.changes;
            if is_all {
                entry.summary_change = self.changes;
            }
        }
        self.machine_change = self.changes;
    }

    /// Adds the time since the last call to what users had. It is called before the cores of a job change.
    pub(super) fn account(&mut self) {
        self.usage = self.usage_now();
        self.used_at = Instant::now();
    }

    /// Returns what users had until now.
    pub(super) fn usage_now(&self) -> Usage {
        let (mut usage, time) = (self.usage.clone(), self.used_at.elapsed());
        usage.fade(time);
        for (entry, running) in self.running() {
            usage.add(&entry.job.user, time.as_secs_f64() * running.cores.len() as f64);
        }
        usage
    }

    /// Orders those that wait.
    pub(super) fn order(&mut self, auth: &Auth) {
        let waits = self.entries.values().filter(|entry| entry.job.state == State::Queued);
        let waiting = waits.map(|entry| {
            let Job { id, ref user, priority, attempts, .. } = entry.job;
            Waiting { id, user, priority, goes_on: attempts > 0 }
        });
        let mut running: HashMap<String, usize> = HashMap::new();
        self.running()
            .for_each(|(entry, _)| *running.entry(entry.job.user.clone()).or_default() += 1);
        let weight = |name: &str| {
            auth.users().iter().find(|user| user.name == name).map_or(1.0, |user| user.weight)
        };
        let queue = queue::order(waiting.collect(), &self.usage, weight, &running);
        // The places of those behind have changed.
        if queue != self.queue {
            let moved: Vec<u64> = (0..queue.len().max(self.queue.len()))
                .filter(|&place| queue.get(place) != self.queue.get(place))
                .filter_map(|place| queue.get(place).copied())
                .collect();
            self.queue = queue;
            moved.into_iter().for_each(|id| self.note(id, true));
        }
    }
}

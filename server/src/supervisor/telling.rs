//! What the server tells of its jobs: summaries, snapshots, the machine, totals, and what has changed since a stream last
//! looked. It takes the lock, reads, and changes nothing.

use super::jobs::{Entry, Jobs};
use super::{Denied, Result, Supervisor};
use crate::events::View;
use crate::fields::Fields;
use crate::job::{Job, State};
use crate::parts;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The ids of a queue that are shown.
const QUEUE_SHOWN: usize = 100;
/// Ends of jobs that are shown to those who watch all jobs.
const ENDED_SHOWN: usize = 100;

/// What a stream of one job has not told yet.
pub(crate) struct JobNews {
    pub(crate) snapshot: Option<Fields>,
    pub(crate) summary: Option<Map<String, Value>>,
    pub(crate) lines: Vec<(&'static str, Fields)>,
}

/// Where a stream of one job is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct JobSeen {
    pub(crate) change: u64,
    attempt: u64,
    lines: u64,
}

/// What a stream of all jobs has not told yet.
pub(crate) struct AllNews {
    pub(crate) jobs: Vec<Map<String, Value>>,
    pub(crate) gone: Vec<u64>,
    pub(crate) machine: Option<Value>,
}

/// Figures of the metrics.
pub(crate) struct Totals {
    pub(crate) by_state: HashMap<State, u64>,
    pub(crate) by_user: BTreeMap<String, UserTotals>,
    pub(crate) cores: usize,
    pub(crate) cores_used: usize,
    pub(crate) memory_bytes: u64,
    pub(crate) memory_granted_bytes: u64,
    pub(crate) uptime_s: f64,
}

#[derive(Default)]
pub(crate) struct UserTotals {
    pub(crate) core_s: f64,
    pub(crate) bytes_done: u64,
    pub(crate) memory_bytes: u64,
}

impl Supervisor {
    /// Returns the summary of a job.
    pub(crate) fn summary(&self, id: u64) -> Result<Map<String, Value>> {
        self.lock().summary(id)
    }

    /// Returns the snapshot of a job.
    pub(crate) fn snapshot(&self, id: u64) -> Result<Fields> {
        let jobs = self.lock();
        let entry = jobs.entry(id)?;
        let mut snapshot = Fields::from(jobs.summary(id)?);
        let own = match &entry.running {
            Some(running) => running.view.snapshot(),
            None => match self.store.folder(id).read_view() {
                view if view.is_empty() => View::default().snapshot(),
                view => view,
            },
        };
        snapshot.extend(own);
        snapshot.insert("shares", &entry.job.own.shares);
        Ok(snapshot)
    }

    /// Returns where the cells of a job's grid are, as JSON.
    pub(crate) fn places(&self, id: u64) -> Result<String> {
        let jobs = self.lock();
        let places = match &jobs.entry(id)?.running {
            Some(running) => running.view.places().map(str::to_owned),
            None => std::fs::read_to_string(self.store.folder(id).path("places.json")).ok(),
        };
        places.ok_or_else(|| Denied::Missing(format!("job {id} has no tiles")))
    }

    /// Lists summaries, the newest first, and the id before which the next page is.
    pub(crate) fn list(
        &self,
        states: &[State],
        user: Option<&str>,
        before: u64,
        count: usize,
    ) -> (Vec<Map<String, Value>>, Option<u64>) {
        let jobs = self.lock();
        let is_wanted = |entry: &&Entry| {
            (states.is_empty() || states.contains(&entry.job.state))
                && user.is_none_or(|user| user == entry.job.user)
        };
        let found = jobs.entries.range(..before).rev().map(|(_, entry)| entry).filter(is_wanted);
        let mut ids: Vec<u64> = found.take(count + 1).map(|entry| entry.job.id).collect();
        let more = ids.len() > count;
        ids.truncate(count);
        let next = ids.last().copied().filter(|_| more);
        (ids.into_iter().filter_map(|id| jobs.summary(id).ok()).collect(), next)
    }

    /// Returns the machine (docs/api.md).
    pub(crate) fn machine(&self) -> Value {
        let jobs = self.lock();
        self.machine_of(&jobs)
    }

    fn machine_of(&self, jobs: &Jobs) -> Value {
        let mut cores = vec![Value::Null; self.workers];
        let running: Vec<Value> = jobs
            .running()
            .map(|(entry, running)| {
                let Job { id, user, name, memory_bytes, progress, .. } = &entry.job;
                running.cores.iter().for_each(|&core| cores[core] = (*id).into());
                let used = progress
                    .as_ref()
                    .map_or(Value::Null, |progress| progress["memory_bytes"].clone());
                json!({
                    "id": id, "user": user, "name": name, "cores": parts::text(&running.cores),
                    "memory_bytes": memory_bytes, "memory_used_bytes": used,
                })
            })
            .collect();
        let groups = self.groups.iter().zip(&self.caches).map(|(group, (cache_bytes, node))| {
            let cores: Vec<usize> = group.clone().collect();
            json!({ "cores": parts::text(&cores), "cache_bytes": cache_bytes, "node": node })
        });
        let groups: Vec<Value> = groups.collect();
        let count = |state: State, user: Option<&str>| {
            let is_it = |entry: &&Entry| {
                entry.job.state == state && user.is_none_or(|user| user == entry.job.user)
            };
            jobs.entries.values().filter(is_it).count()
        };
        let usage = jobs.usage_now();
        let users = self.auth.users().iter().map(|user| {
            let name = Some(user.name.as_str());
            json!({
                "name": user.name, "weight": user.weight, "core_s": usage.of(&user.name),
                "running": count(State::Running, name), "queued": count(State::Queued, name),
            })
        });
        let users: Vec<Value> = users.collect();
        let finished = jobs.entries.values().filter(|entry| entry.job.state.is_over()).count();
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "host": self.host,
            "workers": self.workers,
            "groups": groups,
            "memory_bytes": self.memory_bytes,
            "memory_free_bytes": self.memory_bytes.saturating_sub(jobs.granted_bytes()),
            "jobs_at_once": self.jobs_at_once,
            "cores": cores,
            "running": running,
            "queue": jobs.queue.iter().take(QUEUE_SHOWN).collect::<Vec<_>>(),
            "queued": jobs.queue.len(),
            "finished": finished,
            "users": users,
            "uptime_s": self.began.elapsed().as_secs_f64(),
        })
    }

    /// Returns the figures of the metrics.
    pub(crate) fn totals(&self) -> Totals {
        let jobs = self.lock();
        let (mut by_state, mut by_user) = (HashMap::new(), BTreeMap::<String, UserTotals>::new());
        let usage = jobs.usage_now();
        for user in self.auth.users() {
            by_user.entry(user.name.clone()).or_default().core_s = usage.of(&user.name);
        }
        for entry in jobs.entries.values() {
            *by_state.entry(entry.job.state).or_default() += 1;
            let totals = by_user.entry(entry.job.user.clone()).or_default();
            let figure = |name: &str| {
                let progress = entry.job.progress.as_ref();
                progress.and_then(|progress| progress[name].as_u64()).unwrap_or(0)
            };
            totals.bytes_done += figure("bytes_done");
            if entry.running.is_some() {
                totals.memory_bytes += figure("memory_bytes");
            }
        }
        Totals {
            by_state,
            by_user,
            cores: self.workers,
            cores_used: jobs.running().map(|(_, running)| running.cores.len()).sum(),
            memory_bytes: self.memory_bytes,
            memory_granted_bytes: jobs.granted_bytes(),
            uptime_s: self.began.elapsed().as_secs_f64(),
        }
    }

    /// Returns what a stream of one job has not told, which has told what was at `seen`; nothing if that is all.
    pub(crate) fn news_of(&self, id: u64, seen: Option<JobSeen>) -> Result<(JobNews, JobSeen)> {
        let (attempt, change) = {
            let jobs = self.lock();
            let entry = jobs.entry(id)?;
            (entry.running.as_ref().map_or(0, |running| running.since), entry.change)
        };
        let is_known = seen.is_some_and(|seen| seen.attempt == attempt || attempt == 0);
        let Some(seen) = seen.filter(|_| is_known) else {
            let snapshot = self.snapshot(id)?;
            let jobs = self.lock();
            let lines =
                jobs.entry(id)?.running.as_ref().map_or(0, |running| running.view.changes());
            let news = JobNews { snapshot: Some(snapshot), summary: None, lines: Vec::new() };
            return Ok((news, JobSeen { change, attempt, lines }));
        };
        let jobs = self.lock();
        let entry = jobs.entry(id)?;
        let mut news = JobNews { snapshot: None, summary: None, lines: Vec::new() };
        let mut now = JobSeen { change: entry.change, ..seen };
        match &entry.running {
            Some(running) => {
                now.lines = running.view.changes();
                news.lines = running.view.since(seen.lines);
            }
            // The last lines came after the last look, or never.
            None if entry.change > seen.change && seen.attempt > 0 => {
                drop(jobs);
                news.snapshot = Some(self.snapshot(id)?);
                return Ok((news, JobSeen { attempt: 0, ..now }));
            }
            None => {}
        }
        if entry.summary_change > seen.change {
            news.summary = Some(jobs.summary(id)?);
        }
        Ok((news, now))
    }

    /// Returns the machine, the summaries of all that waits, runs, or ended last, and the id before which those are that
    /// ended earlier, of which later ones may be among the summaries.
    pub(crate) fn all(&self) -> (Value, u64) {
        let jobs = self.lock();
        let over = jobs.entries.values().filter(|entry| entry.job.state.is_over());
        let over: Vec<(f64, u64)> =
            over.map(|entry| (entry.job.ended_at_s.unwrap_or(0.0), entry.job.id)).collect();
        let ended = ended_last(&over, ENDED_SHOWN);
        let next = next_older(&over, &ended);
        let open = jobs.entries.values().filter(|entry| !entry.job.state.is_over());
        let mut ids: Vec<u64> = ended.into_iter().chain(open.map(|entry| entry.job.id)).collect();
        ids.sort_unstable_by(|a, b| b.cmp(a));
        let summaries: Vec<_> = ids.into_iter().filter_map(|id| jobs.summary(id).ok()).collect();
        let all = json!({ "machine": self.machine_of(&jobs), "jobs": summaries, "next": next });
        (all, jobs.changes)
    }

    /// Returns whether a job has changed after `seen` changes, but in its progress.
    pub(crate) fn has_moved(&self, seen: u64) -> bool {
        let jobs = self.lock();
        jobs.entries.values().any(|entry| entry.summary_change > seen)
            || jobs.gone.iter().any(|(_, change)| *change > seen)
    }

    /// Returns what has changed after `seen` changes.
    pub(crate) fn news(&self, seen: u64) -> (AllNews, u64) {
        let jobs = self.lock();
        let changed = jobs.entries.values().filter(|entry| entry.change > seen);
        let changed = changed.filter_map(|entry| jobs.summary(entry.job.id).ok()).collect();
        let gone = jobs.gone.iter().filter(|(_, change)| *change > seen).map(|(id, _)| *id);
        let machine = (jobs.machine_change > seen).then(|| self.machine_of(&jobs));
        (AllNews { jobs: changed, gone: gone.collect(), machine }, jobs.changes)
    }
}

/// Returns the ids of the jobs that ended last, of times and ids.
fn ended_last(over: &[(f64, u64)], most: usize) -> BTreeSet<u64> {
    let mut over = over.to_vec();
    over.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
    over.into_iter().take(most).map(|(_, id)| id).collect()
}

/// Returns the id from which on all jobs that are over are among the shown ones; none if all are.
fn next_older(over: &[(f64, u64)], shown: &BTreeSet<u64>) -> Option<u64> {
    let ids: BTreeSet<u64> = over.iter().map(|(_, id)| *id).collect();
    let missing = ids.iter().rev().find(|id| !shown.contains(id))?;
    Some(missing + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_jobs_are_before_the_newest_that_is_not_shown() {
        let next = |over: &[(f64, u64)]| {
            let shown = ended_last(over, 2);
            (shown.iter().copied().collect::<Vec<_>>(), next_older(over, &shown))
        };
        assert_eq!(next(&[]), (vec![], None));
        assert_eq!(next(&[(1.0, 1), (2.0, 2)]), (vec![1, 2], None));
        assert_eq!(next(&[(1.0, 1), (2.0, 2), (3.0, 3)]), (vec![2, 3], Some(2)));
        // The first job ended last.
        assert_eq!(next(&[(9.0, 1), (2.0, 2), (3.0, 3)]), (vec![1, 3], Some(3)));
        // The last job ended first.
        assert_eq!(next(&[(3.0, 1), (2.0, 2), (1.0, 3)]), (vec![1, 2], Some(4)));
    }
}

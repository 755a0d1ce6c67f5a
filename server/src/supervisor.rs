//! The jobs of a server: what waits, what runs on which cores, and what is over. Each change is made under one lock, is
//! short, and wakes those who watch. A process and its job are one task, from its start to its end (`Supervisor::follow`).

use crate::auth::{Auth, User};
use crate::events::View;
use crate::job::{Job, Present, Request, State, now_s, short};
use crate::parts::{self, Cores, Demand, divide, usual_at_once};
use crate::queue::{self, Usage, Waiting};
use crate::store::{Folder, Store};
use crate::{Check, Checked, Config, Fault, Refused, Roots, Watched, child, say};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tegula::Topology;
use tegula::schedule::Placement;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::unix::pipe;
use tokio::process::Child;
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinHandle;

/// How often a job is started again after a signal has ended its process.
const CRASHES_MOST: u32 = 2;
/// How long a job may need to stop when it is cancelled.
const STOPS_WITHIN: Duration = Duration::from_secs(5);
/// The end of the log that the reason of a failure has.
const LOG_TAIL_BYTES: u64 = 4096;
/// The longest line of events; a longer one is passed over.
const LINE_MOST: u64 = 8 << 20;
/// The ids of a queue that are shown.
const QUEUE_SHOWN: usize = 100;
/// Priorities go from minus this to this.
const PRIORITY_MOST: i32 = 100;
/// Ends of jobs that are shown to those who watch all jobs.
const ENDED_SHOWN: usize = 100;
/// The most bytes of a name.
const NAME_MOST: usize = 200;

/// Why a request is not carried out.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Denied {
    Malformed(String),
    Forbidden(String),
    Missing(String),
    Conflict(String),
    Full(String),
    TooLarge,
    /// The server itself cannot, such as on a full disk.
    Broken(String),
}

type Result<T, E = Denied> = std::result::Result<T, E>;

/// All of a server but its doors.
pub(crate) struct Supervisor {
    config: Config,
    check: Check,
    store: Store,
    auth: Auth,
    host: String,
    began: Instant,
    /// Tells this start of the server from others.
    boot: String,
    groups: Vec<Range<usize>>,
    caches: Vec<(u64, u32)>,
    /// The processors of each core.
    processors: Vec<Vec<u32>>,
    memory_bytes: u64,
    jobs_at_once: usize,
    workers: usize,
    state: Mutex<Jobs>,
    changed: watch::Sender<u64>,
}

/// The jobs, under the lock.
struct Jobs {
    entries: BTreeMap<u64, Entry>,
    usage: Usage,
    used_at: Instant,
    next_id: u64,
    changes: u64,
    /// Ids of removed jobs, and the change that it was; the newest only.
    gone: Vec<(u64, u64)>,
    /// The order of those that wait.
    queue: Vec<u64>,
    machine_change: u64,
    /// Set when the server ends: nothing begins any more.
    ends: bool,
}

struct Entry {
    job: Job,
    /// The number of the last change, and of the last that was not only progress.
    change: u64,
    summary_change: u64,
    running: Option<Running>,
}

/// What a job has while it runs.
struct Running {
    began: Instant,
    cores: Cores,
    view: View,
    /// The change with which this attempt began.
    since: u64,
    control: mpsc::UnboundedSender<String>,
    kill: Arc<Notify>,
}

/// What a stream of one job has not told yet.
pub(crate) struct JobNews {
    pub(crate) snapshot: Option<Map<String, Value>>,
    pub(crate) summary: Option<Map<String, Value>>,
    pub(crate) lines: Vec<(&'static str, Value)>,
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
    /// Opens the folder, ends what an earlier server left, and lets its jobs wait.
    pub(crate) fn open(config: Config, check: Check, port: u16) -> Result<Arc<Supervisor>, Fault> {
        let store = Store::open(&config.home)?;
        let users = match &config.tokens {
            Some(text) => {
                User::parse_all(text).map_err(|cause| Fault(format!("--tokens: {cause}")))?
            }
            None => vec![User::of_token(&config.token)],
        };
        let auth = Auth::new(users, store.key()?, port);
        let topology = Topology::detect();
        let workers = config.workers.unwrap_or(topology.workers());
        let placement = Placement::new(&topology, workers);
        let groups: Vec<_> =
            (0..placement.groups()).map(|group| placement.workers_of(group)).collect();
        let caches = (0..placement.groups()).map(|group| {
            let group = &topology.groups[placement.number_of(group)];
            (group.cache_bytes.unwrap_or(0), group.node)
        });
        let caches = caches.collect();
        let processors =
            (0..workers).map(|worker| placement.processors_of(&topology, worker)).collect();
        let jobs_at_once = config.jobs_at_once.unwrap_or(usual_at_once(workers)).min(workers);
        let memory_bytes = config.memory_bytes.unwrap_or_else(machine_bytes);
        let (mut jobs, highest) = store.read_all()?;
        for job in &mut jobs {
            if let (Some(pid), Some(began)) = (job.own.pid, job.own.pid_began) {
                child::end_left(pid, began);
            }
            (job.own.pid, job.own.pid_began) = (None, None);
            if job.state == State::Running {
                job.state = State::Queued;
            }
        }
        let entry = |job: Job| (job.id, Entry { job, change: 0, summary_change: 0, running: None });
        let jobs = Jobs {
            entries: jobs.into_iter().map(entry).collect(),
            usage: Usage::default(),
            used_at: Instant::now(),
            next_id: highest + 1,
            changes: 0,
            gone: Vec::new(),
            queue: Vec::new(),
            machine_change: 0,
            ends: false,
        };
        let boot = crate::auth::hex(&crate::store::random()?[..4]);
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        Ok(Arc::new(Supervisor {
            config,
            check,
            store,
            auth,
            host,
            began: Instant::now(),
            boot,
            groups,
            caches,
            processors,
            memory_bytes,
            jobs_at_once,
            workers,
            state: Mutex::new(jobs),
            changed: watch::Sender::new(0),
        }))
    }

    pub(crate) fn auth(&self) -> &Auth {
        &self.auth
    }

    pub(crate) fn boot(&self) -> &str {
        &self.boot
    }

    pub(crate) fn hosts(&self) -> &[String] {
        &self.config.hosts
    }

    /// Returns what wakes when anything changes.
    pub(crate) fn watch(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    pub(crate) fn folder(&self, id: u64) -> Folder {
        self.store.folder(id)
    }

    fn roots(&self) -> &Roots {
        &self.config.roots
    }

    fn lock(&self) -> MutexGuard<'_, Jobs> {
        // Each change under the lock is whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a job in.
    pub(crate) fn submit(self: &Arc<Self>, request: Request, user: &User) -> Result<u64> {
        let (checked, folder) = self.checked(&request)?;
        let priority = checked_priority(request.priority)?;
        let memory_bytes =
            request.memory_bytes.unwrap_or(self.memory_bytes / self.jobs_at_once as u64);
        let most = request.most.unwrap_or(self.workers).min(self.workers);
        let least = request.least.unwrap_or(1);
        if memory_bytes > self.memory_bytes || memory_bytes == 0 {
            let all = self.memory_bytes;
            return Err(Denied::Malformed(format!(
                "memory_bytes: give 1 to {all}, which all jobs have together"
            )));
        }
        if !(1..=self.workers).contains(&least) || most < least {
            let all = self.workers;
            return Err(Denied::Malformed(format!(
                "least, most: give 1 to {all} cores, least at most most"
            )));
        }
        let name = request.name.clone().unwrap_or_else(|| request.command.join(" "));
        let name: String = name.chars().filter(|one| !one.is_control()).take(NAME_MOST).collect();
        let mut jobs = self.lock();
        let waiting = |of: Option<&str>| {
            let waits = |entry: &&Entry| {
                entry.job.state == State::Queued && of.is_none_or(|user| user == entry.job.user)
            };
            jobs.entries.values().filter(waits).count()
        };
        if waiting(None) >= self.config.queue_most
            || user.queue_most.is_some_and(|most| waiting(Some(&user.name)) >= most)
        {
            return Err(Denied::Full("the queue is full; try again later".to_owned()));
        }
        let id = jobs.next_id;
        let request = Request {
            name: Some(name),
            priority,
            memory_bytes: Some(memory_bytes),
            least: Some(least),
            most: Some(most),
            ..request
        };
        let mut job = Job::new(id, request, folder, user.name.clone());
        (job.own.saves, job.own.shares) = (checked.saves, checked.shares);
        let folder = self.store.folder(id);
        let broken = |cause: String| Denied::Broken(format!("the job cannot be kept: {cause}"));
        folder.make().map_err(|cause| broken(cause.to_string()))?;
        jobs.next_id += 1;
        folder.write(&job).map_err(|fault| broken(fault.0))?;
        jobs.entries.insert(id, Entry { job, change: 0, summary_change: 0, running: None });
        jobs.note(id, true);
        self.schedule(&mut jobs);
        Ok(id)
    }

    /// Checks a command line, and that its input is below the roots.
    fn checked(&self, request: &Request) -> Result<(Checked, std::path::PathBuf)> {
        let checked = (self.check)(&request.command).map_err(|refused| match refused {
            Refused::Malformed(cause) => Denied::Malformed(cause),
            Refused::Forbidden(cause) => Denied::Forbidden(cause),
        })?;
        if checked.has_code && !self.config.allow_code {
            let cause = "this command brings code of its own, which this server does not allow (--allow-code)";
            return Err(Denied::Forbidden(cause.to_owned()));
        }
        let first = self.roots().first().unwrap_or(std::path::Path::new("/"));
        let folder = request.folder.as_deref().unwrap_or(first);
        // Where relative paths begin matters to those alone.
        let is_absolute = |input: &String| input.starts_with('/') || input.contains("://");
        let folder = match self.roots().folder(folder) {
            Err(_) if checked.inputs.iter().all(is_absolute) => self.roots().folder(first),
            folder => folder,
        };
        let folder = folder.map_err(Denied::Forbidden)?;
        let check = |input: &String| self.roots().check(&folder, input);
        checked.inputs.iter().try_for_each(check).map_err(Denied::Forbidden)?;
        // What cannot be read a second time is of no use to a state.
        let is_stream = |input: &String| {
            std::fs::metadata(folder.join(input))
                .is_ok_and(|found| !found.is_file() && !found.is_dir())
        };
        let saves = checked.saves && !checked.inputs.iter().any(is_stream);
        Ok((Checked { saves, ..checked }, folder))
    }

    /// Submits the command of a job once more.
    pub(crate) fn again(self: &Arc<Self>, id: u64, user: &User) -> Result<u64> {
        let request = {
            let jobs = self.lock();
            let Job { command, folder, name, priority, memory_bytes, least, most, .. } =
                jobs.entry(id)?.job.clone();
            Request {
                command,
                folder: Some(folder),
                name: Some(name),
                priority,
                memory_bytes: Some(memory_bytes),
                least: Some(least),
                most: Some(most),
            }
        };
        self.submit(request, user)
    }

    /// Changes the priority of a job that is not over.
    pub(crate) fn prioritise(
        self: &Arc<Self>,
        id: u64,
        priority: i32,
    ) -> Result<Map<String, Value>> {
        let priority = checked_priority(priority)?;
        let mut jobs = self.lock();
        jobs.open_entry(id)?.job.priority = priority;
        self.keep(&jobs, id);
        jobs.note(id, true);
        self.schedule(&mut jobs);
        jobs.summary(id)
    }

    /// Cancels a job that is not over.
    pub(crate) fn cancel(self: &Arc<Self>, id: u64) -> Result<Map<String, Value>> {
        let mut jobs = self.lock();
        let entry = jobs.open_entry(id)?;
        entry.job.cancelling = true;
        match &entry.running {
            Some(running) => {
                let _ = running.control.send(json!({ "cancel": true }).to_string());
                let kill = Arc::clone(&running.kill);
                tokio::spawn(async move {
                    tokio::time::sleep(STOPS_WITHIN).await;
                    kill.notify_one();
                });
            }
            None => {
                (entry.job.state, entry.job.cancelling) = (State::Cancelled, false);
                entry.job.ended_at_s = Some(now_s());
                self.store.folder(id).remove_state();
            }
        }
        self.keep(&jobs, id);
        jobs.note(id, true);
        self.schedule(&mut jobs);
        jobs.summary(id)
    }

    /// Returns the summary of a job.
    pub(crate) fn summary(&self, id: u64) -> Result<Map<String, Value>> {
        self.lock().summary(id)
    }

    /// Returns the snapshot of a job.
    pub(crate) fn snapshot(&self, id: u64) -> Result<Map<String, Value>> {
        let jobs = self.lock();
        let entry = jobs.entry(id)?;
        let mut snapshot = jobs.summary(id)?;
        let own = match &entry.running {
            Some(running) => running.view.snapshot(),
            None => match self.store.folder(id).read_view() {
                view if view.is_empty() => View::default().snapshot(),
                view => view,
            },
        };
        snapshot.extend(own);
        snapshot.insert("shares".to_owned(), entry.job.own.shares.into());
        Ok(snapshot)
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
        let users = self.auth.users().iter().map(|user| {
            let name = Some(user.name.as_str());
            json!({
                "name": user.name, "weight": user.weight, "core_s": jobs.usage.of(&user.name),
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
        for user in self.auth.users() {
            by_user.entry(user.name.clone()).or_default().core_s = jobs.usage.of(&user.name);
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
                let lines = running.view.since(seen.lines).into_iter();
                news.lines = lines.map(|(kind, line)| (kind, line.clone())).collect();
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

    /// Returns the machine, and the summaries of all that waits, runs, or ended last.
    pub(crate) fn all(&self) -> (Value, u64) {
        let jobs = self.lock();
        let ended = jobs.entries.values().rev().filter(|entry| entry.job.state.is_over());
        let mut ids: Vec<u64> = ended.take(ENDED_SHOWN).map(|entry| entry.job.id).collect();
        let open = jobs.entries.values().filter(|entry| !entry.job.state.is_over());
        ids.extend(open.map(|entry| entry.job.id));
        ids.sort_unstable_by(|a, b| b.cmp(a));
        let summaries: Vec<_> = ids.into_iter().filter_map(|id| jobs.summary(id).ok()).collect();
        (json!({ "machine": self.machine_of(&jobs), "jobs": summaries }), jobs.changes)
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

    /// Lets no job begin any more, and ends those that run: they go on from their states when a server begins again.
    pub(crate) fn end(&self) {
        let mut jobs = self.lock();
        jobs.ends = true;
        jobs.entries
            .values()
            .filter_map(|entry| entry.running.as_ref())
            .for_each(|running| running.kill.notify_one());
    }

    /// Begins what can begin, and divides the cores anew.
    pub(crate) fn begin(self: &Arc<Self>) {
        let mut jobs = self.lock();
        self.schedule(&mut jobs);
    }

    fn schedule(self: &Arc<Self>, jobs: &mut Jobs) {
        jobs.account();
        jobs.order(&self.auth);
        let queue = jobs.queue.clone();
        let mut begun = Vec::new();
        for id in queue {
            let (mut running, mut least) = (begun.len(), 0);
            for (entry, _) in jobs.running() {
                (running, least) = (running + 1, least + entry.job.least);
            }
            least += begun
                .iter()
                .filter_map(|id| jobs.entries.get(id))
                .map(|entry| entry.job.least)
                .sum::<usize>();
            let granted: u64 = begun
                .iter()
                .filter_map(|id| jobs.entries.get(id))
                .map(|entry| entry.job.memory_bytes)
                .sum();
            let Some(entry) = jobs.entries.get(&id) else { continue };
            // The first that cannot begin holds up those after it, or it might wait for ever.
            let fits = running < self.jobs_at_once
                && jobs.granted_bytes() + granted + entry.job.memory_bytes <= self.memory_bytes
                && least + entry.job.least <= self.workers;
            if !fits || jobs.ends {
                break;
            }
            begun.push(id);
        }
        let parts = self.divide(jobs, &begun);
        for (id, cores) in parts {
            match jobs.entries.get_mut(&id).and_then(|entry| entry.running.as_mut()) {
                Some(running) if running.cores != cores => {
                    let _ =
                        running.control.send(json!({ "share": parts::text(&cores) }).to_string());
                    running.cores = cores;
                    jobs.note(id, true);
                }
                Some(_) => {}
                None => self.start(jobs, id, cores),
            }
        }
        jobs.order(&self.auth);
        self.changed.send_replace(jobs.changes);
    }

    /// Divides the cores among the jobs that run and those that begin.
    fn divide(&self, jobs: &Jobs, begun: &[u64]) -> Vec<(u64, Cores)> {
        let running = jobs.running().map(|(entry, running)| (entry, running.cores.clone()));
        let begins = begun.iter().filter_map(|id| jobs.entries.get(id));
        let all: Vec<(&Entry, Cores)> =
            running.chain(begins.map(|entry| (entry, Cores::new()))).collect();
        let mut of_user: HashMap<&str, f64> = HashMap::new();
        for (entry, _) in &all {
            *of_user.entry(&entry.job.user).or_default() += 1.0;
        }
        let weight = |user: &str| {
            let user = self.auth.users().iter().find(|known| known.name == user);
            user.map_or(1.0, |user| user.weight)
        };
        let demand = |(entry, cores): &(&Entry, Cores)| {
            let user = entry.job.user.as_str();
            let mut most = entry.job.most;
            if let Some(running) = &entry.running {
                // What nobody can take a part of any more needs no further cores.
                most = most.min(running.view.useful().unwrap_or(most)).max(entry.job.least);
                if !entry.job.own.shares {
                    most = most.min(cores.len().max(entry.job.least));
                }
            }
            Demand { weight: weight(user) / of_user[user], least: entry.job.least, most }
        };
        let demands: Vec<Demand> = all.iter().map(demand).collect();
        let before: Vec<Cores> = all.iter().map(|(_, cores)| cores.clone()).collect();
        let parts = divide(&demands, &self.groups, &before);
        all.iter().map(|(entry, _)| entry.job.id).zip(parts).collect()
    }

    /// Starts the process of a job.
    fn start(self: &Arc<Self>, jobs: &mut Jobs, id: u64, cores: Cores) {
        let folder = self.store.folder(id);
        let since = jobs.changes + 1;
        let Some(entry) = jobs.entries.get_mut(&id) else { return };
        // Of a command whose workers cannot change, only those that it may have are started.
        let workers = if entry.job.own.shares { self.workers } else { cores.len() };
        let processors: Vec<u32> =
            cores.iter().flat_map(|&core| self.processors[core].iter().copied()).collect();
        let processors = (!entry.job.own.shares).then_some(&processors[..]);
        // What it may read can have changed while it waited.
        let request = Request {
            command: entry.job.command.clone(),
            folder: Some(entry.job.folder.clone()),
            name: None,
            priority: 0,
            memory_bytes: None,
            least: None,
            most: None,
        };
        let started = match self.checked(&request) {
            Ok(_) => child::start(&self.config.program, &entry.job, &folder, workers, processors)
                .map_err(|cause| format!("cannot start its process: {cause}")),
            Err(Denied::Malformed(cause) | Denied::Forbidden(cause)) => Err(cause),
            Err(_) => Err("it cannot be checked".to_owned()),
        };
        let job = &mut entry.job;
        match started {
            Ok(child) => {
                let (control, commands) = mpsc::unbounded_channel();
                let kill = Arc::new(Notify::new());
                let _ = control.send(json!({ "hold": true }).to_string());
                if job.own.shares {
                    let _ = control.send(json!({ "share": parts::text(&cores) }).to_string());
                }
                job.state = State::Running;
                job.attempts += 1;
                job.started_at_s.get_or_insert_with(now_s);
                job.own.pid = child.id();
                job.own.pid_began = child.id().and_then(child::began);
                let (began, view) = (Instant::now(), View::default());
                let running =
                    Running { began, cores, view, since, control, kill: Arc::clone(&kill) };
                entry.running = Some(running);
                tokio::spawn(Arc::clone(self).follow(id, child, commands, kill));
            }
            Err(cause) => {
                (job.state, job.message) = (State::Failed, Some(cause));
                job.ended_at_s = Some(now_s());
            }
        }
        self.keep(jobs, id);
        jobs.note(id, true);
    }

    /// Follows a run that is no child of this server, from its begin to its last line.
    pub(crate) fn adopt(self: &Arc<Self>, watched: Watched) -> std::io::Result<()> {
        let Watched { command, folder, workers, memory_bytes, events, control } = watched;
        let events = pipe::Receiver::from_owned_fd(events.into())?;
        let into = pipe::Sender::from_owned_fd(control.into())?;
        let mut jobs = self.lock();
        let id = jobs.next_id;
        jobs.next_id += 1;
        self.store.folder(id).make()?;
        let request = Request {
            command,
            folder: None,
            name: None,
            priority: 0,
            memory_bytes: Some(memory_bytes),
            least: Some(1),
            most: Some(workers),
        };
        let mut job = Job::new(id, request, folder, crate::auth::ONE_USER.to_owned());
        (job.state, job.attempts, job.own.shares) = (State::Running, 1, true);
        job.started_at_s = Some(job.created_at_s);
        let (control, commands) = mpsc::unbounded_channel();
        let running = Running {
            began: Instant::now(),
            cores: (0..workers).collect(),
            view: View::default(),
            since: jobs.changes + 1,
            control,
            kill: Arc::default(),
        };
        jobs.entries
            .insert(id, Entry { job, change: 0, summary_change: 0, running: Some(running) });
        jobs.note(id, true);
        drop(jobs);
        let supervisor = Arc::clone(self);
        tokio::spawn(async move {
            let obeys = tokio::spawn(pass_on(commands, into));
            supervisor.listen(id, events).await;
            obeys.abort();
            supervisor.finish(id, None);
        });
        Ok(())
    }

    /// Takes in what a process tells, until it ends.
    async fn follow(
        self: Arc<Self>,
        id: u64,
        mut child: Child,
        commands: mpsc::UnboundedReceiver<String>,
        kill: Arc<Notify>,
    ) {
        let obeys = child.stdin.take().map(|stdin| tokio::spawn(pass_on(commands, stdin)));
        let stdout = child.stdout.take();
        let told = async {
            if let Some(stdout) = stdout {
                self.listen(id, stdout).await;
            }
        };
        tokio::select! {
            () = told => {}
            () = kill.notified() => { let _ = child.start_kill(); }
        }
        // It has closed its standard output, so it is about to end.
        let status = tokio::select! {
            status = child.wait() => status,
            () = kill.notified() => {
                let _ = child.start_kill();
                child.wait().await
            }
            () = tokio::time::sleep(STOPS_WITHIN) => {
                let _ = child.start_kill();
                child.wait().await
            }
        };
        obeys.iter().for_each(JoinHandle::abort);
        self.finish(id, status.ok());
    }

    /// Takes in lines of events to their end.
    async fn listen(self: &Arc<Self>, id: u64, events: impl AsyncRead + Unpin) {
        let mut lines = BufReader::new(events);
        let mut line = Vec::new();
        loop {
            line.clear();
            match (&mut lines).take(LINE_MOST).read_until(b'\n', &mut line).await {
                Ok(0) | Err(_) => return,
                Ok(_) => self.absorb(id, &line),
            }
        }
    }

    fn absorb(self: &Arc<Self>, id: u64, line: &[u8]) {
        let mut jobs = self.lock();
        let Some(entry) = jobs.entries.get_mut(&id) else { return };
        let Some(running) = &mut entry.running else { return };
        let useful = running.view.useful();
        running.view.absorb(line);
        let is_less = running.view.useful() != useful;
        if let Some(progress) = running.view.newest("progress") {
            entry.job.progress = Some(progress.clone());
        }
        jobs.note(id, false);
        if is_less {
            self.schedule(&mut jobs);
        }
        self.changed.send_replace(jobs.changes);
    }

    /// Settles what became of a job whose process has ended.
    fn finish(self: &Arc<Self>, id: u64, status: Option<ExitStatus>) {
        let mut jobs = self.lock();
        jobs.account();
        let ends = jobs.ends;
        let Some(entry) = jobs.entries.get_mut(&id) else { return };
        let Some(running) = entry.running.take() else { return };
        if ends {
            // The record says that it runs, so that it goes on when a server begins again.
            return;
        }
        let folder = self.store.folder(id);
        let job = &mut entry.job;
        job.elapsed_s += running.began.elapsed().as_secs_f64();
        (job.own.pid, job.own.pid_began) = (None, None);
        let end = running.view.end();
        let told = |name: &str| end.map(|end| end[name].clone()).unwrap_or_default();
        job.code = match status {
            Some(status) => status.code(),
            None => told("code").as_i64().and_then(|code| i32::try_from(code).ok()),
        };
        job.signal = status.and_then(|status| status.signal());
        job.message = told("message").as_str().map(str::to_owned);
        job.state = match (job.code, job.cancelling) {
            (Some(0), _) => State::Done,
            (_, true) => State::Cancelled,
            (None, false) if job.own.crashes < CRASHES_MOST => {
                job.own.crashes += 1;
                State::Queued
            }
            (Some(130), false) => State::Cancelled,
            _ => State::Failed,
        };
        if job.state == State::Failed && job.message.is_none() {
            job.message = Some(reason(job, &running.view, &folder));
        }
        job.cancelling = false;
        if job.state.is_over() {
            job.ended_at_s = Some(now_s());
            // The rest is in the view.
            job.progress = job.progress.as_ref().map(short);
            let answer = std::fs::metadata(folder.path("answer")).ok();
            job.answer_bytes = answer.filter(|_| job.state == State::Done).map(|file| file.len());
            folder.remove_state();
        }
        if let Err(fault) = folder.write_view(&running.view.snapshot()) {
            say(&fault.0);
        }
        self.keep(&jobs, id);
        jobs.note(id, true);
        self.schedule(&mut jobs);
    }

    /// Writes the record of a job. On a full disk the job goes on, and is begun anew after a crash of the server.
    fn keep(&self, jobs: &Jobs, id: u64) {
        if let Some(entry) = jobs.entries.get(&id)
            && let Err(fault) = self.store.folder(id).write(&entry.job)
        {
            say(&fault.0);
        }
    }

    /// Removes jobs that were over for long enough, and the oldest while they have too many bytes.
    pub(crate) fn clear(&self) {
        let over: Vec<(u64, f64)> = {
            let jobs = self.lock();
            let over = jobs.entries.values().filter(|entry| entry.job.state.is_over());
            over.map(|entry| (entry.job.id, entry.job.ended_at_s.unwrap_or(0.0))).collect()
        };
        let oldest_s = now_s() - self.config.keep.as_secs_f64();
        let mut gone: Vec<u64> = over
            .iter()
            .filter(|(_, ended_at_s)| *ended_at_s < oldest_s)
            .map(|(id, _)| *id)
            .collect();
        if let Some(most) = self.config.keep_bytes {
            let kept = over.iter().rev().filter(|(id, _)| !gone.contains(id));
            let mut bytes = 0;
            let mut beyond = Vec::new();
            for (id, _) in kept {
                bytes += self.store.folder(*id).bytes();
                beyond.extend((bytes > most).then_some(*id));
            }
            gone.extend(beyond);
        }
        for id in gone {
            match self.store.folder(id).remove() {
                Ok(()) => {
                    let mut jobs = self.lock();
                    jobs.entries.remove(&id);
                    jobs.changes += 1;
                    let change = jobs.changes;
                    jobs.gone.push((id, change));
                    jobs.machine_change = change;
                    self.changed.send_replace(change);
                }
                Err(cause) => say(&format!("job {id} cannot be removed: {cause}")),
            }
        }
    }
}

impl Jobs {
    fn entry(&self, id: u64) -> Result<&Entry> {
        self.entries.get(&id).ok_or_else(|| Denied::Missing(format!("there is no job {id}")))
    }

    /// Returns a job that is not over.
    fn open_entry(&mut self, id: u64) -> Result<&mut Entry> {
        let missing = || Denied::Missing(format!("there is no job {id}"));
        let entry = self.entries.get_mut(&id).ok_or_else(missing)?;
        match entry.job.state {
            state if state.is_over() => {
                Err(Denied::Conflict(format!("job {id} is over: {}", state.name())))
            }
            _ => Ok(entry),
        }
    }

    fn running(&self) -> impl Iterator<Item = (&Entry, &Running)> {
        self.entries.values().filter_map(|entry| Some((entry, entry.running.as_ref()?)))
    }

    fn granted_bytes(&self) -> u64 {
        self.running().map(|(entry, _)| entry.job.memory_bytes).sum()
    }

    fn summary(&self, id: u64) -> Result<Map<String, Value>> {
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
    fn note(&mut self, id: u64, is_all: bool) {
        self.changes += 1;
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.change = self.changes;
            if is_all {
                entry.summary_change = self.changes;
            }
        }
        self.machine_change = self.changes;
    }

    /// Adds the time since the last call to what users had.
    fn account(&mut self) {
        let time = self.used_at.elapsed();
        self.used_at = Instant::now();
        self.usage.fade(time);
        let Jobs { entries, usage, .. } = self;
        for entry in entries.values() {
            if let Some(running) = &entry.running {
                usage.add(&entry.job.user, time.as_secs_f64() * running.cores.len() as f64);
            }
        }
    }

    /// Orders those that wait.
    fn order(&mut self, auth: &Auth) {
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

/// Writes commands to a process, a line each.
async fn pass_on(
    mut commands: mpsc::UnboundedReceiver<String>,
    mut into: impl AsyncWrite + Unpin + Send,
) {
    while let Some(mut line) = commands.recv().await {
        line.push('\n');
        if into.write_all(line.as_bytes()).await.is_err() {
            return;
        }
    }
}

/// Says why a job failed that has not said so itself: the signal, the last tiles and the end of the log.
fn reason(job: &Job, view: &View, folder: &Folder) -> String {
    let log = folder.log_tail(LOG_TAIL_BYTES);
    let last = log.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let Some(signal) = job.signal else { return last.to_owned() };
    let tiles = view.newest("tiles").map(|tiles| {
        let (running, done) = (&tiles["counts"]["running"], &tiles["counts"]["mapped"]);
        format!(", while {running} tiles ran and {done} were mapped")
    });
    let memory = if signal == 9 { " (perhaps by the system, for lack of memory)" } else { "" };
    format!(
        "signal {signal}{memory} ended its process {} times{}; the log ends: {last}",
        job.own.crashes + 1,
        tiles.unwrap_or_default()
    )
}

fn checked_priority(priority: i32) -> Result<i32> {
    match (-PRIORITY_MOST..=PRIORITY_MOST).contains(&priority) {
        true => Ok(priority),
        false => {
            Err(Denied::Malformed(format!("priority: give -{PRIORITY_MOST} to {PRIORITY_MOST}")))
        }
    }
}

/// Returns three quarters of the memory that the machine, or this process's control group, has.
fn machine_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let total = total.and_then(|kb| kb.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    let group = std::fs::read_to_string("/sys/fs/cgroup/memory.max").unwrap_or_default();
    let limit = group.trim().parse::<u64>().unwrap_or(u64::MAX);
    (total.unwrap_or(4 << 20) * 1024).min(limit) / 4 * 3
}

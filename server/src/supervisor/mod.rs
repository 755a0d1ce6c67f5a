//! The jobs of a server: what comes in, what begins next and on which cores, and what is removed. Each change is made under
//! one lock (`jobs.rs`), is short, and wakes those who watch. A process and its job are one task (`running.rs`); what is
//! told of jobs is in `telling.rs`.

mod jobs;
mod running;
mod telling;

pub(crate) use telling::{AllNews, JobNews, JobSeen, Totals, UserTotals};

use crate::auth::{Auth, User};
use crate::job::{Asked, Job, Request, State, now_s};
use crate::parts::{self, Cores, Demand, divide, usual_at_once};
use crate::queue::Usage;
use crate::store::{Folder, Store};
use crate::{Check, Checked, Config, Fault, Refused, Roots, child, say};
use jobs::{Entry, Jobs};
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tegula::Topology;
use tegula::schedule::Placement;
use tegula_machine::memory::allowed_bytes;
use tokio::sync::watch;

/// How long a job may need to stop when it is cancelled.
const STOPS_WITHIN: Duration = Duration::from_secs(5);
/// Priorities go from minus this to this.
const PRIORITY_MOST: i32 = 100;
/// The command of jobs in Python.
const PYTHON: &str = "python";
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
    ends: watch::Sender<bool>,
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
            if job.state == State::Running && job.cancelling {
                // The server ended before the process did.
                job.cancelled();
                let folder = store.folder(job.id);
                if let Err(fault) = folder.write(job) {
                    say(&fault.0);
                }
                folder.remove_state();
            } else if job.state == State::Running {
                job.state = State::Queued;
            }
            if job.state == State::Queued && job.fit(memory_bytes, workers) {
                let Job { id, memory_bytes, least, most, .. } = job;
                say(&format!(
                    "job {id} was to have more than this server has: it gets {memory_bytes} bytes of memory and {least} to {most} cores"
                ));
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
            ends: watch::Sender::new(false),
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

    /// Returns how long a client may take for a header, and then for a body, and to read some of what it is sent.
    pub(crate) fn send_within(&self) -> Duration {
        self.config.send_within
    }

    /// Returns the numbers of the signals that end the server.
    pub(crate) fn signals(&self) -> &[i32] {
        &self.config.signals
    }

    /// Returns what wakes when anything changes.
    pub(crate) fn watch(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Returns what tells that the server ends.
    pub(crate) fn ends(&self) -> watch::Receiver<bool> {
        self.ends.subscribe()
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
        let program = request.program.clone();
        let priority = checked_priority(request.priority)?;
        let (memory_bytes, least, most) = self.limits(&request)?;
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
        let asked = Asked::of(&request);
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
        (job.own.is_python, job.own.inputs) = (program.is_some(), Some(checked.inputs));
        job.own.asked = Some(asked);
        let folder = self.store.folder(id);
        let broken = |cause: String| Denied::Broken(format!("the job cannot be kept: {cause}"));
        folder.make().map_err(|cause| broken(cause.to_string()))?;
        jobs.next_id += 1;
        let written = program.map_or(Ok(()), |program| folder.write_program(&program));
        written.and_then(|()| folder.write_new(&job)).map_err(|fault| {
            folder.remove_new();
            broken(fault.0)
        })?;
        jobs.entries.insert(id, Entry { job, change: 0, summary_change: 0, running: None });
        jobs.note(id, true);
        self.schedule(&mut jobs);
        // The record of a job that has begun was written once more, for good.
        let waits = jobs.entries.get(&id).filter(|entry| entry.job.state == State::Queued);
        if let Some(Err(fault)) = waits.map(|entry| folder.write(&entry.job)) {
            jobs.entries.remove(&id);
            jobs.order(&self.auth);
            folder.remove_new();
            return Err(broken(fault.0));
        }
        Ok(id)
    }

    /// Returns the memory and the least and the most cores that a job is to have.
    fn limits(&self, request: &Request) -> Result<(u64, usize, usize)> {
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
        Ok((memory_bytes, least, most))
    }

    /// Checks a command line, and that its input is below the roots.
    fn checked(&self, request: &Request) -> Result<(Checked, PathBuf)> {
        let checked = match (&request.program, request.command.split_first()) {
            (Some(_), Some((name, inputs))) if name == PYTHON => {
                let inputs = inputs.to_vec();
                Ok(Checked { inputs, saves: true, shares: false, has_code: true })
            }
            (Some(_), _) => Err(Refused::Malformed(format!("program: the command is no {PYTHON}"))),
            (None, _) => (self.check)(&request.command),
        };
        let checked = checked.map_err(|refused| match refused {
            Refused::Malformed(cause) => Denied::Malformed(cause),
            Refused::Forbidden(cause) => Denied::Forbidden(cause),
        })?;
        if checked.has_code && !self.config.allow_code {
            let cause = "this command brings code of its own, which this server does not allow (--allow-code)";
            return Err(Denied::Forbidden(cause.to_owned()));
        }
        let folder = self.placed(&checked.inputs, request.folder.as_deref())?;
        // What cannot be read a second time is of no use to a state.
        let is_stream = |input: &String| {
            std::fs::metadata(folder.join(input))
                .is_ok_and(|found| !found.is_file() && !found.is_dir())
        };
        let saves = checked.saves && !checked.inputs.iter().any(is_stream);
        Ok((Checked { saves, ..checked }, folder))
    }

    /// Checks that inputs are below the roots; returns the folder in which relative ones begin.
    fn placed(&self, inputs: &[String], folder: Option<&Path>) -> Result<PathBuf> {
        let first = self.roots().first().unwrap_or(Path::new("/"));
        let folder = folder.unwrap_or(first);
        // Where relative paths begin matters to those alone.
        let is_absolute = |input: &String| input.starts_with('/') || input.contains("://");
        let folder = match self.roots().folder(folder) {
            Err(_) if inputs.iter().all(is_absolute) => self.roots().folder(first),
            folder => folder,
        };
        let folder = folder.map_err(Denied::Forbidden)?;
        let check = |input: &String| self.roots().check(&folder, input);
        inputs.iter().try_for_each(check).map_err(Denied::Forbidden)?;
        Ok(folder)
    }

    /// Submits the command of a job once more.
    pub(crate) fn again(self: &Arc<Self>, id: u64, user: &User) -> Result<u64> {
        let request = {
            let jobs = self.lock();
            let Job { command, folder, name, priority, memory_bytes, least, most, own, .. } =
                jobs.entry(id)?.job.clone();
            let program = own.is_python.then(|| self.store.folder(id).read_program()).transpose();
            // What was left open is decided anew: another server may have less.
            let given =
                Asked { memory_bytes: Some(memory_bytes), least: Some(least), most: Some(most) };
            let Asked { memory_bytes, least, most } = own.asked.unwrap_or(given);
            Request {
                command,
                program: program.map_err(|fault| Denied::Broken(fault.0))?,
                folder: Some(folder),
                name: Some(name),
                priority,
                memory_bytes,
                least,
                most,
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
        let is_over = entry.running.is_none();
        match &entry.running {
            Some(running) => {
                let _ = running.control.send(json!({ "cancel": true }).to_string());
                let kill = Arc::clone(&running.kill);
                tokio::spawn(async move {
                    tokio::time::sleep(STOPS_WITHIN).await;
                    kill.notify_one();
                });
            }
            None => entry.job.cancelled(),
        }
        self.keep(&jobs, id);
        if is_over {
            self.store.folder(id).remove_state();
        }
        jobs.note(id, true);
        self.schedule(&mut jobs);
        jobs.summary(id)
    }

    /// Lets no job begin any more, and ends those that run: they go on from their states when a server begins again.
    pub(crate) fn end(&self) {
        let mut jobs = self.lock();
        jobs.ends = true;
        self.ends.send_replace(true);
        let mut ended = Vec::new();
        for (id, entry) in &mut jobs.entries {
            let Some(running) = &mut entry.running else { continue };
            running.kill.notify_one();
            entry.job.elapsed_s += running.began.elapsed().as_secs_f64();
            running.began = Instant::now();
            // A run that is watched has no record.
            ended.extend(entry.job.own.pid.map(|_| *id));
        }
        // The records say that they run, and for how long they have.
        ended.into_iter().for_each(|id| self.keep(&jobs, id));
    }

    /// Begins what can begin, and divides the cores anew.
    pub(crate) fn begin(self: &Arc<Self>) {
        let mut jobs = self.lock();
        self.schedule(&mut jobs);
    }

    fn schedule(self: &Arc<Self>, jobs: &mut Jobs) {
        // A job that cannot start has left the queue, and room for those after it.
        while self.begin_those_that_fit(jobs) {}
        jobs.order(&self.auth);
        self.changed.send_replace(jobs.changes);
    }

    /// Begins the first jobs of the queue, and divides the cores anew. Returns whether one of them could not start.
    fn begin_those_that_fit(self: &Arc<Self>, jobs: &mut Jobs) -> bool {
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
        let has_failed =
            |id: &u64| jobs.entries.get(id).is_some_and(|entry| entry.running.is_none());
        begun.iter().any(has_failed)
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
            let most = match &entry.running {
                Some(_) if !entry.job.own.shares => entry.job.most.min(cores.len()),
                // What nobody can take a part of any more needs no further cores, nor does a process that only starts.
                Some(running) => running.view.useful().unwrap_or(entry.job.most),
                None if entry.job.own.shares => 1,
                None => entry.job.most,
            };
            let most = most.min(entry.job.most).max(entry.job.least);
            Demand { weight: weight(user) / of_user[user], least: entry.job.least, most }
        };
        let demands: Vec<Demand> = all.iter().map(demand).collect();
        let before: Vec<Cores> = all.iter().map(|(_, cores)| cores.clone()).collect();
        let parts = divide(&demands, &self.groups, &before);
        all.iter().map(|(entry, _)| entry.job.id).zip(parts).collect()
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
        if gone.is_empty() {
            return;
        }
        // The folder of the highest may be gone at the next start.
        let highest = self.lock().next_id - 1;
        if let Err(fault) = self.store.note_highest(highest) {
            return say(&fault.0);
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

fn checked_priority(priority: i32) -> Result<i32> {
    match (-PRIORITY_MOST..=PRIORITY_MOST).contains(&priority) {
        true => Ok(priority),
        false => {
            Err(Denied::Malformed(format!("priority: give -{PRIORITY_MOST} to {PRIORITY_MOST}")))
        }
    }
}

/// The memory of a machine that does not say how much it has.
const UNKNOWN_BYTES: u64 = 4 << 30;

/// Returns three quarters of the memory that the machine has, or that this process's control groups allow.
fn machine_bytes() -> u64 {
    let bytes = match allowed_bytes() {
        u64::MAX => UNKNOWN_BYTES,
        bytes => bytes,
    };
    bytes / 4 * 3
}

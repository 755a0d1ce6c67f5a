//! A job's process, or a run that is watched: how it is started, what it tells, and what became of it. One task follows
//! it from its start to its end.

use super::jobs::{Entry, Jobs, Running};
use super::{Denied, STOPS_WITHIN, Supervisor};
use crate::events::View;
use crate::job::{Job, Request, State, now_s, short};
use crate::parts::{self, Cores};
use crate::store::Folder;
use crate::{Config, Watched, child, say};
use serde_json::json;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Instant;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::unix::pipe;
use tokio::process::Child;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;

/// How often a job is started again after a signal has ended its process.
const CRASHES_MOST: u32 = 2;
/// The end of the log that the reason of a failure has.
const LOG_TAIL_BYTES: u64 = 4096;
/// The longest line of events; a longer one is passed over.
const LINE_MOST: u64 = 8 << 20;

impl Supervisor {
    /// Starts the process of a job.
    pub(super) fn start(self: &Arc<Self>, jobs: &mut Jobs, id: u64, cores: Cores) {
        let folder = self.store.folder(id);
        let since = jobs.changes + 1;
        let Some(entry) = jobs.entries.get_mut(&id) else { return };
        // Of a command whose workers cannot change, only those that it may have are started.
        let workers = if entry.job.own.shares { self.workers } else { cores.len() };
        let processors: Vec<u32> =
            cores.iter().flat_map(|&core| self.processors[core].iter().copied()).collect();
        let processors = (!entry.job.own.shares).then_some(&processors[..]);
        // What it may read can have changed while it waited.
        let started = match self.may_begin(&entry.job) {
            Ok(()) => {
                let Config { program, python, .. } = &self.config;
                let program = if entry.job.own.is_python { python } else { program };
                let started = child::start(program, &entry.job, &folder, workers, processors);
                started.map_err(|cause| {
                    format!("{}: cannot start its process: {cause}", program.display())
                })
            }
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

    /// Checks that a job's input is still below the roots.
    fn may_begin(&self, job: &Job) -> Result<(), Denied> {
        if let Some(inputs) = &job.own.inputs {
            return self.placed(inputs, Some(&job.folder)).map(drop);
        }
        let request = Request {
            command: job.command.clone(),
            program: job.own.is_python.then(String::new),
            folder: Some(job.folder.clone()),
            name: None,
            priority: 0,
            memory_bytes: None,
            least: None,
            most: None,
        };
        self.checked(&request).map(drop)
    }

    /// Follows a run that is no child of this server, from its begin to its last line.
    pub(crate) fn adopt(self: &Arc<Self>, watched: Watched) -> std::io::Result<()> {
        let Watched { command, folder, workers, shares, memory_bytes, events, control } = watched;
        let events = pipe::Receiver::from_owned_fd(events.into())?;
        let into = pipe::Sender::from_owned_fd(control.into())?;
        let mut jobs = self.lock();
        let id = jobs.next_id;
        jobs.next_id += 1;
        self.store.folder(id).make()?;
        let request = Request {
            command,
            program: None,
            folder: None,
            name: None,
            priority: 0,
            memory_bytes: Some(memory_bytes),
            least: Some(1),
            most: Some(workers),
        };
        let mut job = Job::new(id, request, folder, crate::auth::ONE_USER.to_owned());
        (job.state, job.attempts, job.own.shares) = (State::Running, 1, shares);
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
        let log_bytes = self.store.folder(id).log_bytes();
        let mut jobs = self.lock();
        let Some(entry) = jobs.entries.get_mut(&id) else { return };
        let Some(running) = &mut entry.running else { return };
        let useful = running.view.useful();
        running.view.absorb(line, log_bytes);
        entry.job.log_bytes = log_bytes;
        let is_other = running.view.useful() != useful;
        if let Some(progress) = running.view.newest("progress") {
            entry.job.progress = Some(progress.clone());
        }
        jobs.note(id, false);
        if is_other {
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
        (job.cancelling, job.log_bytes) = (false, folder.log_bytes());
        let is_over = job.state.is_over();
        if is_over {
            job.ended_at_s = Some(now_s());
            // The rest is in the view.
            job.progress = job.progress.as_ref().map(short);
            let answer = std::fs::metadata(folder.path("answer")).ok();
            job.answer_bytes = answer.filter(|_| job.state == State::Done).map(|file| file.len());
        }
        let written = folder.write_view(&running.view.snapshot());
        let places = running.view.places().map_or(Ok(()), |places| folder.write_places(places));
        if let Err(fault) = written.and(places) {
            say(&fault.0);
        }
        self.keep(&jobs, id);
        if is_over {
            folder.remove_state();
        }
        jobs.note(id, true);
        self.schedule(&mut jobs);
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

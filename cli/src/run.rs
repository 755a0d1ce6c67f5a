//! A command that runs jobs, from its flags to its written answer. `Run::pairs` does all of it for a job
//! whose answer is one line per pair; other commands run several jobs one after another, or write an
//! answer that is one document. All jobs of a command share its engine, its progress and its interrupt,
//! and their figures are added up.

mod answer;
mod input;
mod written;

use crate::control;
use crate::events::{Events, EventsTo, Watched};
use crate::flags::{AnswerFlags, RunFlags, grouping};
#[cfg(feature = "nodes")]
use crate::nodes;
use crate::progress::{self, Shown};
use crate::request::{NOTE, Request};
use crate::session::{Session, Sink};
use crate::show::Shows;
#[cfg(feature = "serve")]
use crate::watch::Watch;
use crate::{devices, exit, stats, timeline};
use input::Found;
use std::cell::Cell;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::iter;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tegula::output::AtomicFile;
#[cfg(feature = "state")]
use tegula::state::StateReport;
use tegula::{
    Accelerator, BadRecord, Disk, Engine, Error, Folders, Input, Job, Options, Output, Progress,
    Result, Shown as ShownAnswers, Sort, Stage, StageTime, Stats, Storage, Timeline, process_cpu,
};
use tegula_apps::Runs;
#[cfg(feature = "nodes")]
use tegula_nodes::{Machines, Shares, Task};
use written::Written;
pub(crate) use written::{Reads, descriptor};

/// Runs a command's jobs: `work` runs them and writes their answer. Then prints the reports. A state keeps
/// `request`.
#[cfg(any(feature = "state", feature = "streaming"))]
pub(crate) fn command(
    flags: &RunFlags,
    request: Request,
    work: impl FnOnce(&mut Run<'_>) -> Result<()>,
) -> Result<()> {
    let mut work = Some(work);
    let work = &mut |run: &mut Run<'_>| work.take().map_or(Ok(()), |work| work(run));
    command_of_any(flags, request, (None, &[]), work)
}

/// As `command`, for one over the input that these arguments name. They are looked up by `work`.
pub(crate) fn command_over<'p>(
    flags: &RunFlags,
    request: Request,
    paths: impl IntoIterator<Item = &'p OsString>,
    work: impl FnOnce(&mut Run<'_>) -> Result<()>,
) -> Result<()> {
    command_reading(flags, request, (paths, &[]), work)
}

/// As `command_over`, for one that reads these files beside the input.
pub(crate) fn command_reading<'p>(
    flags: &RunFlags,
    request: Request,
    (paths, reads): (impl IntoIterator<Item = &'p OsString>, Reads<'_>),
    work: impl FnOnce(&mut Run<'_>) -> Result<()>,
) -> Result<()> {
    let mut work = Some(work);
    let work = &mut |run: &mut Run<'_>| work.take().map_or(Ok(()), |work| work(run));
    let paths: Vec<&OsString> = paths.into_iter().collect();
    command_of_any(flags, request, (Some(&paths), reads), work)
}

/// As `command`, compiled once for all commands.
fn command_of_any(
    flags: &RunFlags,
    request: Request,
    (paths, reads): (Option<&[&OsString]>, Reads<'_>),
    work: &mut dyn FnMut(&mut Run<'_>) -> Result<()>,
) -> Result<()> {
    Session::command(|session| {
        let is_node = flags.is_node();
        let written = if is_node { Written::default() } else { Written::of(flags, reads)? };
        #[cfg(feature = "serve")]
        let is_watched = flags.watch && !is_node;
        #[cfg(feature = "serve")]
        let begin = || Watch::begin(flags, &request.command, session.stop());
        #[cfg(feature = "serve")]
        let mut watch = is_watched.then(begin).transpose()?;
        #[cfg(feature = "serve")]
        let (events, control) = match &mut watch {
            Some(watch) => {
                let told = watch.events.take();
                let told = told.map(|file| Events::to(file, flags, &request.command));
                (told.transpose()?, Ok(watch.control.take()))
            }
            None => places(flags, &request.command)?,
        };
        #[cfg(not(feature = "serve"))]
        let (events, control) = places(flags, &request.command)?;
        let result = control.and_then(|control| {
            let ways = Ways { written, events: events.clone(), control };
            run_and_report(session, flags, request, ways, work)
        });
        let result = session.caused(result);
        let is_input = |file: &Path| Found::of(paths?.iter().copied()).has(file);
        let end = |events: &Events| events.end(&result, flags.output.as_deref(), &is_input);
        events.iter().for_each(end);
        result
    })
}

/// The ways out of a run and into it, beside its input and its answer.
struct Ways {
    written: Written,
    events: Option<Events>,
    control: Option<File>,
}

/// Where events go to and commands come from. A fault of the latter is told as an event.
type Places = (Option<Events>, Result<Option<File>>);

/// Returns the places that the flags name. Of a run over nodes the driver alone tells and is told.
fn places(flags: &RunFlags, command: &str) -> Result<Places> {
    if flags.is_node() {
        return Ok((None, Ok(None)));
    }
    let events = Events::open(flags, command)?;
    Ok((events, flags.control.map(control::open).transpose()))
}

fn run_and_report(
    session: &Session,
    flags: &RunFlags,
    request: Request,
    ways: Ways,
    work: &mut dyn FnMut(&mut Run<'_>) -> Result<()>,
) -> Result<()> {
    let mut run = Run::begin(session, flags, request, ways)?;
    let result = session.caused(work(&mut run));
    // Also after a failure or an interrupt: it shows how far the job came, and at what speed.
    let recorded = run.write_timeline();
    if !exit::is_done(&result) {
        return result;
    }
    recorded?;
    // Whose reader has left before a sort ended has no figures of it.
    if result.is_ok() || run.stats.workers > 0 {
        run.report()?;
    }
    result
}

/// Refuses a flag, if it was given, that would change nothing.
pub(crate) fn refuse(is_given: bool, option: &'static str, cause: &str) -> Result<()> {
    match is_given {
        true => Err(Error::Option { option, cause: cause.to_owned() }),
        false => Ok(()),
    }
}

/// Does work of a stage outside the engine, and returns its time, too.
fn timed<R>(timeline: Option<&Timeline>, stage: Stage, work: impl FnOnce() -> R) -> (R, StageTime) {
    let (begin, cpu_begin): (Instant, Duration) = (Instant::now(), process_cpu());
    let result = match timeline {
        Some(timeline) => timeline.during(stage, work),
        None => work(),
    };
    let cpu = process_cpu().saturating_sub(cpu_begin);
    (result, StageTime { stage, wall: begin.elapsed(), cpu })
}

/// State that the jobs of one command share.
pub(crate) struct Run<'a> {
    session: &'a Session,
    flags: &'a RunFlags,
    request: Request,
    engine: Engine,
    progress: Arc<Progress>,
    timeline: Option<Timeline>,
    /// What `--events` and `--control` watch and steer.
    watched: Option<Watched>,
    events: Option<Events>,
    /// Where commands come from that nobody reads yet.
    control: Cell<Option<File>>,
    written: Written,
    shown: Option<Shown>,
    stats: Stats,
    devices: Vec<Arc<Accelerator>>,
    /// The folders of its state.
    folders: Option<Arc<dyn Folders>>,
    #[cfg(feature = "nodes")]
    machines: Machines,
}

impl<'a> Run<'a> {
    fn begin(
        session: &'a Session,
        flags: &'a RunFlags,
        request: Request,
        Ways { written, events, control }: Ways,
    ) -> Result<Run<'a>> {
        let timeline = flags.timeline.as_ref().map(|file| &file.path).filter(|_| !flags.is_node());
        // Creates each file once and removes it, so that a bad path fails now and not after hours.
        let told = flags.events.iter().filter_map(EventsTo::file).filter(|path| !path.exists());
        let files = flags.output.iter().chain(&flags.stats_json).chain(timeline).chain(told);
        for path in files.filter(|_| !flags.is_node()) {
            AtomicFile::probe(path)?;
        }
        if let Some(folder) = &flags.scratch {
            Disk::new(folder).scratch()?;
        }
        let is_grouped = flags.incremental && flags.groups != "auto";
        let cause = "with --incremental each tile is one worker's, whichever group it is in";
        refuse(is_grouped, "--groups", cause)?;
        let groups = grouping(&flags.groups)?;
        let folders = flags.folders()?;
        let is_watched = events.is_some() || control.is_some();
        #[cfg(feature = "nodes")]
        let machines = nodes::machines(flags)?;
        let timeline = timeline.is_some() || events.is_some();
        let timeline = timeline.then(|| Timeline::new(timeline::title()));
        let progress = Arc::<Progress>::default();
        let watched = Arc::clone(&progress);
        let shown = progress::show(move || watched.read(), flags.progress());
        let (workers, memory) = flags.resources();
        let mut engine = Engine::builder().workers(workers).groups(groups).memory_bytes(memory);
        if let Some(folder) = &flags.scratch {
            engine = engine.scratch(folder);
        }
        let engine = engine.build()?;
        let watched = is_watched.then(|| Watched {
            progress: Arc::clone(&progress),
            timeline: timeline.clone(),
            grid: Arc::default(),
            share: Arc::default(),
        });
        if let (Some(events), Some(watched)) = (&events, &watched) {
            events.begin(engine.workers(), watched.clone());
        }
        let (stats, devices) = (Stats::default(), Vec::new());
        Ok(Run {
            session,
            flags,
            request,
            engine,
            progress,
            timeline,
            watched,
            events,
            control: Cell::new(control),
            written,
            shown,
            stats,
            devices,
            folders,
            #[cfg(feature = "nodes")]
            machines,
        })
    }

    /// Lets these devices work beside the cores.
    pub(crate) fn use_devices(&mut self, devices: Vec<Arc<Accelerator>>) {
        self.devices = devices;
    }

    /// Returns the options of the flags, with the engine's default order.
    pub(crate) fn options(&self) -> Options {
        Options {
            tile_bytes: self.flags.tile.0,
            split_bytes: self.flags.split.0,
            pipeline: self.flags.pipeline.into(),
            skip_bad: self.flags.skip_bad,
            plain: self.flags.plain,
            reads: self.flags.reads.into(),
            state: self
                .folders
                .as_ref()
                .and_then(|folders| self.flags.state(folders, &self.request)),
            devices: self.devices.clone(),
            progress: Some(Arc::clone(&self.progress)),
            timeline: self.timeline.clone(),
            grid: self.watched.as_ref().map(|watched| Arc::clone(&watched.grid)),
            share: self.watched.as_ref().map(|watched| Arc::clone(&watched.share)),
            cancel: self.session.cancel().clone(),
            ..Options::default()
        }
    }

    /// Runs one job, and adds its figures to the command's.
    pub(crate) fn job<J: Job>(
        &mut self,
        job: &J,
        input: Input,
        options: &Options,
    ) -> Result<Output<J>> {
        let output = match self.flags.look {
            #[cfg(feature = "state")]
            Some(look) => {
                let saved = self.engine.job(job).options(&look.of(options)).saved()?;
                self.say_how_far(&saved.report, Some(saved.output.stats().keys));
                saved.output
            }
            _ => self.run_job(job, input, options)?,
        };
        self.stats.add(output.stats());
        Ok(output)
    }

    #[cfg(feature = "nodes")]
    fn run_job<J: Job>(&mut self, job: &J, input: Input, options: &Options) -> Result<Output<J>> {
        self.refuse_parts()?;
        let task = Task { engine: &self.engine, job, input, options, parts: None };
        self.machines.run(task, Shares::Nothing)
    }

    #[cfg(not(feature = "nodes"))]
    fn run_job<J: Job>(&mut self, job: &J, input: Input, options: &Options) -> Result<Output<J>> {
        self.engine.job(job).options(options).run(input)
    }

    /// Reads answers of a state by a function, which returns them with how far the state came and figures.
    #[cfg(all(feature = "state", feature = "kmeans"))]
    pub(crate) fn look<R>(
        &mut self,
        read: impl FnOnce(&Engine, &Options) -> Result<(R, StateReport, Stats)>,
    ) -> Result<R> {
        let options = self.options();
        let options = self.flags.look.map_or_else(|| options.clone(), |look| look.of(&options));
        let (answers, report, stats) = read(&self.engine, &options)?;
        self.say_how_far(&report, Some(stats.keys));
        self.stats.add(&stats);
        Ok(answers)
    }

    /// Says which part of the input the answers of a state cover.
    #[cfg(feature = "state")]
    pub(crate) fn say_how_far(&mut self, report: &StateReport, keys: Option<u64>) {
        self.shown = None;
        let of = crate::size::show(report.input_bytes);
        let far = match report.done {
            true => format!("all of {of}"),
            false => format!("{} of {of}", crate::size::show(report.mapped_bytes)),
        };
        let keys = keys.map(|keys| format!(", {keys} keys")).unwrap_or_default();
        exit::say(&format!("{}: {far}{keys}", report.id));
    }

    /// Returns the engine that runs the jobs.
    #[cfg(feature = "streaming")]
    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Adds the figures of work that another crate has run on the engine.
    #[cfg(feature = "streaming")]
    pub(crate) fn add_stats(&mut self, stats: &Stats) {
        self.stats.add(stats);
    }

    /// Does work that removes its own files after an interrupt, so that the program waits for it.
    #[cfg(feature = "streaming")]
    pub(crate) fn keep_file_open<R>(&self, work: impl FnOnce() -> R) -> R {
        let _open = self.session.stop().files.open();
        work()
    }

    /// Runs a job. If the flags ask for shows, `write` writes each of them.
    pub(crate) fn showing<J: Job>(
        &mut self,
        job: &J,
        input: Input,
        answer: &AnswerFlags,
        write: impl Fn(&mut Shows<'_>, &ShownAnswers<'_, J>) -> Result<()> + Sync,
    ) -> Result<Output<J>> {
        let options = self.options();
        self.showing_with(job, input, (answer, options), write)
    }

    /// As `showing`, with options that are not the flags'.
    pub(crate) fn showing_with<J: Job>(
        &mut self,
        job: &J,
        input: Input,
        (answer, options): (&AnswerFlags, Options),
        write: impl Fn(&mut Shows<'_>, &ShownAnswers<'_, J>) -> Result<()> + Sync,
    ) -> Result<Output<J>> {
        let options = answer.apply(options);
        let flags = &answer.show;
        let Some(every) = flags.when.show.filter(|_| self.flags.look.is_none()) else {
            return self.job(job, input, &options);
        };
        self.refuse_shows_over_nodes()?;
        if flags.when.is_on_terminal() {
            self.shown = None;
        }
        let (_, memory) = self.flags.resources();
        let second = flags.second(&self.engine, answer, self.session.cancel());
        let shows = flags.when.open(answer.format, self.events.as_ref(), memory)?;
        let mut shows = shows.grouped(second);
        let show = flags.of(every, answer, |shown| write(&mut shows, shown));
        let output = self.engine.job(job).options(&options).show(show).run(input)?;
        self.stats.add(output.stats());
        Ok(output)
    }

    /// Refuses to skip bad records, for a command that has none.
    pub(crate) fn refuse_skip_bad(&self, cause: &str) -> Result<()> {
        refuse(self.flags.skip_bad, "--skip-bad", cause)
    }

    /// Refuses to read compressed files as they are, for a command that does no other.
    #[cfg(feature = "histogram")]
    pub(crate) fn refuse_plain(&self, cause: &str) -> Result<()> {
        refuse(self.flags.plain, "--plain", cause)
    }

    /// Refuses to trust that files only grow, for a command that reads them whole.
    #[cfg(feature = "histogram")]
    pub(crate) fn refuse_append_only(&self, cause: &str) -> Result<()> {
        refuse(self.flags.append_only, "--append-only", cause)
    }

    /// Refuses to look for changes, for a command in rounds: other points have other means, so nothing of the last run can
    /// be used.
    #[cfg(feature = "kmeans")]
    pub(crate) fn refuse_changes(&self) -> Result<()> {
        let cause =
            "other points have other means, so no round of the last run can be used; leave it out";
        refuse(self.flags.append_only, "--append-only", cause)?;
        refuse(self.flags.trust_mtime, "--trust-mtime", cause)?;
        refuse(self.flags.hash != crate::flags::HashFlag::Xxh3, "--hash", cause)?;
        refuse(self.flags.incremental, "--incremental", cause)
    }

    /// Refuses direct reads, for a command that reads matrices.
    #[cfg(any(feature = "kmeans", feature = "linalg"))]
    pub(crate) fn refuse_direct(&self) -> Result<()> {
        let is_direct = self.flags.reads == crate::flags::ReadsFlag::Direct;
        refuse(is_direct, "--reads", "matrices are read through the page cache; leave it out")
    }

    /// Refuses files of each node, for a command whose answer is not a line for each key.
    #[cfg(feature = "nodes")]
    fn refuse_parts(&self) -> Result<()> {
        let cause = "the answer of this command is written as a whole; give --output";
        refuse(self.flags.parts.is_some(), "--parts", cause)
    }

    /// Refuses nodes for a command that shows answers.
    pub(crate) fn refuse_shows_over_nodes(&self) -> Result<()> {
        #[cfg(feature = "nodes")]
        nodes::refuse(self.flags, true, "shows are made by one machine; leave out --show")?;
        Ok(())
    }

    /// Sorts the input, and writes it where the flags say.
    pub(crate) fn sort(&mut self, sort: &Sort, input: Input) -> Result<()> {
        self.clear_terminal();
        let (engine, options) = (&self.engine, self.options());
        let to = self.flags.output.as_deref();
        let stats = self.session.sort(to, |to| engine.sort(sort, input, to, &options))?;
        self.stats.add(&stats);
        Ok(())
    }

    /// Runs an application of several jobs, and adds their figures to the command's.
    pub(crate) fn several<R>(
        &mut self,
        work: impl FnOnce(&mut Runs<'_>) -> Result<R>,
    ) -> Result<R> {
        #[cfg(feature = "nodes")]
        nodes::refuse_streamed(self.flags)?;
        #[cfg(feature = "nodes")]
        self.refuse_parts()?;
        #[cfg(feature = "nodes")]
        refuse(
            self.flags.gather.is_some(),
            "--gather",
            "every node needs the answer of each job, so all pairs come together",
        )?;
        let request = self.request.clone();
        let about = |note: &[u8]| request.clone().list(NOTE, iter::once(note)).to_bytes();
        let runs = Runs::new(&self.engine, self.options()).about(&about);
        #[cfg(feature = "nodes")]
        let runs = runs.over(&mut self.machines);
        let mut runs = runs;
        let result = work(&mut runs)?;
        self.stats.add(runs.stats());
        Ok(result)
    }

    /// Refuses a state and nodes, for a command whose jobs have no partials.
    #[cfg(feature = "linalg")]
    pub(crate) fn refuse_partials(&self) -> Result<()> {
        #[cfg(feature = "nodes")]
        nodes::refuse(self.flags, true, "the whole answer of this command is in one memory")?;
        if self.flags.state.is_none() {
            return Ok(());
        }
        let cause = "the whole answer of this command is in memory, so it has no partials to save";
        Err(Error::Option { option: "--state", cause: cause.to_owned() })
    }

    /// Writes the answer as `write` does, and a file beside it that appears with it.
    #[cfg(feature = "histogram")]
    pub(crate) fn write_beside(
        &mut self,
        (path, bytes): (&Path, &[u8]),
        fill: impl FnOnce(&mut Sink<'_>) -> Result<()>,
    ) -> Result<()> {
        match self.flags.is_node() {
            true => Ok(()),
            false => {
                let session = self.session;
                session.write_beside(path, bytes, || self.write(fill))
            }
        }
    }

    /// Writes the answer where the flags say.
    pub(crate) fn write(&mut self, fill: impl FnOnce(&mut Sink<'_>) -> Result<()>) -> Result<()> {
        if self.flags.is_node() {
            return Ok(());
        }
        self.clear_terminal();
        self.progress.enter(Stage::Output);
        self.time(Stage::Output, |run| run.session.write(run.flags.output.as_deref(), fill))
    }

    /// Clears the bar where it and the answer would write over each other on one terminal.
    fn clear_terminal(&mut self) {
        if self.flags.output.is_none() && io::stdout().is_terminal() {
            self.shown = None;
        }
    }

    /// Does work of a stage outside the engine, and adds its time.
    fn time<R>(&mut self, stage: Stage, work: impl FnOnce(&Run<'_>) -> Result<R>) -> Result<R> {
        let (result, time) = timed(self.timeline.as_ref(), stage, || work(self));
        self.stats.add_time(time);
        result
    }

    fn write_timeline(&self) -> Result<()> {
        match (&self.timeline, &self.flags.timeline) {
            (Some(timeline), Some(file)) if self.written.is_apart() => {
                let recording = timeline.read();
                self.session.write_even_so(&file.path, |out| file.write(&recording, out))
            }
            _ => Ok(()),
        }
    }

    fn say_what_was_skipped(&self) {
        let Stats { bad_records, bad_first, .. } = &self.stats;
        if *bad_records > 0 {
            exit::say(&format!("bad records skipped: {bad_records}; the first of them:"));
            for BadRecord { place, cause } in bad_first {
                exit::say(&format!("  {place}: {cause}"));
            }
        }
    }

    /// Reports what the command did, as far as the flags ask for it.
    fn report(mut self) -> Result<()> {
        self.shown = None;
        self.events.iter().for_each(|events| events.stats(&self.stats));
        if self.flags.is_node() {
            return Ok(());
        }
        if self.flags.stats {
            // A closed standard error does not change the answer.
            let _ = io::stderr().write_all(stats::table(&self.stats).as_bytes());
        }
        self.say_what_was_skipped();
        devices::say_faults(&self.stats.devices);
        match &self.flags.stats_json {
            Some(path) => self.session.write(Some(path), |sink| {
                sink.write(format!("{:#}\n", stats::json(&self.stats)).as_bytes())
            }),
            None => Ok(()),
        }
    }
}

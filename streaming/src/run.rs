//! A run of a streaming job, on one screen: its input is listed, its tasks map, the engine sorts, reducers reduce, and
//! the folder of the answer gets its name.

use crate::counters::Counters;
use crate::gathering::Gathering;
use crate::input::{Listed, list, without_scheme};
use crate::mapping::{COUNTERS, Kept, Mapping};
use crate::numbers::Numbers;
use crate::output::OutputFolder;
use crate::pairs::Pairs;
use crate::reducing::{Early, reduce};
use crate::settings::{Reducer, Settings};
use crate::shipped::unqualified;
use crate::tasks::Tasks;
use crate::workplace::Workplace;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use tegula::{
    Cancel, DEFAULT_TILE_BYTES, Engine, Error, INCREMENTAL_TILE_BYTES, Input, MemoryError, Options,
    PairSort, Progress, Result, SortedPairs, Stage, Stats,
};

/// How a job went.
#[derive(Debug)]
pub struct Report {
    /// The name that its tasks knew it by.
    pub job_id: String,
    /// The folder of the answer.
    pub output: PathBuf,
    /// What was counted.
    pub counters: Counters,
    /// The figures of the map stage and the sort.
    pub stats: Stats,
}

/// Where and how a job runs.
#[derive(Clone, Copy)]
pub struct Host<'r> {
    /// The engine.
    pub engine: &'r Engine,
    /// The options of the run; a state and a limit on memory among them.
    pub options: &'r Options,
    /// Whether its state is incremental, so that tiles are smaller.
    pub is_incremental: bool,
    /// The limit on the memory of the process.
    pub memory_bytes: Option<u64>,
    /// The folder below which tasks have theirs.
    pub scratch: &'r Path,
    /// Is told the files of the input, of which `-` is standard input, before any is read and anything is written.
    pub listed: &'r dyn Fn(&[PathBuf]) -> Result<()>,
    /// Is told the name of the job when it begins.
    pub began: &'r dyn Fn(&str),
}

impl fmt::Debug for Host<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Host");
        out.field("engine", self.engine).field("scratch", &self.scratch).finish_non_exhaustive()
    }
}

/// Splits and buffers of all workers may take this part of the memory.
const MEMORY_PARTS: u64 = 16;
const SPLIT_BYTES_LEAST: u64 = 256 << 10;
/// And a line of each worker's command this one, as the pairs that are combined at once.
const LINE_PARTS: u64 = 16;
/// A small input is divided equally among the workers, into tasks of these sizes. The start of an interpreter and of
/// that of its combiner costs as much as a mapper's work on 1 to 2 MiB.
const SHARED_SPLIT_BYTES_LEAST: u64 = 2 << 20;
const SHARED_SPLIT_BYTES_MOST: u64 = 16 << 20;
/// Buffers of a worker for its command's pipes.
const PIPES_BYTES: usize = 2 << 20;

impl Settings {
    /// Runs the job. `others` looks up input that is no path of this machine's. After an error nothing of the answer is
    /// left.
    ///
    /// # Errors
    /// Those of the input, the output, the engine and the state; [`Error::Record`] with
    /// [`TaskFailed`](crate::TaskFailed) for a command that failed.
    pub fn run(mut self, host: Host<'_>, others: &dyn Fn(&str) -> Result<Input>) -> Result<Report> {
        if self.is_map_only() && host.options.state.is_some() {
            let cause = "a job without reducers sorts nothing that could be saved; leave it out";
            return Err(Error::Option { option: "--state", cause: cause.to_owned() });
        }
        self.settle(&host);
        let checked = OutputFolder::check(&self.output);
        let listed = list(&self.inputs, others, host.options.plain);
        // Whoever watches learns, too, that there can be no output.
        listed.iter().try_for_each(|listed| (host.listed)(&self.files_of(listed)))?;
        checked?;
        let mut listed = listed?;
        let empty: Vec<&[u8]> =
            listed.empty.iter().map(|path| path.as_os_str().as_bytes()).collect();
        let list_of_empty = u32::try_from(listed.bytes.len()).unwrap_or(u32::MAX);
        // Groups of lines are none where there is no line.
        if !empty.is_empty() && self.lines_per_map.is_none() {
            listed.input.append(Input::bytes(empty.join(&0)));
        }
        let input_bytes = listed.bytes.iter().flatten().sum();
        let options = self.options(&host, input_bytes);
        let sort = self.sort(&host, input_bytes, &options)?;
        let split_bytes = match self.lines_per_map {
            Some(_) => u64::MAX,
            None => options.split_bytes.unwrap_or(DEFAULT_TILE_BYTES),
        };
        // After the input is looked up: a job that is refused leaves no folders above its answer.
        let output = OutputFolder::at(&self.output)?;
        let place = Workplace::open(host.scratch, output.folder())?;
        let output = output.begin()?;
        let tasks = Tasks::new(&self, &place, &options, &output)?;
        (host.began)(&tasks.job_id());
        let is_short = input_bytes <= SHARED_SPLIT_BYTES_LEAST;
        let early = if is_short { self.parts.min(host.engine.workers()) } else { 0 };
        let early = Early::start(&tasks, &self, early);
        let mapping = Mapping {
            settings: &self,
            tasks: &tasks,
            numbers: Numbers::new(&listed.bytes, split_bytes),
            list_of_empty,
            output: &output,
            kept: options.state.as_ref().map(|_| Kept::of(&self)).transpose()?,
            gathering: Gathering::new(sort),
        };
        let answer = host.engine.job(&mapping).options(&options).run(listed.input);
        let answer = answer.map_err(|error| tasks.failure().reason(error))?;
        let Mapping { gathering, numbers, .. } = mapping;
        enter(&options, Stage::Output);
        let reducing =
            Options { state: None, progress: None, grid: None, share: None, ..options.clone() };
        let sorted = gathering.sorted()?;
        let mut stats = answer.stats().clone();
        stats.spilled_bytes += sorted.iter().map(SortedPairs::spilled_bytes).sum::<u64>();
        let pairs = Pairs::new(&answer, sorted, self.parts)?;
        let counters = reduce(host.engine, &reducing, &tasks, (&self, &early), &pairs, &output)?;
        if self.is_map_only() {
            output.renumber(&numbers.out_of_order(), self.codec)?;
            let left = if self.is_lazy { Vec::new() } else { numbers.left() };
            left.into_iter().try_for_each(|number| {
                output.part(number, self.codec, false)?.finish().map(drop)
            })?;
        }
        let report =
            Report { job_id: tasks.job_id(), output: output.path().to_path_buf(), counters, stats };
        drop(pairs);
        drop(answer);
        output.commit()?;
        Ok(report)
    }

    /// Returns the files that are read, `-` for standard input.
    fn files_of(&self, listed: &Listed) -> Vec<PathBuf> {
        let named = self
            .inputs
            .iter()
            .filter(|text| without_scheme(text) == "-")
            .map(|_| "-")
            .map(PathBuf::from);
        let files = listed.input.listing().map(|file| file.name().to_path_buf());
        named.chain(files).chain(listed.empty.iter().cloned()).collect()
    }

    /// Gives shipped programs the names that they have in the folders of tasks, and lines their share of the memory.
    fn settle(&mut self, host: &Host<'_>) {
        if let Some(bytes) = host.memory_bytes {
            let most = bytes / LINE_PARTS / host.engine.workers() as u64;
            self.line_bytes_most = usize::try_from(most).unwrap_or(usize::MAX);
            self.sort_bytes = self.sort_bytes.min(self.line_bytes_most);
        }
        self.mapper = unqualified(&self.mapper, &self.shipped);
        self.combiner = self.combiner.as_ref().map(|command| unqualified(command, &self.shipped));
        if let Reducer::Command(command) = &self.reducer {
            self.reducer = Reducer::Command(unqualified(command, &self.shipped));
        }
    }

    /// Returns the bytes that a worker has for its commands: their pipes, and pairs to be combined with the buffer of their
    /// sort, and later with their text.
    fn beside_bytes(&self) -> usize {
        let combined = if self.combiner.is_some() { 2 * self.sort_bytes } else { 0 };
        PIPES_BYTES + combined
    }

    /// Returns a sort for the job's pairs; `None` if they are wanted in lists: for a state, and where memory is too small
    /// for both.
    fn sort<'e>(
        &self,
        host: &Host<'e>,
        input_bytes: u64,
        options: &Options,
    ) -> Result<Option<PairSort<'e>>> {
        if self.is_map_only() || options.state.is_some() {
            return Ok(None);
        }
        let first = |part: usize| Box::from(u16::try_from(part).unwrap_or(COUNTERS).to_be_bytes());
        let sections = (0..self.parts).map(first).collect();
        match host.engine.pair_sort(sections, input_bytes, options) {
            Err(Error::Memory(MemoryError::TooSmall { .. })) => Ok(None),
            sort => sort.map(Some),
        }
    }

    /// Returns the engine's options for the job: a task is a split, and a split is a tile where memory allows.
    fn options(&self, host: &Host<'_>, input_bytes: u64) -> Options {
        let usual = if host.is_incremental { INCREMENTAL_TILE_BYTES } else { DEFAULT_TILE_BYTES };
        let tile_bytes = self.split_bytes.or(host.options.tile_bytes).unwrap_or(usual);
        let workers = host.engine.workers() as u64;
        let room = host.memory_bytes.map_or(u64::MAX, |bytes| bytes / MEMORY_PARTS / workers);
        let mut split_bytes = tile_bytes.min(room.max(SPLIT_BYTES_LEAST));
        if !self.is_map_only() && self.split_bytes.is_none() {
            // Nobody sees the number of map tasks, so a small input has the same number for each worker.
            let tasks = workers * input_bytes.div_ceil(workers * SHARED_SPLIT_BYTES_MOST).max(1);
            let share = input_bytes.div_ceil(tasks);
            split_bytes = split_bytes.min(share.max(SHARED_SPLIT_BYTES_LEAST));
        }
        let split_bytes = host.options.split_bytes.unwrap_or(split_bytes);
        // Part files of mappers have the numbers of splits of a file (`numbers.rs`), and the engine counts splits from the
        // begin of each tile.
        let tile_bytes = if self.is_map_only() { split_bytes } else { tile_bytes };
        Options {
            tile_bytes: Some(tile_bytes),
            split_bytes: Some(split_bytes),
            beside_bytes: host.engine.workers() * self.beside_bytes(),
            failed: Some(Cancel::new()),
            ..host.options.clone()
        }
    }
}

fn enter(options: &Options, stage: Stage) {
    if let Some(progress) = options.progress.as_deref() {
        Progress::enter(progress, stage);
    }
}

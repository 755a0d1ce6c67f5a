//! The engine: workers, memory and what is known of the machine, kept from job to job. [`Engine::run`]
//! takes a job through its stages; `run.rs` shows them on one screen.

use crate::compiled::Compiled;
use crate::core::{Core, bind};
use crate::error::{Error, Result, StorageError};
use crate::facts::JobFacts;
use crate::input::Input;
use crate::job::{Job, comparison};
use crate::map::JobMappers;
use crate::memory::{BlockPool, Budget, resident_bytes, return_large_allocations, work_in};
use crate::options::Options;
use crate::output::Output;
use crate::reduce::Ranking;
use crate::run::ErasedJob;
use crate::schedule::{Placement, Pool};
use crate::show::{Moment, Show, Showing};
use crate::sort::{self, Sort, SortTo};
use crate::state::{SavedPartials, StateReport};
use crate::stats::Stats;
use crate::storage::{Disk, Storage};
use crate::tasks;
use crate::topology::Topology;
use std::path::PathBuf;
use std::sync::Arc;

/// An engine: many jobs may run on it, one after another and at once, from any threads. Its workers
/// and its memory are kept between jobs.
pub struct Engine {
    core: Arc<Core>,
}

/// What a state has saved so far, as answers.
#[non_exhaustive]
pub struct Saved<J: Job> {
    /// What the state holds, and of what input: `mapped_bytes` of `input_bytes` are in the answers, and all
    /// of it if it is `done`.
    pub report: StateReport,
    /// The answers of that part of the input, in the order that was asked for.
    pub output: Output<J>,
}

/// So often a state may be changed while it is looked at; a run saves once a second at most.
const LOOKS_MOST: u32 = 20;

/// How an engine is to be built. [`Engine::builder`] begins one.
#[derive(Clone, Debug, Default)]
pub struct EngineBuilder {
    workers: Option<usize>,
    memory_bytes: Option<u64>,
    storage: Option<Arc<dyn Storage>>,
    groups: Grouping,
}

/// Which processors make a group, whose workers share a queue of tiles and memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Grouping {
    /// Those that share a last-level cache and a memory node.
    #[default]
    Auto,
    /// So many groups of the processors that this process may use, as many in each, give or take one.
    Count(usize),
    /// Those of another machine. Workers are spread over its groups as if its processors were there;
    /// they run wherever this machine has room, and memory lies wherever the system puts it.
    Like(Topology),
}

/// Memory that is not counted block by block: the program's own code as it is touched, and small
/// allocations; and per worker its stack.
const BESIDE_BYTES: u64 = 4 << 20;
const BESIDE_BYTES_PER_WORKER: u64 = 512 << 10;
/// The most workers that can be asked for.
const WORKERS_MOST: usize = 4096;

impl Engine {
    /// An engine with a worker per processor that this process may use, and no limit on memory.
    ///
    /// # Errors
    /// [`Error::System`] if threads cannot be started.
    pub fn new() -> Result<Engine> {
        Engine::builder().build()
    }

    /// Begins an engine with choices.
    pub fn builder() -> EngineBuilder {
        EngineBuilder::default()
    }

    /// Runs a job with default options: all pairs, sorted by key.
    ///
    /// # Errors
    /// See [`Error`]; the job leaves nothing behind.
    pub fn run<J: Job>(&self, job: &J, input: Input) -> Result<Output<J>> {
        self.run_with(job, input, &Options::default())
    }

    /// Runs a job. Time is linear in the input, plus sorting of the distinct keys; memory holds the
    /// distinct keys with their values at most about twice, and a fixed amount per worker.
    ///
    /// # Errors
    /// See [`Error`]; the job leaves nothing behind.
    pub fn run_with<J: Job>(&self, job: &J, input: Input, options: &Options) -> Result<Output<J>> {
        run(&self.core, job, input, options, None)
    }

    /// The answers of what a run with a state has saved so far: of this job, in
    /// [`Options::state`], with the order and the top of the options. The run may be at work meanwhile, in
    /// another process, or have been killed; its input is not looked at, so that the state's folder can be
    /// a copy on another machine. What is saved, is: all of the input's part that it stands for, once.
    ///
    /// # Errors
    /// [`StateError::Missing`](crate::StateError::Missing) if nothing was saved there, [`StateError::OtherJob`](crate::StateError::OtherJob) if it was by another job,
    /// and those of the disk and of memory.
    pub fn saved<J: Job>(&self, job: &J, options: &Options) -> Result<Saved<J>> {
        let Some(state) = &options.state else {
            let cause = "name the state whose answers are to be shown".to_owned();
            return Err(Error::Option { option: "state", cause });
        };
        let facts = JobFacts::of(job)?;
        let compare = comparison(job);
        let ranking = Ranking::new((!facts.is_largest_first).then_some(&compare));
        let mut looks = 0;
        loop {
            looks += 1;
            let partials = SavedPartials::look(state, &facts)?;
            match (Compiled::get().saved)(self.core(), ranking, options, partials) {
                // The run has saved more, and removed what that stands for.
                Err(Error::Storage(StorageError::Missing { .. })) if looks < LOOKS_MOST => {}
                saved => {
                    let (report, output) = saved?;
                    return Ok(Saved { report, output: Output::of(output) });
                }
            }
        }
    }

    /// Sorts the input. Time is linear in the input's bytes, plus O(n log n) for the n records, of
    /// which the logarithm is that of a range that fits a cache. Memory holds the input once, or what
    /// the budget allows: the rest goes to the engine's scratch storage once, and if a range should be
    /// larger than the budget, once more. `order` and `top` of the options do not apply.
    ///
    /// # Errors
    /// See [`Error`](crate::Error); what was written until then is not the answer.
    ///
    /// ```
    /// # fn main() -> tegula::Result<()> {
    /// use tegula::{Engine, Input, Options, Sort, SortTo};
    ///
    /// let (input, mut sorted) = (Input::bytes("pear\napple\nfig\n"), Vec::new());
    /// let to = SortTo::Writer(&mut sorted, "a vector".as_ref());
    /// Engine::new()?.sort(&Sort::lines(), input, to, &Options::default())?;
    /// assert_eq!(sorted, b"apple\nfig\npear\n");
    /// # Ok(())
    /// # }
    /// ```
    pub fn sort(
        &self,
        sort: &Sort,
        input: Input,
        to: SortTo<'_>,
        options: &Options,
    ) -> Result<Stats> {
        sort::run(self.core(), sort, input, to, options)
    }

    /// Runs `task(worker, number)` once for each number below `count`, on all workers, in no promised order.
    /// Workers are numbered from 0 to [`workers`](Engine::workers); no two tasks run at once with the same
    /// worker. A task must not wait for another one. Progress counts each task as a byte of the input. Of the
    /// options, `progress`, `timeline` and `cancel` apply. Costs one atomic increment a task.
    ///
    /// # Errors
    /// The error of the task with the least number of those that failed; [`Error::Panicked`], which names the
    /// task, if it panicked; [`Error::Cancelled`]. Tasks that had not begun are left out then.
    ///
    /// ```
    /// # fn main() -> tegula::Result<()> {
    /// use std::sync::atomic::{AtomicU64, Ordering};
    /// use tegula::{Engine, Options};
    ///
    /// let sum = AtomicU64::new(0);
    /// Engine::new()?.tasks(1000, &Options::default(), |_, number| {
    ///     sum.fetch_add(number as u64, Ordering::Relaxed);
    ///     Ok(())
    /// })?;
    /// assert_eq!(sum.into_inner(), 499_500);
    /// # Ok(())
    /// # }
    /// ```
    pub fn tasks(
        &self,
        count: usize,
        options: &Options,
        task: impl Fn(usize, usize) -> Result<()> + Sync,
    ) -> Result<Stats> {
        tasks::run(self.core(), count, options, &task)
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.core
    }

    /// Number of workers.
    pub fn workers(&self) -> usize {
        self.core.pool.workers()
    }

    /// Runs a job and shows its answers so far while it runs, to the function that `show` has.
    ///
    /// # Errors
    /// See [`Error`]; what the show's function returns is one of them. The job leaves nothing behind.
    pub fn run_showing<J: Job>(
        &self,
        job: &J,
        input: Input,
        options: &Options,
        show: Show<'_, J>,
    ) -> Result<Output<J>> {
        run(&self.core, job, input, options, Some(show))
    }

    /// Where the engine keeps what does not fit in memory.
    pub fn storage(&self) -> &Arc<dyn Storage> {
        self.core.storage()
    }

    /// Which worker belongs to which group of [`topology`](Engine::topology).
    pub fn placement(&self) -> &Placement {
        &self.core.placement
    }

    /// The machine as the engine sees it, or as it was told to.
    pub fn topology(&self) -> &Topology {
        &self.core.topology
    }
}

/// Runs a job on an engine.
fn run<J: Job>(
    core: &Arc<Core>,
    job: &J,
    input: Input,
    options: &Options,
    mut show: Option<Show<'_, J>>,
) -> Result<Output<J>> {
    let facts = JobFacts::of(job)?;
    options.container.check(facts.key_range)?;
    let mappers = JobMappers(job);
    let compare = comparison(job);
    let ranking = Ranking::new((!facts.is_largest_first).then_some(&compare));
    let mut see;
    let showing = match &mut show {
        Some(show) => {
            let wanted = show.wanted;
            see = |moment: &Moment<'_, J::Combine>| show.see(moment);
            Some(Showing { wanted, is_largest_first: facts.is_largest_first, see: &mut see })
        }
        None => None,
    };
    let job = ErasedJob { facts: &facts, mappers: &mappers, ranking };
    Ok(Output::of((Compiled::get().run)(core, job, input, options, showing)?))
}

impl EngineBuilder {
    /// Number of workers, at least 1. Default: the processors that this process may use, or as many as
    /// a quota of its control group comes to, rounded up.
    pub fn workers(mut self, workers: impl Into<Option<usize>>) -> EngineBuilder {
        self.workers = workers.into();
        self
    }

    /// A limit on the memory of the whole process, in bytes, as its resident size shows it: what is
    /// in use when the engine is built counts, too. Pairs that do not fit go to disk (see
    /// [`scratch`](EngineBuilder::scratch)); what cannot (one record, one pair) fails the job with
    /// [`MemoryError`](crate::MemoryError). Default: none.
    pub fn memory_bytes(mut self, bytes: impl Into<Option<u64>>) -> EngineBuilder {
        self.memory_bytes = bytes.into();
        self
    }

    /// The folder for what does not fit in memory: files without names, which are gone with the run
    /// however it ends. It is opened when it is first needed. Default: the system's folder for
    /// temporary files ([`std::env::temp_dir`]).
    pub fn scratch(self, folder: impl Into<PathBuf>) -> EngineBuilder {
        self.storage(Arc::new(Disk::new(folder)))
    }

    /// Another place for what does not fit in memory than a folder of the file system.
    pub fn storage(mut self, storage: Arc<dyn Storage>) -> EngineBuilder {
        self.storage = Some(storage);
        self
    }

    /// Which processors make a group. Cannot change an answer. Default: [`Grouping::Auto`].
    pub fn groups(mut self, groups: Grouping) -> EngineBuilder {
        self.groups = groups;
        self
    }

    /// Starts the workers.
    ///
    /// # Errors
    /// [`Error::Option`] for a number that cannot be meant, [`Error::System`] if threads cannot be
    /// started.
    pub fn build(self) -> Result<Engine> {
        let machine = Topology::detect();
        let workers = self.workers.unwrap_or(machine.workers());
        if !(1..=WORKERS_MOST).contains(&workers) {
            let cause = format!("{workers} workers; give 1 to {WORKERS_MOST}");
            return Err(Error::Option { option: "workers", cause });
        }
        let (topology, is_here) = match self.groups {
            Grouping::Auto => (machine.clone(), true),
            Grouping::Count(count) => (machine.divided(count)?, true),
            Grouping::Like(topology) => (topology, false),
        };
        let placement = Placement::new(&topology, workers);
        let processors = if is_here {
            let workers = 0..workers;
            workers.map(|worker| placement.processors_of(&topology, worker)).collect()
        } else {
            let flat = Placement::new(&machine, workers);
            (0..workers).map(|worker| flat.processors_of(&machine, worker)).collect()
        };
        let pin = pinning(processors, &placement);
        let pool = Pool::new(workers, pin)
            .map_err(|cause| Error::System { action: "start the workers", cause })?;
        if self.memory_bytes.is_some() {
            return_large_allocations();
        }
        let beside_bytes =
            resident_bytes() + BESIDE_BYTES + workers as u64 * BESIDE_BYTES_PER_WORKER;
        let budget = self.memory_bytes.map(|bytes| bytes.saturating_sub(beside_bytes));
        let nodes = memory_nodes(&topology, &placement, is_here);
        let blocks = BlockPool::by_group(Budget::new(budget), &nodes);
        let storage = self.storage.unwrap_or_else(|| Arc::new(Disk::new(std::env::temp_dir())));
        Ok(Engine {
            core: Arc::new(Core {
                pool,
                placement,
                blocks,
                topology,
                is_here,
                limit_bytes: self.memory_bytes,
                beside_bytes,
                storage,
            }),
        })
    }
}

/// Binds each worker to its processors, and to its group's part of memory.
fn pinning(
    processors: Vec<Vec<u32>>,
    placement: &Placement,
) -> impl Fn(usize) + Send + Clone + 'static {
    let group_of: Vec<usize> =
        (0..placement.workers()).map(|worker| placement.group_of(worker)).collect();
    move |worker| {
        work_in(group_of[worker]);
        bind(&processors[worker]);
    }
}

/// For each group the memory node that all of its processors are on, if there are several nodes.
fn memory_nodes(topology: &Topology, placement: &Placement, is_here: bool) -> Vec<Option<u32>> {
    let node_of = |group: usize| {
        let group = &topology.groups[placement.number_of(group)];
        let node = topology.nodes.iter().find(|node| node.id == group.node)?;
        let is_inside = group.processors.iter().all(|id| node.processors.contains(id));
        (is_here && topology.nodes.len() > 1 && is_inside).then_some(node.id)
    };
    (0..placement.groups()).map(node_of).collect()
}

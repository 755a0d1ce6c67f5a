//! The engine: workers, memory and a description of the machine, kept from job to job. [`Engine::job`]
//! begins a run of a job (`job_run.rs`); `run.rs` shows its stages on one screen.

use crate::core::{Core, bind};
use crate::error::{Error, Result};
use crate::holding::Holding;
use crate::input::Input;
use crate::job::Job;
use crate::job_run::JobRun;
use crate::memory::{
    BlockPool, Budget, Reserved, resident_bytes, return_large_allocations, work_in,
};
use crate::options::Options;
use crate::schedule::{Placement, Pool};
use crate::sort::{self, PairSort, Sort, SortTo};
use crate::stats::Stats;
use crate::storage::{Disk, Storage};
use crate::tasks;
use crate::topology::Topology;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// An engine: many jobs may run on it, one after another and at once, from any threads. Its workers
/// and its memory are kept between jobs.
pub struct Engine {
    core: Arc<Core>,
}

/// The options of an engine. [`Engine::builder`] begins one.
#[derive(Clone, Debug, Default)]
pub struct EngineBuilder {
    workers: Option<usize>,
    memory_bytes: Option<u64>,
    held_bytes: Option<u64>,
    storage: Option<Arc<dyn Storage>>,
    groups: Grouping,
}

/// Which processors make a group, whose workers share a queue of tiles and memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Grouping {
    /// Those that share a last-level cache and a memory node.
    #[default]
    Auto,
    /// A number of groups of the processors that this process may use, of equal size, give or take one.
    Count(usize),
    /// The groups of another machine's description. Workers are spread over its groups as if its processors
    /// were there; they run wherever this machine has room, and memory lies wherever the system puts it.
    Like(Topology),
}

/// Memory that is not counted block by block: the program's own code as it is touched, small allocations, and
/// per worker its stack.
const BESIDE_BYTES: u64 = 4 << 20;
const BESIDE_BYTES_PER_WORKER: u64 = 512 << 10;
/// The most workers that an engine can have.
const WORKERS_MOST: usize = 4096;

impl Engine {
    /// Returns an engine with a worker per processor that this process may use, and no limit on memory.
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

    /// Begins to compose a run of a job: its options, state, devices and shows are set by the methods of
    /// [`JobRun`], which runs it.
    ///
    /// ```
    /// # use tegula::{Emit, Job, Result, Split, Sum};
    /// # struct Words;
    /// # impl Job for Words {
    /// #     type Key = [u8];
    /// #     type Combine = Sum<u64>;
    /// #     fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
    /// #         split.fields().for_each(|word| emit.emit(word, 1));
    /// #         Ok(())
    /// #     }
    /// # }
    /// # fn main() -> Result<()> {
    /// use tegula::{Engine, Input};
    ///
    /// let output = Engine::new()?.job(&Words).run(Input::bytes("to be or not to be"))?;
    /// assert_eq!(output.len(), 4);
    /// # Ok(())
    /// # }
    /// ```
    pub fn job<'r, J: Job>(&'r self, job: &'r J) -> JobRun<'r, J> {
        JobRun::new(&self.core, job)
    }

    /// Plans a job of which this engine does a part, and others the rest: on other machines, each with a
    /// [`Holding`] of the same job over the same input. `order` and `top` of the options are those of
    /// [`Holding::answer`]; a state does not apply.
    ///
    /// # Errors
    /// Those of the input; it must not have a stream.
    pub fn hold<'e, J: Job>(
        &'e self,
        job: &'e J,
        input: Input,
        options: &Options,
    ) -> Result<Holding<'e, J>> {
        Holding::new(&self.core, job, input, options)
    }

    /// Sorts the input. Time is linear in the input's bytes, plus O(n log n) for the n records, of which the
    /// logarithm is that of a range that fits a cache. Memory holds the input once, or as much as the budget
    /// allows: the rest goes to the engine's scratch storage once, and again each time that a range is divided
    /// because it is larger than a worker's part of the budget. `order` and `top` of the options do not apply.
    ///
    /// # Errors
    /// See [`Error`](crate::error::Error); after an error the written bytes are not the answer.
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

    /// Begins a sort of pairs of bytes that the caller's tasks make, such as the calls of a job's map. `sections` are the
    /// keys, ascending, at which parts of the order begin that can be read side by side; there is at least one, and
    /// what is before the first counts as its. `input_bytes` are those of all tasks. Of the options, `cancel` and `share`
    /// apply. Takes half of the usable memory. Costs are those of [`sort`](Engine::sort).
    ///
    /// # Errors
    /// [`MemoryError::TooSmall`](crate::error::MemoryError) if half of the memory is too little.
    ///
    /// ```
    /// # fn main() -> tegula::Result<()> {
    /// use tegula::{Engine, Options};
    ///
    /// let engine = Engine::new()?;
    /// let sort = engine.pair_sort(vec![Box::from(*b"a")], 0, &Options::default())?;
    /// for task in 0..2 {
    ///     let mut pairs = sort.begin(task, 0);
    ///     pairs.put(b"b", b"1")?;
    ///     pairs.put(b"a", b"2")?;
    ///     pairs.end()?;
    /// }
    /// let (sorted, mut seen) = (sort.sorted()?, Vec::new());
    /// sorted.each(0, |key, _| {
    ///     seen.extend_from_slice(key);
    ///     Ok(())
    /// })?;
    /// assert_eq!(seen, b"aabb");
    /// # Ok(())
    /// # }
    /// ```
    pub fn pair_sort(
        &self,
        sections: Vec<Box<[u8]>>,
        input_bytes: u64,
        options: &Options,
    ) -> Result<PairSort<'_>> {
        PairSort::new(self.core(), sections, input_bytes, options)
    }

    /// Runs `task(worker, number)` once for each number below `count`, on all workers, in no promised order.
    /// Workers are numbered from 0 to [`workers`](Engine::workers); no two tasks run at once with the same
    /// worker. A task may wait for one that has begun, and for no other. Progress counts each task as a byte of
    /// the input. Of the options, `progress`, `timeline` and `cancel` apply. Costs one atomic increment a task.
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

    /// Counts `bytes` that the caller holds for `purpose` as part of the limit on memory, until what is returned is
    /// dropped.
    #[doc(hidden)]
    pub fn reserve(&self, bytes: usize, purpose: &'static str) -> Result<Reserved> {
        Ok(self.core.count(bytes, purpose, 0)?)
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.core
    }

    /// Number of workers.
    pub fn workers(&self) -> usize {
        self.core.pool.workers()
    }

    /// Gives memory that no job and no answer uses back to the system, and returns how many bytes that were. An engine
    /// keeps at most 32 MiB per worker for its next job, which then takes fresh memory: worth a call before a long
    /// pause.
    pub fn release_memory(&self) -> usize {
        self.core.blocks.release(0)
    }

    /// Returns the storage for data that does not fit in memory.
    pub fn storage(&self) -> &Arc<dyn Storage> {
        self.core.storage()
    }

    /// Which worker belongs to which group of [`topology`](Engine::topology).
    pub fn placement(&self) -> &Placement {
        &self.core.placement
    }

    /// Returns the machine as the engine sees it, or the description that it was given.
    pub fn topology(&self) -> &Topology {
        &self.core.topology
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Engine");
        out.field("workers", &self.workers()).field("memory_bytes", &self.core.limit_bytes());
        out.field("storage", self.storage()).finish_non_exhaustive()
    }
}

impl EngineBuilder {
    /// Sets the number of workers, at least 1. Default: the processors that this process may use, or the
    /// quota of its control group, rounded up.
    pub fn workers(mut self, workers: impl Into<Option<usize>>) -> EngineBuilder {
        self.workers = workers.into();
        self
    }

    /// Sets a limit on the memory of the whole process, in bytes, as its resident size shows it: memory in
    /// use when the engine is built counts, too. Pairs that do not fit go to disk (see
    /// [`scratch`](EngineBuilder::scratch)); a record or pair that does not fit fails the job with
    /// [`MemoryError`](crate::error::MemoryError). Default: none.
    pub fn memory_bytes(mut self, bytes: impl Into<Option<u64>>) -> EngineBuilder {
        self.memory_bytes = bytes.into();
        self
    }

    /// Sets the memory that the process holds already, in bytes, instead of its resident size: tests that share a process
    /// would find each other's memory there.
    #[doc(hidden)]
    pub fn held_bytes(mut self, bytes: u64) -> EngineBuilder {
        self.held_bytes = Some(bytes);
        self
    }

    /// Sets the folder for data that does not fit in memory: files without names, which are gone with the run
    /// however it ends. It is opened when it is first needed. Default: the system's folder for temporary
    /// files ([`std::env::temp_dir`]).
    pub fn scratch(self, folder: impl Into<PathBuf>) -> EngineBuilder {
        self.storage(Arc::new(Disk::new(folder)))
    }

    /// Sets other storage than a folder for data that does not fit in memory.
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
        let held_bytes = self.held_bytes.unwrap_or_else(resident_bytes);
        let beside_bytes = held_bytes + BESIDE_BYTES + workers as u64 * BESIDE_BYTES_PER_WORKER;
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

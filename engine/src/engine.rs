//! The engine: workers, memory and what is known of the machine, kept from job to job. [`Engine::run`]
//! takes a job through its stages; `run.rs` shows them on one screen.

use crate::aggregate::Aggregate;
use crate::container::{Entry, MediumKey};
use crate::error::{Error, MemoryError, Result};
use crate::input::Input;
use crate::job::Job;
use crate::memory::{
    BlockPool, Budget, Reserved, resident_bytes, return_large_allocations, work_in,
};
use crate::options::Options;
use crate::output::Output;
use crate::run::run;
use crate::schedule::{Placement, Pool};
use crate::show::Show;
use crate::sizing::Shares;
use crate::storage::{Disk, Storage};
use crate::topology::Topology;
use rustix::thread::{CpuSet, sched_setaffinity};
use std::path::PathBuf;
use std::sync::Arc;

/// An engine: many jobs may run on it, one after another and at once, from any threads. Its workers
/// and its memory are kept between jobs.
pub struct Engine {
    core: Arc<Core>,
}

/// What jobs and their answers share.
pub(crate) struct Core {
    pool: Pool,
    placement: Placement,
    blocks: Arc<BlockPool>,
    topology: Topology,
    /// Whether the topology is this machine's.
    is_here: bool,
    /// The limit on the process, and what of it is not the budget's.
    limit_bytes: Option<u64>,
    beside_bytes: u64,
    storage: Arc<dyn Storage>,
}

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

/// Memory that stays with the engine when a job ends, per worker: about what a job's tables and
/// buffers need again.
const KEPT_BYTES_PER_WORKER: usize = 32 << 20;
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

impl Core {
    pub(crate) fn pool(&self) -> &Pool {
        &self.pool
    }

    pub(crate) fn placement(&self) -> &Placement {
        &self.placement
    }

    pub(crate) fn blocks(&self) -> &Arc<BlockPool> {
        &self.blocks
    }

    pub(crate) fn topology(&self) -> &Topology {
        &self.topology
    }

    pub(crate) fn storage(&self) -> &Arc<dyn Storage> {
        &self.storage
    }

    /// Whether memory has a limit.
    pub(crate) fn is_limited(&self) -> bool {
        self.limit_bytes.is_some()
    }

    /// The limit on the memory of the process.
    pub(crate) fn limit_bytes(&self) -> Option<u64> {
        self.limit_bytes
    }

    /// The error of a job that needs at least `least` of a budget in which it does not have that.
    pub(crate) fn too_small(&self, least: u64) -> MemoryError {
        let limit_bytes = self.limit_bytes.unwrap_or(u64::MAX);
        let left = self.blocks.budget().limit();
        let least_bytes = (limit_bytes.max(self.beside_bytes) - left).saturating_add(least);
        MemoryError::TooSmall { limit_bytes, least_bytes, workers: self.pool.workers() }
    }

    /// How a job of so many threads that hold pairs divides the budget, of which so many bytes are its
    /// own already.
    ///
    /// # Errors
    /// [`MemoryError::TooSmall`] if the job cannot run with it.
    pub(crate) fn shares<C: Aggregate>(
        &self,
        split_bytes: u64,
        held_bytes: usize,
        threads: usize,
    ) -> Result<Shares, MemoryError> {
        let budget = self.blocks.budget().limit().saturating_sub(held_bytes as u64);
        let least = self.least_bytes::<C>(split_bytes, threads);
        match self.limit_bytes {
            Some(_) if budget < least => Err(self.too_small(least + held_bytes as u64)),
            _ => Ok(Shares::new(
                &self.topology,
                usize::try_from(budget).unwrap_or(usize::MAX),
                threads,
            )),
        }
    }

    /// What a job cannot do without.
    pub(crate) fn least_bytes<C: Aggregate>(&self, split_bytes: u64, threads: usize) -> u64 {
        let slot_bytes = size_of::<Entry<MediumKey, C::Accumulator>>();
        Shares::least_bytes(slot_bytes, split_bytes, threads) as u64
    }

    /// Counts the list of the input's files, which is there before anything else takes of the budget.
    ///
    /// # Errors
    /// [`MemoryError::TooSmall`] if it has no room, of a job that needs at `least` so much beside it.
    pub(crate) fn count_list(&self, input: &Input, least: u64) -> Result<Reserved, MemoryError> {
        let bytes = input.list_bytes();
        let counted = Reserved::new(&self.blocks, bytes, "the list of the input's files");
        counted.map_err(|_| self.too_small(least + bytes as u64))
    }

    /// Takes the calling thread, which is no worker, to the processors and the memory of a worker's group.
    pub(crate) fn go_to_group_of(&self, worker: usize) {
        let group = self.placement.group_of(worker);
        work_in(group);
        if self.is_here && self.placement.groups() > 1 {
            bind(&self.topology.groups[self.placement.number_of(group)].processors);
        }
    }

    /// Gives memory beyond what the next job will want back to the system.
    pub(crate) fn trim(&self) {
        self.blocks.release(self.pool.workers() * KEPT_BYTES_PER_WORKER);
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

/// Binds the calling thread to processors. Where that is not allowed, the scheduler decides.
fn bind(processors: &[u32]) {
    let mut set = CpuSet::new();
    let known = processors.iter().map(|&processor| processor as usize);
    known.filter(|&known| known < CpuSet::MAX_CPU).for_each(|known| set.set(known));
    let _ = sched_setaffinity(None, &set);
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

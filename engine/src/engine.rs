//! The engine: workers, memory and what is known of the machine, kept from job to job. [`Engine::run`]
//! takes a job through its stages; `run.rs` shows them on one screen.

use crate::error::{Error, Result};
use crate::input::Input;
use crate::job::Job;
use crate::memory::{BlockPool, Budget};
use crate::options::Options;
use crate::output::Output;
use crate::run;
use crate::schedule::Pool;
use crate::topology::Topology;
use std::sync::Arc;

/// An engine: many jobs may run on it, one after another and at once, from any threads. Its workers
/// and its memory are kept between jobs.
pub struct Engine {
    core: Arc<Core>,
}

/// What jobs and their answers share.
pub(crate) struct Core {
    pool: Pool,
    blocks: Arc<BlockPool>,
    topology: Topology,
}

/// How an engine is to be built. [`Engine::builder`] begins one.
#[derive(Clone, Debug, Default)]
pub struct EngineBuilder {
    workers: Option<usize>,
    memory_bytes: Option<u64>,
}

/// Memory that stays with the engine when a job ends, per worker: about what a job's tables and
/// buffers need again.
const KEPT_BYTES_PER_WORKER: usize = 32 << 20;
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
        run::run(&self.core, job, input, options)
    }

    /// Number of workers.
    pub fn workers(&self) -> usize {
        self.core.pool.workers()
    }

    /// The machine as the engine sees it.
    pub fn topology(&self) -> &Topology {
        &self.core.topology
    }
}

impl EngineBuilder {
    /// Number of workers, at least 1. Default: the processors that this process may use.
    pub fn workers(mut self, workers: impl Into<Option<usize>>) -> EngineBuilder {
        self.workers = workers.into();
        self
    }

    /// A limit on the engine's counted memory, in bytes. A job that needs more fails with
    /// [`MemoryError`](crate::MemoryError). Default: none.
    pub fn memory_bytes(mut self, bytes: impl Into<Option<u64>>) -> EngineBuilder {
        self.memory_bytes = bytes.into();
        self
    }

    /// Starts the workers.
    ///
    /// # Errors
    /// [`Error::Option`] for a number that cannot be meant, [`Error::System`] if threads cannot be
    /// started.
    pub fn build(self) -> Result<Engine> {
        let topology = Topology::detect();
        let workers = self.workers.unwrap_or(topology.processors.len().max(1));
        if !(1..=WORKERS_MOST).contains(&workers) {
            let cause = format!("{workers} workers; give 1 to {WORKERS_MOST}");
            return Err(Error::Option { option: "workers", cause });
        }
        let pin = pinning(&topology, workers);
        let pool = Pool::new(workers, pin)
            .map_err(|cause| Error::System { action: "start the workers", cause })?;
        let blocks = BlockPool::new(Budget::new(self.memory_bytes));
        Ok(Engine { core: Arc::new(Core { pool, blocks, topology }) })
    }
}

impl Core {
    pub(crate) fn pool(&self) -> &Pool {
        &self.pool
    }

    pub(crate) fn blocks(&self) -> &Arc<BlockPool> {
        &self.blocks
    }

    pub(crate) fn topology(&self) -> &Topology {
        &self.topology
    }

    /// Gives memory beyond what the next job will want back to the system.
    pub(crate) fn trim(&self) {
        self.blocks.release(self.pool.workers() * KEPT_BYTES_PER_WORKER);
    }
}

/// Binds worker `i` to the `i`-th processor; with more workers than processors, none is bound.
fn pinning(topology: &Topology, workers: usize) -> impl Fn(usize) + Send + Clone + 'static {
    let processors: Vec<u32> = topology.processors.iter().map(|processor| processor.id).collect();
    move |worker| {
        if workers <= processors.len() {
            let mut set = rustix::thread::CpuSet::new();
            set.set(processors[worker] as usize);
            // Where binding is not allowed, the scheduler decides.
            let _ = rustix::thread::sched_setaffinity(None, &set);
        }
    }
}

//! The core of an engine: the workers, the memory and the storage that its jobs and their answers share.

use crate::aggregate::Aggregate;
use crate::error::MemoryError;
use crate::memory::{BlockPool, Reserved, work_in};
use crate::schedule::{Placement, Pool};
use crate::sizing::Shares;
use crate::slots::{Entry, MediumKey};
use crate::storage::Storage;
use crate::topology::Topology;
use rustix::thread::{CpuSet, sched_setaffinity};
use std::sync::Arc;

/// The resources that jobs and their answers share.
pub(crate) struct Core {
    pub(crate) pool: Pool,
    pub(crate) placement: Placement,
    pub(crate) blocks: Arc<BlockPool>,
    pub(crate) topology: Topology,
    /// Whether the topology is this machine's.
    pub(crate) is_here: bool,
    /// The limit on the process, and the part of it outside of the budget.
    pub(crate) limit_bytes: Option<u64>,
    pub(crate) beside_bytes: u64,
    pub(crate) storage: Arc<dyn Storage>,
}

/// Memory that stays with the engine when a job ends, per worker: about as much as the next job's tables and
/// buffers need.
const KEPT_BYTES_PER_WORKER: usize = 32 << 20;

/// The purpose of memory that a list of input files takes.
pub(crate) const FILE_LIST: &str = "the list of the input's files";

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

    /// Returns whether memory has a limit.
    pub(crate) fn is_limited(&self) -> bool {
        self.limit_bytes.is_some()
    }

    /// Returns the limit on the memory of the process.
    pub(crate) fn limit_bytes(&self) -> Option<u64> {
        self.limit_bytes
    }

    /// Returns the error of a job that needs at least `least` of a budget in which it does not have that.
    pub(crate) fn too_small(&self, least: u64) -> MemoryError {
        let limit_bytes = self.limit_bytes.unwrap_or(u64::MAX);
        let left = self.blocks.budget().limit();
        let least_bytes = (limit_bytes.max(self.beside_bytes) - left).saturating_add(least);
        MemoryError::TooSmall { limit_bytes, least_bytes, workers: self.pool.workers() }
    }

    /// Returns the shares of the budget for a job of `threads` threads that hold pairs, of which it already
    /// holds `held_bytes`.
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

    /// Returns the least memory that a job needs.
    pub(crate) fn least_bytes<C: Aggregate>(&self, split_bytes: u64, threads: usize) -> u64 {
        let slot_bytes = size_of::<Entry<MediumKey, C::Accumulator>>();
        Shares::least_bytes(slot_bytes, split_bytes, threads) as u64
    }

    /// Counts memory that a run holds beside the engine's own, before the engine takes any.
    ///
    /// # Errors
    /// [`MemoryError::TooSmall`] if it has no room. The error states `least`, the bytes that the run needs in
    /// addition.
    pub(crate) fn count(
        &self,
        bytes: usize,
        purpose: &'static str,
        least: u64,
    ) -> Result<Reserved, MemoryError> {
        let counted = Reserved::new(&self.blocks, bytes, purpose);
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

    /// Gives memory beyond the need of the next job back to the system.
    pub(crate) fn trim(&self) {
        self.blocks.release(self.pool.workers() * KEPT_BYTES_PER_WORKER);
    }
}

/// Binds the calling thread to processors. Where that is not allowed, the scheduler decides.
pub(crate) fn bind(processors: &[u32]) {
    let mut set = CpuSet::new();
    let known = processors.iter().map(|&processor| processor as usize);
    known.filter(|&known| known < CpuSet::MAX_CPU).for_each(|known| set.set(known));
    let _ = sched_setaffinity(None, &set);
}

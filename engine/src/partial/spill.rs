//! Spilling: when the pairs in memory pass their share of the budget, partitions go to disk, one
//! after the other and round about, each folded and as a run of blocks.

use super::fold::Folder;
use super::form::{Accumulators, Form};
use super::runs::{Run, RunWriter};
use super::{PARTITIONS, Partial};
use crate::aggregate::Aggregate;
use crate::error::{MemoryError, Result};
use crate::memory::{BlockPool, ChunkPool, Reserved};
use crate::sizing::Shares;
use crate::storage::Scratch;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Once it spills, it spills until this part of the share is left: runs are the longer for it.
const LEFT_DIVISOR: usize = 2;

/// Where partitions go that memory has no room for.
pub(crate) struct Spill {
    scratch: Arc<Scratch>,
    shares: Shares,
    /// The partition that is spilled next.
    next: AtomicUsize,
    began: AtomicBool,
    /// Where runs lie is held in memory, too: counted here, and not given back before the end.
    index: Mutex<(usize, Reserved)>,
    /// Held while lists are spilled.
    alone: Mutex<()>,
}

impl Spill {
    pub(crate) fn new(scratch: Arc<Scratch>, shares: Shares, blocks: &Arc<BlockPool>) -> Spill {
        Spill {
            scratch,
            shares,
            next: AtomicUsize::new(0),
            began: AtomicBool::new(false),
            index: Mutex::new((0, Reserved::none(blocks, "the places of what is on disk"))),
            alone: Mutex::new(()),
        }
    }

    pub(crate) fn scratch(&self) -> &Arc<Scratch> {
        &self.scratch
    }

    pub(crate) fn shares(&self) -> &Shares {
        &self.shares
    }

    /// A worker's writer of runs.
    pub(crate) fn writer<F: Form>(
        &self,
        chunks: &Arc<ChunkPool>,
    ) -> Result<RunWriter<F>, MemoryError> {
        RunWriter::new(&self.scratch, chunks, self.shares.block_bytes)
    }

    /// Whether the pairs in memory have passed their share.
    pub(crate) fn is_due(&self, chunks: &ChunkPool) -> bool {
        chunks.held_bytes() > self.shares.partial_bytes
    }

    /// Counts what it takes to know where so many runs and extents lie.
    pub(crate) fn note(&self, runs: usize, extents: usize) -> Result<(), MemoryError> {
        // Lists grow by doubling: half as much again on average. A run's is an allocation of its own.
        const ALLOCATION_BYTES: usize = 32;
        let run_bytes = size_of::<Run>() * 3 / 2 + ALLOCATION_BYTES;
        let bytes = runs * run_bytes + extents * size_of::<Range<u64>>() * 3 / 2;
        let (total, memory) = &mut *self.index.lock().unwrap_or_else(PoisonError::into_inner);
        *total += bytes;
        memory.cover(*total)
    }

    /// Whether anything was spilled.
    pub(crate) fn began(&self) -> bool {
        self.began.load(Ordering::Relaxed)
    }

    /// Spills partitions until there is room again. Workers may do so side by side.
    pub(crate) fn relieve<C: Aggregate>(
        &self,
        partial: &Partial<C::Accumulator>,
        chunks: &ChunkPool,
        folder: &mut Folder<C>,
        writer: &mut RunWriter<Accumulators<C>>,
    ) -> Result<()> {
        if C::KEEPS_VALUES {
            return self.relieve_lists(partial, chunks, folder, writer);
        }
        for _ in 0..PARTITIONS {
            if chunks.held_bytes() <= self.shares.partial_bytes / LEFT_DIVISOR {
                break;
            }
            let number = self.next.fetch_add(1, Ordering::Relaxed) % PARTITIONS;
            self.spill(number, partial, folder, writer)?;
        }
        Ok(())
    }

    /// Lists of one hand-over lie beside each other whatever their partition, so their memory is free
    /// only when every partition was spilled after it came.
    fn relieve_lists<C: Aggregate>(
        &self,
        partial: &Partial<C::Accumulator>,
        chunks: &ChunkPool,
        folder: &mut Folder<C>,
        writer: &mut RunWriter<Accumulators<C>>,
    ) -> Result<()> {
        // One at a time: whoever comes meanwhile waits until there is room.
        let _alone = self.alone.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.is_due(chunks) {
            return Ok(());
        }
        let values = partial.take_values();
        (0..PARTITIONS).try_for_each(|number| self.spill(number, partial, folder, writer))?;
        drop(values);
        Ok(())
    }

    /// Spills a partition's pairs, if it has any.
    pub(crate) fn spill<C: Aggregate>(
        &self,
        number: usize,
        partial: &Partial<C::Accumulator>,
        folder: &mut Folder<C>,
        writer: &mut RunWriter<Accumulators<C>>,
    ) -> Result<()> {
        let mut partition = partial.partition(number);
        if partition.pairs.len() == 0 {
            return Ok(());
        }
        self.began.store(true, Ordering::Relaxed);
        writer.begin(number);
        folder.spill(&mut partition, writer)?;
        let run = writer.finish()?;
        self.note(1, run.extents.len())?;
        partition.spilled(run);
        Ok(())
    }
}

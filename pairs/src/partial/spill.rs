//! Spilling: when the pairs in memory pass their share of the budget, partitions go to disk, one
//! after the other and round about, each folded and as a run of blocks. Runs that become many are
//! joined at once, so that to know where they lie takes little memory.

use super::fold::Folder;
use super::form::{Accumulators, Form};
use super::merger::Merger;
use super::runs::{Run, RunWriter};
use super::taker::Receiver;
use super::{PARTITIONS, Partial};
use crate::aggregate::Aggregate;
use crate::error::{MemoryError, Result};
use crate::memory::{BlockPool, ChunkPool, KeptValues, Reserved};
use crate::sizing::Shares;
use crate::storage::Scratch;
use crate::sync::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Once it spills, it spills until this part of the share is left: runs are the longer for it.
const LEFT_DIVISOR: usize = 2;

/// Where partitions go that memory has no room for.
pub struct Spill {
    scratch: Arc<Scratch>,
    shares: Shares,
    /// The partition that is spilled next.
    next: AtomicUsize,
    began: AtomicBool,
    /// Memory for the places of runs: its size now, and the most it ever was.
    index: Mutex<(usize, Reserved)>,
    /// Held while lists are spilled.
    alone: Mutex<()>,
}

/// A worker's tools for spilling.
pub struct Spiller<C: Aggregate> {
    writer: RunWriter<Accumulators<C>>,
    merger: Merger<C>,
}

impl<C: Aggregate> Spiller<C> {
    /// Hands the pairs of all runs of a partition, which stay, to `receiver`, one per key.
    pub fn merge(
        &mut self,
        runs: &mut Vec<Run>,
        receiver: &mut dyn Receiver<C::Accumulator>,
    ) -> Result<()> {
        self.merger.merge(runs, receiver)
    }
}

impl Spill {
    pub fn new(scratch: Arc<Scratch>, shares: Shares, blocks: &Arc<BlockPool>) -> Spill {
        Spill {
            scratch,
            shares,
            next: AtomicUsize::new(0),
            began: AtomicBool::new(false),
            index: Mutex::new((0, Reserved::none(blocks, "the places of runs on disk"))),
            alone: Mutex::new(()),
        }
    }

    pub fn scratch(&self) -> &Arc<Scratch> {
        &self.scratch
    }

    pub fn shares(&self) -> &Shares {
        &self.shares
    }

    pub fn spiller<C: Aggregate>(
        &self,
        chunks: &Arc<ChunkPool>,
    ) -> Result<Spiller<C>, MemoryError> {
        Ok(Spiller { writer: self.writer(chunks)?, merger: self.merger(chunks) })
    }

    pub fn merger<C: Aggregate>(&self, chunks: &Arc<ChunkPool>) -> Merger<C> {
        Merger::new(&self.scratch, chunks, &self.shares)
    }

    pub fn writer<F: Form>(&self, chunks: &Arc<ChunkPool>) -> Result<RunWriter<F>, MemoryError> {
        RunWriter::new(&self.scratch, chunks, self.shares.block_bytes)
    }

    /// Returns whether the pairs in memory have passed their share.
    pub fn is_due(&self, chunks: &ChunkPool) -> bool {
        chunks.held_bytes() > self.shares.partial_bytes
    }

    /// Counts the memory for the place of a run that was `made`, and no longer that of the runs that are
    /// `gone`.
    pub fn note(&self, made: &Run, gone: &[Run]) -> Result<(), MemoryError> {
        let (total, memory) = &mut *self.index.lock();
        *total += made.index_bytes();
        *total -= gone.iter().map(Run::index_bytes).sum::<usize>().min(*total);
        memory.cover(*total)
    }

    /// No longer counts the memory for the place of a run.
    pub fn forget(&self, run: &Run) {
        let (total, _) = &mut *self.index.lock();
        *total = total.saturating_sub(run.index_bytes());
    }

    /// Counts the memory for the places of runs, instead of another that counted it.
    pub(super) fn take_over(&self, other: &Spill, runs: &[Run]) -> Result<(), MemoryError> {
        if runs.is_empty() {
            return Ok(());
        }
        self.began.store(true, Ordering::Relaxed);
        let bytes = runs.iter().map(Run::index_bytes).sum::<usize>();
        let (total, memory) = &mut *other.index.lock();
        *total = total.saturating_sub(bytes);
        memory.fit(*total)?;
        let (total, memory) = &mut *self.index.lock();
        *total += bytes;
        memory.cover(*total)
    }

    pub fn began(&self) -> bool {
        self.began.load(Ordering::Relaxed)
    }

    /// Spills partitions until there is room again. Workers may do so side by side.
    pub fn relieve<C: Aggregate>(
        &self,
        partial: &Partial<C::Accumulator>,
        chunks: &ChunkPool,
        folder: &mut Folder<C>,
        spiller: &mut Spiller<C>,
    ) -> Result<()> {
        if C::KEEPS_VALUES {
            return self.relieve_lists(partial, chunks, folder, spiller);
        }
        for _ in 0..PARTITIONS {
            if chunks.held_bytes() <= self.shares.partial_bytes / LEFT_DIVISOR {
                break;
            }
            let number = self.next.fetch_add(1, Ordering::Relaxed) % PARTITIONS;
            self.spill(number, partial, folder, spiller)?;
            self.join(number, partial, spiller)?;
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
        spiller: &mut Spiller<C>,
    ) -> Result<()> {
        // One at a time: a thread that comes meanwhile waits until there is room.
        let _alone = self.alone.lock();
        if !self.is_due(chunks) {
            return Ok(());
        }
        let mut taken = Taken { partial, values: partial.take_values() };
        for number in 0..PARTITIONS {
            self.spill(number, partial, folder, spiller)?;
            self.join(number, partial, spiller)?;
        }
        taken.values.clear();
        Ok(())
    }

    /// Spills a partition's pairs, if it has any.
    pub fn spill<C: Aggregate>(
        &self,
        number: usize,
        partial: &Partial<C::Accumulator>,
        folder: &mut Folder<C>,
        spiller: &mut Spiller<C>,
    ) -> Result<()> {
        let mut partition = partial.partition(number);
        if partition.pairs.len() == 0 {
            return Ok(());
        }
        self.began.store(true, Ordering::Relaxed);
        spiller.writer.begin(number);
        folder.spill(&mut partition, &mut spiller.writer)?;
        let run = spiller.writer.finish()?;
        self.note(&run, &[])?;
        partition.spilled(run);
        Ok(())
    }

    /// Joins a partition's runs while there are enough of a level.
    fn join<C: Aggregate>(
        &self,
        number: usize,
        partial: &Partial<C::Accumulator>,
        spiller: &mut Spiller<C>,
    ) -> Result<()> {
        let merger = &mut spiller.merger;
        let fan_in = merger.fan_in();
        let full = || partial.partition(number).runs.take_full(fan_in);
        while let Some(full) = full() {
            let joined = merger.join(&full.runs)?;
            self.note(&joined, &full.runs)?;
            partial.partition(number).runs.joined(&full, joined);
        }
        Ok(())
    }
}

/// Values that go back to their partial unless all lists were spilled: others still add to those that were not, however
/// the spilling ended.
struct Taken<'p, V: Copy> {
    partial: &'p Partial<V>,
    values: Vec<KeptValues>,
}

impl<V: Copy> Drop for Taken<'_, V> {
    fn drop(&mut self) {
        self.partial.give_back(std::mem::take(&mut self.values));
    }
}

//! Upkeep keeps a partial small while pairs are added: it folds partitions that have doubled, and spills
//! pairs that exceed memory.

use super::fold::Folder;
use super::spill::{Spill, Spiller};
use super::{PARTITIONS, Partial};
use crate::aggregate::Aggregate;
use crate::error::{MemoryError, Result};
use crate::memory::ChunkPool;
use crate::timeline::{self, Kind};
use std::sync::Arc;

/// Between batches pairs are spilled only if memory for pairs has grown by this part of their share since the last
/// time. Where others hold most of it, runs would be short.
const GROWTH_DIVISOR: usize = 8;

/// The tools of one thread for upkeep; tables are made when they are first needed.
pub struct Upkeep<C: Aggregate> {
    chunks: Arc<ChunkPool>,
    folder: Option<Folder<C>>,
    spiller: Option<Spiller<C>>,
    /// Bytes that pairs held after the last relief.
    left_bytes: usize,
}

impl<C: Aggregate> Upkeep<C> {
    pub fn new(chunks: &Arc<ChunkPool>) -> Upkeep<C> {
        Upkeep { chunks: Arc::clone(chunks), folder: None, spiller: None, left_bytes: 0 }
    }

    /// Folds the partitions that have doubled since they were last folded, from the one of that number on.
    /// Returns how many pairs there are then.
    pub fn fold(&mut self, partial: &Partial<C::Accumulator>, first: usize) -> Result<u64> {
        let mut pairs = 0;
        for number in 0..PARTITIONS {
            let mut partition = partial.partition((first + number) % PARTITIONS);
            if partition.fold_is_due() {
                made(&mut self.folder, || Folder::new(&self.chunks))?.compress(&mut partition)?;
            }
            pairs += partition.pairs.len() as u64;
        }
        Ok(pairs)
    }

    /// Returns whether pairs have passed their share of memory.
    pub fn is_full(&self, partial: &Partial<C::Accumulator>) -> bool {
        partial.spill().is_some_and(|spill| spill.is_due(&self.chunks))
    }

    /// Spills partitions until there is room again, if pairs have passed their share of memory.
    pub fn relieve(&mut self, partial: &Partial<C::Accumulator>) -> Result<()> {
        if !self.is_full(partial) {
            return Ok(());
        }
        self.spilling(partial, |spill, chunks, folder, spiller| {
            spill.relieve(partial, chunks, folder, spiller)
        })?;
        self.left_bytes = self.chunks.held_bytes();
        Ok(())
    }

    pub fn empty(&mut self, partial: &Partial<C::Accumulator>) -> Result<()> {
        self.spilling(partial, |spill, _, folder, spiller| {
            (0..PARTITIONS).try_for_each(|number| spill.spill(number, partial, folder, spiller))
        })
    }

    fn spilling(
        &mut self,
        partial: &Partial<C::Accumulator>,
        work: impl FnOnce(&Spill, &ChunkPool, &mut Folder<C>, &mut Spiller<C>) -> Result<()>,
    ) -> Result<()> {
        let Some(spill) = partial.spill() else { return Ok(()) };
        let folder = made(&mut self.folder, || Folder::new(&self.chunks))?;
        let spiller = made(&mut self.spiller, || spill.spiller(&self.chunks))?;
        work(spill, &self.chunks, folder, spiller)
    }
}

/// The part of upkeep that is done between batches of one split's pairs, which may be more than memory holds. Code that is
/// compiled for each job reaches the tools through this, so they are compiled once for all jobs with the same aggregate.
pub trait Relief<C: Aggregate>: Send {
    /// As [`Upkeep::relieve`], if memory for pairs has grown since the last time.
    fn relieve_between(&mut self, partial: &Partial<C::Accumulator>) -> Result<()>;

    /// Returns all tools.
    fn upkeep(&mut self) -> &mut Upkeep<C>;
}

impl<C: Aggregate> Relief<C> for Upkeep<C> {
    fn relieve_between(&mut self, partial: &Partial<C::Accumulator>) -> Result<()> {
        let Some(spill) = partial.spill().filter(|spill| spill.is_due(&self.chunks)) else {
            return Ok(());
        };
        let growth = self.chunks.held_bytes().saturating_sub(self.left_bytes);
        if growth < spill.shares().partial_bytes / GROWTH_DIVISOR {
            return Ok(());
        }
        let _spilling = timeline::begin(Kind::Spill);
        self.relieve(partial)
    }

    fn upkeep(&mut self) -> &mut Upkeep<C> {
        self
    }
}

/// Returns a tool, made by `make` the first time.
fn made<T>(
    tool: &mut Option<T>,
    make: impl FnOnce() -> Result<T, MemoryError>,
) -> Result<&mut T, MemoryError> {
    match tool {
        Some(tool) => Ok(tool),
        none => Ok(none.insert(make()?)),
    }
}

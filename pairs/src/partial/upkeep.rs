//! Upkeep keeps a partial small while pairs are added: it folds partitions that have doubled, and spills
//! pairs that exceed memory.

use super::fold::Folder;
use super::spill::{Spill, Spiller};
use super::{PARTITIONS, Partial};
use crate::aggregate::Aggregate;
use crate::error::{MemoryError, Result};
use crate::memory::ChunkPool;
use std::sync::Arc;

/// The tools of one thread for upkeep; tables are made when they are first needed.
pub struct Upkeep<C: Aggregate> {
    chunks: Arc<ChunkPool>,
    folder: Option<Folder<C>>,
    spiller: Option<Spiller<C>>,
}

impl<C: Aggregate> Upkeep<C> {
    pub fn new(chunks: &Arc<ChunkPool>) -> Upkeep<C> {
        Upkeep { chunks: Arc::clone(chunks), folder: None, spiller: None }
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
        })
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

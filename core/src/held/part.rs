//! The answer of some partitions, made on one machine and given to another in blocks of the partial's byte form.

use crate::aggregate::Aggregate;
use crate::error::Result;
use crate::merge::Piece;
use crate::output::{Names, PointedAt, Seen, Stored};
use crate::partial::{Answers, OpenBlock, Sealer};
use crate::reduce::ReduceTotals;
use std::path::PathBuf;

/// The answer of some partitions, of a job that is not named.
pub trait PartAnswer: Send + Sync {
    /// Returns the number of keys, and their bytes, also of those that are not among the top N.
    fn totals(&self) -> ReduceTotals;

    /// Shows `see` the pairs in the order of the answer, a block at a time.
    ///
    /// # Errors
    /// Those of `see`, of memory and of the disk.
    fn blocks(&self, see: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>;
}

pub(crate) struct Part<C: Aggregate> {
    pub(crate) pieces: Vec<Piece<C::Reduced>>,
    pub(crate) _pointed_at: PointedAt,
    pub(crate) stored: Stored,
    pub(crate) totals: ReduceTotals,
}

impl<C: Aggregate> Drop for Part<C> {
    fn drop(&mut self) {
        for piece in &self.pieces {
            if let Piece::Stored(run) = piece {
                // Space that is not given back is free at the end of the run.
                let _ = self.stored.scratch.free(&run.extents);
            }
        }
    }
}

/// Pairs whose files nobody asks for.
struct Unnamed;

impl Names for Unnamed {
    fn path_of(&self, _: u32) -> Option<PathBuf> {
        None
    }
}

impl<C: Aggregate> PartAnswer for Part<C> {
    fn totals(&self) -> ReduceTotals {
        self.totals
    }

    fn blocks(&self, see: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let Stored { chunks, block_bytes, .. } = &self.stored;
        let mut block = OpenBlock::new(chunks.blocks(), *block_bytes)?;
        let mut sealer = Sealer::new(chunks.blocks(), *block_bytes)?;
        let seen = Seen::<C>::new(&self.pieces, &self.stored, &Unnamed);
        seen.for_each(&mut |pair| {
            let is_full = block.push::<Answers<C>>(pair)?;
            if is_full { see(sealer.seal(&mut block, 0)?) } else { Ok(()) }
        })?;
        if block.is_empty() { Ok(()) } else { see(sealer.seal(&mut block, 0)?) }
    }
}

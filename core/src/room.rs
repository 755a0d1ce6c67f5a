//! The room of one run: the memory and the disk that it shares out among its partials and its answer.

use crate::core::Core;
use crate::memory::{BlockPool, ChunkPool};
use crate::output::Stored;
use crate::partial::{Partial, Spill};
use crate::sizing::Shares;
use crate::storage::Scratch;
use std::sync::Arc;

pub(crate) struct Room {
    pub(crate) chunks: Arc<ChunkPool>,
    pub(crate) scratch: Arc<Scratch>,
    pub(crate) shares: Shares,
    is_limited: bool,
}

impl Room {
    pub(crate) fn new(core: &Core, shares: Shares) -> Room {
        let chunks = ChunkPool::new(Arc::clone(core.blocks()));
        let scratch = Scratch::new(core.storage());
        Room { chunks, scratch, shares, is_limited: core.is_limited() }
    }

    /// Makes an empty partial, which spills if memory is limited.
    pub(crate) fn partial<V: Copy>(&self) -> Partial<V> {
        let spill = || Spill::new(Arc::clone(&self.scratch), self.shares, self.blocks());
        Partial::new(&self.chunks, self.is_limited.then(spill))
    }

    /// Returns the place of an answer that is made while the pairs of the run stay.
    pub(crate) fn stored_beside_pairs(&self) -> Stored {
        let (scratch, chunks) = (Arc::clone(&self.scratch), Arc::clone(&self.chunks));
        Stored { scratch, chunks, block_bytes: self.shares.block_bytes }
    }

    /// Returns the place of the run's answer, at its end. It has chunks of its own: those of the run are
    /// free, except for the chunks of the answer.
    pub(crate) fn stored(self) -> Stored {
        let chunks = ChunkPool::new(Arc::clone(self.blocks()));
        Stored { scratch: self.scratch, chunks, block_bytes: self.shares.block_bytes }
    }

    fn blocks(&self) -> &Arc<BlockPool> {
        self.chunks.blocks()
    }
}

//! Reserved memory: bytes that a structure holds on the heap, counted in the budget while it lives. For
//! memory that is too small or too odd in shape to be cut from blocks.

use super::BlockPool;
use crate::error::MemoryError;
use std::sync::Arc;

/// A part of the budget. Given back when dropped.
pub struct Reserved {
    blocks: Arc<BlockPool>,
    bytes: usize,
    purpose: &'static str,
}

impl Reserved {
    /// Nothing yet.
    pub fn none(blocks: &Arc<BlockPool>, purpose: &'static str) -> Reserved {
        Reserved { blocks: Arc::clone(blocks), bytes: 0, purpose }
    }

    /// Counts `bytes` bytes for `purpose`.
    pub fn new(
        blocks: &Arc<BlockPool>,
        bytes: usize,
        purpose: &'static str,
    ) -> Result<Reserved, MemoryError> {
        let mut reserved = Reserved::none(blocks, purpose);
        reserved.cover(bytes)?;
        Ok(reserved)
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Sees to it that at least `bytes` are counted.
    #[inline]
    pub fn cover(&mut self, bytes: usize) -> Result<(), MemoryError> {
        if bytes > self.bytes { self.grow(bytes) } else { Ok(()) }
    }

    /// Sees to it that `bytes` are counted, no more and no less. After a refusal nothing is.
    pub fn fit(&mut self, bytes: usize) -> Result<(), MemoryError> {
        self.blocks.budget().give(std::mem::take(&mut self.bytes));
        self.cover(bytes)
    }

    #[cold]
    fn grow(&mut self, bytes: usize) -> Result<(), MemoryError> {
        self.blocks.count(bytes - self.bytes, self.purpose)?;
        self.bytes = bytes;
        Ok(())
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.blocks.budget().give(self.bytes);
    }
}

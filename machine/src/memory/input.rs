//! A buffer for a split's bytes: grows, never shrinks, is reused from split to split, and has readable
//! bytes after its data, so that keys can be loaded at full width.

use super::{Access, Block, BlockPool};
use crate::error::MemoryError;
use std::ptr::NonNull;
use std::sync::Arc;

/// Bytes that are readable after the data of an input buffer: a vector of AVX-512, as `tegula.h` promises to maps in C.
pub const OVERREAD_BYTES: usize = 64;

/// Reused memory for bytes that are read and mapped.
pub struct InputBuffer {
    block: Block,
    blocks: Arc<BlockPool>,
}

const PURPOSE: &str = "a piece of input (a record must fit in memory)";

impl InputBuffer {
    pub fn new(blocks: &Arc<BlockPool>, bytes: usize) -> Result<InputBuffer, MemoryError> {
        let block = blocks.take(bytes + OVERREAD_BYTES, Access::Streamed, PURPOSE)?;
        Ok(InputBuffer { block, blocks: Arc::clone(blocks) })
    }

    /// Bytes that fit.
    pub fn capacity(&self) -> usize {
        self.block.bytes() - OVERREAD_BYTES
    }

    /// Makes room for `bytes`, keeping the first `keep` bytes. Grows at least twofold, so that
    /// growing byte by byte stays linear. Where the size is known before anything is read,
    /// [`fit`](InputBuffer::fit) takes less memory.
    pub fn reserve(&mut self, bytes: usize, keep: usize) -> Result<(), MemoryError> {
        if bytes > self.capacity() {
            let mut larger = InputBuffer::new(&self.blocks, bytes.max(2 * self.capacity()))?;
            larger.bytes_mut()[..keep].copy_from_slice(&self.bytes()[..keep]);
            std::mem::replace(self, larger).block.discard();
        }
        Ok(())
    }

    /// Makes room for exactly `bytes`; drops the previous contents.
    pub fn fit(&mut self, bytes: usize) -> Result<(), MemoryError> {
        if bytes > self.capacity() {
            let larger = InputBuffer::new(&self.blocks, bytes)?;
            std::mem::replace(self, larger).block.discard();
        }
        Ok(())
    }

    pub fn start(&self) -> NonNull<u8> {
        self.block.start()
    }

    pub fn bytes(&self) -> &[u8] {
        &self.block.as_slice()[..self.capacity()]
    }

    pub fn bytes_mut(&mut self) -> &mut [u8] {
        let capacity = self.capacity();
        &mut self.block.as_mut_slice()[..capacity]
    }
}

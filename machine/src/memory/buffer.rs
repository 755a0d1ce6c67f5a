//! A buffer of bytes that is counted: of a usual size, and larger only while one record needs it.

use super::{BlockPool, Reserved};
use crate::error::MemoryError;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// Bytes, and a part of the budget for them.
pub struct Buffer {
    bytes: Vec<u8>,
    usual: usize,
    memory: Reserved,
}

impl Buffer {
    /// Returns an empty buffer that has room for `usual` bytes most of the time.
    pub fn new(
        blocks: &Arc<BlockPool>,
        usual: usize,
        purpose: &'static str,
    ) -> Result<Buffer, MemoryError> {
        let memory = Reserved::new(blocks, usual, purpose)?;
        Ok(Buffer { bytes: Vec::with_capacity(usual), usual, memory })
    }

    /// Returns the room that it has most of the time, in bytes.
    pub fn usual(&self) -> usize {
        self.usual
    }

    /// Empties the buffer and makes room for `bytes`. Gives back memory above that and the usual size, which
    /// an earlier record needed.
    #[inline]
    pub fn clear_for(&mut self, bytes: usize) -> Result<(), MemoryError> {
        self.bytes.clear();
        let wanted = bytes.max(self.usual);
        if self.bytes.capacity() == wanted { Ok(()) } else { self.fit(wanted) }
    }

    /// Makes room for `bytes` more.
    #[inline]
    pub fn make_room(&mut self, bytes: usize) -> Result<(), MemoryError> {
        if self.bytes.capacity() - self.bytes.len() < bytes { self.grow(bytes) } else { Ok(()) }
    }

    /// Counts the capacity that the buffer gained while bytes were added.
    #[inline]
    pub fn count_growth(&mut self) -> Result<(), MemoryError> {
        if self.bytes.capacity() > self.usual { self.count_large() } else { Ok(()) }
    }

    #[cold]
    fn fit(&mut self, wanted: usize) -> Result<(), MemoryError> {
        // The old one makes room first.
        self.bytes = Vec::new();
        self.memory.fit(wanted)?;
        self.bytes = Vec::with_capacity(wanted);
        Ok(())
    }

    #[cold]
    fn grow(&mut self, bytes: usize) -> Result<(), MemoryError> {
        self.memory.cover(self.bytes.len() + bytes)?;
        self.bytes.reserve_exact(bytes);
        Ok(())
    }

    #[cold]
    fn count_large(&mut self) -> Result<(), MemoryError> {
        // Doubling left room that was never touched; a block is nearly done when it is this large.
        self.bytes.shrink_to_fit();
        self.memory.fit(self.bytes.capacity())
    }
}

impl Deref for Buffer {
    type Target = Vec<u8>;

    fn deref(&self) -> &Vec<u8> {
        &self.bytes
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }
}

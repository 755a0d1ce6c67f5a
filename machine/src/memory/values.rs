//! The store of collected values: small blocks of bytes, cut from chunks one after the other, that keep their
//! address until the store is gone. It knows the split whose values are being added. It keeps a refusal of
//! memory until its owner asks, so that adding a value returns no error.

use super::chunk::{CHUNK_BYTES, Chunk, ChunkPool, Large};
use crate::error::MemoryError;
use crate::relocation::Relocation;
use std::ptr::NonNull;
use std::sync::Arc;

/// Memory of lists of values, of one worker.
pub struct ValueStore {
    kept: KeptValues,
    /// Free bytes of the last chunk.
    next: NonNull<u8>,
    room: usize,
    split: u32,
    relocation: Relocation,
    refusal: Option<MemoryError>,
}

/// The blocks that a store has given out. Lists that point here are valid while this lives.
pub struct KeptValues {
    chunks: Vec<Chunk>,
    large: Vec<Large>,
    large_bytes: usize,
    pool: Arc<ChunkPool>,
}

// SAFETY: `next` leads into a chunk of the store's own.
unsafe impl Send for ValueStore {}

impl ValueStore {
    pub fn new(pool: &Arc<ChunkPool>) -> ValueStore {
        ValueStore {
            kept: KeptValues::new(pool),
            next: NonNull::dangling(),
            room: 0,
            split: 0,
            relocation: Relocation::default(),
            refusal: None,
        }
    }

    /// Returns the number of the split whose values come.
    #[inline(always)]
    pub fn split(&self) -> u32 {
        self.split
    }

    pub fn set_split(&mut self, split: u32) {
        self.split = split;
    }

    /// Returns the distance between the present place of the records whose values are being read back and
    /// their place when the values were written.
    pub fn relocation(&self) -> Relocation {
        self.relocation
    }

    pub fn set_relocation(&mut self, relocation: Relocation) {
        self.relocation = relocation;
    }

    /// Takes a block of about `wanted` bytes, no fewer than `least`; returns it and its size. It is not
    /// shared.
    pub fn take(&mut self, least: usize, wanted: usize) -> Option<(NonNull<u8>, usize)> {
        let taken = if least > CHUNK_BYTES {
            self.kept.add_large(least)
        } else {
            self.take_small(least, wanted.min(CHUNK_BYTES))
        };
        taken.map_err(|refusal| self.refusal.get_or_insert(refusal)).ok()
    }

    fn take_small(
        &mut self,
        least: usize,
        wanted: usize,
    ) -> Result<(NonNull<u8>, usize), MemoryError> {
        if self.room < least {
            self.next = self.kept.add_chunk()?;
            self.room = CHUNK_BYTES;
        }
        let (start, size) = (self.next, wanted.min(self.room));
        // SAFETY: `room` bytes from `next` on lie in the last chunk.
        self.next = unsafe { start.add(size) };
        self.room -= size;
        Ok((start, size))
    }

    /// The first refusal since this was last asked.
    #[inline]
    pub fn check(&mut self) -> Result<(), MemoryError> {
        self.refusal.take().map_or(Ok(()), Err)
    }

    /// Bytes given out, about.
    pub fn bytes(&self) -> usize {
        self.kept.chunks.len() * CHUNK_BYTES + self.kept.large_bytes
    }

    /// Takes back all that was given out: no list of it is used any more. Keeps a chunk for the next
    /// values.
    pub fn reset(&mut self) {
        if self.kept.chunks.is_empty() && self.kept.large.is_empty() {
            return;
        }
        self.kept.drop_large();
        if let Some(first) = self.kept.chunks.first().map(Chunk::start) {
            (self.next, self.room) = (first, CHUNK_BYTES);
            if self.kept.chunks.len() > 1 {
                self.kept.pool.give(self.kept.chunks.drain(1..));
            }
        }
    }

    /// Returns the blocks given out so far, if any; the store starts anew.
    pub fn seal(&mut self) -> Option<KeptValues> {
        self.room = 0;
        let empty = KeptValues::new(&self.kept.pool);
        let kept = std::mem::replace(&mut self.kept, empty);
        (!kept.chunks.is_empty() || !kept.large.is_empty()).then_some(kept)
    }
}

impl KeptValues {
    fn new(pool: &Arc<ChunkPool>) -> KeptValues {
        KeptValues { chunks: Vec::new(), large: Vec::new(), large_bytes: 0, pool: Arc::clone(pool) }
    }

    fn add_chunk(&mut self) -> Result<NonNull<u8>, MemoryError> {
        let chunk = self.pool.take()?;
        let start = chunk.start();
        self.chunks.push(chunk);
        Ok(start)
    }

    fn add_large(&mut self, bytes: usize) -> Result<(NonNull<u8>, usize), MemoryError> {
        let mut memory = self.pool.take_large(bytes, "a collected value")?;
        let start = NonNull::from(memory.bytes_mut()).cast();
        self.large.push(memory);
        self.large_bytes += bytes;
        Ok((start, bytes))
    }

    fn drop_large(&mut self) {
        self.large_bytes = 0;
        self.pool.give_large(&mut self.large);
    }
}

impl Drop for KeptValues {
    fn drop(&mut self) {
        self.drop_large();
        self.pool.give(self.chunks.drain(..));
    }
}

//! An arena of bytes: keys too long for a slot are copied here once, at first sight, and stay where
//! they are until the arena is cleared.

use super::chunk::{CHUNK_BYTES, Chunk, ChunkPool, Large};
use crate::error::MemoryError;
use std::ptr::NonNull;
use std::sync::Arc;

/// Strings that leave little of a chunk unused.
const SHORT_BYTES_MOST: usize = CHUNK_BYTES / 8;

/// Byte strings that keep their address.
pub struct ByteArena {
    chunks: Vec<Chunk>,
    /// Chunks before this one are full; it is the one being filled.
    current: usize,
    used: usize,
    large: Vec<Large>,
    large_bytes: usize,
    pool: Arc<ChunkPool>,
}

impl ByteArena {
    pub fn new(pool: &Arc<ChunkPool>) -> ByteArena {
        ByteArena {
            chunks: Vec::new(),
            current: 0,
            used: 0,
            large: Vec::new(),
            large_bytes: 0,
            pool: Arc::clone(pool),
        }
    }

    pub fn pool(&self) -> &Arc<ChunkPool> {
        &self.pool
    }

    /// Returns the bytes that an arena leaves unused for each string of a length, if all are about as long: up to
    /// half a chunk. It is 0 for short ones, which leave less than an eighth of a chunk.
    #[inline]
    pub fn waste(bytes: usize) -> usize {
        match bytes {
            0..=SHORT_BYTES_MOST => 0,
            _ if bytes > CHUNK_BYTES => 0,
            _ => CHUNK_BYTES / (CHUNK_BYTES / bytes) - bytes,
        }
    }

    /// Copies `bytes` in. The pointer is valid for reads of `bytes.len()` bytes until `clear` or
    /// the arena's end, wherever the arena itself is moved.
    pub fn push(&mut self, bytes: &[u8]) -> Result<NonNull<u8>, MemoryError> {
        if bytes.len() > CHUNK_BYTES {
            return self.push_large(bytes);
        }
        if self.current < self.chunks.len() && CHUNK_BYTES - self.used < bytes.len() {
            self.current += 1;
            self.used = 0;
        }
        if self.current == self.chunks.len() {
            self.chunks.push(self.pool.take()?);
        }
        // SAFETY: `used + bytes.len()` is at most the chunk's size (checked above; a new chunk
        // starts at 0 and the key is no longer than a chunk), the chunk is this arena's alone, and
        // bytes beyond `used` were not given out since the last `clear`.
        let to = unsafe {
            let to = self.chunks[self.current].start().add(self.used);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), to.as_ptr(), bytes.len());
            to
        };
        self.used += bytes.len();
        Ok(to)
    }

    #[cold]
    fn push_large(&mut self, bytes: &[u8]) -> Result<NonNull<u8>, MemoryError> {
        let mut stored = self.pool.take_large(bytes.len(), "a key")?;
        stored.bytes_mut().copy_from_slice(bytes);
        let start = NonNull::from(stored.bytes_mut()).cast();
        self.large.push(stored);
        self.large_bytes += bytes.len();
        Ok(start)
    }

    /// Bytes in use, about.
    pub fn bytes(&self) -> usize {
        self.current * CHUNK_BYTES + self.used + self.large_bytes
    }

    /// Forgets all strings; keeps the chunks for the next ones.
    pub fn clear(&mut self) {
        self.current = 0;
        self.used = 0;
        self.large_bytes = 0;
        self.pool.give_large(&mut self.large);
    }
}

impl Drop for ByteArena {
    fn drop(&mut self) {
        self.clear();
        self.pool.give(self.chunks.drain(..));
    }
}

//! Chunks: blocks cut into equal pieces, and lists of entries that grow piece by piece. A list never
//! moves an entry, wastes at most one chunk, and gives its chunks back to the job's pool, where the
//! next list finds them warm.

use super::block::{Block, BlockPool};
use crate::error::MemoryError;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

/// Size of a chunk. Each of some hundreds of partitions wastes half of one per size class on
/// average, so it is small; yet it holds hundreds of entries, so its upkeep is nothing.
pub(super) const CHUNK_BYTES: usize = 4 << 10;
/// Chunks are aligned to this; entries must not ask for more.
const CHUNK_ALIGN: usize = 64;
/// Fresh blocks to cut chunks from.
const SLAB_BYTES: usize = 1 << 20;
/// The largest idle block that is cut into chunks.
const SLAB_BYTES_MOST: usize = 32 << 20;

/// The chunks of one job. They all return to the engine's blocks when the last list is gone.
pub(crate) struct ChunkPool {
    blocks: Arc<BlockPool>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    free: Vec<Chunk>,
    slabs: Vec<Block>,
    /// Bytes of the last slab that are handed out.
    used: usize,
    /// Bytes that lists and arenas hold now, those outside of chunks too.
    held_bytes: usize,
}

/// A piece of a slab, owned by whoever holds it.
pub(super) struct Chunk(NonNull<u8>);

// SAFETY: a chunk is the only way to its piece of memory, and the memory is not tied to a thread.
unsafe impl Send for Chunk {}
// SAFETY: sharing a chunk shares a pointer; lists argue for what they do with it.
unsafe impl Sync for Chunk {}

impl ChunkPool {
    pub(crate) fn new(blocks: Arc<BlockPool>) -> Arc<ChunkPool> {
        Arc::new(ChunkPool { blocks, state: Mutex::default() })
    }

    /// The pool that chunks are cut from.
    pub(crate) fn blocks(&self) -> &Arc<BlockPool> {
        &self.blocks
    }

    pub(super) fn take(&self) -> Result<Chunk, MemoryError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.held_bytes += CHUNK_BYTES;
        if let Some(chunk) = state.free.pop() {
            return Ok(chunk);
        }
        let full = state.slabs.last().is_none_or(|slab| slab.bytes() - state.used < CHUNK_BYTES);
        if full {
            let slab = self.blocks.take_between(
                SLAB_BYTES / 4,
                SLAB_BYTES_MOST,
                SLAB_BYTES,
                "pairs of keys and values",
            )?;
            state.slabs.push(slab);
            state.used = 0;
        }
        let at = state.used;
        state.used += CHUNK_BYTES;
        let slab = &state.slabs[state.slabs.len() - 1];
        // SAFETY: `at + CHUNK_BYTES` is at most the slab's size, checked just above (a fresh slab is
        // larger than a chunk), so the piece lies in the slab; `used` only grows per slab, so no
        // piece is cut twice.
        Ok(Chunk(unsafe { slab.start().add(at) }))
    }

    pub(super) fn give(&self, chunks: impl IntoIterator<Item = Chunk>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let before = state.free.len();
        state.free.extend(chunks);
        state.held_bytes -= (state.free.len() - before) * CHUNK_BYTES;
    }

    /// Counts bytes that an arena holds outside of chunks, from now on or no longer.
    pub(super) fn hold(&self, bytes: usize) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).held_bytes += bytes;
    }

    pub(super) fn let_go(&self, bytes: usize) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).held_bytes -= bytes;
    }

    /// Bytes that the job's lists and arenas hold now.
    pub(crate) fn held_bytes(&self) -> usize {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).held_bytes
    }
}

impl Chunk {
    /// The first byte: valid for `CHUNK_BYTES`, initialised, aligned to `CHUNK_ALIGN`.
    pub(super) fn start(&self) -> NonNull<u8> {
        self.0
    }
}

// SAFETY: a list owns its entries; `tail` points into a chunk that it owns.
unsafe impl<T: Copy + Send> Send for ChunkList<T> {}
// SAFETY: a shared list is only read.
unsafe impl<T: Copy + Sync> Sync for ChunkList<T> {}

/// A growing list of plain entries.
pub(crate) struct ChunkList<T: Copy> {
    chunks: Vec<Chunk>,
    len: usize,
    /// Where the next entry goes, if there is room.
    tail: NonNull<T>,
    room: usize,
    pool: Arc<ChunkPool>,
}

impl<T: Copy> ChunkList<T> {
    const PER_CHUNK: usize = {
        assert!(
            size_of::<T>() > 0 && size_of::<T>() <= CHUNK_BYTES,
            "accumulators hold at most 4 KiB"
        );
        assert!(align_of::<T>() <= CHUNK_ALIGN, "accumulators are aligned to at most 64 bytes");
        CHUNK_BYTES / size_of::<T>()
    };

    pub(crate) fn new(pool: &Arc<ChunkPool>) -> ChunkList<T> {
        ChunkList {
            chunks: Vec::new(),
            len: 0,
            tail: NonNull::dangling(),
            room: 0,
            pool: Arc::clone(pool),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(crate) fn push(&mut self, entry: T) -> Result<(), MemoryError> {
        if self.room == 0 {
            self.add_chunk()?;
        }
        // SAFETY: `room` is not 0, so `tail` points at a place for an entry in the last chunk, which
        // this list owns alone.
        unsafe {
            self.tail.write(entry);
            self.advance(1);
        }
        Ok(())
    }

    /// Appends the entries of a slice, a copy per chunk.
    pub(crate) fn extend(&mut self, mut entries: &[T]) -> Result<(), MemoryError> {
        while !entries.is_empty() {
            if self.room == 0 {
                self.add_chunk()?;
            }
            let count = entries.len().min(self.room);
            // SAFETY: as in `push`, for `count` places; a slice cannot lie in this list's chunks
            // while the list is borrowed mutably.
            unsafe {
                std::ptr::copy_nonoverlapping(entries.as_ptr(), self.tail.as_ptr(), count);
                self.advance(count);
            }
            entries = &entries[count..];
        }
        Ok(())
    }

    #[cold]
    fn add_chunk(&mut self) -> Result<(), MemoryError> {
        let chunk = self.pool.take()?;
        self.tail = chunk.start().cast();
        self.room = Self::PER_CHUNK;
        self.chunks.push(chunk);
        Ok(())
    }

    /// # Safety
    /// `count` is at most `room`, and that many entries were written at `tail`.
    #[inline(always)]
    unsafe fn advance(&mut self, count: usize) {
        // SAFETY: `room` entries fit behind `tail` in its chunk, says the caller.
        self.tail = unsafe { self.tail.add(count) };
        self.room -= count;
        self.len += count;
    }

    #[inline]
    pub(crate) fn get(&self, index: usize) -> &T {
        assert!(index < self.len);
        let (chunk, at) = (index / Self::PER_CHUNK, index % Self::PER_CHUNK);
        // SAFETY: entries below `len` were written by `push` or `extend`.
        unsafe { self.chunks[chunk].start().cast::<T>().add(at).as_ref() }
    }

    /// The entries, as one slice per chunk.
    pub(crate) fn slices(&self) -> impl Iterator<Item = &[T]> {
        self.chunks.iter().enumerate().map_while(|(chunk, memory)| {
            let count = self.len.saturating_sub(chunk * Self::PER_CHUNK).min(Self::PER_CHUNK);
            // SAFETY: the first `count` entries of this chunk are below `len`, hence written.
            (count > 0).then(|| unsafe {
                std::slice::from_raw_parts(memory.start().cast::<T>().as_ptr(), count)
            })
        })
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.slices().flatten()
    }

    /// Forgets the entries and gives the chunks back.
    pub(crate) fn clear(&mut self) {
        self.len = 0;
        self.room = 0;
        if !self.chunks.is_empty() {
            self.pool.give(self.chunks.drain(..));
        }
    }
}

impl<T: Copy> Drop for ChunkList<T> {
    fn drop(&mut self) {
        self.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::super::Budget;
    use super::*;

    #[test]
    fn pushed_and_extended_entries_are_all_there_and_chunks_are_reused() {
        let pool = ChunkPool::new(BlockPool::new(Budget::new(None)));
        let mut list = ChunkList::<[u64; 3]>::new(&pool);
        let count = if cfg!(miri) { 1500 } else { 20_000 };
        for i in 0..count {
            list.push([i, i, i]).unwrap();
        }
        let more: Vec<[u64; 3]> = (count..2 * count).map(|i| [i, i, i]).collect();
        list.extend(&more).unwrap();
        assert_eq!(list.len() as u64, 2 * count);
        assert!(list.iter().zip(0..).all(|(entry, i)| entry[0] == i));
        assert_eq!(list.get(1234)[2], 1234);
        let first = list.chunks[0].start();
        let chunks = list.chunks.len();
        list.clear();
        assert_eq!(list.slices().count(), 0);
        let mut next = ChunkList::<u8>::new(&pool);
        for _ in 0..chunks {
            next.extend(&[1; CHUNK_BYTES]).unwrap();
        }
        assert!(next.chunks.iter().any(|chunk| chunk.start() == first));
    }
}

//! Chunks: blocks cut into equal pieces, and lists of entries that grow piece by piece. A list never
//! moves an entry, wastes at most one chunk, and gives its chunks back to the job's pool, where the
//! next list finds them warm.

use super::block::{Block, BlockPool};
use super::home;
use crate::error::MemoryError;
use crate::sync::Mutex;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{mem, slice};

/// Size of a chunk. Each of some hundreds of partitions wastes half of one per size class on
/// average, so it is small; yet it holds hundreds of entries, so its upkeep is nothing.
pub const CHUNK_BYTES: usize = 4 << 10;
/// Chunks are aligned to this; entries must not ask for more.
const CHUNK_ALIGN: usize = 64;
/// Fresh blocks to cut chunks from.
const SLAB_BYTES: usize = 1 << 20;
/// The largest idle block that is cut into chunks.
const SLAB_BYTES_MOST: usize = 32 << 20;

/// The chunks of one job. They all return to the engine's blocks when the last list is gone.
pub struct ChunkPool {
    blocks: Arc<BlockPool>,
    /// For each group its part.
    parts: Vec<Mutex<Part>>,
    /// Bytes that lists and arenas hold now, those outside of chunks too.
    held_bytes: AtomicUsize,
}

#[derive(Default)]
struct Part {
    free: Vec<Chunk>,
    slabs: Vec<Block>,
    /// Bytes of the last slab that are handed out.
    used: usize,
}

/// A piece of a slab, owned by its holder.
pub(super) struct Chunk {
    start: NonNull<u8>,
    /// The part it was cut in.
    part: usize,
}

/// Memory that is larger than a chunk. A `Vec` because, unlike a `Box`, it may be moved while pointers into it
/// exist.
pub(super) struct Large(Vec<u8>);

impl Large {
    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

// SAFETY: a chunk is the only way to its piece of memory, and the memory is not tied to a thread.
unsafe impl Send for Chunk {}
// SAFETY: sharing a chunk shares a pointer; lists argue for their own accesses.
unsafe impl Sync for Chunk {}

impl ChunkPool {
    pub fn new(blocks: Arc<BlockPool>) -> Arc<ChunkPool> {
        let parts = (0..blocks.groups()).map(|_| Mutex::default()).collect();
        Arc::new(ChunkPool { blocks, parts, held_bytes: AtomicUsize::new(0) })
    }

    pub fn blocks(&self) -> &Arc<BlockPool> {
        &self.blocks
    }

    pub(super) fn take(&self) -> Result<Chunk, MemoryError> {
        let number = home::part_of(self.parts.len());
        let mut part = self.parts[number].lock();
        let chunk = match part.free.pop().or_else(|| part.cut(number)) {
            Some(chunk) => chunk,
            // An idle chunk has its pages already; a new slab would fault them in.
            None => match self.idle_elsewhere(number) {
                Some(chunk) => chunk,
                None => {
                    let slab = self.blocks.take_between(
                        SLAB_BYTES / 4,
                        SLAB_BYTES_MOST,
                        (SLAB_BYTES / self.parts.len()).max(SLAB_BYTES / 4),
                        "pairs of keys and values",
                    )?;
                    part.first_of(slab, number)
                }
            },
        };
        self.held_bytes.fetch_add(CHUNK_BYTES, Ordering::Relaxed);
        Ok(chunk)
    }

    /// Returns a chunk that lies idle in another part. Its lock is only tried: this thread holds one.
    fn idle_elsewhere(&self, own: usize) -> Option<Chunk> {
        let mut others = self.parts.iter().enumerate().filter(|(number, _)| *number != own);
        others.find_map(|(_, part)| part.try_lock()?.free.pop())
    }

    /// Takes chunks back, each to the part it was cut in.
    pub(super) fn give(&self, chunks: impl IntoIterator<Item = Chunk>) {
        let (mut given, mut at) = (0, None);
        for chunk in chunks {
            let number = chunk.part;
            let part = match &mut at {
                Some((held, part)) if *held == number => part,
                _ => {
                    // Never two locks at once.
                    at = None;
                    &mut at.insert((number, self.parts[number].lock())).1
                }
            };
            part.free.push(chunk);
            given += CHUNK_BYTES;
        }
        if given > 0 {
            self.held_bytes.fetch_sub(given, Ordering::Relaxed);
        }
    }

    /// Allocates memory outside of chunks, counted for `purpose`.
    #[cold]
    pub(super) fn take_large(
        &self,
        bytes: usize,
        purpose: &'static str,
    ) -> Result<Large, MemoryError> {
        self.blocks.count(bytes, purpose)?;
        self.held_bytes.fetch_add(bytes, Ordering::Relaxed);
        Ok(Large(vec![0; bytes]))
    }

    /// Drops memory outside of chunks.
    pub(super) fn give_large(&self, all: &mut Vec<Large>) {
        let bytes: usize = all.drain(..).map(|large| large.0.len()).sum();
        if bytes > 0 {
            self.held_bytes.fetch_sub(bytes, Ordering::Relaxed);
            self.blocks.budget().give(bytes);
        }
    }

    /// Bytes that the job's lists and arenas hold now.
    pub fn held_bytes(&self) -> usize {
        self.held_bytes.load(Ordering::Relaxed)
    }
}

impl Part {
    /// Returns the next chunk of the last slab, if it has room for one.
    fn cut(&mut self, part: usize) -> Option<Chunk> {
        let slab = self.slabs.last().filter(|slab| slab.bytes() - self.used >= CHUNK_BYTES)?;
        // SAFETY: `used + CHUNK_BYTES` is at most the slab's size, checked just above, so the piece
        // lies in the slab; `used` only grows per slab, so no piece is cut twice.
        let start = unsafe { slab.start().add(self.used) };
        self.used += CHUNK_BYTES;
        Some(Chunk { start, part })
    }

    /// Returns the first chunk of a new slab, which is larger than one.
    fn first_of(&mut self, slab: Block, part: usize) -> Chunk {
        let start = slab.start();
        self.slabs.push(slab);
        self.used = CHUNK_BYTES;
        Chunk { start, part }
    }
}

impl Chunk {
    /// Returns the first byte: valid for `CHUNK_BYTES`, initialised, aligned to `CHUNK_ALIGN`.
    pub(super) fn start(&self) -> NonNull<u8> {
        self.start
    }
}

// SAFETY: a list owns its entries; `tail` points into a chunk that it owns.
unsafe impl<T: Copy + Send> Send for ChunkList<T> {}
// SAFETY: a shared list is only read.
unsafe impl<T: Copy + Sync> Sync for ChunkList<T> {}

/// A growing list of plain entries.
pub struct ChunkList<T: Copy> {
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

    pub fn new(pool: &Arc<ChunkPool>) -> ChunkList<T> {
        ChunkList {
            chunks: Vec::new(),
            len: 0,
            tail: NonNull::dangling(),
            room: 0,
            pool: Arc::clone(pool),
        }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub fn push(&mut self, entry: T) -> Result<(), MemoryError> {
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
    pub fn extend(&mut self, mut entries: &[T]) -> Result<(), MemoryError> {
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
        // SAFETY: the caller promises that `count` entries fit after `tail` in its chunk.
        self.tail = unsafe { self.tail.add(count) };
        self.room -= count;
        self.len += count;
    }

    #[inline]
    pub fn get(&self, index: usize) -> &T {
        assert!(index < self.len);
        let (chunk, at) = (index / Self::PER_CHUNK, index % Self::PER_CHUNK);
        // SAFETY: entries below `len` were written by `push` or `extend`.
        unsafe { self.chunks[chunk].start().cast::<T>().add(at).as_ref() }
    }

    /// Returns the entries, as one slice per chunk.
    pub fn slices(&self) -> Slices<'_, T> {
        self.slices_from(0)
    }

    /// As `slices`, of the entries from the `first`-th on.
    pub fn slices_from(&self, first: usize) -> Slices<'_, T> {
        let first = first.min(self.len);
        Slices {
            chunks: self.chunks[first / Self::PER_CHUNK..].iter(),
            skipped: first % Self::PER_CHUNK,
            left: self.len - first,
            entries: PhantomData,
        }
    }

    pub fn iter(&self) -> Entries<'_, T> {
        Entries { slice: [].iter(), slices: self.slices() }
    }

    /// Forgets the entries and gives the chunks back.
    pub fn clear(&mut self) {
        self.len = 0;
        self.room = 0;
        self.pool.give(self.chunks.drain(..));
    }
}

impl<T: Copy> Drop for ChunkList<T> {
    fn drop(&mut self) {
        self.clear();
    }
}

/// The entries of a list, as one slice per chunk. A type of its own, not a chain of adapters: each use of a chain is
/// compiled anew, for each type of entries.
#[allow(missing_debug_implementations, reason = "no part of the interface")]
pub struct Slices<'l, T> {
    chunks: slice::Iter<'l, Chunk>,
    /// Entries of the next chunk that are left out.
    skipped: usize,
    left: usize,
    entries: PhantomData<&'l T>,
}

impl<'l, T: Copy> Iterator for Slices<'l, T> {
    type Item = &'l [T];

    fn next(&mut self) -> Option<&'l [T]> {
        let skipped = mem::take(&mut self.skipped);
        let count = self.left.min(ChunkList::<T>::PER_CHUNK - skipped);
        if count == 0 {
            return None;
        }
        let chunk = self.chunks.next()?.start().cast::<T>();
        self.left -= count;
        // SAFETY: `left` counts entries of the list from the `skipped`-th of this chunk on, all of them written; the
        // list is borrowed for as long as the slice.
        Some(unsafe { slice::from_raw_parts(chunk.add(skipped).as_ptr(), count) })
    }
}

/// The entries of a list, one by one.
#[allow(missing_debug_implementations, reason = "no part of the interface")]
pub struct Entries<'l, T> {
    slice: slice::Iter<'l, T>,
    slices: Slices<'l, T>,
}

impl<'l, T: Copy> Iterator for Entries<'l, T> {
    type Item = &'l T;

    #[inline]
    fn next(&mut self) -> Option<&'l T> {
        loop {
            if let Some(entry) = self.slice.next() {
                return Some(entry);
            }
            self.slice = self.slices.next()?.iter();
        }
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.slice.len() + self.slices.left;
        (left, Some(left))
    }

    /// A loop over each slice, which the compiler can unroll.
    #[inline]
    fn fold<A, F: FnMut(A, &'l T) -> A>(self, start: A, mut add: F) -> A {
        let mut sum = start;
        for entry in self.slice {
            sum = add(sum, entry);
        }
        for slice in self.slices {
            for entry in slice {
                sum = add(sum, entry);
            }
        }
        sum
    }
}

//! The store: records on their way from the partition pass to the sorting of their range. Each worker
//! has a pile of its own, with a row of chunks for each range. When its memory is full, it writes chunks to a
//! scratch file, the latest full one first, because that one is in the cache.
//!
//! Chunks are cut from slabs, and neighbouring ranges share slabs, so that a slab is given back to the
//! system soon after its ranges were read: the output, which grows meanwhile, takes its place.
//!
//! A chunk holds segments: the number of a stretch of the input (4 bytes), a length (4 bytes), and that many
//! bytes of whole records of the stretch, in the order of the input. A record
//! that is larger than a chunk has one to itself. Where records stay in their files (`originals.rs`), a segment has
//! their places instead.

use crate::encoding::checksum_of;
use crate::error::{Error, MemoryError, Place, Result, StorageError};
use crate::memory::{Access, Block, BlockPool, prefetch};
use crate::storage::{Scratch, Stored, StoredFile};
use std::sync::Arc;

/// In front of a segment: its stretch and its length.
pub(super) const HEADER_BYTES: usize = 8;
/// A record that fills a chunk, whose length is saved as a number of 32 bits.
pub(super) const RECORD_BYTES_MOST: usize = u32::MAX as usize - HEADER_BYTES;
/// Memory is taken in pieces of this size at most: a huge page.
const SLAB_BYTES_MOST: usize = 2 << 20;
const SLAB_BYTES_LEAST: usize = 64 << 10;

const PURPOSE: &str = "records to be sorted";

/// The size of a pile in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PileSize {
    pub(super) chunk_bytes: usize,
    /// At least one more than there are ranges.
    pub(super) chunks: usize,
    /// The number of groups of neighbouring ranges, each with slabs of its own.
    pub(super) groups: usize,
}

/// Records by range, of one worker.
pub(super) struct Pile {
    size: PileSize,
    scratch: Arc<Scratch>,
    blocks: Arc<BlockPool>,
    slabs: Vec<Slab>,
    /// Bytes of all slabs.
    held_bytes: usize,
    /// Of each group of ranges, the slab that its chunks are cut from.
    open: Vec<Option<u32>>,
    rows: Vec<Row>,
    /// Full chunks in memory, the latest last: row, and place in it.
    full: Vec<(u32, u32)>,
    /// The files of saved chunks.
    saved: Vec<Arc<dyn StoredFile>>,
}

/// Memory that chunks are cut from, or a record that is larger than a chunk.
struct Slab {
    block: Block,
    /// Bytes that were cut off.
    cut: usize,
}

/// The part of a pile that belongs to one range.
struct Row {
    tail: Tail,
    chunks: Vec<Full>,
    /// Where in `chunks` stretches begin to ascend anew.
    runs: Vec<usize>,
    /// Of the records, wherever they are.
    bytes: u64,
    records: u64,
    /// How far it was saved.
    saved: Part,
}

/// A first part of a row.
#[derive(Clone, Copy, Default)]
struct Part {
    chunks: usize,
    bytes: u64,
    records: u64,
}

/// What a save wrote of one range.
pub(super) struct SavedRow {
    pub(super) range: u32,
    pub(super) bytes: u64,
    pub(super) records: u64,
    /// The length of each chunk and its checksum; they follow each other.
    pub(super) chunks: Vec<(u32, u64)>,
}

/// The chunk of a row that is being filled; all are offsets in its slab.
#[derive(Clone, Copy)]
struct Tail {
    slab: u32,
    start: u32,
    /// Where the segment that is being filled has its header.
    header: u32,
    at: u32,
    end: u32,
    stretch: u32,
}

/// No slab has this number.
const NO_SLAB: u32 = u32::MAX;
const NO_TAIL: Tail = Tail { slab: NO_SLAB, start: 0, header: 0, at: 0, end: 0, stretch: 0 };

/// A full chunk of an open pile.
#[derive(Clone, Copy)]
enum Full {
    Memory {
        slab: u32,
        start: u32,
        used: usize,
    },
    Scratch(Stored),
    /// In a file of the pile's.
    Saved {
        file: u32,
        at: Stored,
    },
}

/// A chunk to be read. Dropped, it lets go of its memory.
pub(super) enum Held {
    Memory { slab: Arc<Block>, start: u32, used: usize },
    Scratch(Stored),
    Saved { file: Arc<dyn StoredFile>, at: Stored },
}

/// The parts of all piles that belong to a range: for each run of a pile its chunks, in order.
#[derive(Default)]
pub(super) struct RangeRows {
    pub(super) rows: Vec<Vec<Held>>,
    /// The largest chunk that is not one large record.
    pub(super) chunk_bytes: usize,
    /// Of the records, wherever they are.
    pub(super) bytes: u64,
    pub(super) records: u64,
}

impl Pile {
    pub(super) fn new(
        blocks: &Arc<BlockPool>,
        scratch: &Arc<Scratch>,
        ranges: usize,
        size: PileSize,
    ) -> Pile {
        let row = || Row {
            tail: NO_TAIL,
            chunks: Vec::new(),
            runs: Vec::new(),
            bytes: 0,
            records: 0,
            saved: Part::default(),
        };
        Pile {
            size,
            scratch: Arc::clone(scratch),
            blocks: Arc::clone(blocks),
            slabs: Vec::new(),
            held_bytes: 0,
            open: vec![None; size.groups.clamp(1, ranges)],
            rows: (0..ranges).map(|_| row()).collect(),
            full: Vec::new(),
            saved: Vec::new(),
        }
    }

    /// Returns whether less than half of its memory is left.
    pub(super) fn is_half_full(&self) -> bool {
        2 * self.held_bytes > self.size.chunks * self.size.chunk_bytes
    }

    /// Lets stretches ascend anew: the next one may be any.
    pub(super) fn begin_run(&mut self) {
        self.close_rows();
        for row in &mut self.rows {
            row.runs.push(row.chunks.len());
        }
    }

    /// Appends a record of a stretch to its range. Stretches come in ascending order, but for `begin_run`.
    #[inline(always)]
    pub(super) fn append(&mut self, range: u32, stretch: u32, record: &[u8]) -> Result<()> {
        self.append_as(range, stretch, record, record.len())
    }

    /// Appends what a pile has of a record of `bytes` bytes: the record, or its place.
    #[inline(always)]
    pub(super) fn append_as(
        &mut self,
        range: u32,
        stretch: u32,
        record: &[u8],
        bytes: usize,
    ) -> Result<()> {
        let row = &mut self.rows[range as usize];
        row.records += 1;
        row.bytes += bytes as u64;
        let (at, end) = (row.tail.at as usize, row.tail.at as usize + record.len());
        if row.tail.stretch == stretch && end <= row.tail.end as usize {
            let slab = self.slabs[row.tail.slab as usize].block.as_mut_slice();
            slab[at..end].copy_from_slice(record);
            row.tail.at = end as u32;
            // There are more rows than the processor can tell are written front to back: by the time
            // this one is met again, the lines that its next record covers should be there.
            let next = slab.as_ptr().wrapping_add(end);
            prefetch(next.wrapping_add(64));
            prefetch(next.wrapping_add(record.len()));
            return Ok(());
        }
        self.append_segment(range, stretch, record)
    }

    /// As above, where a new segment has to begin.
    #[inline(never)]
    fn append_segment(&mut self, range: u32, stretch: u32, record: &[u8]) -> Result<()> {
        self.close_segment(range);
        let bytes = HEADER_BYTES + record.len();
        let tail = &self.rows[range as usize].tail;
        if tail.slab == NO_SLAB || tail.at as usize + bytes > tail.end as usize {
            self.close_chunk(range);
            if bytes > self.size.chunk_bytes {
                return self.append_large(range, stretch, record);
            }
            let (slab, start) = self.take_chunk(range)?;
            let end = start + self.size.chunk_bytes as u32;
            self.rows[range as usize].tail =
                Tail { slab, start, header: start, at: start, end, stretch };
        }
        let tail = &mut self.rows[range as usize].tail;
        let at = tail.at as usize;
        let slab = self.slabs[tail.slab as usize].block.as_mut_slice();
        slab[at..at + 4].copy_from_slice(&stretch.to_le_bytes());
        slab[at + HEADER_BYTES..at + bytes].copy_from_slice(record);
        (tail.stretch, tail.header, tail.at) = (stretch, at as u32, (at + bytes) as u32);
        Ok(())
    }

    /// Ends the row's segment, if it has one: its length is known now.
    fn close_segment(&mut self, range: u32) {
        let row = &mut self.rows[range as usize];
        let Tail { slab, header, at, .. } = row.tail;
        if slab == NO_SLAB {
            return;
        }
        let (header, at) = (header as usize, at as usize);
        let length = at - header - HEADER_BYTES;
        let slab = self.slabs[slab as usize].block.as_mut_slice();
        slab[header + 4..header + 8].copy_from_slice(&(length as u32).to_le_bytes());
    }

    fn close_chunk(&mut self, range: u32) {
        let row = &mut self.rows[range as usize];
        let Tail { slab, start, at, .. } = std::mem::replace(&mut row.tail, NO_TAIL);
        if slab != NO_SLAB {
            self.full.push((range, row.chunks.len() as u32));
            row.chunks.push(Full::Memory { slab, start, used: (at - start) as usize });
        }
    }

    fn append_large(&mut self, range: u32, stretch: u32, record: &[u8]) -> Result<()> {
        if record.len() > RECORD_BYTES_MOST {
            return Err(too_long(record.len()));
        }
        let header = header(stretch, record.len() as u32);
        let bytes = HEADER_BYTES + record.len();
        // Each range may need a chunk besides, which is of a slab.
        let others =
            ((self.rows.len() + 1) * self.size.chunk_bytes).next_multiple_of(self.slab_bytes());
        let need = self.held_bytes + bytes.next_multiple_of(SLAB_BYTES_LEAST) + others;
        let fits = need <= self.size.chunks * self.size.chunk_bytes;
        let block = fits.then(|| self.blocks.take(bytes, Access::Streamed, PURPOSE).ok()).flatten();
        let held = match block {
            Some(mut block) => {
                let into = block.as_mut_slice();
                into[..HEADER_BYTES].copy_from_slice(&header);
                into[HEADER_BYTES..bytes].copy_from_slice(record);
                self.held_bytes += block.bytes();
                self.slabs.push(Slab { block, cut: bytes });
                Full::Memory { slab: self.slabs.len() as u32 - 1, start: 0, used: bytes }
            }
            None => Full::Scratch(self.scratch.store([&header, record])?),
        };
        self.rows[range as usize].chunks.push(held);
        Ok(())
    }

    /// Returns a chunk's memory for a range: fresh as long as there is some, then that of a full one, which
    /// goes to disk.
    fn take_chunk(&mut self, range: u32) -> Result<(u32, u32)> {
        let group = range as usize * self.open.len() / self.rows.len();
        if let Some(chunk) = self.open[group].and_then(|slab| self.cut_chunk(slab)) {
            return Ok(chunk);
        }
        let slab_bytes = self.slab_bytes();
        let mut refused = None;
        if self.held_bytes + slab_bytes <= self.size.chunks * self.size.chunk_bytes {
            match self.blocks.take(slab_bytes, Access::Filled, PURPOSE) {
                Ok(block) => {
                    let slab = self.slabs.len() as u32;
                    self.slabs.push(Slab { block, cut: 0 });
                    self.held_bytes += slab_bytes;
                    self.open[group] = Some(slab);
                    return self.cut_chunk(slab).ok_or_else(|| self.too_small().into());
                }
                Err(error) => refused = Some(error),
            }
        }
        // Free chunks of other groups are used before the disk.
        let open = self.open.clone();
        if let Some(chunk) = open.into_iter().flatten().find_map(|slab| self.cut_chunk(slab)) {
            return Ok(chunk);
        }
        match (self.full.pop(), refused) {
            (Some((range, number)), _) => self.evict(range, number),
            (None, Some(refused)) => Err(refused.into()),
            (None, None) => Err(self.too_small().into()),
        }
    }

    fn cut_chunk(&mut self, slab: u32) -> Option<(u32, u32)> {
        let (Slab { block, cut }, bytes) = (&mut self.slabs[slab as usize], self.size.chunk_bytes);
        let start = *cut;
        *cut += bytes;
        (*cut <= block.bytes()).then_some((slab, start as u32))
    }

    fn evict(&mut self, range: u32, number: u32) -> Result<(u32, u32)> {
        let held = &mut self.rows[range as usize].chunks[number as usize];
        let Full::Memory { slab, start, used } = *held else {
            unreachable!("the full chunks are those in memory");
        };
        let bytes = &self.slabs[slab as usize].block.as_slice()[start as usize..][..used];
        *held = Full::Scratch(self.scratch.store([bytes])?);
        Ok((slab, start))
    }

    fn slab_bytes(&self) -> usize {
        let all = self.size.chunks * self.size.chunk_bytes;
        let slab = (all / 8).clamp(SLAB_BYTES_LEAST, SLAB_BYTES_MOST);
        // Whole chunks, and whole pages of memory.
        slab.next_multiple_of(self.size.chunk_bytes.max(SLAB_BYTES_LEAST))
    }

    fn too_small(&self) -> MemoryError {
        let limit_bytes = (self.size.chunks * self.size.chunk_bytes) as u64;
        let needed_bytes = ((self.rows.len() + 1) * self.size.chunk_bytes) as u64;
        MemoryError::Budget { purpose: PURPOSE, needed_bytes, limit_bytes }
    }

    /// Writes all that is in memory to disk, and gives the memory back.
    pub(super) fn spill(&mut self) -> Result<()> {
        self.close_rows();
        for full in self.rows.iter_mut().flat_map(|row| &mut row.chunks) {
            if let Full::Memory { slab, start, used } = *full {
                let bytes = &self.slabs[slab as usize].block.as_slice()[start as usize..][..used];
                *full = Full::Scratch(self.scratch.store([bytes])?);
            }
        }
        self.let_go();
        Ok(())
    }

    /// Gives the memory of chunks back that are all elsewhere.
    fn let_go(&mut self) {
        self.full.clear();
        self.open.fill(None);
        self.slabs.clear();
        self.held_bytes = 0;
    }

    /// Writes all chunks since the last save into a file, range by range, by `write`, which returns where they begin
    /// there; and gives their memory back.
    pub(super) fn save(
        &mut self,
        file: &Arc<dyn StoredFile>,
        mut write: impl FnMut(&[u8]) -> Result<u64>,
    ) -> Result<Vec<SavedRow>> {
        self.close_rows();
        let number = self.saved.len() as u32;
        let mut rows = Vec::new();
        let mut block: Option<Block> = None;
        for (range, row) in self.rows.iter_mut().enumerate() {
            let Part { chunks: first, bytes, records } = row.saved;
            let mut chunks = Vec::new();
            for full in &mut row.chunks[first..] {
                let at = match *full {
                    Full::Memory { slab, start, used } => {
                        let slab = self.slabs[slab as usize].block.as_slice();
                        let bytes = &slab[start as usize..][..used];
                        let (offset, sum) = (write(bytes)?, checksum_of([bytes]));
                        Stored { offset, bytes: used, sum }
                    }
                    Full::Scratch(stored) => {
                        let kept = block.take().filter(|block| block.bytes() >= stored.bytes);
                        let mut kept = match kept {
                            Some(block) => block,
                            None => self.blocks.take(stored.bytes, Access::Streamed, PURPOSE)?,
                        };
                        let bytes = kept.as_mut_slice();
                        self.scratch.load(&stored, bytes)?;
                        let offset = write(&bytes[..stored.bytes])?;
                        block = Some(kept);
                        Stored { offset, ..stored }
                    }
                    Full::Saved { .. } => unreachable!("chunks are saved once"),
                };
                *full = Full::Saved { file: number, at };
                chunks.push((at.bytes as u32, at.sum));
            }
            if !chunks.is_empty() {
                let (bytes, records) = (row.bytes - bytes, row.records - records);
                rows.push(SavedRow { range: range as u32, bytes, records, chunks });
            }
            row.saved = Part { chunks: row.chunks.len(), bytes: row.bytes, records: row.records };
        }
        self.saved.push(Arc::clone(file));
        self.let_go();
        Ok(rows)
    }

    fn close_rows(&mut self) {
        for range in 0..self.rows.len() as u32 {
            self.close_segment(range);
            self.close_chunk(range);
        }
    }

    /// Ends all rows, and hands over each range's part.
    pub(super) fn close(mut self, ranges: &mut [RangeRows]) {
        self.close_rows();
        let slabs: Vec<Arc<Block>> =
            self.slabs.drain(..).map(|slab| Arc::new(slab.block)).collect();
        let held = |full: &Full| match *full {
            Full::Memory { slab, start, used } => {
                Held::Memory { slab: Arc::clone(&slabs[slab as usize]), start, used }
            }
            Full::Scratch(stored) => Held::Scratch(stored),
            Full::Saved { file, at } => {
                Held::Saved { file: Arc::clone(&self.saved[file as usize]), at }
            }
        };
        for (row, range) in self.rows.iter().zip(ranges) {
            range.chunk_bytes = self.size.chunk_bytes;
            range.bytes += row.bytes;
            range.records += row.records;
            let mut begin = 0;
            for end in row.runs.iter().copied().chain([row.chunks.len()]) {
                if begin < end {
                    range.rows.push(row.chunks[begin..end].iter().map(held).collect());
                }
                begin = end;
            }
        }
    }
}

/// Returns the error of a record that is too long to be sorted.
pub(super) fn too_long(bytes: usize) -> Error {
    let place = Place::stage("a record to be sorted");
    let cause = format!("{bytes} bytes; a record has at most {RECORD_BYTES_MOST}");
    Error::Record { place, cause: cause.into() }
}

/// What is in front of a segment.
pub(super) fn header(stretch: u32, length: u32) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[..4].copy_from_slice(&stretch.to_le_bytes());
    header[4..].copy_from_slice(&length.to_le_bytes());
    header
}

impl Held {
    /// Returns the bytes of a chunk in memory; `None` for one on disk.
    pub(super) fn in_memory(&self) -> Option<&[u8]> {
        match self {
            Held::Memory { slab, start, used } => {
                Some(&slab.as_slice()[*start as usize..][..*used])
            }
            Held::Scratch(_) | Held::Saved { .. } => None,
        }
    }

    /// Returns the length of a chunk in bytes.
    pub(super) fn used(&self) -> usize {
        match self {
            Held::Memory { used, .. } => *used,
            Held::Scratch(at) | Held::Saved { at, .. } => at.bytes,
        }
    }

    /// Reads a chunk on disk into the first of `into`.
    ///
    /// # Errors
    /// [`StorageError::Damaged`](crate::error::StorageError::Damaged) if it is another than was written.
    pub(super) fn read(&self, scratch: &Scratch, into: &mut [u8]) -> Result<()> {
        match self {
            Held::Memory { .. } => unreachable!("a chunk in memory is looked at where it is"),
            Held::Scratch(stored) => Ok(scratch.load(stored, into)?),
            Held::Saved { file, at } => Ok(at.read(&**file, into)?),
        }
    }

    /// Reads the first bytes of a chunk on disk, which may be others than were written: no answer may depend on them.
    pub(super) fn peek(&self, scratch: &Scratch, into: &mut [u8]) -> Result<()> {
        match self {
            Held::Memory { .. } => unreachable!("a chunk in memory is looked at where it is"),
            Held::Scratch(stored) => Ok(scratch.read(stored.offset, into)?),
            Held::Saved { file, at } => Ok(file.read_exact_at(into, at.offset)?),
        }
    }

    /// Returns the error of a chunk on disk that is another than was written.
    pub(super) fn damaged(&self, scratch: &Scratch) -> StorageError {
        let (path, offset) = match self {
            Held::Memory { .. } => unreachable!("a chunk in memory is as it was written"),
            Held::Scratch(stored) => return scratch.damaged(stored.offset, Stored::DAMAGE),
            Held::Saved { file, at } => (file.path().to_path_buf(), at.offset),
        };
        StorageError::Damaged { path, offset, cause: Stored::DAMAGE }
    }

    pub(super) fn is_on_disk(&self) -> bool {
        !matches!(self, Held::Memory { .. })
    }
}

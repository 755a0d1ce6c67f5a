//! Segments: the parts of piles that belong to one range, read back in the order of the input. Each pile has
//! them in runs that ascend by their stretches of the input, and a stretch is in one run only, so this is a
//! merge of one row per run, a segment at a time. There is one run per worker where each takes stretches in order;
//! of more than can be read side by side, some are merged to a row on disk first.

use super::store::{HEADER_BYTES, Held, RangeRows, header};
use crate::error::{Error, Result};
use crate::memory::{Access, Block, BlockPool};
use crate::storage::Scratch;
use std::sync::Arc;
use std::vec::IntoIter;

pub(super) struct Segments {
    rows: Vec<Cursor>,
    reads: Reads,
}

/// The means of reading chunks.
pub(super) struct Means<'s> {
    pub(super) scratch: &'s Scratch,
    pub(super) blocks: &'s Arc<BlockPool>,
    /// Rows that are read side by side, at most, and a chunk that is written meanwhile if they are more: at least 3,
    /// unless all ranges have one row.
    pub(super) rows: usize,
}

/// Memory that chunks are read into from disk: a place for each row, as all but those of a single
/// large record are of one size.
struct Reads {
    block: Option<Block>,
    chunk_bytes: usize,
}

/// The place in one pile's row.
struct Cursor {
    chunks: IntoIter<Held>,
    chunk: Chunk,
    /// Its row's place among the reads.
    place: usize,
    /// The used bytes of the chunk, and the range of the present segment's records.
    used: usize,
    start: usize,
    end: usize,
    stretch: u32,
}

enum Chunk {
    None,
    Memory(Held),
    /// In the row's place.
    Read,
    /// A large record on disk, of which only what is in front of it was read: it comes into memory when its turn has.
    Later(Held, [u8; HEADER_BYTES]),
    Large(Block),
}

impl Segments {
    pub(super) fn new(range: RangeRows, means: &Means<'_>) -> Result<Segments> {
        let RangeRows { mut rows, chunk_bytes, .. } = range;
        while rows.len() > means.rows && rows.iter().flatten().any(Held::is_on_disk) {
            // All rows become longer before one is merged again.
            let first = rows.drain(..means.rows - 1).collect();
            rows.push(Segments::of(first, chunk_bytes, means)?.into_row(means)?);
        }
        Segments::of(rows, chunk_bytes, means)
    }

    fn of(of_range: Vec<Vec<Held>>, chunk_bytes: usize, means: &Means<'_>) -> Result<Segments> {
        let mut rows = Vec::with_capacity(of_range.len());
        let mut reads = Reads { block: None, chunk_bytes };
        if of_range.iter().flatten().any(Held::is_on_disk) {
            let bytes = of_range.len() * chunk_bytes;
            reads.block = Some(means.blocks.take(bytes, Access::Streamed, PURPOSE)?);
        }
        for (place, chunks) in of_range.into_iter().enumerate() {
            let (chunks, chunk) = (chunks.into_iter(), Chunk::None);
            let mut cursor = Cursor { chunks, chunk, place, used: 0, start: 0, end: 0, stretch: 0 };
            if cursor.advance(&mut reads, means)? {
                rows.push(cursor);
            }
        }
        Ok(Segments { rows, reads })
    }

    /// Fills `into` with the records of all segments, in order, which are as long.
    pub(super) fn fill(self, means: &Means<'_>, into: &mut [u8]) -> Result<()> {
        let mut at = 0;
        self.each(means, |_, segment| {
            into[at..at + segment.len()].copy_from_slice(segment);
            at += segment.len();
            Ok(())
        })
    }

    /// Gives all segments in order to `take`: their stretch, and their records.
    pub(super) fn each(
        mut self,
        means: &Means<'_>,
        mut take: impl FnMut(u32, &[u8]) -> Result<()>,
    ) -> Result<()> {
        loop {
            let rows = self.rows.iter_mut().enumerate();
            let Some((first, row)) = rows.min_by_key(|(_, row)| row.stretch) else {
                return Ok(());
            };
            row.fetch(means)?;
            take(row.stretch, &row.bytes(&self.reads)[row.start..row.end])?;
            if !row.advance(&mut self.reads, means)? {
                self.rows.swap_remove(first);
            }
        }
    }

    /// Writes all segments in order to the scratch storage: the chunks of one row.
    fn into_row(self, means: &Means<'_>) -> Result<Vec<Held>> {
        let (chunk_bytes, mut row, mut used) = (self.reads.chunk_bytes, Vec::new(), 0);
        let mut block = means.blocks.take(chunk_bytes, Access::Streamed, PURPOSE)?;
        let chunk = block.as_mut_slice();
        let mut write = |parts: [&[u8]; 2]| {
            row.push(Held::Scratch(means.scratch.store(parts)?));
            Ok::<(), Error>(())
        };
        self.each(means, |stretch, records| {
            let (header, bytes) =
                (header(stretch, records.len() as u32), HEADER_BYTES + records.len());
            if used > 0 && used + bytes > chunk_bytes {
                write([&chunk[..used], &[]])?;
                used = 0;
            }
            if bytes > chunk_bytes {
                return write([&header, records]);
            }
            chunk[used..used + HEADER_BYTES].copy_from_slice(&header);
            chunk[used + HEADER_BYTES..used + bytes].copy_from_slice(records);
            used += bytes;
            Ok(())
        })?;
        if used > 0 {
            write([&chunk[..used], &[]])?;
        }
        Ok(row)
    }
}

const PURPOSE: &str = "records read back";

impl Reads {
    fn place(&self, place: usize) -> &[u8] {
        let block = self.block.as_ref().map_or(&[][..], Block::as_slice);
        &block[place * self.chunk_bytes..]
    }

    fn place_mut(&mut self, place: usize) -> &mut [u8] {
        let block = self.block.as_mut().map_or(&mut [][..], Block::as_mut_slice);
        &mut block[place * self.chunk_bytes..]
    }
}

impl Cursor {
    /// Advances to the next segment; returns whether there was one.
    fn advance(&mut self, reads: &mut Reads, means: &Means<'_>) -> Result<bool> {
        while self.end == self.used {
            let Some(held) = self.chunks.next() else {
                return Ok(false);
            };
            self.load(held, reads, means)?;
            self.end = 0;
        }
        let bytes = self.bytes(reads);
        let number = |at: usize| {
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        let (stretch, start) = (number(self.end), self.end + HEADER_BYTES);
        let end = start + number(self.end + 4) as usize;
        (self.stretch, self.start, self.end) = (stretch, start, end);
        Ok(true)
    }

    fn load(&mut self, held: Held, reads: &mut Reads, means: &Means<'_>) -> Result<()> {
        self.used = held.used();
        self.chunk = if !held.is_on_disk() {
            Chunk::Memory(held)
        } else if self.used <= reads.chunk_bytes {
            held.read(means.scratch, reads.place_mut(self.place))?;
            Chunk::Read
        } else {
            let mut header = [0; HEADER_BYTES];
            held.peek(means.scratch, &mut header)?;
            Chunk::Later(held, header)
        };
        Ok(())
    }

    /// Reads a large record whose turn has come.
    fn fetch(&mut self, means: &Means<'_>) -> Result<()> {
        if let Chunk::Later(held, header) = &self.chunk {
            let mut block = means.blocks.take(self.used, Access::Streamed, PURPOSE)?;
            held.read(means.scratch, block.as_mut_slice())?;
            if block.as_slice()[..HEADER_BYTES] != *header {
                return Err(held.damaged(means.scratch).into());
            }
            self.chunk = Chunk::Large(block);
        }
        Ok(())
    }

    fn bytes<'b>(&'b self, reads: &'b Reads) -> &'b [u8] {
        match &self.chunk {
            Chunk::None => &[],
            Chunk::Memory(held) => held.in_memory().unwrap_or(&[]),
            Chunk::Read => reads.place(self.place),
            Chunk::Later(_, header) => header,
            Chunk::Large(block) => block.as_slice(),
        }
    }
}

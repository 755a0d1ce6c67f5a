//! A unit of work: records in memory and their places in the input, in whichever way they were read. Ingest
//! and codecs fill units; whoever maps, sorts or sends records to a device takes them.

use crate::error::MemoryError;
use crate::memory::{BlockPool, InputBuffer};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// Records of neighbouring places of one part of the plan.
pub struct Unit {
    pub buffer: InputBuffer,
    /// Where in the buffer records of each file lie.
    pub pieces: Vec<Piece>,
    /// Newlines of the file before the records, of lines that cannot be read again.
    pub newlines: Option<u64>,
    /// The splits or blocks that it counts as. They ascend with the input.
    pub splits: Range<u64>,
    /// The first split of those that its worker takes one after the other.
    pub stretch: u64,
    /// Its part of the input's bytes as they are stored; of split files, the nominal bytes of the splits.
    pub stored_bytes: u64,
    /// The time that its worker spent to get it.
    pub ingest: Duration,
    /// The time that its taker spent on the records alone, if it says so.
    pub mapping: Duration,
    /// Bytes of the buffer that are taken.
    pub(crate) used: usize,
    /// Whether its buffer was made for these records alone.
    pub(crate) is_extra: bool,
}

/// Records of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Number of the file in its part of the plan.
    pub file: usize,
    /// Where they lie in the buffer.
    pub records: Range<usize>,
    /// Where they begin in the file.
    pub offset: u64,
}

/// The answer to a worker that asks for work.
pub(crate) enum Next {
    /// Take these records.
    Unit(Unit),
    /// Read these splits.
    Read(Range<u64>),
    /// There is nothing yet.
    Wait,
    /// There will be nothing more.
    End,
}

impl Unit {
    /// Returns a unit without records, with a buffer of `bytes` bytes.
    pub(crate) fn new(blocks: &Arc<BlockPool>, bytes: usize) -> Result<Unit, MemoryError> {
        Ok(Unit::of(InputBuffer::new(blocks, bytes)?, Vec::new(), None, 0))
    }

    /// Returns a unit of records that count as one split or block.
    pub(crate) fn of(
        buffer: InputBuffer,
        pieces: Vec<Piece>,
        newlines: Option<u64>,
        number: u64,
    ) -> Unit {
        Unit {
            buffer,
            pieces,
            newlines,
            splits: number..number + 1,
            stretch: number,
            stored_bytes: 0,
            ingest: Duration::ZERO,
            mapping: Duration::ZERO,
            used: 0,
            is_extra: false,
        }
    }

    /// Returns the records of each file.
    pub fn records(&self) -> impl Iterator<Item = &[u8]> {
        self.pieces.iter().map(|piece| &self.buffer.bytes()[piece.records.clone()])
    }
}

impl Piece {
    /// Returns the bytes of the file that it holds.
    pub fn bytes(&self) -> Range<u64> {
        self.offset..self.offset + self.records.len() as u64
    }

    /// Some of these bytes, whole records, as a piece.
    pub fn part(&self, bytes: Range<u64>) -> Piece {
        let start = self.records.start + (bytes.start - self.offset) as usize;
        let records = start..start + (bytes.end - bytes.start) as usize;
        Piece { file: self.file, records, offset: bytes.start }
    }
}

//! Cuts a compressed file into units, parts that can be decompressed each by itself, where its format
//! says where they end: blocks of bzip2 and LZ4, frames of zstd and LZ4, members of gzip as `bgzip`
//! writes them. A file of any other kind is one unit. Only lengths and borders are looked at; whether a unit's bytes are
//! sound, its decoder sees.

use super::bgzf::Members;
use super::bzip2_blocks::Blocks;
use super::lz4_frames::Lz4Frames;
use super::source::Feed;
use super::whole::Part;
use super::zstd_frames::Frames;
use super::{FileFeed, Format, Reading, Source};
use crate::error::{Error, InputError, Result};
use crate::memory::BlockPool;
use crate::plan::Packed;
use std::ops::Range;
use std::sync::Arc;

/// Cuts one file.
pub(super) struct Cutter<'p> {
    packed: &'p Packed,
    file: usize,
    kind: Kind<'p>,
}

enum Kind<'p> {
    /// All of it at once; and then nothing.
    One {
        done: bool,
    },
    Members(Members<'p>),
    Frames(Frames<'p>),
    Blocks(Box<Blocks<'p>>),
    Lz4Frames(Lz4Frames<'p>),
}

/// A part of a file that can be decompressed by itself.
pub(super) enum Unit {
    /// These of its bytes.
    Range(Range<u64>),
    /// Bytes that were made of it, and where those stand in the file.
    Made { bytes: Arc<Vec<u8>>, at: u64 },
    /// These of its bytes between others, which make a frame of them; and what they are to the frame
    /// that the file has there.
    Framed { before: Vec<u8>, range: Range<u64>, after: &'static [u8], part: Part },
}

/// What is wrong with a file, and where.
pub(super) enum Fault {
    Truncated(u64),
    Damaged(u64, &'static str),
    Other(Error),
}

impl From<Error> for Fault {
    fn from(fault: Error) -> Fault {
        Fault::Other(fault)
    }
}

impl<'p> Cutter<'p> {
    /// Cuts a file into units that give about `unit_bytes` at least; one that is not longer itself is
    /// not cut.
    pub(super) fn new(packed: &'p Packed, file: usize, unit_bytes: u64) -> Cutter<'p> {
        let (bytes, feed) = (packed.bytes(file), packed.feed(file));
        let kind = match packed.format(file) {
            // A request for each border is too much for a file that is far away.
            _ if bytes <= unit_bytes || !feed.is_near() => Kind::One { done: false },
            Format::Gzip => Kind::Members(Members::new(feed, bytes)),
            Format::Zstd => Kind::Frames(Frames::new(feed, bytes, unit_bytes)),
            Format::Bzip2 => Kind::Blocks(Box::new(Blocks::new(feed, bytes))),
            Format::Lz4 => Kind::Lz4Frames(Lz4Frames::new(feed, bytes, unit_bytes)),
            Format::Plain => Kind::One { done: false },
        };
        Cutter { packed, file, kind }
    }

    /// Whether it is known that no more units come.
    pub(super) fn is_done(&self) -> bool {
        match &self.kind {
            Kind::One { done } => *done,
            Kind::Members(members) => members.is_done(),
            Kind::Frames(frames) => frames.is_done(),
            Kind::Blocks(_) => false,
            Kind::Lz4Frames(frames) => frames.is_done(),
        }
    }

    /// The next unit; `None` when there is none.
    pub(super) fn next(&mut self) -> Result<Option<Unit>> {
        let unit = match &mut self.kind {
            Kind::One { done: true } => Ok(None),
            Kind::One { done } => {
                *done = true;
                Ok(Some(Unit::Range(0..self.packed.bytes(self.file))))
            }
            Kind::Members(members) => members.next(),
            Kind::Frames(frames) => frames.next(),
            Kind::Blocks(blocks) => blocks.next(),
            Kind::Lz4Frames(frames) => frames.next(),
        };
        unit.map_err(|fault| fault.of(self.packed, self.file))
    }
}

impl Fault {
    /// The error that it is of a file.
    pub(super) fn of(self, packed: &Packed, file: usize) -> Error {
        let (path, format) = (packed.path(file), packed.format(file).name());
        match self {
            Fault::Truncated(offset) => InputError::Truncated { path, format, offset }.into(),
            Fault::Damaged(offset, cause) => {
                InputError::Damaged { path, format, offset, cause: cause.to_owned() }.into()
            }
            Fault::Other(fault) => fault,
        }
    }
}

impl Unit {
    /// Begins to decompress it.
    pub(super) fn open<'p>(
        &self,
        packed: &'p Packed,
        file: usize,
        blocks: &Arc<BlockPool>,
    ) -> Result<Reading<'p>> {
        let format = packed.format(file);
        match self {
            Unit::Range(range) => {
                let source = Source::new(packed.feed(file).read_ahead(blocks), range.clone());
                let to_end = range.end == packed.bytes(file);
                Reading::of_part(format, source, blocks, 0, to_end)
            }
            Unit::Made { bytes, at } => {
                let end = bytes.len() as u64;
                let source = Source::new(Made(Arc::clone(bytes)), 0..end);
                Reading::of_part(format, source, blocks, *at, false)
            }
            Unit::Framed { before, range, after, .. } => {
                let to_end = range.end == packed.bytes(file) && after.is_empty();
                let (before_bytes, feed) = (before.len() as u64, packed.feed(file));
                let end = before_bytes + (range.end - range.start) + after.len() as u64;
                let framed = Framed { before: before.clone(), feed, range: range.clone(), after };
                let source = Source::new(framed, 0..end);
                // The frame's own header, which stands before its first block, is as long at least.
                Reading::of_part(format, source, blocks, range.start - before_bytes, to_end)
            }
        }
    }

    /// What it is to content of which it holds but a part.
    pub(super) fn part(&self) -> Option<Part> {
        match self {
            Unit::Framed { part, .. } => Some(*part),
            Unit::Range(_) | Unit::Made { .. } => None,
        }
    }
}

/// Bytes in memory.
struct Made(Arc<Vec<u8>>);

impl Feed for Made {
    fn read(&mut self, offset: u64, into: &mut [u8]) -> Result<usize> {
        let left = usize::try_from(offset).ok().and_then(|offset| self.0.get(offset..));
        let left = left.unwrap_or(&[]);
        let count = left.len().min(into.len());
        into[..count].copy_from_slice(&left[..count]);
        Ok(count)
    }
}

/// Bytes of a file, between others.
struct Framed<'p> {
    before: Vec<u8>,
    feed: FileFeed<'p>,
    range: Range<u64>,
    after: &'static [u8],
}

impl Feed for Framed<'_> {
    fn read(&mut self, offset: u64, into: &mut [u8]) -> Result<usize> {
        let before_bytes = self.before.len() as u64;
        let after_from = before_bytes + (self.range.end - self.range.start);
        let left = if offset < before_bytes {
            &self.before[offset as usize..]
        } else if offset < after_from {
            let most = into.len().min(usize::try_from(after_from - offset).unwrap_or(usize::MAX));
            return self.feed.read(self.range.start + (offset - before_bytes), &mut into[..most]);
        } else {
            self.after.get((offset - after_from) as usize..).unwrap_or(&[])
        };
        let count = left.len().min(into.len());
        into[..count].copy_from_slice(&left[..count]);
        Ok(count)
    }
}

/// Reads up to `into.len()` bytes at an offset: fewer only at `end`.
pub(super) fn read_at(
    feed: &mut FileFeed<'_>,
    offset: u64,
    end: u64,
    into: &mut [u8],
) -> Result<usize> {
    let wanted = into.len().min(usize::try_from(end.saturating_sub(offset)).unwrap_or(usize::MAX));
    let mut have = 0;
    while have < wanted {
        have += feed.read(offset + have as u64, &mut into[have..wanted])?;
    }
    Ok(have)
}

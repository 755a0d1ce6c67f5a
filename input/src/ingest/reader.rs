//! A reader: reads a split, extent by extent, into its buffer and settles where each extent's records
//! really begin and end. A record belongs to the extent in which it begins. For whoever has memory of his own, it
//! finds that place first, by reading around the borders, and reads the records where they are wanted.
//!
//! Each extent looks for its first border in itself only; an extent without one belongs to a record
//! that began earlier and is skipped. So a record of any length is read by one worker, and the
//! looking is linear in the input.

use super::direct::{self, BLOCK_BYTES, Mode, SLACK_BYTES};
use crate::error::{InputError, Result};
use crate::input::{Cut, OpenFile};
use crate::memory::BlockPool;
use crate::memory::InputBuffer;
use crate::plan::{Extent, Ranged};
use crate::unit::{Piece, Unit};
use std::fs::File;
use std::ops::Range;
use std::sync::Arc;

/// Bytes read first beyond an extent's nominal end, to find its last record's end: more than most words and
/// lines, less than a page.
const LOOKAHEAD_BYTES: u64 = 1024;

/// Read at a time past the page cache on the way to memory of the caller.
const DIRECT_BYTES: usize = 1 << 20;

pub const PAGE_BYTES: u64 = 4096;
/// A line of the cache: it is enough of a distance.
pub const APART_BYTES: u64 = 64;

/// A worker's reader: reads splits, each into the same buffer.
pub struct Reader {
    /// The last unit that was read.
    pub read: Unit,
    open: Opened,
}

/// The file that is open, and how it is read.
pub(super) struct Opened {
    file: OpenFile,
    mode: Mode,
}

/// Returns a unit to read splits of about `split_bytes` into; longer ones make its buffer grow.
pub(super) fn unit_for(blocks: &Arc<BlockPool>, split_bytes: u64) -> Result<Unit> {
    // A large split size over small files should not cost memory that no file fills.
    let first = split_bytes.min(1 << 20) + LOOKAHEAD_BYTES + 1;
    Ok(Unit::new(blocks, first as usize + SLACK_BYTES)?)
}

impl Unit {
    /// Reads the records that begin in splits which follow each other in one tile.
    pub(super) fn read_splits(
        &mut self,
        ranged: &Ranged,
        splits: Range<u64>,
        cut: &Cut,
        open: &mut Opened,
    ) -> Result<()> {
        self.clear();
        let lengths = ranged.layout.extents(splits.clone());
        let lengths = lengths.map(|extent| extent.bytes.end - extent.bytes.start);
        let (bytes, count) = lengths.fold((0, 0), |(sum, count), bytes| (sum + bytes, count + 1));
        (self.splits, self.stretch, self.stored_bytes) = (splits.clone(), splits.start, bytes);
        // Room for all of them at once: growing from file to file would end at twice that.
        let room = bytes + count * APART_BYTES + LOOKAHEAD_BYTES;
        self.buffer.fit(room as usize + SLACK_BYTES)?;
        let mut extents = ranged.layout.extents(splits);
        extents.try_for_each(|extent| self.add_extent(ranged, &extent, cut, open))
    }

    fn clear(&mut self) {
        self.pieces.clear();
        self.used = 0;
    }

    /// Reads the records that begin in an extent after the ones read before; none may begin there.
    fn add_extent(
        &mut self,
        ranged: &Ranged,
        extent: &Extent,
        cut: &Cut,
        open: &mut Opened,
    ) -> Result<()> {
        let length = ranged.material.bytes(extent.file);
        let Range { start, end } = extent.bytes;
        if let Cut::Fixed(record) = *cut {
            let (start, end) = (start.next_multiple_of(record), end.next_multiple_of(record));
            let bytes = self.fill(ranged, extent.file, start, (0, end), open)?;
            self.add_piece(extent.file, 0..bytes, start);
            return Ok(());
        }
        // The bytes before the extent show whether a record begins at its start.
        let base = start.saturating_sub(cut.bytes_before() as u64);
        let ahead = if end < length { length.min(end + LOOKAHEAD_BYTES) } else { length };
        let mut have = self.fill(ranged, extent.file, base, (0, ahead), open)?;
        let nominal_end = (end - base) as usize;
        let first = if start == 0 {
            0
        } else {
            let nominal_start = (start - base) as usize;
            match cut.find_border(self.behind(have), nominal_start, nominal_end) {
                Some(first) => first,
                None => return Ok(()),
            }
        };
        let mut looked = nominal_end;
        let last = loop {
            if end == length {
                break have;
            }
            let is_all = base + have as u64 == length;
            let seen = have - if is_all { 0 } else { cut.bytes_behind() };
            if let Some(last) = cut.find_border(self.behind(have), looked, seen) {
                break last;
            }
            looked = seen;
            let more = length.min(base + 2 * have as u64);
            if more == base + have as u64 {
                break have;
            }
            have = self.fill(ranged, extent.file, base, (have, more), open)?;
        };
        self.add_piece(extent.file, first..last, base + first as u64);
        Ok(())
    }

    /// Returns the first bytes after the used part of the buffer.
    fn behind(&self, have: usize) -> &[u8] {
        &self.buffer.bytes()[self.used..self.used + have]
    }

    /// Keeps records, which lie after the used part of the buffer.
    fn add_piece(&mut self, file: usize, records: Range<usize>, offset: u64) {
        let Unit { pieces, used, .. } = self;
        if !records.is_empty() {
            pieces.push(Piece {
                file,
                records: *used + records.start..*used + records.end,
                offset,
            });
            *used += records.end;
        }
    }

    /// Reads the file's bytes from `base + have` to `to` after the `have` bytes that the buffer holds from
    /// `base` on, all of them after its used part. Returns the number of bytes that it holds then.
    fn fill(
        &mut self,
        ranged: &Ranged,
        file: usize,
        base: u64,
        (have, to): (usize, u64),
        open: &mut Opened,
    ) -> Result<usize> {
        let want = to.saturating_sub(base) as usize;
        if have == 0 {
            let place = direct::place(&ranged.direct, self.used, ranged.material.bytes(file), base);
            self.used = place.unwrap_or_else(|| apart(self.used, base, want));
        }
        let used = self.used;
        let slack = if ranged.direct.wanted { BLOCK_BYTES } else { 0 };
        self.buffer.reserve(used + want + slack, used + have)?;
        let wanted = used + have..used + want;
        let from = base + have as u64;
        let Unit { buffer, .. } = self;
        if !open.read_directly(ranged, file, from, buffer, wanted.clone())? {
            let into = &mut buffer.bytes_mut()[wanted];
            open.file.read(ranged.number, &ranged.material, file, from, into)?;
        }
        Ok(want)
    }
}

impl Opened {
    pub(super) fn none() -> Opened {
        Opened { file: OpenFile::of_many(), mode: Mode::Cached }
    }

    /// Returns the file, and how it is read.
    fn of(&mut self, ranged: &Ranged, file: usize) -> Result<(&File, &mut Mode), InputError> {
        let (open, is_new) = self.file.of(ranged.number, &ranged.material, file)?;
        if is_new {
            direct::prepare(&ranged.direct, open, ranged.material.bytes(file));
            self.mode = Mode::Cached;
        }
        Ok((open, &mut self.mode))
    }

    /// Reads `wanted` bytes of a buffer past the page cache, if that helps; returns whether it did. Bytes of
    /// the same disk blocks around it are read, too.
    fn read_directly(
        &mut self,
        ranged: &Ranged,
        file: usize,
        from: u64,
        buffer: &mut InputBuffer,
        wanted: Range<usize>,
    ) -> Result<bool, InputError> {
        if !ranged.direct.wanted {
            return Ok(false);
        }
        let (handle, mode) = self.of(ranged, file)?;
        if direct::read(handle, mode, buffer.bytes_mut(), wanted, from, &ranged.direct) {
            return Ok(true);
        }
        direct::end(handle, mode);
        Ok(false)
    }
}

impl Reader {
    /// Returns a reader for splits of about `split_bytes`.
    pub fn new(blocks: &Arc<BlockPool>, split_bytes: u64) -> Result<Reader> {
        Ok(Reader { read: unit_for(blocks, split_bytes)?, open: Opened::none() })
    }

    /// Reads the records that begin in splits which follow each other in one tile.
    pub fn read_splits(&mut self, ranged: &Ranged, splits: Range<u64>, cut: &Cut) -> Result<()> {
        self.read.read_splits(ranged, splits, cut, &mut self.open)
    }

    /// Reads the records that begin in one extent, any part of a file.
    pub fn read_extent(&mut self, ranged: &Ranged, extent: &Extent, cut: &Cut) -> Result<()> {
        self.read.clear();
        self.read.add_extent(ranged, extent, cut, &mut self.open)
    }

    /// Returns where in its file the records lie that begin in an extent, `None` if there are none. Reads only
    /// around the borders of the extent, and as far as its first and its last record reach.
    pub fn records_of(
        &mut self,
        ranged: &Ranged,
        extent: &Extent,
        cut: &Cut,
    ) -> Result<Option<Range<u64>>> {
        let (file, Range { start, end }) = (extent.file, extent.bytes.clone());
        if let Cut::Fixed(record) = *cut {
            let records = start.next_multiple_of(record)..end.next_multiple_of(record);
            return Ok((!records.is_empty()).then_some(records));
        }
        let length = ranged.material.bytes(file);
        let first = if start > 0 { self.border(ranged, file, start..end, cut)? } else { Some(0) };
        let Some(first) = first else { return Ok(None) };
        let last = if end < length { self.border(ranged, file, end..length, cut)? } else { None };
        Ok(Some(first..last.unwrap_or(length)))
    }

    /// Returns the first border of records at one of these places of a file, all after its begin.
    fn border(
        &mut self,
        ranged: &Ranged,
        file: usize,
        places: Range<u64>,
        cut: &Cut,
    ) -> Result<Option<u64>> {
        let (read, open) = (&mut self.read, &mut self.open);
        let length = ranged.material.bytes(file);
        let base = places.start.saturating_sub(cut.bytes_before() as u64);
        let (mut have, mut looked) = (0, (places.start - base) as usize);
        let mut ahead = length.min(places.start + LOOKAHEAD_BYTES);
        read.clear();
        loop {
            have = read.fill(ranged, file, base, (have, ahead), open)?;
            let is_all = base + have as u64 == length;
            let seen = have - if is_all { 0 } else { cut.bytes_behind() };
            let to = seen.min((places.end - base) as usize);
            if let Some(border) = cut.find_border(read.behind(have), looked, to) {
                return Ok(Some(base + border as u64));
            }
            if to < seen || is_all {
                return Ok(None);
            }
            looked = looked.max(to);
            ahead = length.min(base + 2 * have as u64);
        }
    }

    /// Reads bytes of a file into memory of the caller.
    pub fn read_into(
        &mut self,
        ranged: &Ranged,
        file: usize,
        offset: u64,
        into: &mut [u8],
    ) -> Result<()> {
        if !ranged.direct.wanted {
            return Ok(self.open.file.read(ranged.number, &ranged.material, file, offset, into)?);
        }
        // What is read past the page cache needs a buffer that begins with a disk block.
        for (number, part) in into.chunks_mut(DIRECT_BYTES).enumerate() {
            let base = offset + (number * DIRECT_BYTES) as u64;
            self.read.clear();
            let to = base + part.len() as u64;
            let have = self.read.fill(ranged, file, base, (0, to), &mut self.open)?;
            part.copy_from_slice(self.read.behind(have));
        }
        Ok(())
    }
}

/// Returns the offset in a buffer for `want` bytes of a file that are copied from the page cache, from
/// `offset` on. The buffer begins at a page, and `used` bytes of it are taken.
///
/// The kernel copies by `rep movsb`, which on AMD's Zen 3 and 4 runs at a quarter of its speed (1.5 instead
/// of 8 GB/s) if the destination is 1 to 31 bytes further in its page than the source in its own. That is so
/// at each border of splits where a byte before it is read, too.
pub fn apart(used: usize, offset: u64, want: usize) -> usize {
    let further = (used as u64).wrapping_sub(offset) % PAGE_BYTES;
    // There may be many small files, for which that room would be much.
    if further == 0 || further >= APART_BYTES || (want as u64) < PAGE_BYTES {
        return used;
    }
    used + (APART_BYTES - further) as usize
}

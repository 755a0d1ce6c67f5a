//! The input of a sort: the plan's files, and streams and compressed files, which are spooled first, because records
//! that are still to come cannot be sampled. All of it is numbered in splits, in the order of the input.
//!
//! With a state, a split of a file that is spooled is the records that end in its bytes, in whichever blocks the file was
//! read. So a later run numbers the splits of a compressed file alike, and does not put those away again whose records a
//! state has. Without one, a split is what was read together.

use super::records::Form;
use super::sample::KeySample;
use super::saving::Saving;
use super::sizes::SPLITS_PER_UNIT;
use super::splitters::Sampled;
use crate::core::Core;
use crate::error::Result;
use crate::failure::Failure;
use crate::ingest::{Intake, Means, Reader};
use crate::input::Cut;
use crate::map::numbered;
use crate::memory::{BlockPool, InputBuffer};
use crate::plan::{Extent, Part, Plan, Ranged};
use crate::storage::{Scratch, Stored};
use crate::sync::Mutex;
use crate::unit::Unit;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The numbered splits of a sort.
pub(super) struct Source<'p> {
    /// Each with the number of its first split.
    parts: Vec<(u64, Section<'p>)>,
    splits: u64,
    bytes: u64,
    plan: &'p Plan,
}

/// Splits that are kept in one way.
pub(super) enum Section<'p> {
    /// Where they were.
    Ranged(&'p Ranged),
    /// Read and put away.
    Spool(Spool),
}

/// A stream, or the compressed files of a part.
pub(super) struct Spool {
    /// The part's number.
    pub(super) part: usize,
    pub(super) splits: Vec<Mutex<Spooled>>,
}

/// A split of a stream or of a compressed file.
pub(super) struct Spooled {
    pub(super) place: Place,
    /// Of all its records.
    bytes: u64,
    /// In the order of the file. They are given out once.
    pieces: Vec<Kept>,
    /// Whether a state has its records; then there are no pieces.
    pub(super) is_found: bool,
}

/// A file of a part, and the number of a split in it; without a state, the offset of the split.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) file: u64,
    pub(super) split: u64,
}

/// Records of a split that were read together.
struct Kept {
    len: usize,
    at: At,
}

enum At {
    Memory(InputBuffer),
    Scratch(Stored),
}

impl<'p> Source<'p> {
    /// Takes up the plan's parts; streams and compressed files are read to their ends, up to `memory_bytes` of them into
    /// memory and the rest to disk, but for splits that a state has.
    pub(super) fn open(
        core: &Core,
        plan: &'p Plan,
        scratch: &Scratch,
        failure: &Failure,
        (memory_bytes, saving): (u64, Option<&Saving>),
    ) -> Result<Source<'p>> {
        let mut source = Source { parts: Vec::new(), splits: 0, bytes: plan_bytes(plan), plan };
        let means = source.means(core, failure);
        let split_bytes = source.spooled_split_bytes();
        let room = AtomicU64::new(memory_bytes);
        let spooling =
            Spooling { blocks: core.blocks(), scratch, room, cut: &plan.cut, split_bytes, saving };
        for (number, part) in plan.parts.iter().enumerate() {
            let intake = match part {
                Part::Ranged(ranged) => {
                    source.parts.push((source.splits, Section::Ranged(ranged)));
                    source.splits += ranged.layout.splits();
                    continue;
                }
                Part::Packed(packed) => Intake::packed(means, packed, 0..packed.files()),
                Part::Stream(stream) => Intake::stream(means, stream)?,
            };
            let splits = spooling.run(number, &intake)?;
            source.bytes += splits.iter().map(|split| split.bytes).sum::<u64>();
            let splits: Vec<_> = splits.into_iter().map(Mutex::new).collect();
            let count = splits.len() as u64;
            source.parts.push((source.splits, Section::Spool(Spool { part: number, splits })));
            source.splits += count;
        }
        numbered(source.splits, 0)?;
        Ok(source)
    }

    /// Returns the bytes of a split of a stream or of a compressed file.
    pub(super) fn spooled_split_bytes(&self) -> u64 {
        SPLITS_PER_UNIT * self.plan.split_bytes
    }

    /// Returns what a worker reads at a time at first.
    pub(super) fn unit_bytes(&self) -> u64 {
        self.plan.unit_bytes
    }

    pub(super) fn splits(&self) -> u64 {
        self.splits
    }

    /// Returns the sections, each with the number of its first split.
    pub(super) fn sections(&self) -> impl Iterator<Item = (u64, &Section<'p>)> {
        self.parts.iter().map(|(first, section)| (*first, section))
    }

    /// Returns the means of reading the plan's parts.
    pub(super) fn means(&self, core: &'p Core, failure: &'p Failure) -> Means<'p> {
        Means { plan: self.plan, blocks: core.blocks(), pool: core.pool(), failure, share: None }
    }

    /// Returns all of the input.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Memory that holds blocks of streams.
    pub(super) fn kept_bytes(&self) -> u64 {
        let spools = self.parts.iter().filter_map(|(_, section)| match section {
            Section::Spool(spool) => Some(&spool.splits),
            Section::Ranged(_) => None,
        });
        let kept = |piece: &Kept| match &piece.at {
            At::Memory(buffer) => buffer.capacity() as u64,
            At::Scratch(_) => 0,
        };
        spools.flatten().map(|split| split.lock().pieces.iter().map(kept).sum::<u64>()).sum()
    }

    /// Keys of about `count` records from all over the input, fewer where many are alike, and how long a record is on
    /// average.
    pub(super) fn sample(
        &self,
        count: usize,
        form: &Form,
        reader: &mut Reader,
        scratch: &Scratch,
    ) -> Result<(Vec<Sampled>, u64)> {
        let mut sample = KeySample::new(form, count);
        while sample.begin() {
            let places = if self.splits > 0 { sample.places() as u64 } else { 0 };
            for number in 0..places {
                // Somewhere in its part of the input, so that no rhythm of the input is met.
                let within =
                    (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11) as f64 / (1u64 << 53) as f64;
                let at = (number as f64 + within) / places as f64 * self.splits as f64;
                let split = (at as u64).min(self.splits - 1);
                self.sample_split(split, at.fract(), reader, scratch, &mut sample)?;
            }
        }
        let record_bytes = sample.record_bytes();
        Ok((sample.keys, record_bytes))
    }

    fn sample_split(
        &self,
        split: u64,
        within: f64,
        reader: &mut Reader,
        scratch: &Scratch,
        sample: &mut KeySample<'_>,
    ) -> Result<()> {
        let part = self.parts.partition_point(|(first, _)| *first <= split) - 1;
        let (first, section) = &self.parts[part];
        match section {
            Section::Ranged(ranged) => {
                let extents: Vec<Extent> =
                    ranged.layout.extents(split - first..split - first + 1).collect();
                let Some(extent) = extents.get((within * extents.len() as f64) as usize) else {
                    return Ok(());
                };
                let length = extent.bytes.end - extent.bytes.start;
                let window = sample.window_bytes();
                let start =
                    extent.bytes.start + (within * length.saturating_sub(window) as f64) as u64;
                let bytes = start..extent.bytes.end.min(start + window);
                let extent = Extent { file: extent.file, bytes };
                reader.read_extent(ranged, &extent, &self.plan.cut)?;
                for records in reader.read.records() {
                    sample.add(records, split as u32, true);
                }
                Ok(())
            }
            Section::Spool(spool) => {
                let spooled = spool.splits[(split - first) as usize].lock();
                let Some(piece) =
                    spooled.pieces.get((within * spooled.pieces.len() as f64) as usize)
                else {
                    return Ok(());
                };
                match &piece.at {
                    At::Memory(buffer) => {
                        sample.add(&buffer.bytes()[..piece.len], split as u32, true);
                    }
                    At::Scratch(stored) => {
                        let len = piece.len.min(sample.window_bytes() as usize);
                        let buffer = &mut reader.read.buffer;
                        buffer.reserve(len, 0)?;
                        scratch.read(stored.offset, &mut buffer.bytes_mut()[..len])?;
                        sample.add(&buffer.bytes()[..len], split as u32, len == piece.len);
                    }
                }
                Ok(())
            }
        }
    }
}

impl Spooled {
    /// Gives the split's records to `take`, and their memory back; once. Returns their bytes.
    pub(super) fn read(
        &mut self,
        reader: &mut Reader,
        scratch: &Scratch,
        mut take: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<u64> {
        for Kept { len, at } in std::mem::take(&mut self.pieces) {
            match at {
                At::Memory(buffer) => take(&buffer.bytes()[..len])?,
                At::Scratch(stored) => {
                    let buffer = &mut reader.read.buffer;
                    buffer.reserve(len, 0)?;
                    scratch.load(&stored, buffer.bytes_mut())?;
                    take(&buffer.bytes()[..len])?;
                }
            }
        }
        Ok(self.bytes)
    }
}

fn plan_bytes(plan: &Plan) -> u64 {
    let ranged = plan.parts.iter().map(|part| match part {
        Part::Ranged(ranged) => ranged.layout.bytes(),
        Part::Packed(_) | Part::Stream(_) => 0,
    });
    ranged.sum()
}

/// Puts streams and compressed files away.
struct Spooling<'s> {
    blocks: &'s Arc<BlockPool>,
    scratch: &'s Scratch,
    /// Bytes that may still be kept in memory.
    room: AtomicU64,
    cut: &'s Cut,
    split_bytes: u64,
    saving: Option<&'s Saving>,
}

/// Records that were read together, of one split.
struct Piece {
    place: Place,
    /// Where they begin in the file.
    offset: u64,
    len: usize,
    /// `None` if a state has them.
    kept: Option<Kept>,
}

impl Spooling<'_> {
    /// Reads all that an intake of a part has. Returns its splits, in order.
    fn run(&self, part: usize, intake: &Intake<'_>) -> Result<Vec<Spooled>> {
        let pieces = Mutex::new(Vec::new());
        let put_away = |unit: &mut Unit| {
            for piece in &unit.pieces {
                let records = &unit.buffer.bytes()[piece.records.clone()];
                let (file, offset) = (piece.file as u64, piece.offset);
                let take = |split, offset, records: &[u8]| {
                    let place = Place { file, split };
                    let is_found = self.saving.is_some_and(|saving| saving.has(part, file, split));
                    let kept = if is_found { None } else { Some(self.put_away(records)?) };
                    pieces.lock().push(Piece { place, offset, len: records.len(), kept });
                    Ok(())
                };
                match self.saving {
                    Some(_) => each_split(self.cut, self.split_bytes, offset, records, take)?,
                    // Nobody asks for a split again, so what was read together is one.
                    None => take(offset, offset, records)?,
                }
            }
            Ok(())
        };
        intake.run(|index| intake.step(index, &put_away), |oversee| oversee())?;
        let mut pieces = pieces.into_inner();
        pieces.sort_unstable_by_key(|piece| (piece.place.file, piece.offset));
        let mut splits: Vec<Spooled> = Vec::new();
        for Piece { place, len, kept, .. } in pieces {
            if splits.last().is_none_or(|last| last.place != place) {
                let (bytes, pieces, is_found) = (0, Vec::new(), kept.is_none());
                splits.push(Spooled { place, bytes, pieces, is_found });
            }
            if let Some(last) = splits.last_mut() {
                last.bytes += len as u64;
                last.pieces.extend(kept);
            }
        }
        Ok(splits)
    }

    fn put_away(&self, records: &[u8]) -> Result<Kept> {
        let len = records.len();
        let room = |room: u64| room.checked_sub(len as u64 + MEMORY_ROUNDING);
        let fits = self.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, room).is_ok();
        let at = match fits.then(|| InputBuffer::new(self.blocks, len).ok()).flatten() {
            Some(mut buffer) => {
                buffer.bytes_mut()[..len].copy_from_slice(records);
                At::Memory(buffer)
            }
            None => At::Scratch(self.scratch.store([records])?),
        };
        Ok(Kept { len, at })
    }
}

/// Gives the records of each split to `take`, with the number of the split in its file and the offset of the records
/// there. The records begin at `offset`. One is of the split in whose bytes a search for the last border finds its end,
/// so it does not matter which records come together.
fn each_split(
    cut: &Cut,
    split_bytes: u64,
    mut offset: u64,
    mut records: &[u8],
    mut take: impl FnMut(u64, u64, &[u8]) -> Result<()>,
) -> Result<()> {
    let (mut split, mut looked) = (offset / split_bytes, 0);
    while !records.is_empty() {
        let within = (split + 1) * split_bytes - offset;
        if within > records.len() as u64 {
            return take(split, offset, records);
        }
        let within = within as usize;
        match cut.find_last_border(&records[..within], looked) {
            Some(border) if border > 0 => {
                let (ended, rest) = records.split_at(border);
                take(split, offset, ended)?;
                (records, offset, looked) = (rest, offset + border as u64, 0);
            }
            _ => looked = within,
        }
        split += 1;
    }
    Ok(())
}

/// The bytes by which a buffer may exceed its contents.
const MEMORY_ROUNDING: u64 = 128 << 10;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns for each split, in order, its number and its records, which are read in blocks that end at `ends`.
    fn splits(cut: &Cut, split_bytes: u64, file: &[u8], ends: &[usize]) -> Vec<(u64, Vec<u8>)> {
        let mut all: Vec<(u64, Vec<u8>)> = Vec::new();
        let mut start = 0;
        for &end in ends {
            let take = |split: u64, offset: u64, records: &[u8]| {
                assert_eq!(&file[offset as usize..][..records.len()], records);
                match all.last_mut() {
                    Some((last, bytes)) if *last == split => bytes.extend_from_slice(records),
                    _ => all.push((split, records.to_vec())),
                }
                Ok(())
            };
            each_split(cut, split_bytes, start as u64, &file[start..end], take).unwrap();
            start = end;
        }
        all
    }

    /// Returns the ends of the records of a file, which need not end with a newline.
    fn ends(cut: &Cut, file: &[u8]) -> Vec<usize> {
        let mut ends: Vec<usize> = match cut {
            Cut::Fixed(record) => {
                (1..=file.len() / *record as usize).map(|n| n * *record as usize).collect()
            }
            _ => memchr::memchr_iter(b'\n', file).map(|at| at + 1).collect(),
        };
        if ends.last().is_none_or(|&last| last < file.len()) {
            ends.push(file.len());
        }
        ends
    }

    proptest! {
        /// Splits have the same records however the file was read, and none is lost.
        #[test]
        fn splits_do_not_depend_on_blocks(
            lengths in prop::collection::vec(0usize..40, 1..60),
            has_end: bool,
            record in 1u64..12,
            split_bytes in 1u64..64,
            blocks in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        ) {
            let mut lines: Vec<u8> = lengths.iter().flat_map(|&length| [&vec![b'a'; length][..], b"\n"].concat()).collect();
            if !has_end {
                lines.pop();
                lines.push(b'b');
            }
            let records = vec![b'r'; lines.len() / record as usize * record as usize];
            for (cut, file) in [(Cut::Lines, &lines), (Cut::Fixed(record), &records)] {
                if file.is_empty() {
                    continue;
                }
                let ends = ends(&cut, file);
                let mut chosen: Vec<usize> = blocks.iter().map(|index| ends[index.index(ends.len())]).collect();
                chosen.push(file.len());
                chosen.sort_unstable();
                chosen.dedup();
                let at_once = splits(&cut, split_bytes, file, &[file.len()]);
                let in_blocks = splits(&cut, split_bytes, file, &chosen);
                prop_assert_eq!(&at_once, &in_blocks);
                prop_assert!(at_once.is_sorted_by_key(|(split, _)| *split));
                let all: Vec<u8> = at_once.into_iter().flat_map(|(_, records)| records).collect();
                prop_assert_eq!(&all, file);
            }
        }
    }
}

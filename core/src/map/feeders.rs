//! The threads that fill a device's slots. The device's own thread finds out which records belong to a unit and
//! where they come to lie in the slot; then each thread reads an even part of these bytes, whatever records they are.
//! So records of one file lie side by side, and the kernel is launched once for all of them.
//! Takes splits and a slot; hands on where in it records lie.

use crate::device::Piece;
use crate::error::{Error, Result};
use crate::ingest::Reader;
use crate::input::Cut;
use crate::memory::BlockPool;
use crate::plan::Ranged;
use crate::schedule::{Pool, Step};
use crate::sync::Mutex;
use crate::timeline;
use std::ops::Range;
use std::sync::Arc;

/// Read at a time around the borders of a part.
const READ_BYTES: u64 = 64 << 10;
/// Parts of a slot begin at multiples of this.
const PART_BYTES: usize = 4 << 10;

/// The threads of one device.
pub(super) struct Feeders {
    blocks: Arc<BlockPool>,
    /// The device's name.
    name: String,
    own: Reader,
    helpers: Vec<Helper>,
    /// Why there cannot be more: the system or the budget had none for another. Nobody asks again.
    refused: Option<String>,
}

struct Helper {
    /// One thread.
    pool: Pool,
    reader: Reader,
}

/// The result of filling a slot.
pub(super) enum Filled {
    /// The places of records, ascending.
    Pieces(Vec<Lying>),
    /// These have no room in it, from here on.
    NoRoom { file: usize, offset: u64 },
}

/// Consecutive records of one file.
pub(super) struct Lying {
    /// In the slot.
    pub(super) place: Range<usize>,
    pub(super) file: usize,
    /// Their offset in the file.
    pub(super) offset: u64,
}

/// A part of a slot, to be filled with what lies there.
struct SlotPart<'s> {
    pieces: &'s [Lying],
    slot: &'s mut [u8],
    /// Where it begins in the whole.
    start: usize,
    read: Result<()>,
}

/// Where all comes from.
#[derive(Clone, Copy)]
struct Supply<'r> {
    ranged: &'r Ranged,
    cut: &'r Cut,
}

/// Returns the first of some splits, at most `most` and of one tile.
pub(super) fn part_of(ranged: &Ranged, splits: &Range<u64>, most: u64) -> Range<u64> {
    let layout = &ranged.layout;
    let tile = layout.tile_of(splits.start).0;
    let tile_end = layout.first_split_behind(tile);
    splits.start..splits.end.min(tile_end).min(splits.start + most)
}

impl Feeders {
    /// Returns one thread, the caller's.
    pub(super) fn new(blocks: &Arc<BlockPool>, name: String) -> Result<Feeders> {
        let own = Reader::new(blocks, READ_BYTES)?;
        Ok(Feeders { blocks: Arc::clone(blocks), name, own, helpers: Vec::new(), refused: None })
    }

    /// Reads the records of splits into a slot, with the wanted number of threads if the system and the
    /// budget have them.
    pub(super) fn fill(
        &mut self,
        ranged: &Ranged,
        cut: &Cut,
        splits: &Range<u64>,
        slot: &mut [u8],
        feeders: usize,
    ) -> Result<Filled> {
        self.grow(feeders);
        let from = Supply { ranged, cut };
        let filled = from.places(&mut self.own, splits, slot.len())?;
        let Filled::Pieces(pieces) = &filled else { return Ok(filled) };
        let used = pieces.last().map_or(0, |last| last.place.end);
        let threads = feeders.min(self.helpers.len() + 1).min(used / PART_BYTES).max(1);
        let (mut rest, mut start, mut parts) = (&mut slot[..used], 0, Vec::with_capacity(threads));
        for number in 1..=threads {
            let end = (used * number / threads).next_multiple_of(PART_BYTES).min(used);
            let (slot, after) = rest.split_at_mut(end - start);
            rest = after;
            parts.push(SlotPart { pieces, slot, start, read: Ok(()) });
            start = end;
        }
        share(from, &mut self.helpers, &mut self.own, &mut parts);
        parts.into_iter().try_for_each(|part| part.read)?;
        Ok(filled)
    }

    /// Returns the most threads that there can be; `None` as long as none was refused.
    pub(super) fn most(&self) -> Option<usize> {
        self.refused.as_ref().map(|_| self.helpers.len() + 1)
    }

    /// Why there are no more.
    pub(super) fn refused(&self) -> Option<&str> {
        self.refused.as_deref()
    }

    /// Starts threads until there are `feeders`, or as many as possible.
    fn grow(&mut self, feeders: usize) {
        while self.refused.is_none() && self.helpers.len() + 1 < feeders {
            match self.helper() {
                Ok(helper) => self.helpers.push(helper),
                Err(cause) => self.refused = Some(cause.to_string()),
            }
        }
    }

    fn helper(&self) -> Result<Helper> {
        let reader = Reader::new(&self.blocks, READ_BYTES)?;
        // The first is the device's own thread.
        let name = format!("{} feeder-{}", self.name, self.helpers.len() + 2);
        let pool = Pool::named(|_| name.clone(), 1, |_| ());
        let pool = pool.map_err(|cause| Error::System { action: "start a thread", cause })?;
        Ok(Helper { pool, reader })
    }
}

/// Lets a helper fill each part except the last, which the caller fills; there are enough of them.
fn share(from: Supply<'_>, helpers: &mut [Helper], own: &mut Reader, parts: &mut [SlotPart<'_>]) {
    match (helpers.split_first_mut(), parts.split_first_mut()) {
        (Some((Helper { pool, reader }, helpers)), Some((part, rest))) if !rest.is_empty() => {
            // One thread takes a step, so there is no contention for the lock.
            let part = Mutex::new((reader, part));
            let step = |_| {
                let (reader, part) = &mut *part.lock();
                part.fill(from, reader);
                Step::Done
            };
            pool.run(step, || share(from, helpers, own, rest));
        }
        _ => parts.iter_mut().for_each(|part| part.fill(from, own)),
    }
}

impl SlotPart<'_> {
    fn fill(&mut self, from: Supply<'_>, reader: &mut Reader) {
        let _reading = timeline::begin(timeline::Kind::Read);
        self.read = self.read(from.ranged, reader);
    }

    fn read(&mut self, ranged: &Ranged, reader: &mut Reader) -> Result<()> {
        let end = self.start + self.slot.len();
        let first = self.pieces.partition_point(|piece| piece.place.end <= self.start);
        for Lying { place, file, offset } in &self.pieces[first..] {
            let (from, to) = (place.start.max(self.start), place.end.min(end));
            if from >= to {
                break;
            }
            let into = &mut self.slot[from - self.start..to - self.start];
            reader.read_into(ranged, *file, offset + (from - place.start) as u64, into)?;
        }
        Ok(())
    }
}

impl Supply<'_> {
    /// Returns where the records of splits come to lie in a slot of `slot_bytes`. Reads only around the borders of
    /// records.
    fn places(self, reader: &mut Reader, splits: &Range<u64>, slot_bytes: usize) -> Result<Filled> {
        let _reading = timeline::begin(timeline::Kind::Read);
        let Supply { ranged, cut } = self;
        let (mut pieces, mut rest, mut used) = (Vec::<Lying>::new(), splits.clone(), 0_usize);
        while rest.start < rest.end {
            let part = part_of(ranged, &rest, u64::MAX - rest.start);
            rest.start = part.end;
            for extent in ranged.layout.extents(part) {
                let Some(records) = reader.records_of(ranged, &extent, cut)? else { continue };
                let (file, offset, bytes) =
                    (extent.file, records.start, records.end - records.start);
                let follows = |last: &&mut Lying| {
                    (last.file, last.offset + last.place.len() as u64) == (file, offset)
                };
                let last = pieces.last_mut().filter(follows);
                let start =
                    if last.is_some() { used } else { used.next_multiple_of(Piece::ALIGNMENT) };
                let end = usize::try_from(bytes).ok().and_then(|bytes| start.checked_add(bytes));
                let Some(end) = end.filter(|&end| end <= slot_bytes) else {
                    return Ok(Filled::NoRoom { file, offset });
                };
                used = end;
                match last {
                    Some(last) => last.place.end = end,
                    None => pieces.push(Lying { place: start..end, file, offset }),
                }
            }
        }
        Ok(Filled::Pieces(pieces))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::Input;
    use crate::memory::Budget;
    use crate::plan::{Cutting, Part, Plan, Reads};
    use std::fs;

    /// Returns the pieces in a slot that is filled by a number of threads, and the bytes of each.
    fn filled(
        ranged: &Ranged,
        cut: &Cut,
        splits: &Range<u64>,
        feeders: usize,
    ) -> Vec<(usize, u64, Vec<u8>)> {
        let blocks = BlockPool::new(Budget::new(None));
        let mut threads = Feeders::new(&blocks, "device-0".to_owned()).unwrap();
        let mut slot = vec![b'?'; 1 << 20];
        let filled = threads.fill(ranged, cut, splits, &mut slot, feeders).unwrap();
        let Filled::Pieces(pieces) = filled else { panic!("there is room") };
        let bytes = |lying: Lying| {
            assert!(lying.place.start.is_multiple_of(Piece::ALIGNMENT));
            (lying.file, lying.offset, slot[lying.place].to_vec())
        };
        pieces.into_iter().map(bytes).collect()
    }

    #[test]
    fn a_slot_has_the_records_of_its_splits_whoever_reads_them() {
        let folder = tempfile::tempdir().unwrap();
        // Around the borders of pages and splits, of lines that do not end there.
        let lengths = [0, 1, 4095, 4096, 4097, 8191, 65_536, 100_003, 262_145];
        let line = |number: usize| format!("{}\n", "x".repeat(number * number % 211));
        let text: String = (0..5000).map(line).collect();
        let files: Vec<Vec<u8>> =
            lengths.iter().map(|&bytes| text.as_bytes()[..bytes].to_vec()).collect();
        let paths: Vec<_> =
            (0..files.len()).map(|at| folder.path().join(format!("{at}"))).collect();
        paths.iter().zip(&files).for_each(|(path, bytes)| fs::write(path, bytes).unwrap());
        for (cut, split_bytes) in [(Cut::Lines, 4096), (Cut::Lines, 30_000), (Cut::Fixed(1), 4096)]
        {
            let reads = Reads::Cached;
            let (tile_bytes, unit_bytes) = (50_000, split_bytes);
            let cutting = Cutting { tile_bytes, split_bytes, unit_bytes, reads, skip_torn: false };
            let plan = Plan::new(Input::paths(&paths).unwrap(), cut, cutting).unwrap();
            let [Part::Ranged(ranged)] = &plan.parts[..] else { panic!("files as they are") };
            let end = ranged.layout.splits();
            for feeders in [1, 2, 5, 40] {
                let all = filled(ranged, &plan.cut, &(0..end), feeders);
                let expected = files.iter().enumerate().filter(|(_, bytes)| !bytes.is_empty());
                assert!(
                    all.iter()
                        .map(|(file, offset, bytes)| (*file, *offset, bytes))
                        .eq(expected.map(|(file, bytes)| (file, 0, bytes)))
                );
                // In two halves each record is in one.
                let halves = [0..end / 2, end / 2..end];
                let halves = halves.map(|half| filled(ranged, &plan.cut, &half, feeders));
                let mut whole = vec![Vec::new(); files.len()];
                for (file, offset, bytes) in halves.into_iter().flatten() {
                    assert_eq!(whole[file].len() as u64, offset);
                    whole[file].extend(bytes);
                }
                assert!(whole == files, "{feeders} threads");
            }
        }
    }

    #[test]
    fn a_thread_that_was_refused_is_not_asked_for_again() {
        // Readers take a little more than they read at a time.
        let budget = |readers: u64| Budget::new(Some(readers * READ_BYTES * 3 / 2));
        let feeders_of = |readers| {
            let blocks = BlockPool::new(budget(readers));
            let mut feeders = Feeders::new(&blocks, "device-0".to_owned()).unwrap();
            feeders.grow(4);
            feeders
        };
        let mut few = feeders_of(2);
        let most = few.most().unwrap();
        assert!(most < 4 && few.refused().is_some_and(|why| why.contains("memory")));
        // Though there is room again.
        few.helpers.clear();
        few.grow(4);
        assert_eq!(few.most(), Some(1));
        let enough = feeders_of(20);
        assert_eq!((enough.most(), enough.helpers.len()), (None, 3));
    }
}

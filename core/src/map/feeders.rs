//! The threads that fill a device's slots. Each reads the records of a part of a unit's splits into its own part of
//! the slot; one is the device's thread, the others help it from unit to unit.
//! Takes splits and a slot; hands on where in it records lie. Records belong to the split in which they begin, so
//! each is in one part.

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
/// Alignment of parts, which is that of pieces.
const ALIGNMENT: usize = Piece::ALIGNMENT;

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

/// A part of a slot, and the splits to be read into it.
struct SlotPart<'s> {
    splits: Range<u64>,
    slot: &'s mut [u8],
    /// Where it begins in the whole.
    start: usize,
    filled: Result<Filled>,
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
        let (from, count) = (Supply { ranged, cut }, splits.end - splits.start);
        let parts = (feeders as u64).min(self.helpers.len() as u64 + 1).min(count).max(1);
        if parts > 1 {
            // Records that do not fit in one part may fit in the whole.
            match self.fill_parts(from, splits, slot, parts)? {
                Filled::NoRoom { .. } => {}
                filled @ Filled::Pieces(_) => return Ok(filled),
            }
        }
        from.fill(&mut self.own, splits, slot, 0)
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

    fn fill_parts(
        &mut self,
        from: Supply<'_>,
        splits: &Range<u64>,
        slot: &mut [u8],
        count: u64,
    ) -> Result<Filled> {
        // Each has room for its splits and an even part of the spare room.
        let split_bytes = from.ranged.layout.split_bytes() as usize;
        let all = splits.end - splits.start;
        let Some(spare) = slot.len().checked_sub(all as usize * split_bytes) else {
            return from.fill(&mut self.own, splits, slot, 0);
        };
        let spare = spare / count as usize / ALIGNMENT * ALIGNMENT;
        let (mut rest, mut start, mut parts) = (slot, 0, Vec::new());
        for number in 0..count {
            let [first, end] = [number, number + 1].map(|part| splits.start + all * part / count);
            let bytes = ((end - first) as usize * split_bytes + spare) / ALIGNMENT * ALIGNMENT;
            let (slot, after) = rest.split_at_mut(bytes.min(rest.len()));
            rest = after;
            let filled = Ok(Filled::Pieces(Vec::new()));
            parts.push(SlotPart { splits: first..end, slot, start, filled });
            start += bytes;
        }
        share(from, &mut self.helpers, &mut self.own, &mut parts);
        let mut pieces = Vec::new();
        for part in parts {
            match part.filled? {
                Filled::Pieces(more) => pieces.extend(more),
                no_room @ Filled::NoRoom { .. } => return Ok(no_room),
            }
        }
        Ok(Filled::Pieces(pieces))
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
        self.filled = from.fill(reader, &self.splits, self.slot, self.start);
    }
}

impl Supply<'_> {
    /// Reads the records of splits into a slot, which begins at `base` of the whole.
    fn fill(
        self,
        reader: &mut Reader,
        splits: &Range<u64>,
        slot: &mut [u8],
        base: usize,
    ) -> Result<Filled> {
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
                let start = if last.is_some() { used } else { used.next_multiple_of(ALIGNMENT) };
                let end = usize::try_from(bytes).ok().and_then(|bytes| start.checked_add(bytes));
                let Some(place) = end.and_then(|end| slot.get_mut(start..end)) else {
                    return Ok(Filled::NoRoom { file, offset });
                };
                used = start + place.len();
                reader.read_into(ranged, file, offset, place)?;
                match last {
                    Some(last) => last.place.end = base + used,
                    None => {
                        let place = base + start..base + used;
                        pieces.push(Lying { place, file, offset });
                    }
                }
            }
        }
        Ok(Filled::Pieces(pieces))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Budget;

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

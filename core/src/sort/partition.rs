//! The partition pass: workers take splits, find the range of each record, and put the records into
//! their own piles, range by range.
//!
//! Each group of workers has a queue of tiles, and steals whole tiles from others (Ostrich, section 5.2). A worker is
//! given the splits of a queue in ascending order, so that a range is merged from one run of each pile; a stolen tile
//! that lies before the last one begins another run.

use super::originals::{Originals, PLACE_BYTES, place_in};
use super::records::{Form, Kind};
use super::saving::{Keeper, Saving};
use super::source::{Place, Section, Source, Spool};
use super::splitters::{LANES, SplitView, Splitters};
use super::store::{Pile, PileSize, RangeRows};
use crate::core::Core;
use crate::coverage::{ALL_FILES, Ranges};
use crate::error::Result;
use crate::failure::Failure;
use crate::ingest::{AheadTotals, Feed, Intake, Reader};
use crate::map::hand_out;
use crate::map::spread::{Homecoming, Spread};
use crate::plan::{Plan, Ranged};
use crate::progress::Progress;
use crate::schedule::{HandOut, PerWorker, Step, for_each};
use crate::sizing::Units;
use crate::storage::Scratch;
use crate::unit::Unit;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

const STAGE: &str = "the map stage";
/// Bytes that a worker takes together, at most, in terms of the bytes that it reads at a time at first: then their
/// records in a range are one segment, and a range is merged from fewer.
const STRETCH_UNITS_MOST: u64 = 16;
/// Stretches for each worker, at least, so that all end at about the same time.
const STRETCHES_PER_WORKER: u64 = 16;

pub(super) struct PartitionPass<'r> {
    pub(super) core: &'r Core,
    pub(super) form: &'r Form,
    pub(super) source: &'r Source<'r>,
    pub(super) splitters: &'r Splitters,
    pub(super) scratch: &'r Arc<Scratch>,
    pub(super) pile_size: PileSize,
    pub(super) plan: &'r Plan,
    pub(super) saving: Option<&'r Saving>,
    /// Set if piles keep the places of records.
    pub(super) originals: Option<&'r Originals>,
    /// What a worker reads at a time.
    pub(super) units: &'r Units,
    /// Whether a worker begins the next tile while others are at the last one.
    pub(super) overlaps: bool,
    pub(super) ahead_bytes: u64,
    pub(super) failure: &'r Failure,
    pub(super) progress: &'r Progress,
}

/// A worker's way into the ranges.
pub(super) struct Scatter<'r> {
    pub(super) form: &'r Form,
    pub(super) view: SplitView<'r>,
    pub(super) pile: Pile,
    /// The stretch that it is in.
    pub(super) stretch: u32,
    /// What was taken together last: its number.
    pub(super) taken: u64,
    /// Set if the pile is saved.
    pub(super) keeper: Option<Keeper<'r>>,
}

/// What a pile gets of a record.
trait Piling {
    fn append(&self, pile: &mut Pile, range: u32, stretch: u32, record: &[u8]) -> Result<()>;

    /// Appends a line without its newline.
    fn append_unended(&self, pile: &mut Pile, range: u32, stretch: u32, line: &[u8]) -> Result<()>;
}

/// The record.
struct Whole;

/// The place of the record.
struct Placed<'o> {
    originals: &'o Originals,
    /// The first of the bytes that the records are in, and its place.
    first: *const u8,
    at: u64,
}

impl Piling for Whole {
    #[inline(always)]
    fn append(&self, pile: &mut Pile, range: u32, stretch: u32, record: &[u8]) -> Result<()> {
        pile.append(range, stretch, record)
    }

    fn append_unended(&self, pile: &mut Pile, range: u32, stretch: u32, line: &[u8]) -> Result<()> {
        pile.append(range, stretch, &[line, b"\n"].concat())
    }
}

impl Placed<'_> {
    #[inline(always)]
    fn of(&self, record: &[u8]) -> Result<[u8; PLACE_BYTES]> {
        let offset = record.as_ptr().addr() - self.first.addr();
        Ok(self.originals.note(self.at + offset as u64, record.len())?.to_ne_bytes())
    }
}

impl Piling for Placed<'_> {
    #[inline(always)]
    fn append(&self, pile: &mut Pile, range: u32, stretch: u32, record: &[u8]) -> Result<()> {
        pile.append_as(range, stretch, &self.of(record)?, record.len())
    }

    fn append_unended(&self, pile: &mut Pile, range: u32, stretch: u32, line: &[u8]) -> Result<()> {
        pile.append_as(range, stretch, &self.of(line)?, line.len() + 1)
    }
}

impl<'r> PartitionPass<'r> {
    /// Reads all of the source, and returns the records of each range.
    pub(super) fn run(&self) -> Result<(Vec<RangeRows>, AheadTotals, Spread)> {
        let workers = PerWorker::new(self.core.pool().workers());
        let (mut ahead, mut spread) = (AheadTotals::default(), Spread::default());
        for (first, section) in self.source.sections() {
            match section {
                Section::Ranged(ranged) => {
                    let ends: Vec<u64> = ranged.layout.tile_ends().collect();
                    let together = if self.overlaps { ends.len() } else { 1 };
                    let mut start = 0;
                    for ends in ends.chunks(together.max(1)) {
                        let hand_out = self.hand_out(ranged, start, ends);
                        let put = (first, start, &workers);
                        ahead.add(self.partition_ranged(ranged, hand_out, put, &mut spread)?);
                        start = ends.last().copied().unwrap_or(start);
                    }
                }
                Section::Spool(spool) => self.partition_spool(first, spool, &workers)?,
            }
        }
        let mut ranges = Vec::new();
        ranges.resize_with(self.splitters.ranges(), RangeRows::default);
        for mut out in workers.into_values() {
            if let Some(keeper) = &mut out.keeper {
                keeper.end(&mut out.pile)?;
            }
            out.pile.close(&mut ranges);
        }
        self.saving.map_or(Ok(()), |saving| saving.restore(&mut ranges))?;
        Ok((ranges, ahead, spread))
    }

    /// Returns the number of these splits, of so many bytes, that a worker takes together.
    fn together(&self, splits: u64, bytes: u64) -> u64 {
        let workers = self.core.pool().workers() as u64;
        let most = (STRETCH_UNITS_MOST * self.plan.unit_bytes / bytes).max(1);
        (splits / (workers * STRETCHES_PER_WORKER)).clamp(1, most)
    }

    /// Hands out tiles that end at `ends`, from split `start` on, without what was found in the state.
    fn hand_out(&self, ranged: &Ranged, start: u64, ends: &[u64]) -> HandOut<'r> {
        let nothing = Ranges::default();
        let found = self.saving.and_then(|saving| saving.coverage().of(ranged.number, ALL_FILES));
        let ends: Vec<u64> = ends.iter().map(|end| end - start).collect();
        hand_out(&ends, start, found.unwrap_or(&nothing), self.core.placement())
    }

    /// Puts splits of a part, whose first has the number `first` in the input, into ranges; the hand-out counts from
    /// `start`.
    fn partition_ranged(
        &self,
        ranged: &Ranged,
        hand_out: HandOut<'_>,
        (first, start, workers): (u64, u64, &PerWorker<Scatter<'r>>),
        spread: &mut Spread,
    ) -> Result<AheadTotals> {
        let (source, core) = (self.source, self.core);
        let split_bytes = self.plan.split_bytes;
        let stretch = self.together(ranged.layout.splits(), split_bytes);
        let stretch = Units::of(stretch, split_bytes);
        let means = source.means(core, self.failure);
        let feed = Feed::new(means, ranged, hand_out, start, &stretch);
        let feed = feed.within(self.ahead_bytes).ascending();
        // So that what is read is in the cache when its records are moved.
        let intake = Intake::ranged(means, &feed).in_units(self.units);
        let homecoming = Homecoming::new(core.pool().workers());
        let step = |index| {
            let step = intake.step(index, &|unit: &mut Unit| {
                let splits = unit.splits.clone();
                workers.with(
                    index,
                    || Ok(self.scatter()),
                    |out| {
                        let began = Instant::now();
                        out.turn_to(first + unit.splits.start, first + unit.stretch)?;
                        let mut bytes = 0;
                        for piece in &unit.pieces {
                            let records = &unit.buffer.bytes()[piece.records.clone()];
                            bytes += records.len() as u64;
                            match self.originals {
                                Some(originals) => {
                                    let at =
                                        originals.place_of(ranged.number, piece.file, piece.offset);
                                    self.add(
                                        out,
                                        records,
                                        &Placed { originals, at, first: records.as_ptr() },
                                    )?;
                                }
                                None => self.add(out, records, &Whole)?,
                            }
                        }
                        // A save says nothing about the size of units.
                        unit.mapping = began.elapsed();
                        out.keep((ranged.number, ALL_FILES, splits.clone()), bytes)
                    },
                )
            });
            if step == Step::Done {
                homecoming.is_home(index);
            }
            step
        };
        let ahead = intake.run(step, |oversee| oversee())?.ahead;
        spread.add(feed.hand_out(), homecoming);
        Ok(ahead)
    }

    fn partition_spool(
        &self,
        first: u64,
        spool: &Spool,
        workers: &PerWorker<Scatter<'r>>,
    ) -> Result<()> {
        let Spool { part, splits } = spool;
        let split_bytes = self.source.spooled_split_bytes();
        let together = self.together(splits.len() as u64, split_bytes) as usize;
        let (pool, count) = (self.core.pool(), splits.len().div_ceil(together));
        let readers = PerWorker::new(pool.workers());
        for_each(pool, self.failure, STAGE, count, |index, taken| {
            let start = taken * together;
            let numbers = start..(start + together).min(splits.len());
            let scatter = |out: &mut Scatter<'r>, reader: &mut Reader| {
                let mut stretch = first + start as u64;
                for number in numbers {
                    let (mut split, at) = (splits[number].lock(), first + number as u64);
                    if split.is_found {
                        // What comes after it is another stretch.
                        stretch = at + 1;
                        continue;
                    }
                    out.turn_to(at, stretch)?;
                    let add = |records: &[u8]| self.add(out, records, &Whole);
                    let bytes = split.read(reader, self.scratch, add)?;
                    let Place { file, split } = split.place;
                    out.keep((*part, file, split..split + 1), bytes)?;
                }
                Ok(())
            };
            readers.with(
                index,
                || Reader::new(self.core.blocks(), self.plan.unit_bytes),
                |reader| workers.with(index, || Ok(self.scatter()), |out| scatter(out, reader)),
            )
        })
    }

    fn scatter(&self) -> Scatter<'r> {
        let (blocks, ranges) = (self.core.blocks(), self.splitters.ranges());
        Scatter {
            form: self.form,
            view: self.splitters.view(0, self.form.reverse),
            pile: Pile::new(blocks, self.scratch, ranges, self.pile_size),
            stretch: 0,
            taken: u64::MAX,
            keeper: self.saving.map(Saving::keeper),
        }
    }

    fn add(&self, out: &mut Scatter<'r>, records: &[u8], piling: &impl Piling) -> Result<()> {
        out.add_as(out.stretch, records, piling)?;
        self.progress.add_bytes(records.len() as u64);
        Ok(())
    }
}

impl Scatter<'_> {
    /// Turns to a split, which was taken together with others: a stretch. It ends where it is saved, because a state may
    /// have the piece of its second half and not that of its first; what follows is a stretch of its own.
    fn turn_to(&mut self, split: u64, taken: u64) -> Result<()> {
        self.view.turn_to(split as u32);
        let goes_on = self.keeper.as_ref().is_none_or(Keeper::holds_records);
        if taken == self.taken && goes_on {
            return Ok(());
        }
        if (split as u32) < self.stretch {
            // What is saved together ascends.
            if let Some(keeper) = &mut self.keeper {
                keeper.save(&mut self.pile)?;
            }
            self.pile.begin_run();
        }
        (self.stretch, self.taken) = (split as u32, taken);
        Ok(())
    }

    /// Notes that splits of a part, or of one of its files, are in their ranges, and saves them when it is time.
    fn keep(&mut self, splits: (usize, u64, Range<u64>), bytes: u64) -> Result<()> {
        let Some(keeper) = &mut self.keeper else { return Ok(()) };
        keeper.mapped(splits, self.stretch, bytes);
        keeper.save_if_due(&mut self.pile, bytes)
    }

    /// Puts records of the present split into their ranges' rows, as of a stretch of the input.
    pub(super) fn add(&mut self, stretch: u32, records: &[u8]) -> Result<()> {
        self.add_as(stretch, records, &Whole)
    }

    fn add_as(&mut self, stretch: u32, records: &[u8], piling: &impl Piling) -> Result<()> {
        match self.form.kind {
            Kind::Fixed(size) => self.add_fixed(stretch, size, records, piling),
            Kind::Lines => self.add_lines(stretch, records, piling),
            Kind::Pairs => self.add_pairs(stretch, records),
        }
    }

    /// Puts the places of records into the rows of the records' ranges.
    pub(super) fn add_placed(
        &mut self,
        stretch: u32,
        places: &[u8],
        originals: &Originals,
    ) -> Result<()> {
        let Scatter { form, view, pile, .. } = self;
        let mut record = Vec::new();
        for place in places.chunks_exact(PLACE_BYTES) {
            originals.read(place_in(place), form, &mut record);
            pile.append_as(view.range_of(form.key(&record)), stretch, place, record.len())?;
        }
        Ok(())
    }

    fn add_pairs(&mut self, stretch: u32, mut pairs: &[u8]) -> Result<()> {
        let Scatter { form, view, pile, .. } = self;
        let mut batch = [&[][..]; LANES];
        while !pairs.is_empty() {
            let mut count = 0;
            while count < LANES && !pairs.is_empty() {
                batch[count] = form.first(pairs);
                pairs = &pairs[batch[count].len()..];
                count += 1;
            }
            if count < LANES {
                for record in &batch[..count] {
                    pile.append(view.range_of(form.key(record)), stretch, record)?;
                }
                return Ok(());
            }
            let ranges = view.ranges_of(|lane| form.key(batch[lane]));
            for (range, record) in ranges.into_iter().zip(batch) {
                pile.append(range, stretch, record)?;
            }
        }
        Ok(())
    }

    fn add_fixed(
        &mut self,
        stretch: u32,
        size: usize,
        records: &[u8],
        piling: &impl Piling,
    ) -> Result<()> {
        let Scatter { form, view, pile, .. } = self;
        let batches = records.chunks_exact(LANES * size);
        for batch in batches.clone() {
            let record = |lane: usize| &batch[lane * size..(lane + 1) * size];
            let ranges = view.ranges_of(|lane| form.key(record(lane)));
            for (lane, range) in ranges.into_iter().enumerate() {
                piling.append(pile, range, stretch, record(lane))?;
            }
        }
        for record in batches.remainder().chunks_exact(size) {
            piling.append(pile, view.range_of(form.key(record)), stretch, record)?;
        }
        Ok(())
    }

    fn add_lines(&mut self, stretch: u32, lines: &[u8], piling: &impl Piling) -> Result<()> {
        let Scatter { form, view, pile, .. } = self;
        let mut ends = memchr::memchr_iter(b'\n', lines).map(|newline| newline + 1);
        let mut borders = [0; LANES + 1];
        loop {
            let mut count = 0;
            for end in ends.by_ref().take(LANES) {
                count += 1;
                borders[count] = end;
            }
            let line = |lane: usize| &lines[borders[lane]..borders[lane + 1]];
            if count < LANES {
                for lane in 0..count {
                    let range = view.range_of(form.key(line(lane)));
                    piling.append(pile, range, stretch, line(lane))?;
                }
                let rest = &lines[borders[count]..];
                if !rest.is_empty() {
                    let range = view.range_of(form.key(rest));
                    piling.append_unended(pile, range, stretch, rest)?;
                }
                return Ok(());
            }
            let ranges = view.ranges_of(|lane| form.key(line(lane)));
            for (lane, range) in ranges.into_iter().enumerate() {
                piling.append(pile, range, stretch, line(lane))?;
            }
            borders[0] = borders[LANES];
        }
    }
}

//! The partition pass: workers take splits, find the range of each record, and put the records into
//! their own piles, range by range.
//!
//! A pile needs the input in ascending order. So the splits are handed out in one order to all groups
//! of workers, which costs nothing: no group is nearer to a file, and piles are each worker's own.

use super::records::{Form, Kind};
use super::source::{Section, Source, Spooled};
use super::splitters::{LANES, SplitView, Splitters};
use super::store::{Pile, PileSize, RangeRows};
use crate::core::Core;
use crate::error::Result;
use crate::failure::Failure;
use crate::ingest::{AheadTotals, Feed, Intake, Reader};
use crate::plan::Ranged;
use crate::progress::Progress;
use crate::schedule::{HandOut, PerWorker, Placement, for_each};
use crate::sizing::Units;
use crate::storage::Scratch;
use crate::sync::Mutex;
use crate::unit::Unit;
use std::sync::Arc;

const STAGE: &str = "the map stage";
/// Splits that a worker takes together, at most: then their records in a range are one segment, and a
/// range is merged from fewer.
const STRETCH_SPLITS_MOST: u64 = 16;
/// Stretches for each worker, at least, so that all end at about the same time.
const STRETCHES_PER_WORKER: u64 = 16;

pub(super) struct PartitionPass<'r> {
    pub(super) core: &'r Core,
    pub(super) form: &'r Form,
    pub(super) source: &'r Source<'r>,
    pub(super) splitters: &'r Splitters,
    pub(super) scratch: &'r Arc<Scratch>,
    pub(super) pile_size: PileSize,
    pub(super) split_bytes: u64,
    pub(super) ahead_bytes: u64,
    pub(super) failure: &'r Failure,
    pub(super) progress: &'r Progress,
}

/// A worker's way into the ranges.
pub(super) struct Scatter<'r> {
    pub(super) form: &'r Form,
    pub(super) view: SplitView<'r>,
    pub(super) pile: Pile,
}

impl<'r> PartitionPass<'r> {
    /// Reads all of the source, and returns the records of each range.
    pub(super) fn run(&self) -> Result<(Vec<RangeRows>, AheadTotals)> {
        let workers = PerWorker::new(self.core.pool().workers());
        let mut ahead = AheadTotals::default();
        for (first, section) in self.source.sections() {
            match section {
                Section::Ranged(ranged) => {
                    ahead.add(self.partition_ranged(first, ranged, &workers)?);
                }
                Section::Spool(blocks) => self.partition_spool(first, blocks, &workers)?,
            }
        }
        let mut ranges = Vec::new();
        ranges.resize_with(self.splitters.ranges(), RangeRows::default);
        workers.into_values().for_each(|out| out.pile.close(&mut ranges));
        Ok((ranges, ahead))
    }

    /// Returns the number of these splits that a worker takes together.
    fn together(&self, splits: u64) -> u64 {
        let workers = self.core.pool().workers() as u64;
        (splits / (workers * STRETCHES_PER_WORKER)).clamp(1, STRETCH_SPLITS_MOST)
    }

    fn partition_ranged(
        &self,
        first: u64,
        ranged: &Ranged,
        workers: &PerWorker<Scatter<'r>>,
    ) -> Result<AheadTotals> {
        let (source, core) = (self.source, self.core);
        let flat = Placement::flat(core.pool().workers());
        let hand_out = HandOut::new(ranged.layout.tile_ends(), &flat);
        let units = Units::of(self.together(ranged.layout.splits()), self.split_bytes);
        let means = source.means(core, self.failure);
        let feed = Feed::new(means, ranged, hand_out, 0, &units);
        let feed = feed.within(self.ahead_bytes).ascending();
        // One by one, so that each split is in the cache when its records are moved.
        let intake = Intake::ranged(means, &feed).singly();
        let step = |index| {
            intake.step(index, &|unit: &mut Unit| {
                workers.with(
                    index,
                    || Ok(self.scatter()),
                    |out| {
                        out.view.turn_to((first + unit.splits.start) as u32);
                        let stretch = first + unit.stretch;
                        unit.records().try_for_each(|records| self.add(out, stretch, records))
                    },
                )
            })
        };
        Ok(intake.run(step, |oversee| oversee())?.ahead)
    }

    fn partition_spool(
        &self,
        first: u64,
        blocks: &[Mutex<Spooled>],
        workers: &PerWorker<Scatter<'r>>,
    ) -> Result<()> {
        let together = self.together(blocks.len() as u64) as usize;
        let (pool, count) = (self.core.pool(), blocks.len().div_ceil(together));
        let readers = PerWorker::new(pool.workers());
        for_each(pool, self.failure, STAGE, count, |index, stretch| {
            let start = stretch * together;
            let mut splits = start..(start + together).min(blocks.len());
            let stretch = first + start as u64;
            readers.with(
                index,
                || Reader::new(self.core.blocks(), self.split_bytes),
                |reader| {
                    let scatter = |out: &mut Scatter<'r>| {
                        splits.try_for_each(|split| {
                            Spooled::read(&blocks[split], reader, self.scratch, |records| {
                                out.view.turn_to((first + split as u64) as u32);
                                self.add(out, stretch, records)
                            })
                        })
                    };
                    workers.with(index, || Ok(self.scatter()), scatter)
                },
            )
        })
    }

    fn scatter(&self) -> Scatter<'r> {
        let (blocks, ranges) = (self.core.blocks(), self.splitters.ranges());
        Scatter {
            form: self.form,
            view: self.splitters.view(0, self.form.reverse),
            pile: Pile::new(blocks, self.scratch, ranges, self.pile_size),
        }
    }

    fn add(&self, out: &mut Scatter<'r>, stretch: u64, records: &[u8]) -> Result<()> {
        out.add(stretch as u32, records)?;
        self.progress.add_bytes(records.len() as u64);
        Ok(())
    }
}

impl Scatter<'_> {
    /// Puts records of the present split into their ranges' rows, as of a stretch of the input.
    pub(super) fn add(&mut self, stretch: u32, records: &[u8]) -> Result<()> {
        match self.form.kind {
            Kind::Fixed(size) => self.add_fixed(stretch, size, records),
            Kind::Lines => self.add_lines(stretch, records),
            Kind::Pairs => self.add_pairs(stretch, records),
        }
    }

    fn add_pairs(&mut self, stretch: u32, mut pairs: &[u8]) -> Result<()> {
        let Scatter { form, view, pile } = self;
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

    fn add_fixed(&mut self, stretch: u32, size: usize, records: &[u8]) -> Result<()> {
        let Scatter { form, view, pile } = self;
        let batches = records.chunks_exact(LANES * size);
        for batch in batches.clone() {
            let record = |lane: usize| &batch[lane * size..(lane + 1) * size];
            let ranges = view.ranges_of(|lane| form.key(record(lane)));
            for (lane, range) in ranges.into_iter().enumerate() {
                pile.append(range, stretch, record(lane))?;
            }
        }
        for record in batches.remainder().chunks_exact(size) {
            pile.append(view.range_of(form.key(record)), stretch, record)?;
        }
        Ok(())
    }

    fn add_lines(&mut self, stretch: u32, lines: &[u8]) -> Result<()> {
        let Scatter { form, view, pile } = self;
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
                    pile.append(view.range_of(form.key(line(lane))), stretch, line(lane))?;
                }
                let rest = &lines[borders[count]..];
                if !rest.is_empty() {
                    let range = view.range_of(form.key(rest));
                    pile.append(range, stretch, &[rest, b"\n"].concat())?;
                }
                return Ok(());
            }
            let ranges = view.ranges_of(|lane| form.key(line(lane)));
            for (lane, range) in ranges.into_iter().enumerate() {
                pile.append(range, stretch, line(lane))?;
            }
            borders[0] = borders[LANES];
        }
    }
}

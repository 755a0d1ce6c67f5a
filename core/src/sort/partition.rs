//! The partition pass: workers take splits, find the range of each record, and put the records into
//! their own piles, range by range.
//!
//! A pile needs the input in ascending order. So the splits are handed out in one order to all groups
//! of workers, which costs nothing: no group is nearer to a file, and piles are each worker's own.

use super::records::Form;
use super::source::{Section, Source, Spooled};
use super::splitters::{LANES, SplitView, Splitters};
use super::store::{Pile, PileSize, RangeRows};
use crate::core::Core;
use crate::error::Result;
use crate::failure::Failure;
use crate::ingest::{AheadTotals, Feed, Portion, Reader, SplitBuffer, Waits};
use crate::plan::Ranged;
use crate::progress::Progress;
use crate::schedule::{Cursor, HandOut, PerWorker, Placement, Step};
use crate::sizing::Units;
use crate::storage::Scratch;
use crate::sync::Mutex;
use std::ops::Range;

const STAGE: &str = "the map stage";
/// Splits that a worker takes together, at most: then their records in a range are one segment, and a
/// range is merged from fewer.
const STRETCH_SPLITS_MOST: u64 = 16;
/// Stretches for each worker, at least, so that all end at about the same time.
const STRETCHES_PER_WORKER: u64 = 16;

pub(super) struct PartitionPass<'r, 's> {
    pub(super) core: &'r Core,
    pub(super) form: &'r Form,
    pub(super) source: &'r Source<'r>,
    pub(super) splitters: &'r Splitters,
    pub(super) scratch: &'s Scratch,
    pub(super) pile_size: PileSize,
    pub(super) split_bytes: u64,
    /// Memory for what is read ahead.
    pub(super) ahead_bytes: u64,
    pub(super) failure: &'r Failure,
    pub(super) progress: &'r Progress,
}

struct Worker<'r, 's> {
    reader: Reader,
    waits: Option<Waits>,
    out: Scatter<'r, 's>,
}

/// Where a worker's records go.
struct Scatter<'r, 's> {
    form: &'r Form,
    view: SplitView<'r>,
    pile: Pile<'s>,
    progress: &'r Progress,
}

impl<'r, 's> PartitionPass<'r, 's> {
    /// Reads all of the source, and returns what came into each range.
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
        workers.into_values().for_each(|worker| worker.out.pile.close(&mut ranges));
        Ok((ranges, ahead))
    }

    /// How many of these splits a worker takes together.
    fn together(&self, splits: u64) -> u64 {
        let workers = self.core.pool().workers() as u64;
        (splits / (workers * STRETCHES_PER_WORKER)).clamp(1, STRETCH_SPLITS_MOST)
    }

    fn partition_ranged(
        &self,
        first: u64,
        ranged: &Ranged,
        workers: &PerWorker<Worker<'r, 's>>,
    ) -> Result<AheadTotals> {
        let (pool, failure, cut) = (self.core.pool(), self.failure, self.source.cut());
        let splits = ranged.layout.splits();
        let flat = Placement::flat(pool.workers());
        let hand_out = HandOut::new(ranged.layout.tile_ends(), &flat);
        let units = Units::of(self.together(splits), self.split_bytes);
        let feed = Feed::new(ranged, cut, hand_out, 0, &units, self.core.blocks(), pool.workers())
            .within(self.ahead_bytes)
            .ascending();
        let step = |index| match feed.next(index) {
            _ if failure.stops() => Step::Done,
            Portion::End => Step::Done,
            Portion::Wait => Step::Idle,
            Portion::Own(splits) => {
                let stretch = first + splits.start;
                // One by one, for each is to be in the cache when its records are moved.
                let mut done = splits.map(|split| {
                    self.attempt(index, first + split, workers, |worker| {
                        let Worker { reader, waits, out } = worker;
                        feed.read_own(split..split + 1, reader, waits)?;
                        out.scatter(stretch, first + split, &reader.read)
                    })
                });
                if done.all(|done| done) { Step::More } else { Step::Done }
            }
            Portion::Read(load) => {
                let stretch = first + load.splits.start;
                let done = self.attempt(index, stretch, workers, |worker| {
                    worker.out.scatter(stretch, stretch, &load.bytes)
                });
                feed.give_back(load.bytes);
                if done { Step::More } else { Step::Done }
            }
        };
        let ahead = pool.run(step, || feed.oversee(failure, pool));
        failure.check()?;
        Ok(ahead)
    }

    fn partition_spool(
        &self,
        first: u64,
        blocks: &[Mutex<Spooled>],
        workers: &PerWorker<Worker<'r, 's>>,
    ) -> Result<()> {
        let together = self.together(blocks.len() as u64) as usize;
        let cursor = Cursor::new(blocks.len().div_ceil(together) as u64);
        let step = |index| {
            let Some(stretch) = cursor.take() else { return Step::Done };
            let start = stretch as usize * together;
            let splits: Range<usize> = start..(start + together).min(blocks.len());
            let stretch = first + start as u64;
            let mut done = splits.map(|split| {
                let number = first + split as u64;
                self.attempt(index, number, workers, |worker| {
                    let Worker { reader, out, .. } = worker;
                    Spooled::read(&blocks[split], reader, self.scratch, |records| {
                        out.turn_to(number);
                        out.add(stretch, records)
                    })
                })
            });
            if done.all(|done| done) { Step::More } else { Step::Done }
        };
        self.core.pool().run(step, || ());
        self.failure.check()
    }

    /// Does a split's work with a worker's own things; returns whether to go on.
    fn attempt(
        &self,
        index: usize,
        split: u64,
        workers: &PerWorker<Worker<'r, 's>>,
        work: impl FnOnce(&mut Worker<'r, 's>) -> Result<()>,
    ) -> bool {
        let attempt = || workers.with(index, || self.worker(), work);
        !self.failure.stops() && self.failure.attempt(split, STAGE, attempt).is_some()
    }

    fn worker(&self) -> Result<Worker<'r, 's>> {
        let (blocks, ranges) = (self.core.blocks(), self.splitters.ranges());
        let out = Scatter {
            form: self.form,
            view: self.splitters.view(0, self.form.reverse),
            pile: Pile::new(blocks, self.scratch, ranges, self.pile_size),
            progress: self.progress,
        };
        Ok(Worker { reader: Reader::new(blocks, self.split_bytes)?, waits: None, out })
    }
}

impl Scatter<'_, '_> {
    /// Puts away what was read from the split `split` on.
    fn scatter(&mut self, stretch: u64, split: u64, read: &SplitBuffer) -> Result<()> {
        self.turn_to(split);
        let SplitBuffer { buffer, pieces, .. } = read;
        pieces
            .iter()
            .try_for_each(|piece| self.add(stretch, &buffer.bytes()[piece.records.clone()]))
    }

    /// Says which split the next records are of.
    fn turn_to(&mut self, split: u64) {
        self.view.turn_to(split as u32);
    }

    fn add(&mut self, stretch: u64, records: &[u8]) -> Result<()> {
        scatter(self.form, records, stretch as u32, &self.view, &mut self.pile)?;
        self.progress.add_bytes(records.len() as u64);
        Ok(())
    }
}

/// Puts records of a split into their ranges' rows, as of a stretch of the input.
pub(super) fn scatter(
    form: &Form,
    records: &[u8],
    stretch: u32,
    view: &SplitView<'_>,
    pile: &mut Pile<'_>,
) -> Result<()> {
    match form.fixed {
        Some(size) => scatter_fixed(form, size, records, stretch, view, pile),
        None => scatter_lines(form, records, stretch, view, pile),
    }
}

fn scatter_fixed(
    form: &Form,
    size: usize,
    records: &[u8],
    stretch: u32,
    view: &SplitView<'_>,
    pile: &mut Pile<'_>,
) -> Result<()> {
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

fn scatter_lines(
    form: &Form,
    lines: &[u8],
    stretch: u32,
    view: &SplitView<'_>,
    pile: &mut Pile<'_>,
) -> Result<()> {
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

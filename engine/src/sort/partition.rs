//! The partition pass: workers read splits, find the range of each record, and put the records into
//! their own piles, range by range.

use super::records::Form;
use super::source::Source;
use super::splitters::{LANES, SplitView, Splitters};
use super::store::{Pile, PileSize, RangeRows};
use crate::engine::Core;
use crate::error::Result;
use crate::failure::Failure;
use crate::ingest::Reader;
use crate::progress::Progress;
use crate::schedule::{Cursor, PerWorker, Step};
use crate::storage::Scratch;

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
    pub(super) failure: &'r Failure,
    pub(super) progress: &'r Progress,
}

struct Worker<'r, 's> {
    reader: Reader,
    view: SplitView<'r>,
    pile: Pile<'s>,
}

impl<'r, 's> PartitionPass<'r, 's> {
    /// Reads all of the source, and returns what came into each range.
    pub(super) fn run(&self) -> Result<Vec<RangeRows>> {
        let (pool, failure, splits) = (self.core.pool(), self.failure, self.source.splits());
        let workers = PerWorker::new(pool.workers());
        let together =
            (splits / (pool.workers() as u64 * STRETCHES_PER_WORKER)).clamp(1, STRETCH_SPLITS_MOST);
        let cursor = Cursor::new(splits.div_ceil(together));
        let step = |index| {
            let Some(stretch) = (!failure.stops()).then(|| cursor.take()).flatten() else {
                return Step::Done;
            };
            for split in stretch * together..((stretch + 1) * together).min(splits) {
                let done = failure.attempt(split, "the map stage", || {
                    let work = |worker: &mut _| self.partition(stretch, split, worker);
                    workers.with(index, || self.worker(), work)
                });
                if done.is_none() || failure.stops() {
                    return Step::Done;
                }
            }
            Step::More
        };
        pool.run(step, || ());
        failure.check()?;
        let mut ranges = Vec::new();
        ranges.resize_with(self.splitters.ranges(), RangeRows::default);
        workers.into_values().for_each(|worker| worker.pile.close(&mut ranges));
        Ok(ranges)
    }

    fn worker(&self) -> Result<Worker<'r, 's>> {
        let (blocks, ranges) = (self.core.blocks(), self.splitters.ranges());
        Ok(Worker {
            reader: Reader::new(blocks, self.split_bytes)?,
            view: self.splitters.view(0, self.form.reverse),
            pile: Pile::new(blocks, self.scratch, ranges, self.pile_size),
        })
    }

    fn partition(&self, stretch: u64, split: u64, worker: &mut Worker<'r, 's>) -> Result<()> {
        let Worker { reader, view, pile } = worker;
        view.turn_to(split as u32);
        let mut bytes = 0;
        self.source.read(split, reader, self.scratch, |records| {
            bytes += records.len();
            scatter(self.form, records, stretch as u32, view, pile)
        })?;
        self.progress.add_bytes(bytes as u64);
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

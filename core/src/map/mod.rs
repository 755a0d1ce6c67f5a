//! The map stage: workers take splits, read each into their own cache, map it, combine its pairs in
//! their own tables, hand tables over to the job's partial, and compress the partial where it has
//! grown. Nothing is shared between workers but the counter of splits and the partial.

mod alone;
mod assignment;
mod devices;
mod feeders;
mod mapper;
mod spread;
mod worker;

use crate::aggregate::Aggregate;
use crate::bad::BadRecords;
use crate::codec::Supply;
use crate::container::Container;
use crate::device::{Accelerator, Alone};
use crate::error::{Error, Place, Result};
use crate::facts::JobFacts;
use crate::failure::{Failure, guard};
use crate::ingest::{AheadTotals, Feed, Next, Portion, StreamQueue, read_stream};
use crate::input::StreamSource;
use crate::memory::ChunkPool;
use crate::options::Pipeline;
use crate::partial::Partial;
use crate::plan::{Packed, Part, Plan, Ranged};
use crate::progress::Progress;
use crate::schedule::{Cursor, HandOut, PerWorker, Placement, Pool, Step};
use crate::show::Epochs;
use crate::sizing::{TableLimits, Units};
use crate::state::{ALL_FILES, Figures, Ranges, Saving};
use crate::stats::add_figures;
use assignment::Assignment;
use devices::{Crew, Left};
pub(crate) use mapper::{JobMappers, Mappers};
use spread::Homecoming;
pub(crate) use spread::Spread;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use worker::Worker;

/// Buffers of a stream per worker: one that is mapped and one that is filled meanwhile.
const STREAM_BUFFERS_PER_WORKER: usize = 2;

/// What the map stage needs to know of its run.
pub(crate) struct MapStage<'r, C: Aggregate> {
    pub(crate) facts: &'r JobFacts,
    /// Makes the workers' mappers: here the job's type ends.
    pub(crate) mappers: &'r dyn Mappers<C>,
    pub(crate) plan: &'r Plan,
    pub(crate) pool: &'r Pool,
    pub(crate) placement: &'r Placement,
    pub(crate) chunks: &'r Arc<ChunkPool>,
    pub(crate) partial: &'r Partial<C::Accumulator>,
    pub(crate) failure: &'r Failure,
    pub(crate) bad: &'r BadRecords,
    pub(crate) progress: &'r Progress,
    pub(crate) table_limits: TableLimits,
    pub(crate) pipeline: Pipeline,
    pub(crate) container: Container,
    /// Where partials are saved, if they are.
    pub(crate) saving: Option<&'r Saving<C>>,
    /// Where pairs go while shows are made, instead of the partial.
    pub(crate) epochs: Option<&'r Epochs<'r, C::Accumulator>>,
    /// Who works beside the cores.
    pub(crate) devices: &'r [Arc<Accelerator>],
    /// That the cores do nothing.
    pub(crate) alone: Option<Alone>,
}

/// What of the input comes before a part of it.
#[derive(Clone, Copy, Default)]
struct Before {
    files: u64,
    splits: u64,
}

/// What is learnt of reading and of who took what, from part to part.
struct Reading {
    units: Units,
    ahead: AheadTotals,
    spread: Spread,
}

/// The number of a file or split in the whole input.
fn numbered(before: u64, number: u64) -> Result<u32> {
    // The last number is taken: lists of values use it as a mark.
    let number = u32::try_from(before + number).ok().filter(|&number| number < u32::MAX);
    number.ok_or_else(|| {
        let cause = "more than 2^32 files or splits; give fewer files, or larger splits".to_owned();
        Error::Option { option: "split_bytes", cause }
    })
}

/// What the map stage did, summed over workers.
#[derive(Clone, Copy, Default)]
pub(crate) struct MapTotals {
    pub(crate) pairs: u64,
    pub(crate) pairs_handed_over: u64,
    pub(crate) bytes: u64,
    pub(crate) splits: u64,
    /// What workers took at a time in the end.
    pub(crate) unit_bytes: u64,
    /// Tiles of streams, which no plan can count.
    pub(crate) stream_tiles: u64,
    pub(crate) ingest: Duration,
    pub(crate) ahead: AheadTotals,
    pub(crate) hand_over: Duration,
    pub(crate) compress: Duration,
}

impl<'r, C: Aggregate> MapStage<'r, C> {
    /// Maps all of the plan's input into the partial.
    pub(crate) fn run(&'r self) -> Result<(MapTotals, Spread)> {
        let workers = PerWorker::new(self.pool.workers() + self.devices.len());
        let mut stream_tiles = 0;
        let (ahead, spread) = (AheadTotals::default(), Spread::default());
        let mut reading = Reading { units: self.units(), ahead, spread };
        let mut before = Before::default();
        self.check_alone()?;
        self.restore(&workers)?;
        for (number, part) in self.plan.parts.iter().enumerate() {
            match part {
                Part::Ranged(ranged) => {
                    self.map_ranged(ranged, before, &workers, &mut reading)?;
                    before.files += ranged.material.files() as u64;
                    before.splits += ranged.layout.splits();
                }
                Part::Packed(packed) => {
                    let bytes = self.map_packed(packed, before, &workers)?;
                    stream_tiles += bytes.div_ceil(self.plan.tile_bytes);
                    before.files += packed.files() as u64;
                    before.splits += packed.numbers_of_all();
                }
                Part::Stream(stream) => {
                    let (bytes, blocks) = self.map_stream(number, stream, before, &workers)?;
                    stream_tiles += bytes.div_ceil(self.plan.tile_bytes);
                    before.files += 1;
                    before.splits += blocks;
                }
            }
        }
        if let Some(saving) = self.saving {
            saving.end_of_maps()?;
        }
        self.each_worker(&workers, Worker::end)?;
        let mut totals = MapTotals {
            stream_tiles,
            ahead: reading.ahead,
            unit_bytes: reading.units.best_bytes(),
            ..MapTotals::default()
        };
        workers.into_values().for_each(|worker| totals.add(&worker.totals()));
        if let Some(saving) = self.saving {
            let Figures { bytes, splits, emitted: pairs } = saving.found().figures;
            totals.add(&MapTotals { bytes, splits, pairs, ..MapTotals::default() });
        }
        Ok((totals, reading.spread))
    }

    /// Takes in what a run before this one has saved, snapshot by snapshot on all workers.
    fn restore(&'r self, workers: &PerWorker<Worker<'r, C>>) -> Result<()> {
        let Some(saving) = self.saving else { return Ok(()) };
        let found = saving.found();
        let cursor = Cursor::new(found.takings.len() as u64);
        self.serve(|index| match cursor.take() {
            None => Step::Done,
            Some(number) => self.step(index, number, workers, |worker| {
                worker.restore(saving, &found.takings[number as usize])
            }),
        })?;
        self.bad.add(&found.bad);
        self.progress.add_bytes(found.figures.bytes);
        self.epochs.iter().for_each(|epochs| epochs.restored(found.figures.bytes));
        Ok(())
    }

    fn map_ranged(
        &'r self,
        ranged: &Ranged,
        before: Before,
        workers: &PerWorker<Worker<'r, C>>,
        reading: &mut Reading,
    ) -> Result<()> {
        // Better to find now that there are too many than at the last of them.
        numbered(before.splits, ranged.layout.splits().saturating_sub(1))?;
        if self.alone.is_some() {
            return self.map_alone(ranged, before, workers, reading);
        }
        let ends: Vec<u64> = ranged.layout.tile_ends().collect();
        // Where tiles are kept apart, each is one worker's, who does not wait for others.
        if self.pipeline == Pipeline::On || self.keeps_tiles_apart() {
            return self.map_tiles(ranged, &ends, 0, before, workers, reading);
        }
        let mut first = 0;
        ends.iter().try_for_each(|&end| {
            self.map_tiles(ranged, &[end - first], first, before, workers, reading)?;
            first = end;
            self.each_worker(workers, Worker::hand_over)
        })
    }

    /// What workers are to take at a time.
    fn units(&self) -> Units {
        let Plan { split_bytes, unit_bytes, .. } = *self.plan;
        if split_bytes == unit_bytes {
            return Units::fixed(split_bytes);
        }
        let budget = self.chunks.blocks().budget().limit();
        Units::searched(split_bytes, unit_bytes, budget, self.pool.workers())
    }

    /// Maps tiles that follow each other; `ends` counts their splits from the first of them.
    fn map_tiles(
        &'r self,
        ranged: &Ranged,
        ends: &[u64],
        first: u64,
        before: Before,
        workers: &PerWorker<Worker<'r, C>>,
        reading: &mut Reading,
    ) -> Result<()> {
        let in_order = self.epochs.is_some_and(Epochs::in_order);
        let flat = in_order.then(|| Placement::flat(self.pool.workers()));
        let placement = flat.as_ref().unwrap_or(self.placement);
        let assignment = Assignment::of(self, ranged);
        let done = self.covered(ranged).unwrap_or(&assignment.held);
        let hand_out = hand_out(ends, first, done, placement);
        let (blocks, count) = (self.chunks.blocks(), self.pool.workers());
        let feed =
            Feed::new(ranged, &self.plan.cut, hand_out, first, &reading.units, blocks, count);
        let feed = match in_order {
            true => feed.ascending(),
            false if self.keeps_tiles_apart() => feed.apart(),
            false => feed,
        };
        let homecoming = Homecoming::new(count);
        let crew = Crew::of(self, ranged, &feed, &reading.units, before, assignment);
        let own = |index, splits: Range<u64>| {
            self.step(index, splits.start, workers, |worker| {
                worker.read_and_map(ranged, &feed, splits, before)
            })
        };
        // Who has failed may have been ahead of others. What was taken is mapped in any case, and what was read
        // before the record that was refused; so the first of a queue is named.
        let next = |index| match self.failure.stops() {
            true => (feed.next_before(self.failure), true),
            false => (feed.next(index), false),
        };
        let map = |index| match next(index) {
            (Portion::End, true) => Step::Done,
            (Portion::End, false) => match crew.left() {
                Left::Some(splits) => own(index, splits),
                Left::Perhaps => Step::Idle,
                Left::Nothing => {
                    homecoming.is_home(index);
                    Step::Done
                }
            },
            (Portion::Wait, _) => Step::Idle,
            (Portion::Own(splits), _) => own(index, splits),
            (Portion::Read(mut load), _) => {
                let step = self.step(index, load.splits.start, workers, |worker| {
                    worker.map_load(ranged, &mut load, before)
                });
                feed.give_back(load.bytes);
                step
            }
        };
        let step = |index| match crew.has_core_of(index) && !self.failure.stops() {
            true => Step::Idle,
            false => self.settle(index, workers, map(index)),
        };
        let ahead =
            self.pool.run(step, || crew.beside(workers, || feed.oversee(self.failure, self.pool)));
        let figures = crew.figures();
        reading.ahead.add(ahead);
        reading.spread.add(feed.hand_out(), homecoming);
        add_figures(&mut reading.spread.devices, &figures);
        self.failure.check()
    }

    /// Whether each tile is saved by itself, by one worker.
    fn keeps_tiles_apart(&self) -> bool {
        self.saving.is_some_and(|saving| saving.tiles().is_some())
    }

    /// The splits of a part that a run before this one has mapped, if there are any.
    fn covered(&self, ranged: &Ranged) -> Option<&'r Ranges> {
        self.saving?.found().coverage.of(ranged.number, ALL_FILES)
    }

    /// Returns the decompressed files' length in bytes. The workers decompress what they map.
    fn map_packed(
        &'r self,
        packed: &Packed,
        before: Before,
        workers: &PerWorker<Worker<'r, C>>,
    ) -> Result<u64> {
        let (plan, wake) = (self.plan, || self.pool.wake());
        let (blocks, count) = (self.chunks.blocks(), self.pool.workers());
        let supply =
            Supply::new(packed, &plan.cut, blocks, &plan.tally, count, plan.unit_bytes, &wake);
        self.serve(|index| {
            let step = supply.step(self.failure, STAGE, |block, ingest| {
                self.step(index, block.number, workers, |worker| {
                    worker.map_unpacked(block, packed, before, ingest)
                })
            });
            self.settle(index, workers, step)
        })?;
        Ok(supply.bytes())
    }

    /// Returns the stream's length in bytes and in blocks. The calling thread reads; the workers map.
    fn map_stream(
        &'r self,
        number: usize,
        stream: &StreamSource,
        before: Before,
        workers: &PerWorker<Worker<'r, C>>,
    ) -> Result<(u64, u64)> {
        let (count, unit_bytes) = (self.pool.workers(), self.plan.unit_bytes);
        let buffers = STREAM_BUFFERS_PER_WORKER * count + 1;
        let queue = StreamQueue::new(self.chunks.blocks(), buffers, unit_bytes)?;
        let next = |index| match queue.next() {
            Next::End => Step::Done,
            Next::Wait => Step::Idle,
            Next::Block(mut block) => {
                let (offset, name) = (block.offset, &stream.name);
                let step = self.step(index, offset, workers, |worker| {
                    worker.map_block(&mut block, number, name, before)
                });
                queue.give_back(block.buffer);
                step
            }
        };
        let plan = self.plan;
        let read = || {
            let stopped = || self.failure.stops();
            let wake = || self.pool.wake();
            guard(stage, || read_stream(stream, &plan.cut, &queue, &plan.tally, &stopped, &wake))
        };
        let step = |index| {
            // A block that was taken is mapped, as its record may be the first that is refused.
            let step = if self.failure.stops() { Step::Done } else { next(index) };
            self.settle(index, workers, step)
        };
        let read = self.pool.run(step, read);
        // A failure of the workers stops the reader; it comes first.
        self.failure.check()?;
        Ok((read?, queue.blocks()))
    }

    fn each_worker(
        &'r self,
        workers: &PerWorker<Worker<'r, C>>,
        work: impl Fn(&mut Worker<'r, C>) -> Result<()> + Sync,
    ) -> Result<()> {
        self.serve(|index| {
            self.step(index, u64::MAX, workers, &work);
            Step::Done
        })
    }

    fn serve(&self, step: impl Fn(usize) -> Step + Sync) -> Result<()> {
        self.pool.run(|index| if self.failure.stops() { Step::Done } else { step(index) }, || ());
        self.failure.check()
    }

    /// What a step came to. A worker that has nothing to do leaves its epoch when it is called out of it;
    /// one that will have nothing more leaves it in any case.
    fn settle(&'r self, index: usize, workers: &PerWorker<Worker<'r, C>>, step: Step) -> Step {
        let leaves = self.epochs.is_some_and(|epochs| match step {
            Step::More => false,
            Step::Idle => epochs.calls_out(index),
            Step::Done => epochs.has(index) && !self.failure.stops(),
        });
        if leaves {
            self.step(index, u64::MAX, workers, Worker::hand_over);
        } else if self.epochs.is_some_and(|epochs| epochs.asks(index)) && step == Step::Idle {
            self.step(index, u64::MAX, workers, Worker::give_sample);
        }
        step
    }

    /// Work number `at` of the input, done with a worker's own things.
    fn step(
        &'r self,
        index: usize,
        at: u64,
        workers: &PerWorker<Worker<'r, C>>,
        work: impl FnOnce(&mut Worker<'r, C>) -> Result<()>,
    ) -> Step {
        let make = || Worker::new(self, index);
        let done = self.failure.attempt(at, STAGE, || workers.with(index, make, work));
        if done.is_some() { Step::More } else { Step::Done }
    }
}

/// Hands tiles out, whose ends count splits from the `first` on, but for what is done or not to be handed out.
fn hand_out<'p>(ends: &[u64], first: u64, done: &Ranges, placement: &'p Placement) -> HandOut<'p> {
    let mut start = 0;
    let tiles = ends.iter().map(|&end| std::mem::replace(&mut start, end)..end);
    if done.is_empty() {
        return HandOut::of(tiles, placement);
    }
    let left = tiles.flat_map(|tile| {
        let gaps = done.gaps(first + tile.start..first + tile.end);
        gaps.map(|gap| gap.start - first..gap.end - first)
    });
    HandOut::of(left, placement)
}

const STAGE: &str = "the map stage";

fn stage() -> Place {
    Place::stage(STAGE)
}

impl MapTotals {
    fn add(&mut self, other: &MapTotals) {
        self.pairs += other.pairs;
        self.pairs_handed_over += other.pairs_handed_over;
        self.bytes += other.bytes;
        self.splits += other.splits;
        self.stream_tiles += other.stream_tiles;
        self.ingest += other.ingest;
        self.hand_over += other.hand_over;
        self.compress += other.compress;
    }
}

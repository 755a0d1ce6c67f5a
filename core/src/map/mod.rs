//! The map stage: workers take splits, read each into their own cache, map it, combine its pairs in
//! their own tables, hand tables over to the job's partial, and compress the partial where it has
//! grown. Workers share only the counter of splits and the partial.

mod alone;
mod assignment;
mod attendant;
mod devices;
mod feeders;
mod gate;
mod holdings;
mod lending;
mod mapper;
pub(crate) mod spread;
mod tiling;
mod worker;

use crate::aggregate::Aggregate;
use crate::bad::BadRecords;
use crate::container::Container;
use crate::coverage::{ALL_FILES, Coverage, Ranges};
use crate::error::{Error, Result};
use crate::facts::JobFacts;
use crate::failure::Failure;
use crate::ingest::{AheadTotals, Feed, Intake, Means, Taken};
use crate::memory::ChunkPool;
use crate::partial::Partial;
use crate::plan::{Part, Plan, Ranged};
use crate::progress::Progress;
use crate::schedule::{HandOut, PerWorker, Placement, Pool, Share, Step};
use crate::sizing::{TableLimits, Units};
use crate::stats::add_figures;
use crate::unit::Unit;
pub(crate) use alone::DeviceTerms;
use assignment::Assignment;
pub(crate) use attendant::{Attendance, Attendant, Mapped, Spot};
use devices::{Crew, Left};
use gate::Gate;
pub(crate) use holdings::Holdings;
pub(crate) use mapper::{JobMappers, Mappers};
pub(crate) use spread::Spread;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
pub(crate) use tiling::Tiling;
use worker::Worker;

/// The parts of a run that the map stage needs.
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
    pub(crate) container: Container,
    /// Whether the caller has given the bytes that a worker takes at a time: one split.
    pub(crate) unit_is_given: bool,
    /// The devices that work beside the cores, and how tiles are handed out.
    pub(crate) terms: DeviceTerms<'r>,
    /// The part of the input that earlier runs have mapped.
    pub(crate) done: Option<&'r Coverage>,
    /// The tiles to map, if others are another machine's.
    pub(crate) leased: Option<Range<u32>>,
    /// The features that take part in the work, in the order in which they are called.
    pub(crate) attended_by: &'r [&'r dyn Attendance<C>],
    /// Bytes after which a device's partial is taken in, if that is not a matter of time.
    pub(crate) bytes_between: Option<u64>,
    /// The workers that may take new work, if not all may.
    pub(crate) share: Option<&'r Share>,
}

/// The parts of the input before one part.
#[derive(Clone, Copy, Default)]
struct Before {
    /// Parts, which is the number of this one.
    parts: usize,
    files: u64,
    splits: u64,
}

/// The measurements of reading and the counts of workers, from part to part.
struct Measured {
    units: Units,
    ahead: AheadTotals,
    spread: Spread,
}

/// Returns the number of a file or split in the whole input.
pub(crate) fn numbered(before: u64, number: u64) -> Result<u32> {
    // The last number is taken: lists of values use it as a mark.
    let number = u32::try_from(before + number).ok().filter(|&number| number < u32::MAX);
    number.ok_or_else(|| {
        let cause = "more than 2^32 files or splits; give fewer files, or larger splits".to_owned();
        Error::Option { option: "split_bytes", cause }
    })
}

/// The counts of the map stage, summed over workers.
#[derive(Clone, Copy, Default)]
pub(crate) struct MapTotals {
    pub(crate) pairs: u64,
    pub(crate) pairs_handed_over: u64,
    pub(crate) bytes: u64,
    pub(crate) splits: u64,
    /// The bytes that workers took at a time at the end.
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
        let workers = PerWorker::new(self.pool.workers() + self.terms.devices.len());
        let mut stream_tiles = 0;
        let (ahead, spread) = (AheadTotals::default(), Spread::default());
        let mut measured = Measured { units: self.units(), ahead, spread };
        let mut before = Before::default();
        for part in &self.plan.parts {
            let tiles = self.tiles_of(before.parts);
            let taken = match part {
                Part::Ranged(ranged) => {
                    self.map_ranged(ranged, tiles, before, &workers, &mut measured)?
                }
                Part::Packed(packed) => {
                    let intake = Intake::packed(self.means(), packed, tiles);
                    self.take_in(&intake, None, before, &workers)?
                }
                Part::Stream(stream) => {
                    let intake = Intake::stream(self.means(), stream)?;
                    self.take_in(&intake, None, before, &workers)?
                }
            };
            stream_tiles += taken.told_bytes.div_ceil(self.plan.tile_bytes);
            before.parts += 1;
            before.files += part.files() as u64;
            before.splits += taken.splits;
        }
        self.attended_by.iter().try_for_each(|attends| attends.end_of_input())?;
        self.each_worker(&workers, |worker| worker.end(false))?;
        let mut totals = MapTotals {
            stream_tiles,
            ahead: measured.ahead,
            unit_bytes: measured.units.best_bytes(),
            ..MapTotals::default()
        };
        for worker in workers.into_values() {
            totals.add(&worker.totals());
        }
        Ok((totals, measured.spread))
    }

    /// Returns the tiles of a part that are to be mapped.
    fn tiles_of(&self, part: usize) -> Range<usize> {
        match &self.leased {
            Some(leased) => self.plan.tiles_within(part, leased),
            None => 0..self.plan.parts[part].tiles(),
        }
    }

    fn means(&self) -> Means<'r> {
        let MapStage { plan, chunks, pool, failure, share, .. } = *self;
        Means { plan, blocks: chunks.blocks(), pool, failure, share }
    }

    fn map_ranged(
        &'r self,
        ranged: &Ranged,
        tiles: Range<usize>,
        before: Before,
        workers: &PerWorker<Worker<'r, C>>,
        measured: &mut Measured,
    ) -> Result<Taken> {
        // Better to find now that there are too many than at the last of them.
        let splits = ranged.layout.splits();
        numbered(before.splits, splits.saturating_sub(1))?;
        let taken = Taken { splits, ..Taken::default() };
        if tiles.is_empty() && self.leased.is_some() {
            return Ok(taken);
        }
        let mut first =
            tiles.start.checked_sub(1).map_or(0, |last| ranged.layout.first_split_behind(last));
        let ends = ranged.layout.tile_ends().skip(tiles.start).take(tiles.len());
        let ends: Vec<u64> = ends.map(|end| end - first).collect();
        // A worker with a tile of its own does not wait for others. Devices that are alone overlap tiles in any
        // case.
        if self.terms.overlaps || self.terms.tiles_apart || self.terms.alone.is_some() {
            self.map_tiles(ranged, &ends, first, before, workers, measured)?;
        } else {
            let mut mapped = 0;
            ends.iter().try_for_each(|&end| {
                self.map_tiles(ranged, &[end - mapped], first, before, workers, measured)?;
                first += end - mapped;
                mapped = end;
                self.each_worker(workers, Worker::hand_over)
            })?;
        }
        Ok(taken)
    }

    /// Returns the number of splits that workers take at a time.
    fn units(&self) -> Units {
        let Plan { split_bytes, unit_bytes, .. } = *self.plan;
        if self.unit_is_given {
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
        measured: &mut Measured,
    ) -> Result<()> {
        let flat = self.terms.in_order.then(|| Placement::flat(self.pool.workers()));
        let placement = flat.as_ref().unwrap_or(self.placement);
        let assignment = Assignment::of(self, ranged);
        let done = self.covered(ranged).unwrap_or(&assignment.held);
        let hand_out = hand_out(ends, first, done, placement);
        let feed = Feed::new(self.means(), ranged, hand_out, first, &measured.units);
        let feed = match (self.terms.in_order, self.terms.tiles_apart) {
            (true, _) => feed.ascending(),
            (false, true) => feed.apart(),
            (false, false) => feed,
        };
        let crew = Crew::of(self, ranged, &feed, &measured.units, before, assignment);
        if self.terms.alone.is_some() {
            crew.beside(workers, &mut || ());
            let figures = crew.figures_of_all();
            // A kernel's own error says more than that its device did not do all.
            self.failure.check()?;
            add_figures(&mut measured.spread.devices, &figures?);
            return Ok(());
        }
        let intake = Intake::ranged(self.means(), &feed);
        let taken = self.take_in(&intake, Some(&crew), before, workers)?;
        measured.ahead.add(taken.ahead);
        crew.end(&mut measured.spread);
        Ok(())
    }

    /// Maps all splits of an intake, and splits that devices give back.
    fn take_in(
        &'r self,
        intake: &Intake<'_>,
        crew: Option<&Crew<'_, 'r, C>>,
        before: Before,
        workers: &PerWorker<Worker<'r, C>>,
    ) -> Result<Taken> {
        let gate = Gate::new(self.share, self.pool, self.failure);
        let step = |index| {
            let take = |unit: &mut Unit| {
                workers.with(index, || Worker::new(self, index), |worker| worker.map(unit, before))
            };
            let step = match crew {
                _ if gate.bars(index, intake) => Step::Idle,
                Some(crew) if crew.has_core_of(index) && !self.failure.stops() => {
                    return Step::Idle;
                }
                crew => match (intake.step(index, &take), crew) {
                    (Step::Done, Some(crew)) if !self.failure.stops() => match crew.left(index) {
                        Left::Some(splits) => intake.read(index, splits, &take),
                        Left::Perhaps => Step::Idle,
                        Left::Nothing => Step::Done,
                    },
                    (step, _) => step,
                },
            };
            if step == Step::Done {
                gate.open();
            }
            self.settle(index, workers, step)
        };
        intake.run(step, |oversee| {
            let mut ahead = Ok(AheadTotals::default());
            gate.beside(intake, &mut || match crew {
                Some(crew) => crew.beside(workers, &mut || ahead = oversee()),
                None => ahead = oversee(),
            });
            ahead
        })
    }

    /// Returns the splits of a part that a run before this one has mapped, if there are any.
    fn covered(&self, ranged: &Ranged) -> Option<&'r Ranges> {
        self.done?.of(ranged.number, ALL_FILES)
    }

    fn each_worker(
        &'r self,
        workers: &PerWorker<Worker<'r, C>>,
        work: impl Fn(&mut Worker<'r, C>) -> Result<()> + Sync,
    ) -> Result<()> {
        let step = |index| {
            if !self.failure.stops() {
                self.step(index, u64::MAX, workers, &work);
            }
            Step::Done
        };
        self.pool.run(step, || ());
        self.failure.check()
    }

    /// Settles the result of a step: a worker without work calls its attendants if they have work for it.
    fn settle(&'r self, index: usize, workers: &PerWorker<Worker<'r, C>>, step: Step) -> Step {
        let is_done = step == Step::Done;
        let calls = || self.attended_by.iter().any(|attends| attends.calls(index, is_done));
        if step != Step::More && !self.failure.stops() && calls() {
            self.step(index, u64::MAX, workers, |worker| worker.idle(is_done));
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

/// Hands tiles out, whose ends count splits from `first` on, without those that are done.
pub(crate) fn hand_out<'p>(
    ends: &[u64],
    first: u64,
    done: &Ranges,
    placement: &'p Placement,
) -> HandOut<'p> {
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

impl MapTotals {
    pub(crate) fn add(&mut self, other: &MapTotals) {
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

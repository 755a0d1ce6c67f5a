//! The one way in. An [`Intake`] hands a part of the plan to the workers as [`Unit`]s: records in memory and
//! their places, however the part is read. Files that can be read at any offset come split by split
//! (`feed.rs`), compressed ones block by block as workers decompress them (`codec/supply.rs`), streams block by
//! block as the calling thread reads them (`stream.rs`). The taker sees the same unit in each case.

use super::ahead::AheadTotals;
use super::feed::{Feed, Means, STAGE};
use super::reader::Reader;
use super::stream::{StreamQueue, read_stream};
use crate::codec::Supply;
use crate::error::Result;
use crate::input::StreamSource;
use crate::plan::{Packed, Part};
use crate::schedule::{PerWorker, Step};
use crate::sizing::Units;
use crate::unit::{Next, Unit};
use std::ops::Range;
use std::time::Instant;

/// Takes a unit. An error ends the run.
pub type Take<'t> = &'t dyn Fn(&mut Unit) -> Result<()>;

/// The counts of a part that was read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Taken {
    /// Splits or blocks that later parts are numbered after.
    pub splits: u64,
    /// Bytes of the records, if only reading showed their number; 0 for files that can be read at any offset.
    pub told_bytes: u64,
    pub ahead: AheadTotals,
}

/// The step of reading a stream is the last one: all blocks come before its fault.
const STREAM_END: u64 = u64::MAX;

/// A part of the plan on its way to the workers.
pub struct Intake<'p> {
    means: Means<'p>,
    way: Way<'p>,
    /// Set if a worker reads the splits that it has taken in units, and not all at once.
    units: Option<&'p Units>,
    readers: PerWorker<Reader>,
}

enum Way<'p> {
    Ranged(&'p Feed<'p>),
    Packed(Supply<'p>),
    Stream(&'p StreamSource, StreamQueue<'p>),
}

impl<'p> Intake<'p> {
    /// Returns an intake of files that can be read at any offset.
    pub fn ranged(means: Means<'p>, feed: &'p Feed<'p>) -> Intake<'p> {
        Intake::of(means, Way::Ranged(feed))
    }

    /// Returns an intake of some of a part's compressed files, and of others that are read in order.
    pub fn packed(means: Means<'p>, packed: &'p Packed, files: Range<usize>) -> Intake<'p> {
        let Means { plan, blocks, pool, failure, .. } = means;
        Intake::of(means, Way::Packed(Supply::new(packed, files, plan, blocks, pool, failure)))
    }

    /// Returns an intake of a stream, which the thread that calls [`run`](Intake::run) reads.
    pub fn stream(means: Means<'p>, stream: &'p StreamSource) -> Result<Intake<'p>> {
        let Means { plan, blocks, pool, failure, .. } = means;
        let queue = StreamQueue::new(blocks, plan.unit_bytes, pool, failure)?;
        Ok(Intake::of(means, Way::Stream(stream, queue)))
    }

    fn of(means: Means<'p>, way: Way<'p>) -> Intake<'p> {
        Intake { means, way, units: None, readers: PerWorker::new(means.pool.workers()) }
    }

    /// Such that a worker reads the splits that it has taken in these units, each just before it is used.
    pub fn in_units(self, units: &'p Units) -> Intake<'p> {
        Intake { units: Some(units), ..self }
    }

    /// Has the workers take `step`s while the calling thread oversees the reading, within `beside`.
    pub fn run(
        &self,
        step: impl Fn(usize) -> Step + Sync,
        beside: impl FnOnce(&dyn Fn() -> Result<AheadTotals>) -> Result<AheadTotals>,
    ) -> Result<Taken> {
        let ahead = self.means.pool.run(step, || beside(&|| self.oversee()));
        self.means.failure.check()?;
        let ahead = ahead?;
        let (splits, told_bytes) = match &self.way {
            Way::Ranged(feed) => (feed.ranged.layout.splits(), 0),
            Way::Packed(supply) => supply.totals(),
            Way::Stream(_, queue) => queue.totals(),
        };
        Ok(Taken { splits, told_bytes, ahead })
    }

    fn oversee(&self) -> Result<AheadTotals> {
        let Means { plan, .. } = self.means;
        match &self.way {
            Way::Ranged(feed) => Ok(feed.oversee()),
            Way::Packed(_) => Ok(AheadTotals::default()),
            Way::Stream(stream, queue) => {
                let is_this =
                    |part: &Part| matches!(part, Part::Stream(one) if std::ptr::eq(one, *stream));
                let part = plan.parts.iter().position(is_this).unwrap_or_default();
                let read = || read_stream(stream, plan, part, queue);
                let _ = self.means.failure.attempt(STREAM_END, STAGE, read);
                Ok(AheadTotals::default())
            }
        }
    }

    /// Gives a worker the next unit. `Done` when there are none any more, or the run stops.
    pub fn step(&self, worker: usize, take: Take<'_>) -> Step {
        let (stops, began) = (self.means.failure.stops(), Instant::now());
        let next = match &self.way {
            // A failed worker may have been ahead of others. Taken units are mapped in any case, and so are
            // units before the refused record, so that the first error of the input is reported. The reader of a stream may
            // have been ahead of all workers.
            Way::Ranged(feed) if stops => feed.next_before(),
            Way::Stream(_, queue) if stops => queue.next_before(STREAM_END),
            Way::Packed(_) if stops => Next::End,
            Way::Ranged(feed) => feed.next(worker),
            Way::Packed(supply) => supply.next(STAGE),
            Way::Stream(_, queue) => queue.next(),
        };
        match next {
            Next::Read(splits) => self.read(worker, splits, take),
            Next::Wait => Step::Idle,
            Next::End => Step::Done,
            Next::Unit(mut unit) => {
                unit.ingest = began.elapsed();
                let step = self.attempt(unit.splits.start, || take(&mut unit));
                match &self.way {
                    Way::Ranged(feed) => feed.give_back(unit),
                    Way::Packed(supply) => supply.give_back(unit),
                    Way::Stream(_, queue) => queue.give_back(unit),
                }
                step
            }
        }
    }

    /// Returns whether something was read that only this worker can map.
    pub fn owes(&self, worker: usize) -> bool {
        matches!(&self.way, Way::Ranged(feed) if feed.owes(worker))
    }

    /// Has a worker read splits and take them.
    pub fn read(&self, worker: usize, splits: Range<u64>, take: Take<'_>) -> Step {
        let Way::Ranged(feed) = &self.way else { return Step::Done };
        let Means { plan, blocks, failure, .. } = self.means;
        let make = || Reader::new(blocks, plan.unit_bytes);
        let units = self.units.unwrap_or(feed.units());
        let mut rest = splits.clone();
        while rest.start < rest.end && (rest == splits || !failure.stops()) {
            let at_once = self.units.map_or(u64::MAX, Units::now).min(rest.end - rest.start);
            let now = rest.start..rest.start + at_once;
            rest.start = now.end;
            let read = |reader: &mut Reader| {
                let ingest = feed.read_own(now.clone(), reader)?;
                let unit = &mut reader.read;
                (unit.stretch, unit.ingest) = (splits.start, ingest);
                take(unit)?;
                units.add(worker, now.end - now.start, ingest + unit.mapping);
                Ok(())
            };
            if self.attempt(now.start, || self.readers.with(worker, make, read)) == Step::Done {
                return Step::Done;
            }
        }
        Step::More
    }

    fn attempt(&self, at: u64, work: impl FnOnce() -> Result<()>) -> Step {
        match self.means.failure.attempt(at, STAGE, work) {
            Some(()) => Step::More,
            None => {
                // Who waits must see that the run stops.
                self.means.pool.wake();
                Step::Done
            }
        }
    }
}

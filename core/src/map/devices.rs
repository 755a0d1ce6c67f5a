//! Devices beside the workers of the map stage. A thread for each takes splits from the end of the hand-out
//! that workers reach last, has them read into the device's slots (`feeders.rs`), and emits the pairs of its
//! partials into tables of its own, as a worker does. Workers map the splits that a device gives back, so no
//! worker ends while a device has any. Splits that devices have from an earlier run are handed out only in
//! their own queues; workers take from the ends of those when they find nothing else.

use super::assignment::Assignment;
use super::feeders::{Feeders, Filled, Lying, part_of};
use super::lending::Lending;
use super::spread::{Homecoming, Spread};
use super::worker::Worker;
use super::{Before, MapStage, Mapped, STAGE, numbered};
use crate::aggregate::Aggregate;
use crate::coverage::ALL_FILES;
use crate::device::{
    Accelerator, Alone, DeviceFigures, Driver, Offload, Outlook, Piece, Read, Turn, Work,
};
use crate::error::{Error, Result};
use crate::ingest::Feed;
use crate::memory::Reserved;
use crate::plan::{Fullest, Ranged};
use crate::schedule::{PerWorker, Step, beside};
use crate::sizing::{Units, part};
use crate::stats::add_figures;
use crate::sync::{Condvar, Mutex};
use crate::timeline;
use std::collections::VecDeque;
use std::ops::Range;
use std::thread;
use std::time::{Duration, Instant};

/// Before this, nobody knows how fast the workers are.
const SECONDS_KNOWN: f64 = 0.002;
/// Until that is known, a device that takes time to open looks again after this time.
const GLANCE: Duration = Duration::from_millis(1);
/// Seconds until an open device has found the size of its units and the number of its threads.
const FINDING_S: f64 = 0.03;
/// A device is opened if the workers need more than this many times `FINDING_S` and the time to open it for the rest
/// of the job. A device as fast as all workers then saves a third of that time.
const WORTH_OPENING: f64 = 4.0;
/// A device fetches its partial after this number of units for each save of a worker.
const UNITS_PER_SAVE: u64 = 4;
/// More pieces are more launches than a unit is worth.
const PIECES_MOST: usize = 64;
/// The interval at which an idle device, which may get work that another one gives back, checks whether the
/// job was stopped.
const LOOK: Duration = Duration::from_millis(10);

/// Returns the bytes of a slot beside its splits that a job of devices alone needs: the last record or file of a split
/// may end after it, and each file begins aligned.
fn margin_bytes(alone: Alone, fullest: Fullest) -> u64 {
    let pieces = fullest.files.saturating_mul(Piece::ALIGNMENT as u64);
    alone.longest_bytes.max(fullest.whole_bytes).saturating_add(pieces)
}

/// The devices of a run, at one part of its input.
pub(super) struct Crew<'s, 'r, C: Aggregate> {
    stage: &'r MapStage<'r, C>,
    ranged: &'s Ranged,
    feed: &'s Feed<'s>,
    /// The number of splits that workers take at a time.
    units: &'s Units,
    before: Before,
    offload: Result<Offload, &'static str>,
    /// Splits that devices had at first.
    held: u64,
    alone: Option<Alone>,
    began: Instant,
    homecoming: Homecoming,
    state: Mutex<Shared>,
    lending: Lending<'r>,
    /// Devices that do the job alone wait here for work that another one gives back.
    changed: Condvar,
}

/// The data that devices and workers share. A device takes splits under its lock, so a worker that finds
/// nothing left and then looks here sees all splits that were taken.
#[derive(Default)]
struct Shared {
    /// Splits that devices took and that are not counted yet.
    on_the_way: u64,
    given_back: Vec<Range<u64>>,
    /// For each device the splits that it holds and nobody has taken.
    held: Vec<VecDeque<Range<u64>>>,
    figures: Vec<DeviceFigures>,
}

/// The work that is left for a worker when the hand-out is empty.
pub(super) enum Left {
    /// Splits that a device gave back.
    Some(Range<u64>),
    /// A device may still give something back.
    Perhaps,
    /// Nothing.
    Nothing,
}

impl<'s, 'r, C: Aggregate> Crew<'s, 'r, C> {
    pub(super) fn of(
        stage: &'r MapStage<'r, C>,
        ranged: &'s Ranged,
        feed: &'s Feed<'s>,
        units: &'s Units,
        before: Before,
        assignment: Assignment,
    ) -> Crew<'s, 'r, C> {
        let figures = stage.terms.devices.iter().map(|device| device.figures()).collect();
        let Assignment { offload, queues, held } = assignment;
        let state = Mutex::new(Shared { figures, held: queues, ..Shared::default() });
        let held = held.iter().map(|splits| splits.end - splits.start).sum();
        let (alone, changed, began) = (stage.terms.alone, Condvar::new(), Instant::now());
        let lending = Lending::new(stage.pool, stage.share, stage.terms.devices.len());
        let homecoming = Homecoming::new(stage.pool.workers());
        Crew {
            stage,
            ranged,
            feed,
            units,
            before,
            offload,
            held,
            alone,
            began,
            homecoming,
            state,
            lending,
            changed,
        }
    }

    /// Has the devices work while the caller does `meanwhile`.
    pub(super) fn beside(&self, workers: &PerWorker<Worker<'r, C>>, meanwhile: &mut dyn FnMut()) {
        let Some(offload) = self.usable() else { return meanwhile() };
        let devices = self.stage.terms.devices;
        let names: Vec<String> = (0..devices.len()).map(|at| format!("device-{at}")).collect();
        let serve = |number: usize| {
            // A panic fails the job, so that no worker waits for splits that would never come back.
            let serve = || Ok(self.serve(number, &devices[number], offload, workers));
            let served = self.stage.failure.attempt(u64::MAX, STAGE, serve);
            self.end_device(number, served.and_then(Result::err));
        };
        let mut cannot = |number, cause| {
            self.end_device(number, Some(format!("cannot start its thread: {cause}")));
        };
        beside(&names, &serve, &mut cannot, meanwhile);
    }

    /// Returns the kernel for devices; if there is none, notes the reason.
    fn usable(&self) -> Option<&Offload> {
        let why_not = match &self.offload {
            Ok(offload) => return Some(offload),
            Err(why_not) => *why_not,
        };
        let mut state = self.state.lock();
        state.figures.iter_mut().for_each(|figures| figures.fault = Some(why_not.to_owned()));
        None
    }

    /// Returns the work that is left for a worker that found the hand-out empty. A part of the splits given
    /// back is as large as a worker's usual work, and of one tile.
    pub(super) fn left(&self, worker: usize) -> Left {
        let mut state = self.state.lock();
        if state.given_back.is_empty() {
            let longest = state.held.iter_mut().max_by_key(|queue| queue.len());
            if let Some(splits) = longest.and_then(VecDeque::pop_back) {
                state.on_the_way += splits.end - splits.start;
                state.given_back.push(splits);
            }
        }
        let Some(splits) = state.given_back.pop() else {
            if state.on_the_way > 0 {
                return Left::Perhaps;
            }
            self.homecoming.is_home(worker);
            return Left::Nothing;
        };
        let part = part_of(self.ranged, &splits, self.units.now());
        if part.end < splits.end {
            state.given_back.push(part.end..splits.end);
        }
        state.on_the_way -= part.end - part.start;
        Left::Some(part)
    }

    /// Returns whether a worker maps nothing now because a thread that fills slots has its core.
    pub(super) fn has_core_of(&self, worker: usize) -> bool {
        self.lending.has_core_of(worker)
    }

    /// Returns whether a device may find something to take.
    fn has_more_for(&self, device: usize) -> bool {
        let state = self.state.lock();
        let given = self.alone.is_some() && !state.given_back.is_empty();
        given || !state.held[device].is_empty() || self.feed.hand_out().left() > 0
    }

    /// Waits while nobody may take new work, as long as there is some for a device.
    fn wait_for_share(&self, device: usize) {
        self.lending.wait(|| self.stage.failure.stops() || !self.has_more_for(device));
    }

    /// Returns whether no split is left: neither taken by a device nor in the hand-out.
    pub(super) fn has_done_all(&self) -> bool {
        self.state.lock().on_the_way == 0 && self.feed.hand_out().left() == 0
    }

    /// Adds the counts of each device, and the distribution of the work over workers.
    pub(super) fn end(self, spread: &mut Spread) {
        let figures = self.state.into_inner().figures;
        spread.add(self.feed.hand_out(), self.homecoming);
        add_figures(&mut spread.devices, &figures);
    }

    /// Returns the counts of each device.
    pub(super) fn figures(self) -> Vec<DeviceFigures> {
        self.state.into_inner().figures
    }

    /// A device's thread.
    fn serve(
        &self,
        number: usize,
        device: &Accelerator,
        offload: &Offload,
        workers: &PerWorker<Worker<'r, C>>,
    ) -> Result<(), String> {
        let (stage, layout) = (self.stage, &self.ranged.layout);
        if self.feed.hand_out().splits() + self.held == 0 {
            return Ok(());
        }
        self.wait_for_share(number);
        if !self.is_worth_opening(device.opening(offload), offload) {
            return Ok(());
        }
        let blocks = stage.chunks.blocks();
        let host_bytes = blocks.budget().limit() / part::SLOTS;
        let (split_bytes, bytes) = (layout.split_bytes(), layout.bytes());
        let started = match self.alone {
            None => device.start(offload, split_bytes, bytes, host_bytes),
            Some(alone) => {
                let margin_bytes = margin_bytes(alone, layout.fullest());
                device.start_alone(offload, split_bytes, bytes, host_bytes, margin_bytes)
            }
        };
        let mut driver = started.map_err(|error| error.to_string())?;
        if let Some(bytes) = stage.bytes_between {
            driver = driver.within(bytes / UNITS_PER_SAVE);
        }
        driver.record(number);
        let on_host = driver.room().host_bytes(device.caps()) as usize;
        let counted = Reserved::new(blocks, on_host, "the slots of a device");
        let _counted = counted.map_err(|error| error.to_string())?;
        let feeders = Feeders::new(blocks, format!("device-{number}"));
        let mut feeders = feeders.map_err(|error| error.to_string())?;
        let index = stage.pool.workers() + number;
        let (mut taken, mut is_barred) = (0, false);
        let mut turn = Turn::More;
        while !stage.failure.stops() && (turn == Turn::More || self.may_go_on(turn)) {
            let step = stage.step(index, u64::MAX, workers, |worker| {
                let (feeders, taken, is_barred) = (&mut feeders, &mut taken, &mut is_barred);
                let mut work = DeviceWork { crew: self, number, worker, feeders, taken, is_barred };
                turn = driver.step(&mut work)?;
                if turn == Turn::More { Ok(()) } else { worker.hand_over() }
            });
            if step == Step::Done {
                break;
            }
            if turn == Turn::Idle && std::mem::take(&mut is_barred) {
                self.wait_for_share(number);
                turn = Turn::More;
            }
        }
        // A failed job may have handed over more pairs than it has noted.
        if !stage.failure.stops() {
            let others_go_on = self.feed.hand_out().left() > 0;
            stage.step(index, u64::MAX, workers, |worker| worker.end(others_go_on));
        }
        let refused = feeders.refused().map(str::to_owned);
        self.keep(number, driver, refused, device, offload);
        Ok(())
    }

    /// Returns whether enough of the job is left for a device that is to be opened. Waits until the rate of the
    /// workers is known. A device that keeps its input for later rounds is opened for these.
    fn is_worth_opening(&self, opening: Duration, offload: &Offload) -> bool {
        if opening.is_zero() || self.alone.is_some() || offload.residence.is_some() {
            return true;
        }
        while !self.stage.failure.stops() {
            let Outlook { splits_left, others_splits_s, .. } = self.outlook(0);
            if splits_left == 0 {
                break;
            }
            if others_splits_s > 0.0 {
                let seconds_left = splits_left as f64 / others_splits_s;
                return seconds_left > WORTH_OPENING * (opening.as_secs_f64() + FINDING_S);
            }
            thread::sleep(GLANCE);
        }
        false
    }

    /// Returns what is left to do for a device that took `taken` splits, and the rate of the others.
    fn outlook(&self, taken: u64) -> Outlook {
        let hand_out = self.feed.hand_out();
        let queues: u64 = {
            let state = self.state.lock();
            let held = state.held.iter().flatten();
            held.map(|splits| splits.end - splits.start).sum()
        };
        let splits_left = hand_out.left() + queues;
        let all = hand_out.splits() + self.held;
        let others = all.saturating_sub(splits_left + taken);
        let seconds = self.began.elapsed().as_secs_f64();
        let others_splits_s = if seconds < SECONDS_KNOWN { 0.0 } else { others as f64 / seconds };
        let others_at_a_time = self.units.now() * self.lending.mapping() as u64;
        Outlook { splits_left, others_splits: others, others_at_a_time, others_splits_s }
    }

    /// Returns whether a device that does the job with others gets more work from these, after it had nothing
    /// more to do.
    fn may_go_on(&self, turn: Turn) -> bool {
        let mut state = self.state.lock();
        while self.alone.is_some() && turn == Turn::Idle && !self.stage.failure.stops() {
            if !state.given_back.is_empty() {
                return true;
            }
            if state.on_the_way == 0 {
                return false;
            }
            state = self.changed.wait_timeout(state, LOOK);
        }
        false
    }

    fn keep(
        &self,
        number: usize,
        driver: Driver,
        feeders_refused: Option<String>,
        device: &Accelerator,
        offload: &Offload,
    ) {
        device.remember(&offload.kernel, &driver);
        self.state.lock().figures[number] = DeviceFigures { feeders_refused, ..driver.figures() };
        device.end(driver, offload);
    }

    /// Ends a device's work. Workers that wait for splits that it might give back look again.
    fn end_device(&self, number: usize, fault: Option<String>) {
        if let Some(fault) = fault {
            self.state.lock().figures[number].fault = Some(fault);
        }
        self.lending.feed_by(number, 0);
        self.wake();
    }

    /// Wakes all that wait for devices.
    fn wake(&self) {
        self.stage.pool.wake();
        self.changed.notify_all();
    }
}

/// One device's way to the input and to the partial.
struct DeviceWork<'w, 's, 'r, C: Aggregate> {
    crew: &'w Crew<'s, 'r, C>,
    /// The device's.
    number: usize,
    worker: &'w mut Worker<'r, C>,
    feeders: &'w mut Feeders,
    /// Splits that this device took and did not give back.
    taken: &'w mut u64,
    /// Set where this device found work that nobody may take now.
    is_barred: &'w mut bool,
}

impl<C: Aggregate> Work for DeviceWork<'_, '_, '_, C> {
    fn take(&mut self, splits: u64) -> Option<Range<u64>> {
        if self.crew.lending.is_closed() && self.crew.has_more_for(self.number) {
            *self.is_barred = true;
            return None;
        }
        let mut state = self.crew.state.lock();
        if self.crew.alone.is_some()
            && let Some(mut given) = state.given_back.pop()
        {
            let rest = given.end.min(given.start + splits)..given.end;
            given.end = rest.start;
            state.given_back.extend((rest.start < rest.end).then_some(rest));
            *self.taken += given.end - given.start;
            return Some(given);
        }
        let splits = self.crew.feed.take_last(splits)?;
        let count = splits.end - splits.start;
        state.on_the_way += count;
        *self.taken += count;
        Some(splits)
    }

    fn take_held(&mut self) -> Option<Range<u64>> {
        if self.crew.lending.is_closed() {
            return None;
        }
        let mut state = self.crew.state.lock();
        let splits = state.held[self.number].pop_front()?;
        let count = splits.end - splits.start;
        state.on_the_way += count;
        *self.taken += count;
        Some(splits)
    }

    fn give_back(&mut self, splits: Range<u64>) {
        *self.taken -= splits.end - splits.start;
        self.crew.state.lock().given_back.push(splits);
        self.crew.wake();
    }

    fn feeders_most(&self) -> usize {
        self.feeders.most().unwrap_or(usize::MAX).min(self.crew.lending.feeders_most())
    }

    fn feed_by(&mut self, feeders: usize) {
        self.crew.lending.feed_by(self.number, feeders);
    }

    fn read(
        &mut self,
        splits: &Range<u64>,
        slot: &mut [u8],
        pieces: &mut Vec<Piece>,
    ) -> Result<Read> {
        let Crew { ranged, stage, before, .. } = *self.crew;
        let room = slot.len();
        let feeders = self.crew.lending.feeders_of(self.number);
        let filled = match self.feeders.fill(ranged, &stage.plan.cut, splits, slot, feeders)? {
            Filled::Pieces(filled) => filled,
            Filled::NoRoom { file, offset } => return self.unfit(splits, file, offset, room),
        };
        if filled.len() > PIECES_MOST && self.crew.alone.is_none() {
            return Ok(Read::Unfit);
        }
        let mut used = 0;
        for Lying { place, file, offset } in filled {
            let number = numbered(before.files, file as u64)?;
            let origin = ranged.origin(file);
            let launched = self.worker.launch(&slot[place.clone()], origin, offset, number);
            let Some(arguments) = launched else {
                return self.unfit(splits, file, offset, room);
            };
            used = place.end;
            pieces.push(Piece { start: place.start, bytes: place.len(), arguments });
        }
        Ok(Read::Filled(used))
    }

    fn is_due(&mut self, splits: u64) -> Result<bool> {
        self.worker.is_due(splits * self.crew.ranged.layout.split_bytes())
    }

    fn merge(&mut self, partial: &[u64], ranges: &[Range<u64>], took: Duration) -> Result<()> {
        let unloading = timeline::begin(timeline::Kind::Combine);
        let (mut bytes, mut count) = (0, 0);
        for splits in ranges {
            count += splits.end - splits.start;
            let mut rest = splits.clone();
            while rest.start < rest.end {
                let part = part_of(self.crew.ranged, &rest, u64::MAX - rest.start);
                rest.start = part.end;
                let extents = self.crew.ranged.layout.extents(part);
                bytes += extents.map(|extent| extent.bytes.end - extent.bytes.start).sum::<u64>();
            }
        }
        let (part, file) = (self.crew.ranged.number, ALL_FILES);
        let (splits, stored_bytes) = (count, bytes);
        let mapped = Mapped { part, file, ranges, bytes, splits, stored_bytes, took };
        self.worker.unload(partial, &mapped)?;
        drop(unloading);
        self.crew.state.lock().on_the_way -= count;
        self.crew.wake();
        Ok(())
    }

    fn outlook(&mut self) -> Outlook {
        self.crew.outlook(*self.taken)
    }
}

impl<C: Aggregate> DeviceWork<'_, '_, '_, C> {
    /// Decides about splits that do not fit in a slot of `room` bytes: cores do them, or the device in parts;
    /// a single split that only devices can do is an error.
    fn unfit(&self, splits: &Range<u64>, file: usize, offset: u64, room: usize) -> Result<Read> {
        if self.crew.alone.is_none() || splits.end - splits.start > 1 {
            return Ok(Read::Unfit);
        }
        let cause = format!(
            "the records from here on do not fit in the {room} bytes that a unit has on the device; say how \
             long the longest record is, or give smaller splits"
        );
        let place = self.crew.ranged.origin(file).place(None, offset);
        Err(Error::Record { place, cause: cause.into() })
    }
}

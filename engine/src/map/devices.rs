//! Devices beside the workers of the map stage: a thread for each, which takes splits from the end of the
//! hand-out that workers come to last, reads them into the device's slots, and emits the pairs of its
//! partials into tables of its own, as a worker does. What a device gives back, workers map; so none goes
//! home while anything is on its way. What devices have of the input from a run before this one is not handed
//! out but in their own queues, from whose ends workers take when they find nothing else.

use super::assignment::Assignment;
use super::worker::Worker;
use super::{Before, MapStage, STAGE, numbered};
use crate::container::Kind;
use crate::device::{
    ARGUMENTS, Accelerator, Alone, DeviceFigures, Driver, Offload, Outlook, Piece, Read, Turn, Work,
};
use crate::error::{Error, Result};
use crate::ingest::{Feed, Reader};
use crate::job::Job;
use crate::memory::Reserved;
use crate::plan::Ranged;
use crate::schedule::{PerWorker, Step};
use crate::sizing::Units;
use crate::timeline::{self, Context};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Read at a time on the way to a slot.
const READ_BYTES: u64 = 1 << 20;
/// The part of the budget that the slots of one device may take.
const SLOTS_PART: u64 = 16;
/// Before this, nobody knows how fast the workers are.
const SECONDS_KNOWN: f64 = 0.002;
/// More pieces are more launches than a unit is worth.
const PIECES_MOST: usize = 64;
/// How often a device that has nothing to do, and may get what another one gives back, looks whether the
/// job was stopped.
const LOOK: Duration = Duration::from_millis(10);

/// The devices of a run, at one part of its input.
pub(super) struct Crew<'s, 'r, J: Job, K: Kind> {
    stage: &'r MapStage<'r, J, K>,
    ranged: &'s Ranged,
    feed: &'s Feed<'s>,
    before: Before,
    offload: Result<Offload, &'static str>,
    /// Splits that devices had at first.
    held: u64,
    alone: Option<Alone>,
    began: Instant,
    state: Mutex<State>,
    /// Devices that do the job alone wait here for what another one gives back.
    changed: Condvar,
}

/// What devices and workers share. A device takes splits under its lock, so a worker that finds nothing left
/// and then looks here knows of all that was taken.
#[derive(Default)]
struct State {
    /// Splits that devices took and nobody has counted yet.
    on_the_way: u64,
    given_back: Vec<Range<u64>>,
    /// For each device what it has and nobody has taken.
    held: Vec<VecDeque<Range<u64>>>,
    figures: Vec<DeviceFigures>,
}

/// What is left for a worker when the hand-out has nothing any more.
pub(super) enum Left {
    /// Splits that a device gave back.
    Some(Range<u64>),
    /// A device may still give something back.
    Perhaps,
    /// Nothing.
    Nothing,
}

impl<'s, 'r, J: Job, K: Kind> Crew<'s, 'r, J, K> {
    pub(super) fn of(
        stage: &'r MapStage<'r, J, K>,
        ranged: &'s Ranged,
        feed: &'s Feed<'s>,
        before: Before,
        assignment: Assignment,
    ) -> Crew<'s, 'r, J, K> {
        let figures = stage.devices.iter().map(|device| device.figures()).collect();
        let Assignment { offload, queues, held } = assignment;
        let state = Mutex::new(State { figures, held: queues, ..State::default() });
        let held = held.iter().map(|splits| splits.end - splits.start).sum();
        let (alone, changed, began) = (stage.alone, Condvar::new(), Instant::now());
        Crew { stage, ranged, feed, before, offload, held, alone, began, state, changed }
    }

    /// Has the devices work while the caller does `meanwhile`.
    pub(super) fn beside<R>(
        &self,
        workers: &PerWorker<Worker<'r, J, K>>,
        meanwhile: impl FnOnce() -> R,
    ) -> R {
        let Some(offload) = self.usable() else { return meanwhile() };
        let context = &Context::here();
        std::thread::scope(|scope| {
            for (number, device) in self.stage.devices.iter().enumerate() {
                let serve = move || {
                    let _entered = context.enter();
                    // A panic fails the job, so that no worker waits for what would never come back.
                    let serve = || Ok(self.serve(number, device, offload, workers));
                    let served = self.stage.failure.attempt(u64::MAX, STAGE, serve);
                    self.end(number, served.and_then(Result::err));
                };
                let name = std::thread::Builder::new().name(format!("device-{number}"));
                if let Err(cause) = name.spawn_scoped(scope, serve) {
                    self.end(number, Some(format!("cannot start its thread: {cause}")));
                }
            }
            meanwhile()
        })
    }

    /// What devices are to do; says why if nothing.
    fn usable(&self) -> Option<&Offload> {
        let why_not = match &self.offload {
            Ok(offload) => return Some(offload),
            Err(why_not) => *why_not,
        };
        let mut state = self.lock();
        state.figures.iter_mut().for_each(|figures| figures.fault = Some(why_not.to_owned()));
        None
    }

    /// What is left for a worker that found the hand-out empty. A part of what was given back is as large as
    /// what workers take otherwise, and of one tile.
    pub(super) fn left(&self, units: &Units) -> Left {
        let mut state = self.lock();
        if state.given_back.is_empty() {
            let longest = state.held.iter_mut().max_by_key(|queue| queue.len());
            if let Some(splits) = longest.and_then(VecDeque::pop_back) {
                state.on_the_way += splits.end - splits.start;
                state.given_back.push(splits);
            }
        }
        let Some(splits) = state.given_back.pop() else {
            return if state.on_the_way > 0 { Left::Perhaps } else { Left::Nothing };
        };
        let part = self.part_of(&splits, units.now());
        if part.end < splits.end {
            state.given_back.push(part.end..splits.end);
        }
        state.on_the_way -= part.end - part.start;
        Left::Some(part)
    }

    /// Whether nothing is left that a device took, nor any that none did.
    pub(super) fn has_done_all(&self) -> bool {
        self.lock().on_the_way == 0 && self.feed.hand_out().left() == 0
    }

    /// What each device did.
    pub(super) fn figures(self) -> Vec<DeviceFigures> {
        self.state.into_inner().unwrap_or_else(PoisonError::into_inner).figures
    }

    /// The first of some splits, at most so many and of one tile.
    fn part_of(&self, splits: &Range<u64>, most: u64) -> Range<u64> {
        let layout = &self.ranged.layout;
        let tile = layout.tile_of(splits.start).0;
        let tile_end = layout.first_split_behind(tile);
        splits.start..splits.end.min(tile_end).min(splits.start + most)
    }

    /// A device's thread.
    fn serve(
        &self,
        number: usize,
        device: &Accelerator,
        offload: &Offload,
        workers: &PerWorker<Worker<'r, J, K>>,
    ) -> Result<(), String> {
        let (stage, layout) = (self.stage, &self.ranged.layout);
        let blocks = stage.chunks.blocks();
        let host_bytes = blocks.budget().limit() / SLOTS_PART;
        let (split_bytes, bytes) = (layout.split_bytes(), layout.bytes());
        let started = match self.alone {
            None => device.start(offload, split_bytes, bytes, host_bytes),
            Some(alone) => device.start_alone(offload, split_bytes, bytes, host_bytes, alone),
        };
        let mut driver = started.map_err(|error| error.to_string())?;
        driver.record(number);
        let on_host = driver.room().host_bytes(device.caps()) as usize;
        let counted = Reserved::new(blocks, on_host, "the slots of a device");
        let _counted = counted.map_err(|error| error.to_string())?;
        let mut reader = Reader::new(blocks, READ_BYTES).map_err(|error| error.to_string())?;
        let index = stage.pool.workers() + number;
        let mut taken = 0;
        let mut turn = Turn::More;
        while !stage.failure.stops() && (turn == Turn::More || self.may_go_on(turn)) {
            let step = stage.step(index, u64::MAX, workers, |worker| {
                let (reader, taken) = (&mut reader, &mut taken);
                turn =
                    driver.step(&mut DeviceWork { crew: self, number, worker, reader, taken })?;
                Ok(())
            });
            if step == Step::Done {
                break;
            }
        }
        stage.step(index, u64::MAX, workers, Worker::end);
        self.keep(number, driver, device, offload);
        Ok(())
    }

    /// Whether a device that does the job with others alone is given more by these, after it had nothing
    /// more to do.
    fn may_go_on(&self, turn: Turn) -> bool {
        let mut state = self.lock();
        while self.alone.is_some() && turn == Turn::Idle && !self.stage.failure.stops() {
            if !state.given_back.is_empty() {
                return true;
            }
            if state.on_the_way == 0 {
                return false;
            }
            let waited = self.changed.wait_timeout(state, LOOK);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        false
    }

    fn keep(&self, number: usize, driver: Driver, device: &Accelerator, offload: &Offload) {
        if let Some(bytes) = driver.best_bytes() {
            device.remember(&offload.kernel, bytes);
        }
        self.lock().figures[number] = driver.figures();
        device.end(driver, offload);
    }

    /// A device has ended its work. Workers that wait for what it might give back look again.
    fn end(&self, number: usize, fault: Option<String>) {
        if let Some(fault) = fault {
            self.lock().figures[number].fault = Some(fault);
        }
        self.wake();
    }

    /// Who waits for what devices do looks again.
    fn wake(&self) {
        self.stage.pool.wake();
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One device's way to the input and to the partial.
struct DeviceWork<'w, 's, 'r, J: Job, K: Kind> {
    crew: &'w Crew<'s, 'r, J, K>,
    /// The device's.
    number: usize,
    worker: &'w mut Worker<'r, J, K>,
    reader: &'w mut Reader,
    /// Splits that this device took and did not give back.
    taken: &'w mut u64,
}

impl<J: Job, K: Kind> Work for DeviceWork<'_, '_, '_, J, K> {
    fn take(&mut self, splits: u64) -> Option<Range<u64>> {
        let mut state = self.crew.lock();
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
        let mut state = self.crew.lock();
        let splits = state.held[self.number].pop_front()?;
        let count = splits.end - splits.start;
        state.on_the_way += count;
        *self.taken += count;
        Some(splits)
    }

    fn give_back(&mut self, splits: Range<u64>) {
        *self.taken -= splits.end - splits.start;
        self.crew.lock().given_back.push(splits);
        self.crew.wake();
    }

    fn read(
        &mut self,
        splits: &Range<u64>,
        slot: &mut [u8],
        pieces: &mut Vec<Piece>,
    ) -> Result<Read> {
        let Crew { ranged, stage, before, .. } = *self.crew;
        let reading = timeline::begin(timeline::Kind::Read);
        // Where each piece comes from: its file, and its offset there.
        let mut origins: Vec<(usize, u64)> = Vec::new();
        let (mut rest, mut used) = (splits.clone(), 0_usize);
        let at_a_time = (READ_BYTES / ranged.layout.split_bytes()).max(1);
        while rest.start < rest.end {
            let part = self.crew.part_of(&rest, at_a_time);
            rest.start = part.end;
            self.reader.read_splits(ranged, part, &stage.plan.cut)?;
            let read = &self.reader.read;
            for records in &read.pieces {
                let bytes = &read.buffer.bytes()[records.records.clone()];
                let last = origins.last().zip(pieces.last());
                let follows = last.is_some_and(|(&(file, offset), piece)| {
                    (file, offset + piece.bytes as u64) == (records.file, records.offset)
                });
                let start = if follows { used } else { used.next_multiple_of(Piece::ALIGNMENT) };
                let room = slot.len();
                let Some(place) = slot.get_mut(start..start + bytes.len()) else {
                    return self.unfit(splits, records.file, records.offset, room);
                };
                place.copy_from_slice(bytes);
                used = start + bytes.len();
                match pieces.last_mut().filter(|_| follows) {
                    Some(piece) => piece.bytes += bytes.len(),
                    None => {
                        pieces.push(Piece { start, bytes: bytes.len(), arguments: [0; ARGUMENTS] });
                        origins.push((records.file, records.offset));
                    }
                }
            }
            if pieces.len() > PIECES_MOST && self.crew.alone.is_none() {
                return Ok(Read::Unfit);
            }
        }
        drop(reading);
        for (piece, &(file, offset)) in pieces.iter_mut().zip(&origins) {
            let bytes = &slot[piece.start..piece.start + piece.bytes];
            let number = numbered(before.files, file as u64)?;
            let origin = ranged.origin(file);
            let Some(arguments) = self.worker.launch(bytes, origin, offset, number) else {
                return self.unfit(splits, file, offset, slot.len());
            };
            piece.arguments = arguments;
        }
        Ok(Read::Filled(used))
    }

    fn merge(&mut self, partial: &[u64], splits: &[Range<u64>]) -> Result<()> {
        let unloading = timeline::begin(timeline::Kind::Combine);
        let (mut bytes, mut count) = (0, 0);
        for splits in splits {
            count += splits.end - splits.start;
            let mut rest = splits.clone();
            while rest.start < rest.end {
                let part = self.crew.part_of(&rest, u64::MAX - rest.start);
                rest.start = part.end;
                let extents = self.crew.ranged.layout.extents(part);
                bytes += extents.map(|extent| extent.bytes.end - extent.bytes.start).sum::<u64>();
            }
        }
        self.worker.unload(partial, bytes, count)?;
        drop(unloading);
        self.crew.lock().on_the_way -= count;
        self.crew.wake();
        Ok(())
    }

    fn outlook(&mut self) -> Outlook {
        let hand_out = self.crew.feed.hand_out();
        let queues: u64 = {
            let state = self.crew.lock();
            let held = state.held.iter().flatten();
            held.map(|splits| splits.end - splits.start).sum()
        };
        let splits_left = hand_out.left() + queues;
        let all = hand_out.splits() + self.crew.held;
        let others = all.saturating_sub(splits_left + *self.taken);
        let seconds = self.crew.began.elapsed().as_secs_f64();
        let others_splits_s = if seconds < SECONDS_KNOWN { 0.0 } else { others as f64 / seconds };
        Outlook { splits_left, others_splits: others, others_splits_s }
    }
}

impl<J: Job, K: Kind> DeviceWork<'_, '_, '_, J, K> {
    /// What is to become of splits that do not fit in a slot of `room` bytes: cores do them, or the device
    /// in parts; of a single split that only devices can do, that is the end.
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

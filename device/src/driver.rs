//! The driver: keeps units in flight on one device and counts each exactly once. Takes stretches of splits
//! from a [`Work`]; hands on partials, each with its splits, and gives back the work that the device could
//! not do.
//!
//! # What counts
//! A split is outstanding from the moment it is taken until a snapshot with it is merged. Only the merge
//! counts. So in every failure the outstanding splits are known, and none of them was counted:
//!
//! - **Lost**: any error of the session. All outstanding splits are given back, and the device is not used
//!   any more.
//! - **Overflow**: a table had no room, and its contents can no longer be separated. It is dropped, and
//!   everything since the last snapshot is sent again in two halves with a snapshot after each; halves that
//!   do not fit are halved again. A single split that does not fit is given back. From then on a snapshot is
//!   made after half as many splits as overflowed; this number grows slowly.
//!
//! A snapshot is made after a number of units and bytes, and whenever the work asks for one to be saved or
//! shown. Units in flight end first, so the contents of a snapshot are known exactly.
//!
//! The size of units, the number of threads that fill them, and whether to send any are found during the
//! run (`tuning.rs`).
//!
//! # Resident units
//! If the room has memory for them, units stay on the device after they are done ([`Residence`]). Units
//! that stayed from an earlier run come first and are not copied again; otherwise they are treated like any
//! others.
//!
//! [`Residence`]: super::Residence

use super::residence::Kept;
use super::tracks::Tracks;
use super::trial::Verdict;
use super::tuning::{Filled, Tuning};
use super::{DeviceError, DeviceFigures, Done, Outcome, Piece, Read, Room, Session, Slot, Work};
use crate::error::{Error, Result};
use crate::sizing::Ramp;
use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;
use std::time::Duration;

/// The result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// A step was made; there may be more.
    More,
    /// Nothing is outstanding, and nothing worth sending is left.
    Idle,
    /// The device is lost; all outstanding splits were given back.
    Lost,
}

/// A snapshot drains the pipeline, so there is one per this number of units.
const UNITS_PER_SNAPSHOT: u64 = 128;
/// The bytes between snapshots, to within one unit: a partial that sums 32 bits of each number then needs
/// no more than 64.
const SNAPSHOT_BYTES_MOST: u64 = 4 << 30;
/// After this number of consecutive units that only cores can do, no more are tried.
const UNFIT_MOST: u32 = 4;
/// The time for which a device rests before it tries again.
const REST: Duration = Duration::from_millis(5);
/// After an overflow the distance of snapshots grows by one part in this number each time.
const INTERVAL_GROWTH: u64 = 8;

/// A device that works on a job.
pub struct Driver {
    session: Box<dyn Session>,
    room: Room,
    split_bytes: u64,
    tuning: Tuning,
    in_flight: VecDeque<Sent>,
    /// Units in the partial.
    counted: Vec<Range<u64>>,
    /// Units that came back after the partial overflowed.
    spoilt: Vec<Range<u64>>,
    /// Splits to send again before any new ones.
    again: VecDeque<Again>,
    /// Units that stay on the device, and the bytes left for more.
    kept: Vec<Kept>,
    keep_bytes: u64,
    /// Splits of resident units in the partial that were not copied in this run.
    reused: u64,
    /// The device's time when the driver began.
    began: Duration,
    /// Consecutive units that the device could not use.
    unfit: u32,
    /// The most splits between snapshots after a table has overflowed.
    interval: Option<u64>,
    is_lost: bool,
    /// Whether no core can do the remaining work.
    is_alone: bool,
    partial: Vec<u64>,
    pieces: Vec<Piece>,
    figures: DeviceFigures,
    tracks: Option<Tracks>,
}

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Driver");
        out.field("room", &self.room).field("in_flight", &self.in_flight.len());
        out.field("is_lost", &self.is_lost).field("figures", &self.figures).finish_non_exhaustive()
    }
}

/// A unit in flight.
struct Sent {
    splits: Range<u64>,
    filled: Filled,
    /// Whether it was on the device already.
    is_reused: bool,
}

enum Again {
    Send(Range<u64>),
    Snapshot,
}

/// The reason why a step ends early.
enum Stop {
    Job(Error),
    Device(DeviceError),
}

impl From<DeviceError> for Stop {
    fn from(error: DeviceError) -> Stop {
        Stop::Device(error)
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Job(error)
    }
}

fn count(splits: &[Range<u64>]) -> u64 {
    splits.iter().map(|splits| splits.end - splits.start).sum()
}

impl Driver {
    /// Creates the driver of a session whose slots have room for `splits_most` splits of `split_bytes`.
    pub fn new(
        session: Box<dyn Session>,
        room: &Room,
        (split_bytes, splits_most): (u64, u64),
        ramp: Ramp,
        figures: DeviceFigures,
    ) -> Driver {
        Driver {
            began: session.now(),
            session,
            room: *room,
            split_bytes,
            tuning: Tuning::new((split_bytes, splits_most), ramp),
            in_flight: VecDeque::new(),
            counted: Vec::new(),
            spoilt: Vec::new(),
            again: VecDeque::new(),
            kept: Vec::new(),
            keep_bytes: room.resident_bytes,
            reused: 0,
            unfit: 0,
            interval: None,
            is_lost: false,
            is_alone: false,
            partial: Vec::new(),
            pieces: Vec::new(),
            figures,
            tracks: None,
        }
    }

    /// For a job on devices alone: takes all work, and sends units that do not fit in halves.
    pub(super) fn alone(mut self) -> Driver {
        self.is_alone = true;
        self.tuning.is_alone = true;
        self
    }

    /// Sets the number of threads that fill slots at first, if there may be that many.
    pub(super) fn fed_by(mut self, feeders: usize) -> Driver {
        self.tuning.feeders_first = feeders;
        self
    }

    /// Limits units to this number of bytes, or to one split.
    pub fn within(mut self, unit_bytes: u64) -> Driver {
        self.tuning = self.tuning.within(unit_bytes);
        self
    }

    /// Records the device's work in the timeline of the calling thread, if it has one.
    #[doc(hidden)]
    pub fn record(&mut self, number: usize) {
        self.tracks = Tracks::of(number, self.session.now());
    }

    /// Adds units that the session has already.
    pub(super) fn with_kept(mut self, units: Vec<Kept>) -> Driver {
        let bytes: usize = units.iter().map(|unit| unit.bytes).sum();
        self.keep_bytes = self.keep_bytes.saturating_sub(bytes as u64);
        self.figures.resident_bytes = bytes as u64;
        self.kept = units;
        self
    }

    /// Returns the session and its resident units for another run; `None` if the session cannot be used any
    /// more.
    pub(super) fn into_kept(self) -> Option<(Box<dyn Session>, Room, Vec<Kept>)> {
        let is_over =
            self.in_flight.is_empty() && self.counted.is_empty() && self.spoilt.is_empty();
        let is_of_use = !self.is_lost && is_over && !self.kept.is_empty();
        is_of_use.then_some((self.session, self.room, self.kept))
    }

    /// Does the next step: sends a unit, waits for one, or has the partial merged. Waits only for the
    /// device, and only if there is nothing to send.
    ///
    /// # Errors
    /// Returns the errors of [`Work`], which fail the job. Errors of the device do not; they are in the
    /// figures.
    pub fn step(&mut self, work: &mut dyn Work) -> Result<Turn> {
        if self.is_lost {
            return Ok(Turn::Lost);
        }
        match self.advance(work) {
            Ok(turn) => Ok(turn),
            Err(Stop::Job(error)) => Err(error),
            Err(Stop::Device(error)) => {
                self.lose(&error, work);
                Ok(Turn::Lost)
            }
        }
    }

    /// Returns the memory that it takes on the device and the host.
    pub fn room(&self) -> &Room {
        &self.room
    }

    /// Returns the time since the session began, by the device's clock.
    pub fn now(&self) -> Duration {
        self.session.now()
    }

    /// Advances the device's clock, for simulations whose work takes no time of its own.
    pub fn pass(&mut self, time: Duration) {
        self.session.rest(time);
    }

    /// Returns whether the device rests, so that work can be timed without it.
    pub fn is_resting(&self) -> bool {
        self.tuning.is_resting()
    }

    /// Returns the best size of unit in bytes, if it was found.
    pub fn best_bytes(&self) -> Option<u64> {
        self.tuning.best_bytes()
    }

    /// Returns the best number of threads that fill slots, if others were compared with it.
    pub fn best_feeders(&self) -> Option<usize> {
        self.tuning.best_feeders()
    }

    /// Returns the figures of the device's work.
    pub fn figures(&self) -> DeviceFigures {
        let (unit_bytes, feeders) = self.tuning.found();
        DeviceFigures { unit_bytes, feeders, ..self.figures.clone() }
    }

    fn advance(&mut self, work: &mut dyn Work) -> Result<Turn, Stop> {
        while let Some(done) = self.session.poll(false)? {
            self.take_in(done);
        }
        let is_empty = self.in_flight.is_empty();
        if !self.spoilt.is_empty() {
            match is_empty {
                true => self.recover(work)?,
                false => self.wait()?,
            }
            return Ok(Turn::More);
        }
        if self.snapshot_is_due(work)? {
            match is_empty {
                true => self.snapshot(work)?,
                false => self.wait()?,
            }
            return Ok(Turn::More);
        }
        match self.verdict(work) {
            Verdict::Work if self.send(work)? => return Ok(Turn::More),
            Verdict::Rest if is_empty => {
                self.tuning.feed_by(0, work);
                self.session.rest(REST);
                return Ok(Turn::More);
            }
            Verdict::Work | Verdict::Rest => {}
            Verdict::GoHome => {
                self.tuning.feed_by(0, work);
                self.figures.fault = Some("the cores alone were faster".to_owned());
            }
        }
        if !is_empty {
            self.wait()?;
        } else if !self.counted.is_empty() {
            self.snapshot(work)?;
        } else {
            return Ok(Turn::Idle);
        }
        Ok(Turn::More)
    }

    /// Decides whether to send more.
    fn verdict(&mut self, work: &mut dyn Work) -> Verdict {
        let (now, in_flight) = (self.session.now(), self.in_flight.len());
        match self.again.is_empty() {
            true => self.tuning.verdict(now, in_flight, work),
            false => self.tuning.goes_on(),
        }
    }

    fn wait(&mut self) -> Result<(), Stop> {
        if let Some(done) = self.session.poll(true)? {
            self.take_in(done);
        }
        Ok(())
    }

    /// Fills a slot and submits it. Returns whether a unit was sent.
    fn send(&mut self, work: &mut dyn Work) -> Result<bool, Stop> {
        let Some(slot) = self.session.stage()? else { return Ok(false) };
        let is_fresh = self.again.is_empty();
        if is_fresh && let Some(splits) = work.take_held() {
            self.reuse(slot, splits, work)?;
            return Ok(true);
        }
        let Some(splits) = self.next(work) else {
            self.session.put_back(slot);
            self.tuning.feed_by(0, work);
            return Ok(false);
        };
        let feeders = self.tuning.feed(work);
        self.pieces.clear();
        let read = work.read(&splits, self.session.bytes_mut(&slot), &mut self.pieces);
        match read {
            Ok(Read::Filled(_)) if self.pieces.is_empty() => {
                // No record begins in these splits.
                self.session.put_back(slot);
                self.counted.push(splits);
            }
            Ok(Read::Filled(bytes)) => {
                let follows = !self.in_flight.is_empty();
                let filled = Filled { feeders: feeders as u64, follows };
                self.tuning.begun(splits.end - splits.start, filled);
                // Recorded before it is submitted: if that fails, it is given back.
                let sent = Sent { splits: splits.clone(), filled, is_reused: false };
                self.in_flight.push_back(sent);
                if is_fresh && bytes as u64 <= self.keep_bytes {
                    self.submit_and_keep(slot, bytes, splits)?;
                } else {
                    self.session.submit(slot, bytes, &self.pieces)?;
                }
                self.unfit = 0;
            }
            Ok(Read::Unfit) if self.is_alone && splits.end - splits.start > 1 => {
                self.session.put_back(slot);
                let half = splits.start + (splits.end - splits.start) / 2;
                for part in [half..splits.end, splits.start..half] {
                    self.again.push_front(Again::Send(part));
                }
            }
            Ok(Read::Unfit) => {
                self.session.put_back(slot);
                self.give_back(splits, work);
                self.unfit += 1;
            }
            Err(error) => {
                self.session.put_back(slot);
                self.give_back(splits, work);
                return Err(error.into());
            }
        }
        Ok(true)
    }

    fn submit_and_keep(
        &mut self,
        slot: Slot,
        bytes: usize,
        splits: Range<u64>,
    ) -> Result<(), Stop> {
        match self.session.submit_and_keep(slot, bytes, &self.pieces)? {
            Some(number) => {
                self.keep_bytes -= bytes as u64;
                self.figures.resident_bytes += bytes as u64;
                self.kept.push(Kept { splits, number, bytes, pieces: self.pieces.clone() });
            }
            // The device has less memory than expected.
            None => self.keep_bytes = 0,
        }
        Ok(())
    }

    /// Launches the kernel for a unit that is on the device already.
    fn reuse(&mut self, slot: Slot, splits: Range<u64>, work: &mut dyn Work) -> Result<(), Stop> {
        let Some(unit) = self.kept.iter().find(|unit| unit.splits == splits) else {
            // Its session was not in the state that this run needs.
            self.session.put_back(slot);
            self.give_back(splits, work);
            return Ok(());
        };
        let filled = Filled { feeders: 1, follows: false };
        self.in_flight.push_back(Sent { splits, filled, is_reused: true });
        Ok(self.session.reuse(slot, unit.number, &unit.pieces)?)
    }

    /// Returns the splits to send next.
    fn next(&mut self, work: &mut dyn Work) -> Option<Range<u64>> {
        if let Some(Again::Send(splits)) =
            self.again.pop_front_if(|next| matches!(next, Again::Send(_)))
        {
            return Some(splits);
        }
        if self.unfit >= UNFIT_MOST {
            return None;
        }
        let ahead = self.in_flight.iter().map(|sent| sent.splits.end - sent.splits.start).sum();
        let splits = self.tuning.worth_sending(work.outlook(), ahead)?;
        work.take(splits)
    }

    /// Takes a unit that came back.
    fn take_in(&mut self, done: Done) {
        let Some(sent) = self.in_flight.pop_front() else { return };
        self.figures.copy += done.copy;
        self.figures.kernel += done.kernel;
        self.tracks.iter_mut().for_each(|tracks| tracks.unit(&done));
        self.tuning.took(&done);
        if done.outcome == Outcome::Overflow || !self.spoilt.is_empty() {
            self.spoilt.push(sent.splits);
            return;
        }
        let splits = sent.splits.end - sent.splits.start;
        let was_found = self.tuning.best_bytes().is_some();
        self.tuning.done(splits, sent.filled, done.at);
        if !was_found && self.tuning.best_bytes().is_some() {
            self.figures.sizing_units = self.tuning.units_done();
            self.figures.sizing = done.at.saturating_sub(self.began);
        }
        self.reused += if sent.is_reused { splits } else { 0 };
        self.counted.push(sent.splits);
        self.figures.span = done.at.saturating_sub(self.began);
    }

    fn snapshot_is_due(&self, work: &mut dyn Work) -> Result<bool> {
        let on_the_way = self.in_flight.iter().map(|sent| sent.splits.end - sent.splits.start);
        let since = count(&self.counted) + on_the_way.sum::<u64>();
        if work.is_due(since)? || matches!(self.again.front(), Some(Again::Snapshot)) {
            return Ok(true);
        }
        let interval = (UNITS_PER_SNAPSHOT * self.tuning.unit_splits())
            .min((SNAPSHOT_BYTES_MOST / self.split_bytes).max(1));
        Ok(since >= self.interval.map_or(interval, |least| least.min(interval)))
    }

    fn snapshot(&mut self, work: &mut dyn Work) -> Result<(), Stop> {
        let _ = self.again.pop_front_if(|next| matches!(next, Again::Snapshot));
        let last = self.tuning.pause();
        if self.counted.is_empty() {
            return Ok(());
        }
        let from = self.session.now();
        self.session.snapshot(&mut self.partial)?;
        let took = self.session.now().saturating_sub(from);
        self.figures.copy_out += took;
        self.tracks.iter().for_each(|tracks| tracks.copied_out(from, took));
        if self.room.partial.overflowed(&self.partial) {
            // The device had reported room, so it cannot be trusted.
            let cause = "a table that overflowed was given as whole".to_owned();
            let (device, action) = (self.figures.name.clone(), "count");
            return Err(Stop::Device(DeviceError::Failed { device, action, cause }));
        }
        let splits = std::mem::take(&mut self.counted);
        // No unit was running since the last one came back, nor will be until the next one arrives.
        let idle = self.session.now().saturating_sub(last.unwrap_or(from)) + self.tuning.latency();
        work.merge(&self.partial, &splits, idle)?;
        self.figures.units += splits.len() as u64;
        self.figures.bytes += count(&splits) * self.split_bytes;
        self.figures.reused_bytes += std::mem::take(&mut self.reused) * self.split_bytes;
        self.figures.snapshots += 1;
        self.figures.span = self.session.now().saturating_sub(self.began);
        self.interval = self.interval.map(|splits| splits + (splits / INTERVAL_GROWTH).max(1));
        Ok(())
    }

    /// Handles an overflow of the partial, with nothing in flight.
    fn recover(&mut self, work: &mut dyn Work) -> Result<(), Stop> {
        self.session.reset()?;
        self.figures.overflows += 1;
        self.tuning.pause();
        self.reused = 0;
        let mut all = std::mem::take(&mut self.counted);
        all.append(&mut self.spoilt);
        let half = count(&all) / 2;
        if half == 0 && self.is_alone {
            let cause = "its table has no room for the keys of one split: give a larger table or smaller splits";
            let (device, action, cause) = (self.figures.name.clone(), "count", cause.to_owned());
            self.spoilt = all;
            return Err(Stop::Device(DeviceError::Failed { device, action, cause }));
        }
        if half == 0 {
            all.into_iter().for_each(|splits| self.give_back(splits, work));
            return Ok(());
        }
        self.interval = Some(half);
        let (mut first, mut second) = (Vec::new(), Vec::new());
        let mut room = half;
        for splits in all {
            let cut = splits.end.min(splits.start + room);
            room -= cut - splits.start;
            first.extend((splits.start < cut).then_some(splits.start..cut));
            second.extend((cut < splits.end).then_some(cut..splits.end));
        }
        for half in [second, first] {
            self.again.push_front(Again::Snapshot);
            half.into_iter().rev().for_each(|splits| self.again.push_front(Again::Send(splits)));
        }
        Ok(())
    }

    fn give_back(&mut self, splits: Range<u64>, work: &mut dyn Work) {
        self.figures.given_back_bytes += (splits.end - splits.start) * self.split_bytes;
        work.give_back(splits);
    }

    /// Handles the loss of the device and its partial.
    fn lose(&mut self, error: &DeviceError, work: &mut dyn Work) {
        self.is_lost = true;
        self.figures.fault = Some(error.to_string());
        let sent = std::mem::take(&mut self.in_flight).into_iter().map(|sent| sent.splits);
        let again = std::mem::take(&mut self.again).into_iter().filter_map(|again| match again {
            Again::Send(splits) => Some(splits),
            Again::Snapshot => None,
        });
        let (counted, spoilt) =
            (std::mem::take(&mut self.counted), std::mem::take(&mut self.spoilt));
        let all: Vec<_> = counted.into_iter().chain(spoilt).chain(sent).chain(again).collect();
        all.into_iter().for_each(|splits| self.give_back(splits, work));
    }
}

//! The driver: keeps units in flight on one device and sees to it that each counts exactly once. Takes
//! stretches of splits from a [`Work`]; hands on partials, each with the splits that are in it, and gives
//! back what the device could not do.
//!
//! # What counts
//! A split is on its way from when it is taken until a snapshot that has it is merged. Only the merge
//! counts; so whatever becomes of a device, what is on its way is known, and nothing of it was counted:
//!
//! - **Lost**: any error of the session. All that is on its way is given back, and the device is done with.
//! - **Overflow**: a table had no room, and what is in it cannot be told apart any more. It is dropped, and
//!   all since the last snapshot is sent again in two halves with a snapshot behind each; halves that do
//!   not fit are halved again. A single split that does not fit is given back. From then on snapshots
//!   are as far apart as half of what overflowed, and slowly further.
//!
//! There is a snapshot for so many units and bytes, and whenever the work says that one is due, to be saved or
//! shown. What is in flight then comes first, so that it is known exactly what a snapshot has.
//!
//! How large units are, how many threads fill them, and whether any are sent is found on the way (`tuning.rs`).
//!
//! # What stays
//! Where the room has memory for it, units stay on the device when they are done ([`Residence`]). Those that
//! did in a run before come first, and are not copied again; what becomes of them is as of any other.
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
use std::ops::Range;
use std::time::Duration;

/// What a step came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Something was done; there may be more.
    More,
    /// Nothing is on its way, and nothing is left that is worth sending.
    Idle,
    /// The device is lost; all that was on its way is given back.
    Lost,
}

/// A snapshot drains the pipeline, so there is one for so many units.
const UNITS_PER_SNAPSHOT: u64 = 128;
/// And for so many bytes, one unit more or less: a partial that sums 32 bits of each number needs no more
/// than 64.
const SNAPSHOT_BYTES_MOST: u64 = 4 << 30;
/// After so many units in a row that only cores can do, no more are looked at.
const UNFIT_MOST: u32 = 4;
/// How long a device rests before it looks again.
const REST: Duration = Duration::from_millis(5);
/// After an overflow the distance of snapshots grows by this part of it each time.
const INTERVAL_GROWTH: u64 = 8;

/// A device at work on a job.
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
    /// What is to be sent again before anything new.
    again: VecDeque<Again>,
    /// Units that are on the device, and the bytes that more may have.
    kept: Vec<Kept>,
    keep_bytes: u64,
    /// Splits of such units in the partial that were not copied in this run.
    reused: u64,
    /// When the driver began, by the device's clock.
    began: Duration,
    /// Units in a row that were no use to the device.
    unfit: u32,
    /// Splits between snapshots at most, once a table has overflowed.
    interval: Option<u64>,
    is_lost: bool,
    /// Whether no core can do what it does not.
    is_alone: bool,
    partial: Vec<u64>,
    pieces: Vec<Piece>,
    figures: DeviceFigures,
    tracks: Option<Tracks>,
}

/// A unit on the device.
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

/// Why a step ends early.
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
    /// A driver of a session, whose slots have room for `splits_most` splits of `split_bytes`.
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
            tuning: Tuning::new((split_bytes, splits_most), room.slot_bytes as u64, ramp),
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

    /// For a job that devices do alone: it takes all that is there, and what does not fit in halves.
    pub(super) fn alone(mut self) -> Driver {
        self.is_alone = true;
        self.tuning.is_alone = true;
        self
    }

    /// Begins with so many threads that fill slots, if there may be as many.
    pub(super) fn fed_by(mut self, feeders: usize) -> Driver {
        self.tuning.feeders_first = feeders;
        self
    }

    /// Sends units of at most so many bytes, or one split.
    pub fn within(mut self, unit_bytes: u64) -> Driver {
        self.tuning = self.tuning.within(unit_bytes);
        self
    }

    /// Has what the device does recorded in the timeline of the calling thread, if it has one.
    pub(crate) fn record(&mut self, number: usize) {
        self.tracks = Tracks::of(number, self.session.now());
    }

    /// With units that the session has.
    pub(super) fn with_kept(mut self, units: Vec<Kept>) -> Driver {
        let bytes: usize = units.iter().map(|unit| unit.bytes).sum();
        self.keep_bytes = self.keep_bytes.saturating_sub(bytes as u64);
        self.figures.resident_bytes = bytes as u64;
        self.kept = units;
        self
    }

    /// The session and the units that it has, for another run; `None` if it cannot be used any more.
    pub(super) fn into_kept(self) -> Option<(Box<dyn Session>, Room, Vec<Kept>)> {
        let is_over =
            self.in_flight.is_empty() && self.counted.is_empty() && self.spoilt.is_empty();
        let is_of_use = !self.is_lost && is_over && !self.kept.is_empty();
        is_of_use.then_some((self.session, self.room, self.kept))
    }

    /// Does the next thing: sends a unit, or waits for one, or has the partial merged. It waits for the
    /// device alone, and only if there is nothing to send.
    ///
    /// # Errors
    /// Those of [`Work`], which fail the job. What fails on the device does not; it is in the figures.
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

    /// What it takes of the device and of the host.
    pub fn room(&self) -> &Room {
        &self.room
    }

    /// Time since the session began, by the device's clock.
    pub fn now(&self) -> Duration {
        self.session.now()
    }

    /// Lets time pass by the device's clock: for simulations, whose work takes no time of its own.
    pub fn pass(&mut self, time: Duration) {
        self.session.rest(time);
    }

    /// Whether the device has nothing to do for a while, so that work can be timed without it.
    pub fn is_resting(&self) -> bool {
        self.tuning.is_resting()
    }

    /// The size of unit that went best, in bytes, if that was found.
    pub fn best_bytes(&self) -> Option<u64> {
        self.tuning.best_bytes()
    }

    /// The number of threads filling slots that went best, if others were compared with it.
    pub fn best_feeders(&self) -> Option<usize> {
        self.tuning.best_feeders()
    }

    /// What the device did.
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

    /// Whether to send more.
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

    /// Fills a slot and submits it; returns whether anything came of it.
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
                // Before it is submitted: if that fails, it is given back.
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
            // It has less than was thought.
            None => self.keep_bytes = 0,
        }
        Ok(())
    }

    /// Has the kernel launched for a unit that is on the device already.
    fn reuse(&mut self, slot: Slot, splits: Range<u64>, work: &mut dyn Work) -> Result<(), Stop> {
        let Some(unit) = self.kept.iter().find(|unit| unit.splits == splits) else {
            // Its session was not as it had to be for this run.
            self.session.put_back(slot);
            self.give_back(splits, work);
            return Ok(());
        };
        let filled = Filled { feeders: 1, follows: false };
        self.in_flight.push_back(Sent { splits, filled, is_reused: true });
        Ok(self.session.reuse(slot, unit.number, &unit.pieces)?)
    }

    /// What to send next.
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

    /// A unit came back.
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
        self.tuning.done(splits, sent.filled, done.at);
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
            // The device said that there was room: it cannot be trusted.
            let cause = "a table that overflowed was given as whole".to_owned();
            let (device, action) = (self.figures.name.clone(), "count");
            return Err(Stop::Device(DeviceError::Failed { device, action, cause }));
        }
        let splits = std::mem::take(&mut self.counted);
        // Nothing has been at work since the last unit, nor will be until the next one is there.
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

    /// The partial overflowed, and nothing is in flight.
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

    /// The device is gone, and with it its partial.
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

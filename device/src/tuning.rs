//! The figures that a driver finds by timing units: their size, the number of threads that fill them, and
//! whether the device gets any. Takes the times at which units came back, and the remaining work; hands on
//! the number of splits to send.
//!
//! # Number of threads
//! One thread, or more if that increases the total rate of cores and device (`feeders.rs`). Each thread
//! fills a part of a unit, so the size of a unit is proportional to their number. Once the size is known, the
//! search begins with as many threads as keep the device busy, if each of them brings more than a core maps.
//!
//! # Size of units
//! A [`Ramp`] finds the size of a unit from the time between units that come back while the device has more
//! to do. Towards the end a unit is at most half of the device's share of the remaining work, and none is
//! sent that the others would finish sooner. Whether the device is of use at all is tried once
//! (`trial.rs`).

use super::feeders::{self, Feeders};
use super::trial::{Standing, Trial, Verdict};
use super::{Done, Outlook, Work};
use crate::sizing::Ramp;
use std::time::Duration;

/// Units do not shrink below this towards the end, unless they are smaller anyway.
const TAIL_BYTES_LEAST: u64 = 256 << 10;
/// After this number of consecutive units for which the device was idle, it does not wait because of their
/// size.
const STARVED: u32 = 8;
/// A thread must bring this many times what a core maps, so that the search begins with several.
const WORTH_A_CORE: f64 = 1.2;
/// A smaller part of a thread may be noise of the measurement, so the search begins without it.
const NOISE: f64 = 0.25;

/// Units that several threads fill do not grow beyond this, unless one thread's are larger. On an H100's host, 12 threads
/// brought 54 GB a second from the page cache into slots of 24 MiB and 35 into slots of 64: of smaller ones the
/// processor's caches hold more until they are copied. They are also touched and pinned sooner.
const SHARED_BYTES_MOST: u64 = 24 << 20;

/// The facts known about a device's units.
pub(super) struct Tuning {
    split_bytes: u64,
    /// The most splits that fit in a slot.
    splits_most: u64,
    ramp: Ramp,
    /// Known when the work is.
    feeders: Option<Feeders>,
    /// The first and the present number of threads.
    pub(super) feeders_first: usize,
    feeders_now: usize,
    /// Consecutive units that found nothing in flight.
    starved: u32,
    /// The time at which the last unit came back, if others were to follow it.
    last: Option<Duration>,
    /// The time of one unit alone.
    latency: Duration,
    /// The longer of copy and kernel, for the last unit and for each of its splits: the device does not take
    /// them faster, whoever fills its slots.
    stage: Duration,
    split_stage_s: f64,
    /// When the last unit came back, and the time since the one before, for each of its splits.
    at: Duration,
    split_s: f64,
    trial: Trial,
    /// Splits and units that the device has done, counted or not.
    splits_done: u64,
    units_done: u64,
    is_resting: bool,
    /// Whether no core can do the remaining work.
    pub(super) is_alone: bool,
}

/// Returns the size of a unit of several threads, of which one fills `bytes`.
fn shared(bytes: u64, threads: u64) -> u64 {
    (bytes * threads.max(1)).min(SHARED_BYTES_MOST).max(bytes)
}

/// The conditions under which a unit was filled.
#[derive(Clone, Copy)]
pub(super) struct Filled {
    /// The number of threads that filled it.
    pub(super) feeders: u64,
    /// Whether another unit was in flight when it was sent.
    pub(super) follows: bool,
}

impl Tuning {
    /// Creates a tuning without knowledge, for units of at most `splits_most` splits of `split_bytes`.
    pub(super) fn new((split_bytes, splits_most): (u64, u64), ramp: Ramp) -> Tuning {
        Tuning {
            split_bytes,
            splits_most,
            ramp,
            feeders: None,
            feeders_first: 1,
            feeders_now: 0,
            starved: 0,
            last: None,
            latency: Duration::ZERO,
            stage: Duration::ZERO,
            split_stage_s: 0.0,
            at: Duration::ZERO,
            split_s: f64::INFINITY,
            trial: Trial::ToCome,
            splits_done: 0,
            units_done: 0,
            is_resting: false,
            is_alone: false,
        }
    }

    /// Limits units to this number of bytes, or to one split.
    pub(super) fn within(mut self, unit_bytes: u64) -> Tuning {
        self.splits_most = self.splits_most.min(unit_bytes / self.split_bytes).max(1);
        self.ramp = self.ramp.within(self.splits_most * self.split_bytes);
        self
    }

    /// Returns the best size of unit in bytes, if it was found among several.
    pub(super) fn best_bytes(&self) -> Option<u64> {
        (self.ramp.is_settled() && !self.ramp.is_fixed()).then(|| self.ramp.best())
    }

    /// Returns the best number of threads, if others were compared with it.
    pub(super) fn best_feeders(&self) -> Option<usize> {
        let seen = self.feeders.as_ref().filter(|feeders| feeders.device_rate().is_some());
        seen.map(Feeders::best)
    }

    /// Returns the best size of unit and number of threads known so far.
    pub(super) fn found(&self) -> (u64, u64) {
        let feeders = self.feeders.as_ref().map_or(0, |feeders| feeders.best() as u64);
        let most = self.splits_most * self.split_bytes;
        (most.min(shared(self.ramp.best(), feeders)), feeders)
    }

    /// Returns the number of units that the device has done.
    pub(super) fn units_done(&self) -> u64 {
        self.units_done
    }

    /// Returns whether the device rests, so that work can be timed without it.
    pub(super) fn is_resting(&self) -> bool {
        self.is_resting
    }

    /// Returns the time of one unit alone.
    pub(super) fn latency(&self) -> Duration {
        self.latency
    }

    /// Marks the units that are sent now as unsuitable for measurements.
    pub(super) fn goes_on(&mut self) -> Verdict {
        self.feeders.iter_mut().for_each(Feeders::disturbed);
        Verdict::Work
    }

    /// Decides whether to send more, with `in_flight` units in flight.
    pub(super) fn verdict(
        &mut self,
        now: Duration,
        in_flight: usize,
        work: &mut dyn Work,
    ) -> Verdict {
        if !self.is_steady() {
            return self.goes_on();
        }
        let outlook = work.outlook();
        let is_compared =
            !self.trial.is_under_way() && self.compare_feeders(now, in_flight, &outlook);
        if self.is_alone || is_compared {
            return Verdict::Work;
        }
        let Outlook { splits_left, others_splits, others_splits_s, .. } = outlook;
        let own = self.own_splits_s().unwrap_or(0.0);
        let verdict = self.trial.verdict(&Standing {
            now,
            splits: others_splits + self.splits_done,
            seconds_left: splits_left as f64 / (own + others_splits_s).max(1e-9),
            is_empty: in_flight == 0,
        });
        self.is_resting = verdict == Verdict::Rest;
        verdict
    }

    /// Returns whether the size of units is known, or does not matter because the device waits for them.
    fn is_steady(&self) -> bool {
        self.ramp.is_settled() || self.starved >= STARVED
    }

    /// Updates the number of threads. Returns whether numbers are being compared.
    fn compare_feeders(&mut self, now: Duration, in_flight: usize, outlook: &Outlook) -> bool {
        let Some(feeders) = &mut self.feeders else { return false };
        feeders.add(&feeders::Done {
            now,
            others_splits: outlook.others_splits,
            others_at_a_time: if self.is_alone { 0 } else { outlook.others_at_a_time },
            device_splits: self.splits_done,
            units: self.units_done,
            in_flight: in_flight as u64,
        });
        !feeders.is_settled()
    }

    /// Returns the device's splits per second.
    fn own_splits_s(&self) -> Option<f64> {
        let seen = self.feeders.as_ref().and_then(Feeders::device_rate);
        seen.or_else(|| self.ramp.rate().map(|bytes_s| bytes_s / self.split_bytes as f64))
    }

    /// Sets the number of threads that fill slots.
    pub(super) fn feed_by(&mut self, feeders: usize, work: &mut dyn Work) {
        if self.feeders_now != feeders {
            self.feeders_now = feeders;
            work.feed_by(feeders);
        }
    }

    /// Applies the number of threads that is to be tried, and returns it.
    pub(super) fn feed(&mut self, work: &mut dyn Work) -> usize {
        let most = work.feeders_most();
        if self.feeders.is_none() && self.is_steady() {
            self.feeders = Some(Feeders::new(self.first_feeders(work, most), most));
        }
        let feeders = match &mut self.feeders {
            Some(feeders) => {
                feeders.limit(most);
                feeders.now()
            }
            None => self.feeders_first.clamp(1, most.max(1)),
        };
        self.feed_by(feeders, work);
        feeders
    }

    /// Returns the number of threads with which the search begins.
    fn first_feeders(&self, work: &mut dyn Work, most: usize) -> usize {
        let first = self.feeders_first.max(1);
        let brings = 1.0 / self.split_s / first as f64;
        let of_a_core = work.outlook().others_splits_s / most.max(1) as f64;
        if first > 1 || brings <= WORTH_A_CORE * of_a_core {
            return first;
        }
        // The device takes as many splits per second as this number of threads brings, less what may be noise.
        let taken = 1.0 / self.split_stage_s / brings;
        (taken - NOISE).ceil().clamp(1.0, most as f64) as usize
    }

    /// Returns the number of splits of a unit.
    pub(super) fn unit_splits(&self) -> u64 {
        let feeders = self.feeders.as_ref().map_or(self.feeders_now, Feeders::now) as u64;
        (shared(self.ramp.size(), feeders) / self.split_bytes).clamp(1, self.splits_most)
    }

    /// Returns the number of splits to send next after `ahead` in flight, or `None` if the others would
    /// finish them sooner.
    pub(super) fn worth_sending(&self, outlook: Outlook, ahead: u64) -> Option<u64> {
        let unit = self.unit_splits();
        let (others, left) = (outlook.others_splits_s, outlook.splits_left as f64);
        let Some(own) = self.own_splits_s().filter(|_| others > 0.0) else { return Some(unit) };
        let fair = (left * own / (own + others) / 2.0) as u64;
        let least = (TAIL_BYTES_LEAST / self.split_bytes).max(1);
        let unit = unit.min(fair.max(least));
        let done_s = self.latency.as_secs_f64() + (ahead + unit) as f64 / own;
        (self.is_alone || done_s <= (left - unit as f64) / others).then_some(unit)
    }

    /// Records that a unit of `splits` splits was sent.
    pub(super) fn begun(&mut self, splits: u64, filled: Filled) {
        self.starved = if filled.follows { 0 } else { self.starved + 1 };
        self.ramp.begun(splits * self.split_bytes / filled.feeders);
    }

    /// Records that a unit came back, with any result.
    pub(super) fn took(&mut self, done: &Done) {
        self.latency = done.copy + done.kernel;
        self.stage = done.copy.max(done.kernel);
    }

    /// Records that a unit of `splits` splits was done at time `at`.
    pub(super) fn done(&mut self, splits: u64, filled: Filled, at: Duration) {
        self.splits_done += splits;
        self.units_done += 1;
        let for_each = |time: Duration| time.as_secs_f64() / splits.max(1) as f64;
        self.split_stage_s = for_each(self.stage);
        self.split_s = for_each(at.saturating_sub(self.at)).max(self.split_stage_s);
        self.at = at;
        if let Some(before) = self.last
            && filled.follows
        {
            // Per part of a thread.
            let (bytes, time) = (splits * self.split_bytes, at.saturating_sub(before));
            self.ramp.add(bytes / filled.feeders, time / filled.feeders as u32);
        }
        self.last = Some(at);
    }

    /// Records that the device is idle until the next unit comes. Returns since when.
    pub(super) fn pause(&mut self) -> Option<Duration> {
        self.last.take()
    }
}

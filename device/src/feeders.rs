//! The number of threads that fill a device's slots. It is found by the total rate of cores and device,
//! because each thread but the first is a core that maps less. Takes counts of done splits over time; hands
//! on the number.
//!
//! It is a [`Search`] that begins with one thread, or with the best number of an earlier run. More threads must
//! win by more than noise; one thread less may lose no more than that.

use crate::sizing::{Enough, Search, Steps};
use std::time::Duration;

/// The least length of a turn. It also lasts until [`UNITS`] units have come back, and until the others
/// have taken splits [`TIMES_TAKEN`] times, if they take any: their takes are all that is known of them.
const TURN: Duration = Duration::from_millis(4);
const UNITS: u64 = 4;
const TIMES_TAKEN: u64 = 4;
/// The longest time to wait for the others.
const TURN_MOST: Duration = Duration::from_millis(100);
/// The least gain of an additional thread, and the largest loss of one thread less.
const GAIN: f64 = 0.03;
const LOSS: f64 = 0.01;
/// The rest of a settled search; each trial without a change doubles it.
const REST: Duration = Duration::from_millis(400);
const REST_MOST: Duration = Duration::from_secs(30);

/// A search for the number of threads.
#[derive(Clone, Debug)]
pub struct Feeders {
    search: Search,
    /// Units that were filled before this turn and have not come back yet.
    stale: u64,
    turn: Option<Turn>,
    /// Splits per second of the device alone, in the last turn of the best number.
    device_rate: Option<f64>,
    /// The end of the rest, once it has begun.
    until: Option<Duration>,
}

/// The start of a turn, with the counts at that time.
#[derive(Clone, Copy, Debug)]
struct Turn {
    since: Duration,
    others_splits: u64,
    device_splits: u64,
    units: u64,
}

/// The counts at one time.
pub struct Done {
    pub now: Duration,
    /// Splits that the others have done so far.
    pub others_splits: u64,
    /// Splits that the others take at a time, in total.
    pub others_at_a_time: u64,
    /// Splits and units that the device has done so far.
    pub device_splits: u64,
    pub units: u64,
    /// Units that the device has not done yet.
    pub in_flight: u64,
}

impl Feeders {
    /// Creates a search between one and `most` that begins with `start`.
    pub fn new(start: usize, most: usize) -> Feeders {
        let most = most.max(1);
        let enough = Enough { larger: 1.0 + GAIN, smaller: 1.0 - LOSS, turns: 5, wins: 4 };
        let search =
            Search::new(start.clamp(1, most) as u64, 1, most as u64, Steps::Lengthening, enough);
        Feeders { search, stale: 0, turn: None, device_rate: None, until: None }
    }

    /// Limits the number of threads from now on.
    pub fn limit(&mut self, most: usize) {
        let before = self.search.size();
        self.search.limit(most as u64);
        if self.search.size() != before {
            self.turn = None;
        }
    }

    /// Returns the present number of threads.
    pub fn now(&self) -> usize {
        self.search.size() as usize
    }

    /// Returns the best number so far.
    pub fn best(&self) -> usize {
        self.search.best() as usize
    }

    /// Returns whether no comparison is in progress.
    pub fn is_settled(&self) -> bool {
        self.search.is_settled()
    }

    /// Returns the device's splits per second with the best number, if it was measured.
    pub fn device_rate(&self) -> Option<f64> {
        self.device_rate
    }

    /// Restarts the turn, because units came back that tell nothing about it.
    pub fn disturbed(&mut self) {
        self.turn = None;
    }

    /// Takes the present counts.
    pub fn add(&mut self, done: &Done) {
        let Done { now, others_splits, others_at_a_time, device_splits, units, in_flight } = *done;
        if self.search.is_settled() {
            let until = *self.until.get_or_insert(now + self.search.rest(REST, REST_MOST));
            if now >= until {
                self.until = None;
                self.change(in_flight, Search::look_about);
            }
            return;
        }
        let from_now = Turn { since: now, others_splits, device_splits, units };
        let Some(turn) = self.turn else {
            self.turn = Some(from_now);
            return;
        };
        if self.stale > 0 {
            // The units in flight were filled by another number of threads.
            if units >= turn.units + self.stale {
                self.stale = 0;
                self.turn = Some(from_now);
            }
            return;
        }
        let time = now.saturating_sub(turn.since);
        let by_others = others_splits.saturating_sub(turn.others_splits);
        let is_seen = by_others >= TIMES_TAKEN * others_at_a_time || time >= TURN_MOST;
        if time < TURN || units < turn.units + UNITS || !is_seen {
            return;
        }
        let seconds = time.as_secs_f64();
        let rate = (device_splits - turn.device_splits + by_others) as f64 / seconds;
        if self.search.is_on_best() {
            self.device_rate = Some((device_splits - turn.device_splits) as f64 / seconds);
        }
        self.change(in_flight, |search| search.turn(rate));
    }

    /// Changes the number of threads; units in flight are still from the old number.
    fn change(&mut self, in_flight: u64, to: impl FnOnce(&mut Search)) {
        let before = self.now();
        to(&mut self.search);
        self.turn = None;
        self.stale = if self.now() == before { 0 } else { in_flight };
    }
}

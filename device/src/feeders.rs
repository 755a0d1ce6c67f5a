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
pub(super) struct Feeders {
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
pub(super) struct Done {
    pub(super) now: Duration,
    /// Splits that the others have done so far.
    pub(super) others_splits: u64,
    /// Splits that the others take at a time, in total.
    pub(super) others_at_a_time: u64,
    /// Splits and units that the device has done so far.
    pub(super) device_splits: u64,
    pub(super) units: u64,
    /// Units that the device has not done yet.
    pub(super) in_flight: u64,
}

impl Feeders {
    /// Creates a search between one and `most` that begins with `start`.
    pub(super) fn new(start: usize, most: usize) -> Feeders {
        let most = most.max(1);
        let enough = Enough { larger: 1.0 + GAIN, smaller: 1.0 - LOSS };
        let search =
            Search::new(start.clamp(1, most) as u64, 1, most as u64, Steps::Lengthening, enough);
        Feeders { search, stale: 0, turn: None, device_rate: None, until: None }
    }

    /// Limits the number of threads from now on.
    pub(super) fn limit(&mut self, most: usize) {
        let before = self.search.size();
        self.search.limit(most as u64);
        if self.search.size() != before {
            self.turn = None;
        }
    }

    /// Returns the present number of threads.
    pub(super) fn now(&self) -> usize {
        self.search.size() as usize
    }

    /// Returns the best number so far.
    pub(super) fn best(&self) -> usize {
        self.search.best() as usize
    }

    /// Returns whether no comparison is in progress.
    pub(super) fn is_settled(&self) -> bool {
        self.search.is_settled()
    }

    /// Returns the device's splits per second with the best number, if it was measured.
    pub(super) fn device_rate(&self) -> Option<f64> {
        self.device_rate
    }

    /// Restarts the turn, because units came back that tell nothing about it.
    pub(super) fn disturbed(&mut self) {
        self.turn = None;
    }

    /// Takes the present counts.
    pub(super) fn add(&mut self, done: &Done) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const UNIT_SPLITS: u64 = 64;

    /// Simulates work for a number of seconds. Each number of threads has a rate of the device and of the
    /// others, in splits per second, with up to a tenth of noise. Returns the loss against the best number.
    fn work(
        feeders: &mut Feeders,
        seconds: f64,
        seed: u64,
        rates: impl Fn(usize) -> (f64, f64),
    ) -> f64 {
        let (mut now, mut others, mut units, mut done) = (0.0, 0.0, 0_u64, 0.0);
        while now < seconds {
            let (device, cores) = rates(feeders.now());
            let drawn = (units ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
            let noise = 0.9 + 0.2 * drawn as f64 / f64::from(1 << 24);
            let took = UNIT_SPLITS as f64 / device * noise;
            now += took;
            others += cores * took;
            units += 1;
            done = others + (units * UNIT_SPLITS) as f64;
            feeders.add(&Done {
                now: Duration::from_secs_f64(now),
                others_splits: others as u64,
                others_at_a_time: 1,
                device_splits: units * UNIT_SPLITS,
                units,
                in_flight: 2,
            });
        }
        done / now
    }

    /// Returns a link with a rate in splits per second, threads that each copy at one rate, and cores that
    /// each map at another.
    fn machine(link: f64, copy: f64, map: f64, cores: usize) -> impl Fn(usize) -> (f64, f64) {
        move |feeders| (link.min(copy * feeders as f64), map * (cores + 1 - feeders) as f64)
    }

    #[test]
    fn a_fast_link_has_as_many_threads_as_it_takes() {
        for seed in 0..20 {
            let mut feeders = Feeders::new(1, 16);
            let rates = machine(800_000.0, 160_000.0, 16_000.0, 16);
            work(&mut feeders, 4.0, seed, &rates);
            assert_eq!(feeders.best(), 5, "seed {seed}");
            // Trials cost little.
            let reached = work(&mut feeders, 8.0, seed, &rates);
            let (device, cores) = rates(5);
            assert!(reached > 0.95 * (device + cores), "{reached}");
        }
    }

    #[test]
    fn a_slow_link_has_one() {
        for seed in 0..20 {
            for start in [1, 6] {
                let mut feeders = Feeders::new(start, 16);
                work(&mut feeders, 4.0, seed, machine(80_000.0, 160_000.0, 16_000.0, 16));
                assert_eq!(feeders.best(), 1, "seed {seed} from {start}");
            }
        }
    }

    /// One thread more than six adds three hundredths to the sum; six more add a fifth.
    #[test]
    fn many_that_bring_little_each_are_found() {
        for seed in 0..20 {
            let mut feeders = Feeders::new(6, 20);
            let rates = machine(700_000.0, 37_000.0, 20_500.0, 20);
            work(&mut feeders, 20.0, seed, &rates);
            assert!(feeders.best() >= 15, "seed {seed}: {}", feeders.best());
        }
    }

    /// No other thread is available, which shows when one is requested.
    #[test]
    fn a_limit_that_is_found_late_is_kept() {
        for seed in 0..20 {
            let mut feeders = Feeders::new(1, 16);
            let rates = machine(800_000.0, 160_000.0, 16_000.0, 16);
            work(&mut feeders, 4.0, seed, &rates);
            feeders.limit(3);
            work(&mut feeders, 8.0, seed, |threads| {
                assert!(threads <= 3, "seed {seed}: {threads}");
                rates(threads)
            });
            assert_eq!(feeders.best(), 3, "seed {seed}");
        }
    }

    proptest! {
        /// For any rates, the number ends near the best for all together.
        #[test]
        fn the_sum_of_all_is_near_the_best(
            link in 10_000.0..1e6_f64,
            copy in 10_000.0..1e6_f64,
            map in 1_000.0..1e5_f64,
            cores in 1..32_usize,
            start in 1..32_usize,
            seed: u64,
        ) {
            let rates = machine(link, copy, map, cores);
            let total = |feeders| {
                let (device, cores) = rates(feeders);
                device + cores
            };
            let mut feeders = Feeders::new(start, cores);
            work(&mut feeders, 20.0, seed, &rates);
            let best = (1..=cores).map(total).fold(0.0, f64::max);
            prop_assert!(feeders.best() <= cores);
            let reached = total(feeders.best());
            prop_assert!(reached > 0.8 * best, "{reached} of {best} with {}", feeders.best());
        }
    }
}

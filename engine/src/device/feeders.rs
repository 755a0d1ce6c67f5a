//! How many threads fill a device's slots: found by what cores and device do together, for each but the first
//! is a core that maps less. Takes how many splits were done when; hands on the number. Begins with one thread, or
//! with what was best in a run before. The next number has its turn beside the present one, again and again,
//! so that a change in the data meets both alike; four turns of five must be won, by more than noise
//! where threads are added, and where one is taken away by no more than that lost. As long as more are better, steps
//! double; once settled it looks again now and then, ever more seldom. Every other look begins with half as many
//! again, or with a quarter of all there may be, for where there are many one thread more brings less than noise.

use std::time::Duration;

/// A turn lasts as long, and until so many units have come back, and until the others have taken something so
/// many times, if they do anything: what they have taken is all that is known of them.
const TURN: Duration = Duration::from_millis(4);
const UNITS: u64 = 4;
const TIMES_TAKEN: u64 = 4;
/// But not longer than this for the others.
const TURN_MOST: Duration = Duration::from_millis(100);
/// Turns of each number in a comparison, and how many the other must win.
const TURNS: u32 = 5;
const WINS: u32 = 4;
/// What a thread more must bring at least, and a thread less may cost.
const GAIN: f64 = 0.03;
const LOSS: f64 = 0.01;
/// How long a settled search rests; each look that changes nothing doubles it.
const REST: Duration = Duration::from_millis(400);
const REST_MOST: Duration = Duration::from_secs(30);

/// A number of threads that is looked for.
#[derive(Clone, Debug)]
pub(super) struct Feeders {
    most: usize,
    best: usize,
    /// What the best is compared with; `None` while it is at rest.
    other: Option<usize>,
    on_other: bool,
    /// Units that were filled before this turn and are still to come back.
    stale: u64,
    turn: Option<Turn>,
    /// Splits a second of all, with the best number in this round.
    rate: f64,
    /// Of the device alone, in the last turn of the best number.
    device_rate: Option<f64>,
    turns: u32,
    wins: u32,
    /// How many were added when that last paid.
    step: usize,
    /// Whether the last look began far away.
    is_far: bool,
    rest: Duration,
    /// When the rest is over, once it has begun.
    until: Option<Duration>,
}

/// When a turn began, and what was done by then.
#[derive(Clone, Copy, Debug)]
struct Turn {
    since: Duration,
    others_splits: u64,
    device_splits: u64,
    units: u64,
}

/// How things stand.
pub(super) struct Done {
    pub(super) now: Duration,
    /// Splits that others have done until now.
    pub(super) others_splits: u64,
    /// Splits that they take at a time, together.
    pub(super) others_at_a_time: u64,
    /// Splits and units that the device has done until now.
    pub(super) device_splits: u64,
    pub(super) units: u64,
    /// Units that it has not done yet.
    pub(super) in_flight: u64,
}

impl Feeders {
    /// A search between one and `most` that begins with `start`.
    pub(super) fn new(start: usize, most: usize) -> Feeders {
        let most = most.max(1);
        let mut feeders = Feeders {
            most,
            best: start.clamp(1, most),
            other: None,
            on_other: false,
            stale: 0,
            turn: None,
            rate: 0.0,
            device_rate: None,
            turns: 0,
            wins: 0,
            step: 1,
            is_far: false,
            rest: REST,
            until: None,
        };
        feeders.look_up();
        feeders
    }

    /// No more than so many fill slots from now on.
    pub(super) fn limit(&mut self, most: usize) {
        if most < self.most {
            self.most = most.max(1);
            self.best = self.best.min(self.most);
            (self.on_other, self.other, self.turn, self.step) = (false, None, None, 1);
            self.look_up();
        }
    }

    /// How many fill slots now.
    pub(super) fn now(&self) -> usize {
        self.other.filter(|_| self.on_other).unwrap_or(self.best)
    }

    /// The best number so far.
    pub(super) fn best(&self) -> usize {
        self.best
    }

    /// Whether nothing is compared now.
    pub(super) fn is_settled(&self) -> bool {
        self.other.is_none()
    }

    /// Splits a second of the device with the best number, if that was seen.
    pub(super) fn device_rate(&self) -> Option<f64> {
        self.device_rate
    }

    /// What has come back says nothing of this turn: it begins anew.
    pub(super) fn disturbed(&mut self) {
        self.turn = None;
    }

    /// Takes in how things stand.
    pub(super) fn add(&mut self, done: &Done) {
        let Done { now, others_splits, others_at_a_time, device_splits, units, in_flight } = *done;
        if self.other.is_none() {
            let until = *self.until.get_or_insert(now + self.rest);
            if now >= until && self.most > 1 {
                self.rest = (2 * self.rest).min(REST_MOST);
                self.change(in_flight, Feeders::look_about);
            }
            return;
        }
        let from_now = Turn { since: now, others_splits, device_splits, units };
        let Some(turn) = self.turn else {
            self.turn = Some(from_now);
            return;
        };
        if self.stale > 0 {
            // What is on its way was filled by another number of threads.
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
        if self.on_other {
            self.change(in_flight, |feeders| feeders.compare(rate));
        } else {
            self.rate = rate;
            self.device_rate = Some((device_splits - turn.device_splits) as f64 / seconds);
            self.change(in_flight, |feeders| feeders.on_other = true);
        }
    }

    /// Another number fills slots from now on, but for what is on its way.
    fn change(&mut self, in_flight: u64, to: impl FnOnce(&mut Feeders)) {
        let before = self.now();
        to(self);
        self.turn = None;
        self.stale = if self.now() == before { 0 } else { in_flight };
    }

    /// Ends a turn of the other number.
    fn compare(&mut self, rate: f64) {
        let Some(other) = self.other else { return };
        self.on_other = false;
        self.turns += 1;
        let is_more = other > self.best;
        let enough = if is_more { 1.0 + GAIN } else { 1.0 - LOSS };
        self.wins += u32::from(rate >= self.rate * enough);
        let has_lost = self.turns - self.wins > TURNS - WINS;
        match (self.wins >= WINS, is_more) {
            (true, true) => {
                self.best = other;
                (self.step, self.rest) = (2 * self.step, REST);
                self.look_up();
            }
            (true, false) => {
                (self.best, self.rest) = (other, REST);
                self.look_down();
            }
            (false, true) if has_lost && self.step > 1 => {
                self.step /= 2;
                self.look_up();
            }
            (false, true) if has_lost => self.look_down(),
            (false, false) if has_lost => self.settle(),
            (false, _) => {}
        }
    }

    fn look_about(&mut self) {
        let far = (self.best / 2).max(self.most / 4).max(1);
        self.is_far = !self.is_far;
        self.step = if self.is_far { far } else { 1 };
        self.look_up();
    }

    fn look_up(&mut self) {
        match (self.best + self.step).min(self.most) {
            other if other > self.best => self.look_at(other),
            _ => self.look_down(),
        }
    }

    fn look_down(&mut self) {
        match self.best {
            1 => self.settle(),
            best => self.look_at(best - 1),
        }
    }

    fn look_at(&mut self, other: usize) {
        (self.other, self.turns, self.wins) = (Some(other), 0, 0);
    }

    fn settle(&mut self) {
        (self.other, self.until) = (None, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const UNIT_SPLITS: u64 = 64;

    /// Works for so many seconds; each number of threads has a rate of the device and one of the others, in
    /// splits a second, and up to a tenth of noise. Returns what was lost against the best all along.
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

    /// A link of so many splits a second, threads that copy as many each, and cores that map as many each.
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
            // Looking about costs little.
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

    /// One thread more than six brings the sum three hundredths; six more bring a fifth.
    #[test]
    fn many_that_bring_little_each_are_found() {
        for seed in 0..20 {
            let mut feeders = Feeders::new(6, 20);
            let rates = machine(700_000.0, 37_000.0, 20_500.0, 20);
            work(&mut feeders, 20.0, seed, &rates);
            assert!(feeders.best() >= 15, "seed {seed}: {}", feeders.best());
        }
    }

    /// No other thread is to be had, which is seen when one is asked for.
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
        /// Whatever the rates, the number ends near what is best for all together.
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

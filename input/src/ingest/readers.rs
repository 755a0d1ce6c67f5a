//! The number of readers that read ahead of the workers. None while the workers' own reads do not wait,
//! because a split that its worker reads is in its cache; otherwise as few as keep the workers busy, or as
//! many as increase the rate of the source. Takes the measurements of one tick; hands on a number.
//!
//! The number begins at two, doubles while workers starve and twice as many readers read more, halves after
//! a while without starvation, and returns to none when reads no longer wait.
//!
//! This is no [`Search`](crate::sizing::Search): that compares two sizes in alternating turns, and a turn of
//! more readers would start threads and connections, and stop them, each time.

use std::time::Duration;

/// Of the workers' time, this part may be spent waiting for reads before readers take over.
const WAITED_MOST: f64 = 0.05;
/// Of the readers' time in reads, this part must be spent waiting, or workers read themselves.
const WAITED_LEAST: f64 = 0.25;
/// Twice as many readers are worth it if they read this much more.
const GAIN_LEAST: f64 = 1.2;
/// The first number of readers where each read waits: the answer takes longer than the transfer of its bytes.
const FAR_READERS: usize = 8;
/// Loads whose time must be known before more readers are tried, and before that is judged.
const LOADS_LEAST: u64 = 4;
/// Ticks in which no worker starved before the number of readers is halved: a load that is ready for long has
/// left the caches when its turn comes.
const CALM: u32 = 8;
/// Ticks until the next trial of more readers; each failure doubles it.
const PATIENCE: u32 = 16;
const PATIENCE_MOST: u32 = 1024;

/// The measurements of one tick.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    pub time: Duration,
    /// Time in reads, of workers and readers, summed; and the part of it in which they waited.
    pub reading: Duration,
    pub waited: Duration,
    /// Loads that readers finished.
    pub loads: u64,
    /// Whether a worker found nothing to map.
    pub starved: bool,
}

/// Decides, tick by tick.
#[derive(Debug)]
pub struct Readers {
    workers: usize,
    most: usize,
    /// Whether workers must not read, because each of their reads would wait.
    always: bool,
    now: usize,
    /// The time of loads since the number changed.
    pace: Pace,
    /// Ticks since a worker starved.
    calm: u32,
    /// The number before it was halved, if no worker has starved since.
    shrunk: Option<usize>,
    trial: Option<Trial>,
    /// The rest before they may be halved again, after a halving that was wrong.
    halving: Rest,
    /// The rest before more readers are tried again, after a trial that failed.
    doubling: Rest,
    /// The rest before readers may start again, after workers read again.
    relief: Rest,
}

/// Ticks until something is tried again; each failure doubles the next rest.
#[derive(Clone, Copy, Debug)]
struct Rest {
    left: u32,
    next: u32,
}

impl Rest {
    fn of(next: u32) -> Rest {
        Rest { left: 0, next }
    }

    fn failed(&mut self) {
        (self.left, self.next) = (self.next, (self.next * 2).min(PATIENCE_MOST));
    }

    /// Spends a tick on the rest; returns `false` if it was over.
    fn goes_on(&mut self) -> bool {
        let before = self.left;
        self.left = before.saturating_sub(1);
        before > 0
    }
}

/// More readers, on trial.
#[derive(Clone, Copy, Debug)]
struct Trial {
    before: usize,
    /// The time of a load before.
    time_before: Duration,
}

/// The time of loads with the present number of readers: steadier than the number of loads in a tick.
#[derive(Clone, Copy, Debug, Default)]
struct Pace {
    /// Loads that were begun with another number of readers and are still to come.
    old: u64,
    loads: u64,
    time: Duration,
}

impl Pace {
    fn after(readers: usize) -> Pace {
        Pace { old: readers as u64, ..Pace::default() }
    }

    fn add(&mut self, seen: Seen) {
        if self.old > 0 {
            // A tick with old loads in it says nothing of the new ones.
            self.old = self.old.saturating_sub(seen.loads);
        } else {
            self.loads += seen.loads;
            self.time += seen.reading;
        }
    }

    /// Returns the time of a load, if enough of them were seen.
    fn per_load(&self) -> Option<Duration> {
        (self.loads >= LOADS_LEAST).then(|| self.time.div_f64(self.loads as f64))
    }
}

impl Readers {
    /// Returns at most `most` readers for `workers` workers. With `always`, a worker never reads itself.
    pub fn new(workers: usize, most: usize, always: bool) -> Readers {
        let now = if always { workers.max(FAR_READERS).min(most) } else { 0 };
        Readers {
            workers,
            most,
            always,
            now,
            pace: Pace::default(),
            calm: 0,
            shrunk: None,
            trial: None,
            halving: Rest::of(PATIENCE),
            doubling: Rest::of(PATIENCE),
            relief: Rest::of(2),
        }
    }

    /// Returns the number of readers; 0: workers read.
    pub fn now(&self) -> usize {
        self.now
    }

    /// Takes in measurements; returns the number of readers from now on.
    pub fn tick(&mut self, seen: Seen) -> usize {
        if self.now == 0 {
            self.relieve(seen);
        } else if seen.loads > 0 {
            self.adjust(seen);
        }
        self.now
    }

    /// Workers read: do their reads wait?
    fn relieve(&mut self, seen: Seen) {
        self.relief.goes_on();
        let share = seen.waited.as_secs_f64() / (seen.time.as_secs_f64() * self.workers as f64);
        if share > WAITED_MOST && self.relief.left == 0 {
            self.change(self.workers.max(2).min(self.most));
        }
    }

    fn change(&mut self, readers: usize) {
        self.pace = Pace::after(self.now);
        self.now = readers;
    }

    fn adjust(&mut self, seen: Seen) {
        let waits = seen.waited.as_secs_f64() >= WAITED_LEAST * seen.reading.as_secs_f64();
        if !waits && !self.always {
            self.change(0);
            self.trial = None;
            return self.relief.failed();
        }
        self.pace.add(seen);
        self.calm = if seen.starved { 0 } else { self.calm + 1 };
        match self.trial {
            Some(Trial { before, time_before }) => {
                let Some(time) = self.pace.per_load() else { return };
                let more = self.now as f64 / before as f64;
                if time_before.as_secs_f64() * more < GAIN_LEAST * time.as_secs_f64() {
                    self.change(before);
                    self.doubling.failed();
                }
                self.trial = None;
            }
            None if seen.starved && self.shrunk.is_some() => {
                let before = self.shrunk.take().unwrap_or(self.now);
                self.change(before);
                self.halving.failed();
            }
            None if self.calm >= CALM && self.halving.goes_on() => {}
            None if self.calm >= CALM && self.now > 1 => {
                self.shrunk = Some(self.now);
                self.change(self.now.div_ceil(2));
                self.calm = 0;
            }
            None if self.doubling.goes_on() => {}
            None if seen.starved && self.now < self.most => {
                let Some(time_before) = self.pace.per_load() else { return };
                self.trial = Some(Trial { before: self.now, time_before });
                self.change((self.now * 2).min(self.most));
            }
            None => {}
        }
    }
}

//! How many readers read ahead of the workers: none while the workers' own reads do not wait, for a
//! split that its worker reads is in its cache; else as few as keep the workers busy, or as many as
//! make the source give more. Takes what was seen over one tick of time; hands on a number.

use std::time::Duration;

/// Of the workers' time, this part may be spent waiting for reads before readers take over.
const WAITED_MOST: f64 = 0.05;
/// Of the readers' time in reads, this part must be spent waiting, or workers read themselves.
const WAITED_LEAST: f64 = 0.25;
/// Twice as many readers must read so much more, or it is not worth it.
const GAIN_LEAST: f64 = 1.1;
/// Ticks at the start whose rates say nothing: the first answers are still to come.
const RAMP: u32 = 3;
/// Ticks in which no worker starved before half as many readers must do: what lies ready for long is in
/// no cache any more when its turn comes.
const CALM: u32 = 8;
/// Ticks until it is tried again whether more readers read more; each failure doubles it.
const PATIENCE: u32 = 16;
const PATIENCE_MOST: u32 = 1024;

/// What was seen over one tick.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    pub(super) time: Duration,
    /// Time in reads, of workers or readers, whoever read, summed; and what of it they waited.
    pub(super) reading: Duration,
    pub(super) waited: Duration,
    pub(super) bytes: u64,
    /// Whether a worker found nothing to map.
    pub(super) starved: bool,
}

/// Decides, tick by tick.
#[derive(Debug)]
pub(super) struct Readers {
    workers: usize,
    most: usize,
    /// Whether workers must not read, for each of their reads would wait.
    always: bool,
    now: usize,
    /// Ticks since the number changed, and since a worker starved.
    steady: u32,
    calm: u32,
    /// How many there were before they were halved, if a worker has not starved since.
    shrunk: Option<usize>,
    /// Ticks until they may be halved again, and how many to wait after that was wrong.
    hold: u32,
    hold_next: u32,
    trial: Option<Trial>,
    /// Ticks until the next trial of more readers, and how many to wait after it fails.
    rest: u32,
    patience: u32,
    /// Ticks before workers that read again may be relieved again, doubled each time.
    relief: u32,
    relief_rest: u32,
}

/// Twice as many readers, on trial.
#[derive(Clone, Copy, Debug)]
struct Trial {
    before: usize,
    rate_before: f64,
    /// The first tick has the old readers' reads in it.
    ticks: u32,
}

impl Readers {
    /// At most `most` readers for so many workers. With `always`, a worker never reads itself.
    pub(super) fn new(workers: usize, most: usize, always: bool) -> Readers {
        let now = if always { workers.max(2).min(most) } else { 0 };
        let (patience, relief) = (PATIENCE, 1);
        let (rest, relief_rest) = (0, 0);
        let (steady, calm, trial) = (0, 0, None);
        Readers {
            workers,
            most,
            always,
            now,
            steady,
            calm,
            shrunk: None,
            hold: 0,
            hold_next: PATIENCE,
            trial,
            rest,
            patience,
            relief,
            relief_rest,
        }
    }

    /// How many there should be; 0: workers read.
    pub(super) fn now(&self) -> usize {
        self.now
    }

    /// Takes in what was seen; returns how many there should be from now on.
    pub(super) fn tick(&mut self, seen: Seen) -> usize {
        if self.now == 0 {
            self.relieve(seen);
        } else if seen.bytes > 0 {
            self.adjust(seen);
        }
        self.now
    }

    /// Workers read: do their reads wait?
    fn relieve(&mut self, seen: Seen) {
        self.relief_rest = self.relief_rest.saturating_sub(1);
        let share = seen.waited.as_secs_f64() / (seen.time.as_secs_f64() * self.workers as f64);
        if share > WAITED_MOST && self.relief_rest == 0 {
            self.now = self.workers.max(2).min(self.most);
        }
    }

    fn adjust(&mut self, seen: Seen) {
        let waits = seen.waited.as_secs_f64() >= WAITED_LEAST * seen.reading.as_secs_f64();
        if !waits && !self.always {
            self.now = 0;
            self.trial = None;
            self.relief = (self.relief * 2).min(PATIENCE_MOST);
            self.relief_rest = self.relief;
            return;
        }
        let rate = seen.bytes as f64 / seen.time.as_secs_f64();
        self.steady += 1;
        self.calm = if seen.starved { 0 } else { self.calm + 1 };
        match &mut self.trial {
            Some(trial) if trial.ticks > 0 => trial.ticks -= 1,
            Some(trial) => {
                if rate < GAIN_LEAST * trial.rate_before {
                    self.now = trial.before;
                    self.rest = self.patience;
                    self.patience = (self.patience * 2).min(PATIENCE_MOST);
                }
                self.trial = None;
            }
            None if seen.starved && self.shrunk.is_some() => {
                self.now = self.shrunk.take().unwrap_or(self.now);
                self.hold = self.hold_next;
                self.hold_next = (self.hold_next * 2).min(PATIENCE_MOST);
            }
            None if self.calm >= CALM && self.hold > 0 => self.hold -= 1,
            None if self.calm >= CALM && self.now > 1 => {
                self.shrunk = Some(self.now);
                self.now = self.now.div_ceil(2);
                (self.steady, self.calm) = (0, 0);
            }
            None if self.rest > 0 => self.rest -= 1,
            None if seen.starved && self.now < self.most && self.steady >= RAMP => {
                self.trial = Some(Trial { before: self.now, rate_before: rate, ticks: 1 });
                self.now = (self.now * 2).min(self.most);
                self.steady = 0;
            }
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: Duration = Duration::from_millis(10);

    /// Ticks of a source of which each reader gets `each` bytes a second, and all together `all`, for
    /// workers that map at `map`.
    fn ticks(readers: &mut Readers, count: usize, each: f64, all: f64, map: f64) {
        for _ in 0..count {
            let source = if readers.now() == 0 { f64::MAX } else { each * readers.now() as f64 };
            let rate = source.min(all).min(map);
            let threads = readers.now().max(2) as u32;
            let seen = Seen {
                time: TICK,
                reading: TICK * threads,
                waited: TICK * threads,
                bytes: (rate * TICK.as_secs_f64()) as u64,
                starved: rate < map,
            };
            readers.tick(seen);
        }
    }

    #[test]
    fn reads_that_never_wait_are_left_to_the_workers() {
        let mut readers = Readers::new(2, 32, false);
        let seen = Seen { time: TICK, reading: TICK / 4, bytes: 1 << 20, ..Seen::default() };
        assert!((0..100).all(|_| readers.tick(seen) == 0));
    }

    #[test]
    fn there_are_as_many_as_a_slow_source_is_worth() {
        // Each connection gives 10 MB/s, the workers take 200.
        let mut readers = Readers::new(2, 64, false);
        ticks(&mut readers, 100, 10e6, 1e12, 200e6);
        assert_eq!(readers.now(), 32);
        // A disk that gives 100 MB/s to two readers gives no more to four.
        let mut readers = Readers::new(2, 64, false);
        ticks(&mut readers, 100, 50e6, 100e6, 200e6);
        assert_eq!(readers.now(), 2);
    }

    #[test]
    fn they_become_fewer_when_fewer_do() {
        // The workers take 200 MB/s: at first of a source that gives 10 to each reader, then 500.
        let mut readers = Readers::new(2, 64, true);
        ticks(&mut readers, 200, 10e6, 1e12, 200e6);
        assert!(readers.now() >= 16);
        ticks(&mut readers, 200, 500e6, 1e12, 200e6);
        assert_eq!(readers.now(), 1);
    }

    #[test]
    fn workers_read_again_when_reads_wait_no_more() {
        let mut readers = Readers::new(2, 32, false);
        ticks(&mut readers, 5, 10e6, 1e12, 200e6);
        assert!(readers.now() >= 2);
        let seen = Seen { time: TICK, reading: TICK, bytes: 1 << 20, ..Seen::default() };
        assert_eq!(readers.tick(seen), 0);
        let mut always = Readers::new(2, 32, true);
        assert!(always.tick(seen) > 0);
    }
}

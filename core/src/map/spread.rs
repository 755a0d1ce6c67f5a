//! The distribution of the map stage's work over groups, and over time at the stage's end. Takes the counts
//! of the hand-out and the times when workers ended; hands them on to the run's statistics.

use crate::device::DeviceFigures;
use crate::schedule::{GroupShare, HandOut};
use crate::stats::{add_shares, add_times};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The counts of each group, and the idle time of each worker.
#[derive(Debug, Default)]
pub(crate) struct Spread {
    pub(crate) groups: Vec<GroupShare>,
    pub(crate) idle: Vec<Duration>,
    pub(crate) devices: Vec<DeviceFigures>,
}

/// When workers found nothing left to take.
pub(crate) struct Homecoming {
    began: Instant,
    /// Nanoseconds after that.
    home: Vec<AtomicU64>,
}

impl Homecoming {
    pub(crate) fn new(workers: usize) -> Homecoming {
        let home = (0..workers).map(|_| AtomicU64::new(u64::MAX)).collect();
        Homecoming { began: Instant::now(), home }
    }

    /// A worker has nothing left.
    pub(crate) fn is_home(&self, worker: usize) {
        let nanoseconds = self.began.elapsed().as_nanos() as u64;
        self.home[worker].store(nanoseconds, Ordering::Relaxed);
    }

    /// Returns how long each worker waited for the last one, when all have ended.
    fn idle(self) -> Vec<Duration> {
        let home: Vec<u64> = self.home.into_iter().map(AtomicU64::into_inner).collect();
        let last = home.iter().copied().filter(|&at| at < u64::MAX).max().unwrap_or(0);
        home.iter().map(|&at| Duration::from_nanos(last.saturating_sub(at))).collect()
    }
}

impl Spread {
    /// Adds the counts of one part of the input.
    pub(crate) fn add(&mut self, hand_out: &HandOut<'_>, homecoming: Homecoming) {
        add_shares(&mut self.groups, &hand_out.shares());
        add_times(&mut self.idle, &homecoming.idle());
    }
}

//! How the map stage's work was spread: over groups, and over time at the stage's end. Takes what the
//! hand-out counted and when workers came home; hands it on to the run's figures.

use crate::device::DeviceFigures;
use crate::schedule::{GroupShare, HandOut};
use crate::stats::{add_shares, add_times};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What each group took, and how long each worker had nothing to do.
#[derive(Debug, Default)]
pub(crate) struct Spread {
    pub(crate) groups: Vec<GroupShare>,
    pub(crate) idle: Vec<Duration>,
    pub(crate) devices: Vec<DeviceFigures>,
}

/// When workers found nothing left to take.
pub(super) struct Homecoming {
    began: Instant,
    /// Nanoseconds after that.
    home: Vec<AtomicU64>,
}

impl Homecoming {
    pub(super) fn new(workers: usize) -> Homecoming {
        let home = (0..workers).map(|_| AtomicU64::new(u64::MAX)).collect();
        Homecoming { began: Instant::now(), home }
    }

    /// A worker has nothing left.
    pub(super) fn is_home(&self, worker: usize) {
        let nanoseconds = self.began.elapsed().as_nanos() as u64;
        self.home[worker].store(nanoseconds, Ordering::Relaxed);
    }

    /// All workers have come home: how long each waited for the last of them.
    fn idle(self) -> Vec<Duration> {
        let home: Vec<u64> = self.home.into_iter().map(AtomicU64::into_inner).collect();
        let last = home.iter().copied().filter(|&at| at < u64::MAX).max().unwrap_or(0);
        home.iter().map(|&at| Duration::from_nanos(last.saturating_sub(at))).collect()
    }
}

impl Spread {
    /// Adds what one part of the input came to.
    pub(super) fn add(&mut self, hand_out: &HandOut<'_>, homecoming: Homecoming) {
        add_shares(&mut self.groups, &hand_out.shares());
        add_times(&mut self.idle, &homecoming.idle());
    }
}

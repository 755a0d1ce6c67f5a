//! How the map stage's work was spread: over groups, and over time at the stage's end. Takes what the
//! hand-out counted and when workers came home; hands it on to the run's figures.

use crate::device::DeviceFigures;
use crate::schedule::{GroupShare, HandOut};
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

/// Adds later shares to those of the same groups.
pub(crate) fn add_shares(shares: &mut Vec<GroupShare>, later: &[GroupShare]) {
    shares.resize(shares.len().max(later.len()), GroupShare::default());
    shares.iter_mut().zip(later).for_each(|(share, later)| share.add(later));
}

/// Adds later figures to those of the same devices.
pub(crate) fn add_figures(devices: &mut Vec<DeviceFigures>, later: &[DeviceFigures]) {
    devices.resize(devices.len().max(later.len()), DeviceFigures::default());
    devices.iter_mut().zip(later).for_each(|(device, later)| device.add(later));
}

/// Adds later times to those of the same workers.
pub(crate) fn add_times(times: &mut Vec<Duration>, later: &[Duration]) {
    times.resize(times.len().max(later.len()), Duration::ZERO);
    times.iter_mut().zip(later).for_each(|(time, later)| *time += *later);
}

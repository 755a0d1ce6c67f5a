//! The cores that devices have. A device's threads fill its slots; each of them but the first takes the place of a
//! worker of the run's share, which maps nothing meanwhile. One worker of the share at least maps, and while the share
//! is empty, devices take nothing new either. Takes numbers of threads; says who maps.

use crate::schedule::{Pool, Share};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// The interval at which it is checked whether a run whose share is empty was stopped.
const LOOK: Duration = Duration::from_millis(10);

/// Who maps, and who fills slots.
pub(super) struct Lending<'r> {
    pool: &'r Pool,
    share: Option<&'r Share>,
    /// For each device how many threads fill its slots.
    feeders: Vec<AtomicUsize>,
}

impl<'r> Lending<'r> {
    pub(super) fn new(pool: &'r Pool, share: Option<&'r Share>, devices: usize) -> Lending<'r> {
        Lending { pool, share, feeders: (0..devices).map(|_| AtomicUsize::new(0)).collect() }
    }

    /// Returns whether a worker maps nothing now because a thread that fills slots has its core. Workers outside of the
    /// share have none to lend.
    pub(super) fn has_core_of(&self, worker: usize) -> bool {
        match self.share {
            None => worker >= self.mapping(),
            Some(share) => share.has(worker) && share.count(worker) >= self.mapping(),
        }
    }

    /// Returns how many workers map.
    pub(super) fn mapping(&self) -> usize {
        let beyond = |feeders: &AtomicUsize| feeders.load(Ordering::Relaxed).saturating_sub(1);
        let lent: usize = self.feeders.iter().map(beyond).sum();
        let in_share = self.in_share();
        // The share may have become smaller since the threads were counted.
        in_share.saturating_sub(lent).max(in_share.min(1))
    }

    /// Returns the most threads that may fill the slots of one device.
    pub(super) fn feeders_most(&self) -> usize {
        1 + self.in_share().saturating_sub(1) / self.feeders.len().max(1)
    }

    pub(super) fn feeders_of(&self, device: usize) -> usize {
        self.feeders[device].load(Ordering::Relaxed).max(1)
    }

    pub(super) fn feed_by(&self, device: usize, feeders: usize) {
        self.feeders[device].store(feeders, Ordering::Relaxed);
        self.pool.wake();
    }

    /// Returns whether nobody may take new work.
    pub(super) fn is_closed(&self) -> bool {
        self.share.is_some_and(|share| share.is_empty(self.pool.workers()))
    }

    /// Waits until somebody may take new work, or it is over.
    pub(super) fn wait(&self, is_over: impl Fn() -> bool) {
        let (Some(share), mut seen) = (self.share, 0) else { return };
        while self.is_closed() && !is_over() {
            seen = share.wait(seen, LOOK);
        }
    }

    fn in_share(&self) -> usize {
        let workers = self.pool.workers();
        self.share.map_or(workers, |share| share.count(workers))
    }
}

//! The number of splits that a worker takes at a time: found by a search on the job's own work, or set by the
//! caller. Shared by the workers of a run.

use super::{TimedSearch, part};
use crate::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The most bytes that a worker takes at a time. More has never been better, and they must fit in memory for
/// each worker.
const UNIT_BYTES_MOST: u64 = 4 << 20;

/// The size of a unit of work, in splits.
#[allow(missing_debug_implementations, reason = "no part of the interface")]
pub struct Units {
    now: AtomicU64,
    /// `None` if the caller has said it.
    search: Option<Mutex<Led>>,
    split_bytes: u64,
}

/// A search in which each comparison is of one worker's work: workers side by side may read very different
/// data, such as tiles of different files, and one worker's data changes slowly.
struct Led {
    search: TimedSearch,
    /// The worker whose work is compared.
    leader: usize,
}

impl Units {
    /// Takes one split at a time.
    pub fn fixed(split_bytes: u64) -> Units {
        Units::of(1, split_bytes)
    }

    /// Takes `splits` splits at a time.
    pub fn of(splits: u64, split_bytes: u64) -> Units {
        Units { now: AtomicU64::new(splits), search: None, split_bytes }
    }

    /// Returns a search that starts from units of `start_bytes`.
    pub fn searched(
        split_bytes: u64,
        start_bytes: u64,
        budget_bytes: u64,
        workers: usize,
    ) -> Units {
        let start = (start_bytes / split_bytes).max(1);
        let room = budget_bytes / part::UNIT / workers as u64;
        let most = (UNIT_BYTES_MOST.min(room) / split_bytes).max(start);
        let search = Led { search: TimedSearch::steady(start, 1, most), leader: 0 };
        let search = Some(Mutex::new(search));
        Units { now: AtomicU64::new(start), search, split_bytes }
    }

    /// Returns the number of splits to take now.
    pub fn now(&self) -> u64 {
        self.now.load(Ordering::Relaxed)
    }

    /// Takes in that a worker took `time` for `splits` splits. Reports are left out while another worker
    /// reports, and from workers other than the one whose work is compared.
    pub fn add(&self, worker: usize, splits: u64, time: Duration) {
        let Some(search) = &self.search else { return };
        // Units at the end of a tile are smaller, and say nothing about the size.
        if splits == self.now()
            && let Some(mut led) = search.try_lock()
        {
            if !led.search.is_comparing() {
                led.leader = worker;
            }
            if led.leader == worker {
                led.search.add(splits * self.split_bytes, time);
                self.now.store(led.search.size(), Ordering::Relaxed);
            }
        }
    }

    /// Returns the size that was found best, in bytes.
    pub fn best_bytes(&self) -> u64 {
        let best = self.search.as_ref().map(|search| search.lock().search.best());
        best.unwrap_or(1) * self.split_bytes
    }
}

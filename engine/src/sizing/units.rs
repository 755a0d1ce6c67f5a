//! How many splits a worker takes at a time: what a search finds best on the job's own work, or what the
//! caller said. Shared by the workers of a run.

use super::Search;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What a worker takes at a time, at most. More has never been better, and it must fit in memory for
/// each worker.
const UNIT_BYTES_MOST: u64 = 4 << 20;
/// Part of the budget that all units together may take.
const UNITS_PART: u64 = 32;

/// The size of a unit of work, in splits.
pub(crate) struct Units {
    now: AtomicU64,
    /// `None` if the caller has said it.
    search: Option<Mutex<Search>>,
    split_bytes: u64,
}

impl Units {
    /// One split at a time.
    pub(crate) fn fixed(split_bytes: u64) -> Units {
        Units::of(1, split_bytes)
    }

    /// So many splits at a time.
    pub(crate) fn of(splits: u64, split_bytes: u64) -> Units {
        Units { now: AtomicU64::new(splits), search: None, split_bytes }
    }

    /// A search that starts from units of `start_bytes`.
    pub(crate) fn searched(
        split_bytes: u64,
        start_bytes: u64,
        budget_bytes: u64,
        workers: usize,
    ) -> Units {
        let start = (start_bytes / split_bytes).max(1);
        let room = budget_bytes / UNITS_PART / workers as u64;
        let most = (UNIT_BYTES_MOST.min(room) / split_bytes).max(start);
        let search = Some(Mutex::new(Search::new(start, 1, most)));
        Units { now: AtomicU64::new(start), search, split_bytes }
    }

    /// How many splits to take now.
    pub(crate) fn now(&self) -> u64 {
        self.now.load(Ordering::Relaxed)
    }

    /// Takes in that a worker took `time` for so many splits. What comes while another worker reports is
    /// left out.
    pub(crate) fn add(&self, splits: u64, time: Duration) {
        let Some(search) = &self.search else { return };
        // Units at the end of a tile are smaller, and say nothing about the size.
        if splits == self.now()
            && let Ok(mut search) = search.try_lock()
        {
            search.add(splits * self.split_bytes, time);
            self.now.store(search.size(), Ordering::Relaxed);
        }
    }

    /// The size that was found best, in bytes.
    pub(crate) fn best_bytes(&self) -> u64 {
        let best = self.search.as_ref().and_then(|search| Some(search.lock().ok()?.best()));
        best.unwrap_or(1) * self.split_bytes
    }
}

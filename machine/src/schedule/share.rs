//! The share of the workers that a run may use, which may change while it runs: a server gives several jobs parts of
//! one machine, and lets the others go on when one ends. Takes numbers of workers; stages ask it before a worker
//! takes new work. It decides who maps, never what is mapped, so it cannot change an answer.

use crate::sync::{Condvar, Mutex};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Words of 64 workers: as many as an engine can have.
const WORDS: usize = 64;

/// A share as runs hold it.
pub(super) type HeldShare = Arc<Share>;

/// Says which workers may take new work; at first all. Share it (`Arc`) with a run through `Options::share`, and change
/// it from any thread. A worker outside of the share ends what it has begun. Where the share is empty, the run waits.
#[derive(Debug)]
pub struct Share {
    words: [AtomicU64; WORDS],
    /// Changes so far.
    changes: Mutex<u64>,
    changed: Condvar,
}

impl Default for Share {
    fn default() -> Share {
        Share {
            words: [const { AtomicU64::new(u64::MAX) }; WORDS],
            changes: Mutex::new(0),
            changed: Condvar::new(),
        }
    }
}

impl Share {
    /// Returns a share of all workers.
    pub fn new() -> Share {
        Share::default()
    }

    /// Lets these workers take new work, and no others. Runs see it within a millisecond.
    pub fn set(&self, workers: impl IntoIterator<Item = usize>) {
        let mut words = [0; WORDS];
        for worker in workers {
            if let Some(word) = words.get_mut(worker / 64) {
                *word |= 1 << (worker % 64);
            }
        }
        let mut changes = self.changes.lock();
        self.words.iter().zip(words).for_each(|(word, bits)| word.store(bits, Ordering::Relaxed));
        *changes += 1;
        drop(changes);
        self.changed.notify_all();
    }

    /// Returns whether a worker may take new work. Costs a read.
    pub fn has(&self, worker: usize) -> bool {
        let word = self.words.get(worker / 64).map_or(0, |word| word.load(Ordering::Relaxed));
        word >> (worker % 64) & 1 == 1
    }

    /// Returns whether none of the first `workers` may take new work.
    pub fn is_empty(&self, workers: usize) -> bool {
        !(0..workers).any(|worker| self.has(worker))
    }

    /// Returns how many of the first `workers` may take new work.
    pub fn count(&self, workers: usize) -> usize {
        (0..workers).filter(|&worker| self.has(worker)).count()
    }

    /// Returns the workers in the share among the first `workers`, in order.
    pub fn ranges(&self, workers: usize) -> Vec<Range<usize>> {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        for worker in (0..workers).filter(|&worker| self.has(worker)) {
            match ranges.last_mut() {
                Some(last) if last.end == worker => last.end += 1,
                _ => ranges.push(worker..worker + 1),
            }
        }
        ranges
    }

    /// Waits until the share has changed since `seen` changes, `time` at most; returns the number of changes.
    #[doc(hidden)]
    pub fn wait(&self, seen: u64, time: Duration) -> u64 {
        let changes = self.changes.lock();
        *self.changed.wait_timeout_while(changes, time, |changes| *changes == seen)
    }

    /// Has those who wait look again, without a change.
    #[doc(hidden)]
    pub fn nudge(&self) {
        *self.changes.lock() += 1;
        self.changed.notify_all();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_share_has_the_workers_that_it_was_given() {
        let share = Share::new();
        assert!(share.has(0) && share.has(4095) && !share.is_empty(1));
        let cases: [&[Range<usize>]; 5] =
            [&[], &[0..64, 65..66], &[63..65, 70..71], &[1..2, 3..200], &[0..1, 4000..4096]];
        for ranges in cases {
            share.set(ranges.iter().cloned().flatten());
            let is_in = |worker| ranges.iter().any(|range| range.contains(&worker));
            assert!((0..4096).all(|worker| share.has(worker) == is_in(worker)), "{ranges:?}");
            assert_eq!(share.count(4096), ranges.iter().map(Range::len).sum::<usize>());
            assert_eq!(
                (share.is_empty(4096), &share.ranges(4096)[..]),
                (ranges.is_empty(), ranges)
            );
        }
        share.set([4096]);
        assert!(share.is_empty(4096) && !share.has(4096));
    }
}

//! A size that is found from far below, quickly: every piece is twice as large as the one before, until that
//! no longer pays; only then it becomes a [`TimedSearch`], which tries neighbours now and then. For work
//! whose best size is not known to a factor of thousands and whose pieces cost something each, such as the
//! units of a device. Takes the bytes and time of pieces of work; hands on the size to use
//! next.
//!
//! Nothing waits for the result of a size: pieces are in flight while those before them are measured, so a
//! few are larger than necessary. That costs nothing unless larger ones are slower.
//!
//! Rafique and others ("Supporting MapReduce on large-scale asymmetric multi-core clusters", section
//! 3.5) look by bisection, which spends pieces of the largest sizes on the way; of sizes that are as
//! good, theirs and this take the larger.

use super::TimedSearch;
use std::time::Duration;

/// A doubling that brings less than this is weak; two weak ones end the ramp.
const GAIN: f64 = 0.04;
const WEAK_MOST: u32 = 2;
/// Sizes whose rates differ by less are as good.
const TIE: f64 = 0.05;

/// A size that doubles until that no longer pays.
#[derive(Clone, Debug)]
pub struct Ramp {
    least: u64,
    most: u64,
    /// Bytes that may still go to pieces of sizes on trial.
    allowance: u64,
    next: u64,
    /// Sizes that were tried, ascending, and their bytes a second.
    tried: Vec<(u64, f64)>,
    /// The best of these.
    rate: Option<f64>,
    weak: u32,
    search: Option<TimedSearch>,
}

impl Ramp {
    /// Returns a ramp from `start` upwards, between `least` and `most`, which spends `allowance` bytes at
    /// most on sizes that are not known to be good.
    pub fn new(start: u64, least: u64, most: u64, allowance: u64) -> Ramp {
        let most = most.max(least);
        let next = start.clamp(least, most);
        let (tried, search) = (Vec::new(), None);
        Ramp { least, most, allowance, next, tried, rate: None, weak: 0, search }
    }

    /// Limits the sizes to `most` bytes. For a ramp of which nothing has begun.
    pub fn within(self, most: u64) -> Ramp {
        let most = most.clamp(self.least, self.most);
        Ramp { most, next: self.next.min(most), ..self }
    }

    /// Returns the size of the next piece.
    pub fn size(&self) -> u64 {
        self.search.as_ref().map_or(self.next, TimedSearch::size)
    }

    /// Notes that a piece of `bytes` bytes is in flight.
    pub fn begun(&mut self, bytes: u64) {
        if self.search.is_none() && bytes >= self.next {
            self.allowance = self.allowance.saturating_sub(bytes);
            let next = self.next.saturating_mul(2);
            if next <= self.most && next <= self.allowance {
                self.next = next;
            }
        }
    }

    /// Takes in the time of a piece; pieces come in the order in which they were begun. Constant time.
    pub fn add(&mut self, bytes: u64, time: Duration) {
        if let Some(search) = &mut self.search {
            if bytes == search.size() {
                search.add(bytes, time);
            }
            return;
        }
        let rate = bytes as f64 / time.as_secs_f64().max(1e-9);
        let best = self.rate.unwrap_or(0.0);
        self.rate = Some(rate.max(best));
        if self.tried.last().is_some_and(|&(size, _)| size >= bytes) {
            // No larger size will come: this one is the limit.
            return self.settle();
        }
        self.tried.push((bytes, rate));
        self.weak = if rate < best * (1.0 + GAIN) { self.weak + 1 } else { 0 };
        if self.weak >= WEAK_MOST {
            self.settle();
        }
    }

    /// Returns the best size so far.
    pub fn best(&self) -> u64 {
        self.search.as_ref().map_or_else(|| self.best_tried(), TimedSearch::best)
    }

    /// Bytes a second of the best size that was tried; `None` before any was.
    pub fn rate(&self) -> Option<f64> {
        self.rate
    }

    /// Returns whether the ramp has ended.
    pub fn is_settled(&self) -> bool {
        self.search.is_some()
    }

    /// Returns whether there is only one size.
    pub fn is_fixed(&self) -> bool {
        self.least == self.most
    }

    fn settle(&mut self) {
        self.search = Some(TimedSearch::settled(self.best_tried(), self.least, self.most));
    }

    /// Returns the largest size that is as good as the best.
    fn best_tried(&self) -> u64 {
        let enough = self.rate.unwrap_or(0.0) * (1.0 - TIE);
        let good = self.tried.iter().filter(|&&(_, rate)| rate >= enough);
        good.map(|&(size, _)| size).max().unwrap_or(self.next)
    }
}

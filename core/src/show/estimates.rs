//! Estimates the final counts and sums: each show's figures are scaled to the whole input, with a
//! confidence interval.
//!
//! # Method
//! The ratio estimator for a sample of clusters, with the finite population correction (Cochran, Sampling
//! Techniques, 3rd edition, 1977, sections 2.11, 6.3 and 6.4). A cluster is the input between two shows of
//! a key: `x` is its bytes, `y` the gain of the key in it. With `R = sum y / sum x` over the `n` seen
//! clusters, `X` the bytes of the whole input and `f` its seen part, the estimate is `R X`, and its
//! variance is about
//!
//! ```text
//! X^2 (1 - f) / (n m^2) * sum (y - R x)^2 / (n - 1),   m = sum x / n
//! ```
//!
//! The interval extends on either side by the quantile of Student's t with `n - 1` degrees of freedom, so a
//! key needs two shows to have one. It is valid as far as the clusters resemble a random draw of the input:
//! not if the input is sorted by the counted figure.

use crate::sizing::part;
use std::collections::HashMap;

/// A key that was not shown in this number of shows is forgotten.
const SHOWS_KEPT: u64 = 16;
/// The normal distribution's quantile for 95 % inside.
const NORMAL: f64 = 1.959_964;

/// The estimated final value of a key's figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The figure so far, scaled to the whole input.
    pub total: f64,
    /// The largest distance of the true figure from it with 95 % confidence: 0 when all was seen; `None`
    /// until a key was shown twice.
    pub within: Option<f64>,
}

/// The bytes that a key takes beside its own: its sums in the table, with room to grow, and its allocation.
const BYTES_PER_KEY: usize = 256;
const BYTES_WITHOUT_BUDGET: u64 = 256 << 20;

/// Estimates figures that add up over the input (counts, sums), from show to show. Memory is linear in the
/// shown keys, and limited.
#[derive(Debug)]
pub struct Estimates {
    keys: HashMap<Box<[u8]>, Clusters>,
    held_bytes: usize,
    bytes_most: usize,
    shows: u64,
    bytes: f64,
    planned: f64,
}

/// Sums over the clusters of a key.
#[derive(Clone, Copy, Debug, Default)]
struct Clusters {
    count: f64,
    /// The last show's bytes and figure: the sums of x and y.
    bytes: f64,
    figure: f64,
    xx: f64,
    xy: f64,
    yy: f64,
    last_shown: u64,
}

impl Default for Estimates {
    fn default() -> Estimates {
        Estimates::new()
    }
}

impl Estimates {
    /// Creates estimates without any show.
    pub fn new() -> Estimates {
        Estimates::within(usize::MAX)
    }

    /// Creates estimates that take a share of an engine's memory budget at most, or 256 MiB if it has none. When these
    /// are used up, the figures of further keys are scaled without a confidence interval.
    pub fn of_budget(budget_bytes: Option<u64>) -> Estimates {
        let share = budget_bytes.map(|budget| budget / part::ESTIMATES);
        Estimates::within(share.unwrap_or(BYTES_WITHOUT_BUDGET) as usize)
    }

    fn within(bytes_most: usize) -> Estimates {
        let (shows, bytes, planned) = Default::default();
        Estimates { keys: HashMap::new(), held_bytes: 0, bytes_most, shows, bytes, planned }
    }

    /// Begins a show that has seen `bytes` bytes (more than the show before) of `planned`.
    pub fn begin(&mut self, bytes: u64, planned: u64) {
        self.shows += 1;
        (self.bytes, self.planned) = (bytes as f64, planned as f64);
        let oldest = self.shows.saturating_sub(SHOWS_KEPT);
        let held_bytes = &mut self.held_bytes;
        self.keys.retain(|key, clusters| {
            let stays = clusters.last_shown >= oldest;
            if !stays {
                *held_bytes -= key.len() + BYTES_PER_KEY;
            }
            stays
        });
    }

    /// Adds a key's figure in the present show and returns its estimate. Call it once per show and figure;
    /// use different keys for different figures of one answer.
    pub fn estimate(&mut self, key: &[u8], figure: f64) -> Estimate {
        let mut alone = Clusters::default();
        let key_bytes = key.len() + BYTES_PER_KEY;
        let clusters = match self.keys.get_mut(key) {
            Some(clusters) => clusters,
            None if self.held_bytes + key_bytes > self.bytes_most => &mut alone,
            None => {
                self.held_bytes += key_bytes;
                self.keys.entry(key.into()).or_default()
            }
        };
        clusters.last_shown = self.shows;
        clusters.add(self.bytes, figure);
        clusters.estimate(self.planned)
    }
}

impl Clusters {
    fn add(&mut self, bytes: f64, figure: f64) {
        let (x, y) = (bytes - self.bytes, figure - self.figure);
        if x > 0.0 {
            self.count += 1.0;
            (self.bytes, self.figure) = (bytes, figure);
            self.xx += x * x;
            self.xy += x * y;
            self.yy += y * y;
        }
    }

    fn estimate(&self, planned: f64) -> Estimate {
        if self.bytes <= 0.0 {
            return Estimate { total: self.figure, within: None };
        }
        let ratio = self.figure / self.bytes;
        let unseen = (1.0 - self.bytes / planned).max(0.0);
        let freedom = self.count - 1.0;
        let is_complete = unseen == 0.0;
        let within = (!is_complete && freedom >= 1.0).then(|| {
            let squares = self.yy - 2.0 * ratio * self.xy + ratio * ratio * self.xx;
            let spread = squares.max(0.0) / freedom;
            let mean = self.bytes / self.count;
            let variance = planned * planned * unseen / (self.count * mean * mean) * spread;
            student(freedom) * variance.sqrt()
        });
        let within = within.or(is_complete.then_some(0.0));
        Estimate { total: self.figure * (planned.max(self.bytes) / self.bytes), within }
    }
}

/// Returns the quantile of Student's t for 95 % inside: a series in 1 / freedom (Abramowitz and Stegun,
/// 26.7.5), with exact values for the first two.
fn student(freedom: f64) -> f64 {
    if freedom < 2.0 {
        return 12.7062;
    }
    if freedom < 3.0 {
        return 4.3027;
    }
    let z = NORMAL;
    let (z3, z5, z7, z9) = (z.powi(3), z.powi(5), z.powi(7), z.powi(9));
    z + (z3 + z) / (4.0 * freedom)
        + (5.0 * z5 + 16.0 * z3 + 3.0 * z) / (96.0 * freedom.powi(2))
        + (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * z) / (384.0 * freedom.powi(3))
        + (79.0 * z9 + 776.0 * z7 + 1482.0 * z5 - 1920.0 * z3 - 945.0 * z)
            / (92_160.0 * freedom.powi(4))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (freedom, expected) in
            [(1.0, 12.706), (2.0, 4.303), (3.0, 3.182), (5.0, 2.571), (10.0, 2.228), (60.0, 2.0)]
        {
            let quantile = student(freedom);
            assert!((quantile / expected - 1.0).abs() < 0.002, "{freedom}: {quantile}");
        }
    }

    #[test]
    fn keys_that_are_shown_no_more_are_forgotten() {
        let mut estimates = Estimates::new();
        for show in 1..100_u64 {
            estimates.begin(show, 1000);
            estimates.estimate(&show.to_le_bytes(), 1.0);
        }
        assert!(estimates.keys.len() <= SHOWS_KEPT as usize + 1);
    }

    #[test]
    fn keys_beyond_the_memory_are_scaled_alone() {
        let mut estimates = Estimates::within(10 * (BYTES_PER_KEY + 8));
        for show in 1..4_u64 {
            estimates.begin(100 * show, 1000);
            for key in 0..20_u64 {
                let estimate = estimates.estimate(&key.to_le_bytes(), (10 * show) as f64);
                assert_eq!(estimate.total, 100.0);
                assert_eq!(estimate.within.is_some(), key < 10 && show > 1, "{key} {show}");
            }
        }
        for show in 4..40 {
            estimates.begin(100 + show, 1000);
        }
        assert_eq!(estimates.held_bytes, 0);
    }
}

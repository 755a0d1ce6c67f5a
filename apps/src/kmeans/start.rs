//! The first means: points of the input, chosen at random. The same seed chooses the same points.

use super::{KMeans, Start};
use crate::Matrix;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

impl KMeans {
    /// Returns the first means.
    pub(super) fn first_means(&self, points: &Matrix) -> Vec<Vec<f64>> {
        let mut chance = Xoshiro256PlusPlus::seed_from_u64(self.seed);
        let point = |row| points.wide_rows(row..row + 1);
        match self.start {
            Start::Random => {
                // Floyd's sampling: as many steps as groups, for any number of points.
                let mut rows: Vec<usize> = Vec::new();
                for last in points.rows - self.groups..points.rows {
                    let row = below(&mut chance, last + 1);
                    rows.push(if rows.contains(&row) { last } else { row });
                }
                rows.into_iter().map(point).collect()
            }
            Start::Spread => {
                let all = points.wide_rows(0..points.rows);
                let mut nearest = vec![f64::INFINITY; points.rows];
                let mut means: Vec<Vec<f64>> = vec![point(below(&mut chance, points.rows))];
                while means.len() < self.groups {
                    let mean = &means[means.len() - 1];
                    for (point, near) in all.chunks_exact(points.columns).zip(&mut nearest) {
                        let apart = point.iter().zip(mean).map(|(a, b)| (a - b) * (a - b));
                        *near = near.min(apart.sum());
                    }
                    // If all points are means already, any of them may be chosen again.
                    let mut left = unit(&mut chance) * nearest.iter().sum::<f64>();
                    let reached = |near: &f64| {
                        left -= near;
                        left < 0.0
                    };
                    let row = nearest.iter().position(reached).unwrap_or(points.rows - 1);
                    means.push(point(row));
                }
                means
            }
        }
    }
}

/// Returns a number below `end`, which is at least 1 and so far below 2^64 that all numbers are equally
/// likely.
fn below(chance: &mut Xoshiro256PlusPlus, end: usize) -> usize {
    ((u128::from(chance.next_u64()) * end as u128) >> 64) as usize
}

/// Returns a number of at least 0 and below 1.
fn unit(chance: &mut Xoshiro256PlusPlus) -> f64 {
    (chance.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

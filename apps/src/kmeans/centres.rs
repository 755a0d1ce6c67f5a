//! Finds the nearest means: the inner loop of k-means. Takes the points of a split; hands on the number of
//! points of each mean, and their reproducible sums. Distances are summed in the order of the columns
//! without fused operations, so every machine finds the same nearest means.

use crate::matrix::{Element, Number};
use multiversion::multiversion;
use tegula::Binned;

/// The sums of one split's points, by group.
pub(super) struct Sums {
    counts: Vec<u64>,
    /// By group and column.
    sums: Vec<Binned>,
    columns: usize,
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq", "x86_64+avx2"))]
fn add(sums: &mut Sums, centres: &Centres, element: Element, points: &[u8]) {
    match element {
        Element::F32 => sums.add::<f32>(centres, points),
        Element::F64 => sums.add::<f64>(centres, points),
    }
}

impl Sums {
    /// Sums little-endian points.
    pub(super) fn of(centres: &Centres, element: Element, points: &[u8]) -> Sums {
        let (count, columns) = (centres.count, centres.columns);
        let sums = vec![Binned::ZERO; count * columns];
        let mut sums = Sums { counts: vec![0; count], sums, columns };
        add(&mut sums, centres, element, points);
        sums
    }

    /// Iterates over each group with points and each column: the group's number times the columns plus the
    /// column, the number of points, their sum.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, (u64, Binned))> {
        let counts = (0..self.sums.len()).map(|place| self.counts[place / self.columns]);
        let sums = counts.zip(&self.sums).zip(0..);
        sums.filter(|&((count, _), _)| count > 0).map(|((count, &sum), key)| (key, (count, sum)))
    }

    #[inline(always)]
    fn add<T: Number>(&mut self, centres: &Centres, points: &[u8]) {
        let mut point = vec![0.0; centres.columns];
        for bytes in points.chunks_exact(centres.columns * T::ELEMENT.bytes()) {
            for (column, value) in T::read(bytes).enumerate() {
                point[column] = value.wide();
            }
            let group = centres.nearest(&point);
            self.counts[group] += 1;
            let sums = &mut self.sums[group * centres.columns..][..centres.columns];
            for (sum, &value) in sums.iter_mut().zip(&point) {
                sum.add(value);
            }
        }
    }
}

/// Means, column by column, in blocks that fill vector registers.
pub(super) struct Centres {
    count: usize,
    pub(super) columns: usize,
    /// By block, column, and index in the block. Padding in the last block is infinitely far.
    blocks: Vec<[f64; LANES]>,
}

const LANES: usize = 8;

impl Centres {
    pub(super) fn of(means: &[Vec<f64>]) -> Centres {
        let columns = means[0].len();
        let blocks = means.chunks(LANES).flat_map(|block| {
            (0..columns).map(|column| {
                std::array::from_fn(|lane| {
                    block.get(lane).map_or(f64::INFINITY, |mean| mean[column])
                })
            })
        });
        Centres { count: means.len(), columns, blocks: blocks.collect() }
    }

    /// Returns the centre nearest to a point, the first of equally near ones.
    #[inline(always)]
    pub(super) fn nearest(&self, point: &[f64]) -> usize {
        // Each lane keeps its own nearest centre of all blocks, with the block's number.
        let mut least = [f64::INFINITY; LANES];
        let mut at = [0_u64; LANES];
        for (number, block) in self.blocks.chunks_exact(self.columns).enumerate() {
            let mut apart = [0.0; LANES];
            for column in 0..self.columns {
                let (means, value) = (&block[column], point[column]);
                for lane in 0..LANES {
                    apart[lane] += (means[lane] - value) * (means[lane] - value);
                }
            }
            for lane in 0..LANES {
                let nearer = apart[lane] < least[lane];
                least[lane] = if nearer { apart[lane] } else { least[lane] };
                at[lane] = if nearer { number as u64 } else { at[lane] };
            }
        }
        let mut best = 0;
        for lane in 1..LANES {
            let key = |lane: usize| (least[lane], at[lane]);
            if key(lane) < key(best) {
                best = lane;
            }
        }
        at[best] as usize * LANES + best
    }
}

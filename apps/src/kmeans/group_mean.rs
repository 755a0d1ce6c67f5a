//! The combine of k-means: the number of points of a group, and their mean in one column.

use std::cmp::Ordering;
use tegula::{Binned, Combine, Count};

/// The number of points of a group, and their mean in one column.
pub(super) struct GroupMean;

impl Combine for GroupMean {
    type Value = (u64, Binned);
    type Accumulator = (u64, Binned);
    type Output = (u64, f64);

    fn identity() -> (u64, Binned) {
        (Count::identity(), Binned::ZERO)
    }

    fn absorb(into: &mut (u64, Binned), value: (u64, Binned)) {
        Self::merge(into, &value);
    }

    fn merge(into: &mut (u64, Binned), other: &(u64, Binned)) {
        Count::merge(&mut into.0, &other.0);
        into.1.merge(&other.1);
    }

    fn finish((count, sum): &(u64, Binned)) -> (u64, f64) {
        (*count, sum.over(*count))
    }

    fn rank(a: &(u64, Binned), b: &(u64, Binned)) -> Ordering {
        a.0.cmp(&b.0).then_with(|| a.1.sum().total_cmp(&b.1.sum()))
    }

    fn encode((count, sum): &(u64, Binned), out: &mut Vec<u8>) {
        Count::encode(count, out);
        sum.encode(out);
    }

    fn decode(bytes: &mut &[u8]) -> Option<(u64, Binned)> {
        Some((Count::decode(bytes)?, Binned::decode(bytes)?))
    }
}

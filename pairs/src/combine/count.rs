//! Counts how often a key was emitted.

use super::{Combine, Inverse, Share, Sum};
use std::cmp::Ordering;

/// Counts how often a key was emitted; the emitted value is `()`. The result equals a sum of ones.
///
/// Byte form: the count as 8 bytes, little-endian.
///
/// # Panics
/// Panics if a count exceeds 2^63 - 1.
#[derive(Clone, Copy, Debug)]
pub struct Count;

impl Combine for Count {
    type Value = ();
    type Accumulator = u64;
    type Output = u64;

    /// Counts that are taken out are negative, in two's complement.
    const INVERSE: Option<Inverse<u64>> =
        Some(Inverse { of: |count| count.wrapping_neg(), is_nothing: |count| *count == 0 });

    const IS_COMPILED: bool = true;

    const SHARE: Option<Share<u64>> = Sum::<u64>::SHARE;

    #[inline]
    fn identity() -> u64 {
        0
    }

    #[inline]
    fn absorb(into: &mut u64, (): ()) {
        Self::merge(into, &1);
    }

    #[inline]
    fn merge(into: &mut u64, other: &u64) {
        let Some(count) = into.cast_signed().checked_add(other.cast_signed()) else {
            panic!("the count of a key exceeds 2^63 - 1");
        };
        *into = count.cast_unsigned();
    }

    fn finish(accumulator: &u64) -> u64 {
        Sum::<u64>::finish(accumulator)
    }

    fn rank(a: &u64, b: &u64) -> Ordering {
        Sum::<u64>::rank(a, b)
    }

    fn encode(accumulator: &u64, out: &mut Vec<u8>) {
        Sum::<u64>::encode(accumulator, out);
    }

    fn decode(bytes: &mut &[u8]) -> Option<u64> {
        Sum::<u64>::decode(bytes)
    }
}

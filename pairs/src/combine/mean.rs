//! The arithmetic mean of a key's values, rounded once, at the end.

use super::rounding::quotient;
use super::{Binned, Combine, Count, Inverse, Sum};
use std::cmp::Ordering;
use std::marker::PhantomData;

/// Computes the mean of a key's values, for `T` of `u64`, `i64` and `f64`; the answer is an `f64`.
///
/// - Integers: the sum is exact, so the mean is the nearest `f64` to the true one.
/// - Floats: the sum is [`Binned`], so the mean has the same bits for any order and nesting, and the
///   precision of that sum. It does not overflow even if the sum would.
///
/// The mean of no values is NaN. Means rank by [`f64::total_cmp`].
///
/// Byte form: the sum (16 bytes, little-endian, for integers; that of [`Binned`] for floats), then the
/// count as 8 bytes, little-endian.
///
/// # Panics
/// Panics if a key has 2^63 values or more.
#[derive(Clone, Copy, Debug)]
pub struct Mean<T>(PhantomData<T>);

/// The data of [`Mean`] per key: the sum of the values and their count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeanAccumulator<S> {
    sum: S,
    count: u64,
}

/// Implements the mean for one type. `$sum` is the combine that sums; `$add` and `$over` add a value to its
/// accumulator and divide it; `$inverse` takes an accumulator out.
macro_rules! mean {
    ($type:ty, $sum:ty, $add:expr, $over:expr, $inverse:expr) => {
        impl Combine for Mean<$type> {
            type Value = $type;
            type Accumulator = MeanAccumulator<<$sum as Combine>::Accumulator>;
            type Output = f64;

            const INVERSE: Option<Inverse<Self::Accumulator>> = $inverse;

            #[inline]
            fn identity() -> Self::Accumulator {
                MeanAccumulator { sum: <$sum>::identity(), count: Count::identity() }
            }

            #[inline]
            fn absorb(into: &mut Self::Accumulator, value: $type) {
                $add(&mut into.sum, value);
                Count::absorb(&mut into.count, ());
            }

            #[inline]
            fn merge(into: &mut Self::Accumulator, other: &Self::Accumulator) {
                <$sum>::merge(&mut into.sum, &other.sum);
                Count::merge(&mut into.count, &other.count);
            }

            fn finish(accumulator: &Self::Accumulator) -> f64 {
                $over(&accumulator.sum, accumulator.count)
            }

            fn rank(a: &Self::Accumulator, b: &Self::Accumulator) -> Ordering {
                Self::finish(a).total_cmp(&Self::finish(b))
            }

            fn encode(accumulator: &Self::Accumulator, out: &mut Vec<u8>) {
                <$sum>::encode(&accumulator.sum, out);
                Count::encode(&accumulator.count, out);
            }

            fn decode(bytes: &mut &[u8]) -> Option<Self::Accumulator> {
                Some(MeanAccumulator { sum: <$sum>::decode(bytes)?, count: Count::decode(bytes)? })
            }
        }
    };
}

mean!(u64, Sum<i64>, add_integer, integers_over, INTEGERS_OUT);
mean!(i64, Sum<i64>, add_integer, integers_over, INTEGERS_OUT);
// The small values that a sum of floats dropped when it met a large value cannot be restored.
mean!(f64, Sum<f64>, Binned::add, Binned::over, None);

const INTEGERS_OUT: Option<Inverse<MeanAccumulator<i128>>> = Some(Inverse {
    of: |mean| MeanAccumulator { sum: -mean.sum, count: mean.count.wrapping_neg() },
    is_nothing: |mean| mean.count == 0 && mean.sum == 0,
});

#[inline]
fn add_integer(sum: &mut i128, value: impl Into<i128>) {
    Sum::<i64>::merge(sum, &value.into());
}

fn integers_over(sum: &i128, count: u64) -> f64 {
    let magnitude = quotient(sum.unsigned_abs(), false, 0, count);
    if *sum < 0 { -magnitude } else { magnitude }
}

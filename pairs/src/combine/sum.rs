//! The sum of a key's values. Integers never wrap; sums of floats do not depend on order.

use super::{Binned, Combine, Share, take};
use std::cmp::Ordering;
use std::marker::PhantomData;

/// Sums a key's values, for `T` of `u64`, `i64` and `f64`.
///
/// - `u64`: the accumulator is the sum. Byte form: 8 bytes, little-endian.
/// - `i64`: the accumulator is an `i128`, so that a sum that leaves `i64` on its way and returns is right
///   in any order; the answer is checked. Byte form: 16 bytes, little-endian.
/// - `f64`: the accumulator is [`Binned`], with the same bits for any order and nesting.
///
/// # Panics
/// Panics if the total of integers exceeds the range of `T`, whatever the order of the values.
#[derive(Clone, Copy, Debug)]
pub struct Sum<T>(PhantomData<T>);

/// Implements the sum for a type of integers. `$wide` is the type of the accumulator, `$beyond` the message if that
/// overflows, and `$finish` makes the answer of it.
macro_rules! integers {
    ($type:ty, $wide:ty, $beyond:literal, $finish:expr, { $($constants:item)* }) => {
        impl Combine for Sum<$type> {
            type Value = $type;
            type Accumulator = $wide;
            type Output = $type;

            $($constants)*

            #[inline]
            fn identity() -> $wide {
                0
            }

            #[inline]
            fn absorb(into: &mut $wide, value: $type) {
                Self::merge(into, &(value as $wide));
            }

            #[inline]
            fn merge(into: &mut $wide, other: &$wide) {
                let Some(sum) = into.checked_add(*other) else { panic!($beyond) };
                *into = sum;
            }

            fn finish(accumulator: &$wide) -> $type {
                $finish(*accumulator)
            }

            fn rank(a: &$wide, b: &$wide) -> Ordering {
                a.cmp(b)
            }

            fn encode(accumulator: &$wide, out: &mut Vec<u8>) {
                out.extend_from_slice(&accumulator.to_le_bytes());
            }

            fn decode(bytes: &mut &[u8]) -> Option<$wide> {
                take(bytes).map(<$wide>::from_le_bytes)
            }
        }
    };
}

integers!(
    u64,
    u64,
    "the sum of a key exceeds u64: use Sum<f64> or smaller values",
    std::convert::identity,
    {
        const IS_COMPILED: bool = true;
        const SHARE: Option<Share<u64>> =
            Some(Share { of: |sum, parts| sum / parts, most: |a, b| a.saturating_add(*b) });
    }
);
// Beyond i128 only after 2^64 values, or from bytes that no sum wrote.
integers!(i64, i128, "the sum of a key exceeds i128", narrow, {
    const IS_COMPILED: bool = true;
});

fn narrow(sum: i128) -> i64 {
    let Ok(sum) = i64::try_from(sum) else {
        panic!("the sum of a key exceeds i64: use Sum<f64> or smaller values");
    };
    sum
}

impl Combine for Sum<f64> {
    type Value = f64;
    type Accumulator = Binned;
    type Output = f64;

    #[inline]
    fn identity() -> Binned {
        Binned::ZERO
    }

    #[inline]
    fn absorb(into: &mut Binned, value: f64) {
        into.add(value);
    }

    #[inline]
    fn merge(into: &mut Binned, other: &Binned) {
        into.merge(other);
    }

    fn finish(accumulator: &Binned) -> f64 {
        accumulator.sum()
    }

    fn rank(a: &Binned, b: &Binned) -> Ordering {
        a.sum().total_cmp(&b.sum())
    }

    fn encode(accumulator: &Binned, out: &mut Vec<u8>) {
        accumulator.encode(out);
    }

    fn decode(bytes: &mut &[u8]) -> Option<Binned> {
        Binned::decode(bytes)
    }
}

//! The least and the greatest value of a key.

use super::{Combine, take};
use std::cmp::Ordering;
use std::marker::PhantomData;

/// Keeps the least value of a key, for `T` of `u64`, `i64` and `f64`.
///
/// Floats are ordered by [`f64::total_cmp`]: negative NaN, -inf, …, -0.0, 0.0, …, inf, positive NaN. A
/// positive NaN, the usual result of arithmetic on ARM, and a negative one, the usual result on x86, are at
/// opposite ends. Filter NaN out before emitting if it may occur.
///
/// The identity is the last value of the order: `u64::MAX`, `i64::MAX`, the positive NaN of all ones.
///
/// Byte form: the value as 8 bytes, little-endian; a float as its bits.
#[derive(Clone, Copy, Debug)]
pub struct Min<T>(PhantomData<T>);

/// Keeps the greatest value of a key, for `T` of `u64`, `i64` and `f64`; order and byte form as in [`Min`].
///
/// The identity is the first value of the order: 0, `i64::MIN`, the negative NaN of all ones.
#[derive(Clone, Copy, Debug)]
pub struct Max<T>(PhantomData<T>);

/// Implements one of the two for one type: `$keeps` is the comparison of a kept value with one that is not
/// kept.
macro_rules! extreme {
    ($name:ident, $type:ty, $identity:expr, $order:expr, $keeps:expr) => {
        impl Combine for $name<$type> {
            type Value = $type;
            type Accumulator = $type;
            type Output = $type;

            #[inline]
            fn identity() -> $type {
                $identity
            }

            #[inline]
            fn absorb(into: &mut $type, value: $type) {
                if $order(&value, into) == $keeps {
                    *into = value;
                }
            }

            #[inline]
            fn merge(into: &mut $type, other: &$type) {
                Self::absorb(into, *other);
            }

            fn finish(accumulator: &$type) -> $type {
                *accumulator
            }

            fn rank(a: &$type, b: &$type) -> Ordering {
                $order(a, b)
            }

            fn encode(accumulator: &$type, out: &mut Vec<u8>) {
                out.extend_from_slice(&accumulator.to_le_bytes());
            }

            fn decode(bytes: &mut &[u8]) -> Option<$type> {
                take(bytes).map(<$type>::from_le_bytes)
            }
        }
    };
}

/// All bits except the sign: the last float of the total order.
const LAST: f64 = f64::from_bits(u64::MAX >> 1);
/// All bits: the first float of the total order.
const FIRST: f64 = f64::from_bits(u64::MAX);

extreme!(Min, u64, u64::MAX, u64::cmp, Ordering::Less);
extreme!(Min, i64, i64::MAX, i64::cmp, Ordering::Less);
extreme!(Min, f64, LAST, f64::total_cmp, Ordering::Less);
extreme!(Max, u64, 0, u64::cmp, Ordering::Greater);
extreme!(Max, i64, i64::MIN, i64::cmp, Ordering::Greater);
extreme!(Max, f64, FIRST, f64::total_cmp, Ordering::Greater);

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

impl Combine for Sum<u64> {
    type Value = u64;
    type Accumulator = u64;
    type Output = u64;

    const IS_COMPILED: bool = true;

    const SHARE: Option<Share<u64>> =
        Some(Share { of: |sum, parts| sum / parts, most: |a, b| a.saturating_add(*b) });

    #[inline]
    fn identity() -> u64 {
        0
    }

    #[inline]
    fn absorb(into: &mut u64, value: u64) {
        Self::merge(into, &value);
    }

    #[inline]
    fn merge(into: &mut u64, other: &u64) {
        let Some(sum) = into.checked_add(*other) else {
            panic!("the sum of a key exceeds u64: use Sum<f64> or smaller values");
        };
        *into = sum;
    }

    fn finish(accumulator: &u64) -> u64 {
        *accumulator
    }

    fn rank(a: &u64, b: &u64) -> Ordering {
        a.cmp(b)
    }

    fn encode(accumulator: &u64, out: &mut Vec<u8>) {
        out.extend_from_slice(&accumulator.to_le_bytes());
    }

    fn decode(bytes: &mut &[u8]) -> Option<u64> {
        take(bytes).map(u64::from_le_bytes)
    }
}

impl Combine for Sum<i64> {
    type Value = i64;
    type Accumulator = i128;
    type Output = i64;

    #[inline]
    fn identity() -> i128 {
        0
    }

    #[inline]
    fn absorb(into: &mut i128, value: i64) {
        Self::merge(into, &i128::from(value));
    }

    #[inline]
    fn merge(into: &mut i128, other: &i128) {
        // Beyond i128 only after 2^64 values, or from bytes that no sum wrote.
        let Some(sum) = into.checked_add(*other) else {
            panic!("the sum of a key exceeds i128");
        };
        *into = sum;
    }

    fn finish(accumulator: &i128) -> i64 {
        let Ok(sum) = i64::try_from(*accumulator) else {
            panic!("the sum of a key exceeds i64: use Sum<f64> or smaller values");
        };
        sum
    }

    fn rank(a: &i128, b: &i128) -> Ordering {
        a.cmp(b)
    }

    fn encode(accumulator: &i128, out: &mut Vec<u8>) {
        out.extend_from_slice(&accumulator.to_le_bytes());
    }

    fn decode(bytes: &mut &[u8]) -> Option<i128> {
        take(bytes).map(i128::from_le_bytes)
    }
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

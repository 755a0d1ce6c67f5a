//! Numbers of twice the usual precision, as unevaluated sums of two `f64`s, and their reproducible total:
//! for results that are small differences of large sums. The operations are Dekker's ("A floating-point
//! technique for extending the available precision", Numerische Mathematik 18, 1971). They use no fused
//! operation, so they give the same bits on every machine.

use std::cmp::Ordering;
use tegula::{Binned, Combine};

/// A number: the nearest `f64`, and the rest.
pub(crate) type Double = (f64, f64);

/// 2^27 + 1, which splits 53 bits into halves.
const SPLITTER: f64 = 134_217_729.0;
/// Above this, splitting would overflow.
const SPLIT_MOST: f64 = 6.7e299;

/// Returns the exact product of two numbers, unless it leaves the range of `f64`.
pub(crate) fn product(a: f64, b: f64) -> Double {
    let whole = a * b;
    if a.abs() > SPLIT_MOST || b.abs() > SPLIT_MOST || !whole.is_finite() {
        return (whole, 0.0);
    }
    let ((a_high, a_low), (b_high, b_low)) = (halves(a), halves(b));
    (whole, a_low * b_low - (whole - a_high * b_high - a_low * b_high - a_high * b_low))
}

fn halves(a: f64) -> (f64, f64) {
    let scaled = SPLITTER * a;
    let high = scaled - (scaled - a);
    (high, a - high)
}

/// Returns the exact sum of two numbers.
fn sum(a: f64, b: f64) -> Double {
    let whole = a + b;
    let of_b = whole - a;
    (whole, (a - (whole - of_b)) + (b - of_b))
}

pub(crate) fn times(a: Double, b: Double) -> Double {
    let (high, low) = product(a.0, b.0);
    sum(high, low + (a.0 * b.1 + a.1 * b.0))
}

pub(crate) fn minus(a: Double, b: Double) -> Double {
    let (high, low) = sum(a.0, -b.0);
    sum(high, low + (a.1 - b.1))
}

/// Converts an integer, to 106 bits.
pub(crate) fn of_integer(value: i64) -> Double {
    let high = value as f64;
    (high, (i128::from(value) - high as i128) as f64)
}

/// The reproducible sum of doubles, and whether all of them are equal, which no sum tells: its low bits are cut.
pub struct Total;

/// The data of [`Total`] per key: the [`Binned`] sum of both parts; the least and the greatest first part, in which
/// -0 is 0. Byte form: that of the sum, then the least and the greatest, 8 bytes each, little-endian.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    sum: Binned,
    least: f64,
    greatest: f64,
}

/// The answer of [`Total`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Summed {
    pub(crate) sum: Double,
    /// Whether the first parts of all numbers are equal.
    pub(crate) are_equal: bool,
}

impl Combine for Total {
    type Value = Double;
    type Accumulator = Seen;
    type Output = Summed;

    fn identity() -> Seen {
        Seen { sum: Binned::ZERO, least: f64::INFINITY, greatest: f64::NEG_INFINITY }
    }

    #[inline]
    fn absorb(into: &mut Seen, (high, low): Double) {
        into.sum.add(high);
        // Most numbers have no rest.
        if low != 0.0 {
            into.sum.add(low);
        }
        let high = high + 0.0;
        into.least = into.least.min(high);
        into.greatest = into.greatest.max(high);
    }

    fn merge(into: &mut Seen, other: &Seen) {
        into.sum.merge(&other.sum);
        into.least = into.least.min(other.least);
        into.greatest = into.greatest.max(other.greatest);
    }

    /// Returns the sum as the nearest `f64` and the rest.
    fn finish(accumulator: &Seen) -> Summed {
        let are_equal = accumulator.least == accumulator.greatest;
        let high = accumulator.sum.sum();
        if !high.is_finite() {
            return Summed { sum: (high, 0.0), are_equal };
        }
        let mut rest = accumulator.sum;
        rest.add(-high);
        Summed { sum: (high, rest.sum()), are_equal }
    }

    fn rank(a: &Seen, b: &Seen) -> Ordering {
        a.sum.sum().total_cmp(&b.sum.sum())
    }

    fn encode(accumulator: &Seen, out: &mut Vec<u8>) {
        accumulator.sum.encode(out);
        out.extend_from_slice(&accumulator.least.to_le_bytes());
        out.extend_from_slice(&accumulator.greatest.to_le_bytes());
    }

    fn decode(bytes: &mut &[u8]) -> Option<Seen> {
        let sum = Binned::decode(bytes)?;
        let (&least, rest) = bytes.split_first_chunk()?;
        let (&greatest, rest) = rest.split_first_chunk()?;
        *bytes = rest;
        let (least, greatest) = (f64::from_le_bytes(least), f64::from_le_bytes(greatest));
        Some(Seen { sum, least, greatest })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_merged_and_read_back_as_one() {
        let of = |values: &[f64]| {
            let mut seen = Total::identity();
            values.iter().for_each(|&value| Total::absorb(&mut seen, (value, 0.0)));
            seen
        };
        for values in [&[][..], &[0.0, -0.0], &[0.1, 0.1, 0.1], &[3.0, -1e300, 2.0]] {
            let whole = of(values);
            for cut in 0..=values.len() {
                let (left, right) = values.split_at(cut);
                let mut bytes = Vec::new();
                let mut merged = of(right);
                Total::merge(&mut merged, &of(left));
                Total::encode(&merged, &mut bytes);
                let mut rest = &bytes[..];
                let read = Total::decode(&mut rest).unwrap();
                let mut of_whole = Vec::new();
                Total::encode(&whole, &mut of_whole);
                assert_eq!((read, &bytes, rest.len()), (whole, &of_whole, 0));
                assert_eq!(Total::decode(&mut &bytes[1..]), None);
            }
            let are_equal = values.iter().all(|value| *value == values[0]) && !values.is_empty();
            assert_eq!(Total::finish(&whole).are_equal, are_equal, "{values:?}");
        }
    }
}

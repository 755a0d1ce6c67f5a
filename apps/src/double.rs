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

/// The reproducible sum of doubles: [`Binned`] sums of both parts.
pub struct Total;

impl Combine for Total {
    type Value = Double;
    type Accumulator = Binned;
    type Output = Double;

    fn identity() -> Binned {
        Binned::ZERO
    }

    #[inline]
    fn absorb(into: &mut Binned, (high, low): Double) {
        into.add(high);
        // Most numbers have no rest.
        if low != 0.0 {
            into.add(low);
        }
    }

    fn merge(into: &mut Binned, other: &Binned) {
        into.merge(other);
    }

    /// Returns the nearest `f64`, and the rest of the sum.
    fn finish(accumulator: &Binned) -> Double {
        let high = accumulator.sum();
        if !high.is_finite() {
            return (high, 0.0);
        }
        let mut rest = *accumulator;
        rest.add(-high);
        (high, rest.sum())
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

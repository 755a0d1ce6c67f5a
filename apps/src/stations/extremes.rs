//! The combine of stations: the least, mean and greatest of values in tenths, all exact, and their format.
//! Knows no names.

use std::cmp::Ordering;
use std::fmt;
use tegula::Combine;

/// The least, mean and greatest of values in tenths.
#[derive(Clone, Copy, Debug)]
pub struct Extremes;

/// The data of [`Extremes`] per key. Byte form: sum and count (8 bytes each), least and greatest (2 bytes
/// each), little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    sum: i64,
    count: u64,
    least: i16,
    greatest: i16,
}

/// A station's figures, in tenths of a degree. Displayed as the challenge asks: `-1.0/2.5/10.0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Temperatures {
    /// The least.
    pub least: i64,
    /// The mean; half-way between two tenths is rounded up, towards the greater.
    pub mean: i64,
    /// The greatest.
    pub greatest: i64,
}

impl Combine for Extremes {
    type Value = i16;
    type Accumulator = Seen;
    type Output = Temperatures;

    #[inline]
    fn identity() -> Seen {
        Seen { sum: 0, count: 0, least: i16::MAX, greatest: i16::MIN }
    }

    #[inline]
    fn absorb(into: &mut Seen, tenths: i16) {
        Self::merge(into, &Seen { sum: tenths.into(), count: 1, least: tenths, greatest: tenths });
    }

    #[inline]
    fn merge(into: &mut Seen, other: &Seen) {
        into.sum += other.sum;
        into.count += other.count;
        into.least = into.least.min(other.least);
        into.greatest = into.greatest.max(other.greatest);
    }

    fn finish(seen: &Seen) -> Temperatures {
        let (sum, count) = (i128::from(seen.sum), i128::from(seen.count.max(1)));
        let mean = (2 * sum + count).div_euclid(2 * count) as i64;
        Temperatures { least: seen.least.into(), mean, greatest: seen.greatest.into() }
    }

    /// By mean, exactly.
    fn rank(a: &Seen, b: &Seen) -> Ordering {
        let cross = |a: &Seen, b: &Seen| i128::from(a.sum) * i128::from(b.count);
        cross(a, b).cmp(&cross(b, a))
    }

    fn encode(seen: &Seen, out: &mut Vec<u8>) {
        out.extend_from_slice(&seen.sum.to_le_bytes());
        out.extend_from_slice(&seen.count.to_le_bytes());
        out.extend_from_slice(&seen.least.to_le_bytes());
        out.extend_from_slice(&seen.greatest.to_le_bytes());
    }

    fn decode(bytes: &mut &[u8]) -> Option<Seen> {
        let sum = i64::from_le_bytes(take(bytes)?);
        let count = u64::from_le_bytes(take(bytes)?);
        let least = i16::from_le_bytes(take(bytes)?);
        Some(Seen { sum, count, least, greatest: i16::from_le_bytes(take(bytes)?) })
    }
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (piece, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*piece)
}

impl fmt::Display for Temperatures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (before, tenths) in [("", self.least), ("/", self.mean), ("/", self.greatest)] {
            let sign = if tenths < 0 { "-" } else { "" };
            let tenths = tenths.unsigned_abs();
            write!(f, "{before}{sign}{}.{}", tenths / 10, tenths % 10)?;
        }
        Ok(())
    }
}

//! Binned: a sum of floats that is the same to the bit for any order and nesting. Takes `f64`s and
//! other binned sums; hands on the nearest `f64` of their sum. It never rounds before the end, and its state
//! depends on the values alone, never on their order.

use super::rounding::{LEAST, quotient};
use super::take;

/// Bits of a bin.
const BIN: u32 = 32;
/// The least `top`: the lowest bin held is then the lowest there is.
const LEAST_TOP: u32 = 2;
/// The bin of the highest bit of [`f64::MAX`].
const GREATEST_TOP: u32 = (1023 + LEAST as u32) / BIN;

const SEEN_NAN: u8 = 1;
const SEEN_INFINITY: u8 = 2;
const SEEN_NEGATIVE_INFINITY: u8 = 4;

/// A reproducible sum of `f64`s: 64 bytes that represent a set of values, in whatever order they were
/// added.
///
/// # Method
/// The axis of bits, from that of the least `f64` (2^-1074) up, is cut into bins of 32 bits at fixed
/// places. The bits of a value fall into bins by their places alone, and each bin sums its bits as an
/// integer, sign included, without carrying into the next. Of the bins, only the three up to
/// the highest bit of the largest value are held: the *window*. When a larger value comes, the
/// window moves up; bins that leave it below are dropped.
///
/// The bins are a function of the set of values alone: the window is that of the largest value, and each bin
/// in it sums the bits that all values have there. For a value that came before the window last moved, this
/// holds because its bin was either held all the time or above all its bits, and so 0.
///
/// This is the indexed sum of Demmel and Nguyen ("Parallel Reproducible Summation", IEEE Transactions
/// on Computers 64(7), 2015) with integers for bins, as in the superaccumulators of Neal ("Fast exact
/// summation using small and large superaccumulators", 2015), which hold all bins.
///
/// # Error
/// Be *n* the number of values, *m* the largest of their magnitudes, *b* the lowest bit held, so that
/// the window begins at bit *b* + 64 of its highest bin. If *b* is 0, nothing is ever cut. Otherwise
/// the highest bit of *m* is in the highest bin, so *m* ≥ 2^(*b*+64), in units of bit 0. From each value
/// only the bits below *b* are cut, less than 2^*b* ≤ 2^-64 *m*. So the bins differ from the true sum by less
/// than *n* 2^-64 *m*, and [`sum`](Self::sum), the nearest `f64` to them, by half a unit of its last place
/// more. (Adding one by one errs by up to about *n* 2^-53 times the sum of all magnitudes.)
///
/// It follows that the sum is exact but for the final rounding if all values are whole multiples of
/// 2^-64 times the largest power of two within *m*, as integers below 2^53 always are. When large values
/// cancel out, the rest is exact to *n* 2^-64 *m* and no better: 1e300 - 1e300 + 1 is 0.
///
/// # Special values
/// - Subnormals are summed like others.
/// - Only the whole counts: `f64::MAX + f64::MAX - f64::MAX` is `f64::MAX`. A whole beyond the
///   largest `f64` is an infinity.
/// - A sum of 0 is +0.0, also of negative zeros.
/// - A NaN, or both infinities, make the sum `f64::NAN`; one infinity makes it that infinity.
///
/// Bins hold the sum of 2^64 values.
///
/// # Byte form
/// 50 bytes: the three bins as `i128`, lowest first, little-endian; the number of the highest bin
/// (2 to 65); a sum of flags: 1 if there was a NaN, 2 an infinity, 4 a negative infinity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binned {
    /// Bins `top - 2`, `top - 1` and `top`.
    bins: [i128; 3],
    /// The bin of the highest bit of all values; at least [`LEAST_TOP`].
    top: u32,
    seen: u8,
}

impl Binned {
    /// The sum of no values.
    pub const ZERO: Self = Self { bins: [0; 3], top: LEAST_TOP, seen: 0 };

    /// Builds a sum of finite values that was computed elsewhere by the same method, such as on a device.
    /// The axis is cut into bins numbered from 0; `top` is the bin of the highest bit of the largest
    /// magnitude, and `bin` returns the sum of all values' bits in a bin, each part with its value's sign.
    ///
    /// # Panics
    /// Panics if `top` is above 65, where no value has bits.
    #[must_use]
    pub fn of_bins(top: u32, bin: impl Fn(u32) -> i64) -> Self {
        assert!(top <= GREATEST_TOP, "a bin of some value");
        let top = top.max(LEAST_TOP);
        let bins = std::array::from_fn(|i| bin(top - LEAST_TOP + i as u32).into());
        Self { bins, top, seen: 0 }
    }

    /// Adds a value.
    #[inline]
    pub fn add(&mut self, value: f64) {
        let bits = value.to_bits();
        let field = (bits >> 52) as u32 & 0x7ff;
        if field == 0x7ff {
            return self.see(value);
        }
        let fraction = bits & ((1 << 52) - 1);
        let mantissa = fraction | u64::from(field != 0) << 52;
        // Bits are counted from that of 2^-1074: the positions of the mantissa's lowest and highest bits.
        let lowest = field.max(1) - 1;
        let top = (lowest + 52) / BIN;
        if top > self.top {
            self.raise(top);
        }
        let base = BIN * (self.top - LEAST_TOP);
        let held = if lowest >= base {
            u128::from(mantissa) << (lowest - base)
        } else {
            u128::from(mantissa >> (base - lowest).min(63))
        };
        let sign = bits.cast_signed() >> 63;
        for (i, bin) in self.bins.iter_mut().enumerate() {
            let part = i64::from((held >> (BIN as usize * i)) as u32);
            *bin += i128::from((part ^ sign) - sign);
        }
    }

    /// Adds another sum.
    pub fn merge(&mut self, other: &Self) {
        if other.top > self.top {
            self.raise(other.top);
        }
        let dropped = (self.top - other.top) as usize;
        for (bin, more) in self.bins.iter_mut().zip(other.bins.iter().skip(dropped)) {
            *bin += more;
        }
        self.seen |= other.seen;
    }

    /// Returns the nearest `f64` to the held sum, ties to even.
    #[must_use]
    pub fn sum(&self) -> f64 {
        self.over(1)
    }

    /// Returns the nearest `f64` to the held sum divided by `count`, rounded only once: a mean does not
    /// overflow even if its sum would. NaN if `count` is 0.
    #[must_use]
    pub fn over(&self, count: u64) -> f64 {
        if self.seen != 0 {
            return match self.seen {
                SEEN_INFINITY => f64::INFINITY,
                SEEN_NEGATIVE_INFINITY => f64::NEG_INFINITY,
                _ => f64::NAN,
            };
        }
        let (negative, high, low) = self.carried();
        let exponent = (BIN * (self.top - LEAST_TOP)).cast_signed() - LEAST;
        let zeros = high.leading_zeros();
        let magnitude = if zeros >= 64 {
            quotient(high << 64 | u128::from(low), false, exponent, count)
        } else {
            // `high` has at most 97 bits, so some bits of `low` are taken and some left.
            let taken = high << zeros | u128::from(low >> (64 - zeros));
            let left = low << zeros != 0;
            let exponent = exponent + 64 - zeros.cast_signed();
            quotient(taken, left, exponent, count)
        };
        if negative { -magnitude } else { magnitude }
    }

    /// Appends the byte form.
    pub fn encode(&self, out: &mut Vec<u8>) {
        for bin in self.bins {
            out.extend_from_slice(&bin.to_le_bytes());
        }
        out.extend_from_slice(&[self.top as u8, self.seen]);
    }

    /// Takes a byte form off the front. Returns `None` if the bytes are not one.
    #[must_use]
    pub fn decode(bytes: &mut &[u8]) -> Option<Self> {
        let mut bins = [0; 3];
        for bin in &mut bins {
            *bin = take(bytes).map(i128::from_le_bytes)?;
            // The sum of 2^64 values never exceeds this.
            if bin.unsigned_abs() >> 96 != 0 {
                return None;
            }
        }
        let [top, seen] = take(bytes)?;
        let top = u32::from(top);
        let is_known = (LEAST_TOP..=GREATEST_TOP).contains(&top) && seen < 8;
        is_known.then_some(Self { bins, top, seen })
    }

    #[cold]
    fn see(&mut self, value: f64) {
        self.seen |= if value.is_nan() {
            SEEN_NAN
        } else if value > 0.0 {
            SEEN_INFINITY
        } else {
            SEEN_NEGATIVE_INFINITY
        };
    }

    /// Moves the window up; bins below it are dropped.
    #[cold]
    fn raise(&mut self, top: u32) {
        let dropped = (top - self.top) as usize;
        self.bins = std::array::from_fn(|i| self.bins.get(i + dropped).copied().unwrap_or(0));
        self.top = top;
    }

    /// Returns the held sum in units of its lowest bit: whether it is negative, and its magnitude as
    /// `high * 2^64 + low`.
    fn carried(&self) -> (bool, u128, u64) {
        let [first, second, third] = self.bins;
        let second = second + (first >> BIN);
        let high = third + (second >> BIN);
        let low = u64::from(second as u32) << BIN | u64::from(first as u32);
        if high < 0 {
            let borrow = u128::from(low != 0);
            (true, high.unsigned_abs() - borrow, low.wrapping_neg())
        } else {
            (false, high.unsigned_abs(), low)
        }
    }
}

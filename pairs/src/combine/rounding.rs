//! Rounds a quotient of big integers to the nearest `f64`. This is the only place where sums and means are
//! rounded, once.

/// The exponent of the least positive `f64`, negated: it is 2^-1074.
pub(super) const LEAST: i32 = 1074;

/// Returns the `f64` nearest to `magnitude * 2^exponent / count`, ties to even; infinity beyond the
/// largest. NaN if `count` is 0.
///
/// With `more`, the true magnitude is larger by less than 1; its highest bit is then set.
pub(super) fn quotient(magnitude: u128, more: bool, exponent: i32, count: u64) -> f64 {
    if count == 0 {
        return f64::NAN;
    }
    if magnitude == 0 {
        return 0.0;
    }
    // With its highest bit set, the magnitude is at least 2^127, so the quotient has 64 bits or more. Its
    // lowest bit represents all cut bits, because it is below the bit that decides the rounding.
    let zeros = magnitude.leading_zeros();
    let (whole, count) = (magnitude << zeros, u128::from(count));
    let rest = more || whole % count != 0;
    round((whole / count) | u128::from(rest), exponent - zeros.cast_signed())
}

/// Returns the `f64` nearest to `magnitude * 2^exponent`, for a magnitude of 64 bits or more.
fn round(magnitude: u128, exponent: i32) -> f64 {
    let width = (u128::BITS - magnitude.leading_zeros()).cast_signed();
    // An f64 holds 53 bits, or fewer where the lowest would be less than the least f64.
    let cut = (width - 53).max(-LEAST - exponent);
    let (half, kept) = (1 << (cut - 1), (magnitude >> cut) as u64);
    let below = magnitude & (half | (half - 1));
    let up = below > half || (below == half && kept % 2 == 1);
    // Subnormal or not, a carry into the next power of two or not: adding the kept bits to the
    // exponent's field gives the right pattern.
    let place = (exponent + cut + LEAST) as u64;
    let bits = (place << 52) + kept + u64::from(up);
    f64::from_bits(bits.min(f64::INFINITY.to_bits()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn whole_numbers_round_as_the_language_does(n: u128, shift in 0..128_u32) {
            let n = n >> shift;
            prop_assert_eq!(quotient(n, false, 0, 1), n as f64);
        }

        #[test]
        fn small_quotients_are_those_of_the_hardware(n in 0..1_u64 << 53, d in 1..1_u64 << 53) {
            prop_assert_eq!(quotient(n.into(), false, 0, d), n as f64 / d as f64);
        }

        #[test]
        fn every_float_is_nearest_to_itself(bits in 0..f64::INFINITY.to_bits()) {
            let (field, fraction) = ((bits >> 52) as i32, bits & ((1 << 52) - 1));
            let magnitude = if field == 0 { fraction } else { fraction | 1 << 52 };
            let exponent = field.max(1) - 1 - LEAST;
            prop_assert_eq!(quotient(magnitude.into(), false, exponent, 1).to_bits(), bits);
        }
    }

    #[test]
    fn ties_go_to_even_and_the_rest_decides() {
        let tie = (1 << 54) + 2_u128;
        assert_eq!(quotient(tie, false, 0, 1), 2_f64.powi(54));
        assert_eq!(quotient(tie << 73, false, 0, 1), 2_f64.powi(127));
        assert_eq!(quotient(tie << 73, true, 0, 1), 2_f64.powi(127) + 2_f64.powi(75));
        assert_eq!(quotient((tie << 1) + 1, false, -1, 1), 2_f64.powi(54) + 4.0);
    }

    #[test]
    fn both_ends_of_the_range() {
        let least = f64::from_bits(1);
        assert_eq!(quotient(1, false, -LEAST, 2), 0.0);
        assert_eq!(quotient(3, false, -LEAST, 2), 2.0 * least);
        assert_eq!(quotient(1, false, -LEAST, u64::MAX), 0.0);
        assert_eq!(quotient(1, false, 1023, 1), 2_f64.powi(1023));
        assert_eq!(quotient(1, false, 1024, 1), f64::INFINITY);
        assert_eq!(quotient((1 << 54) - 1, false, 970, 1), f64::INFINITY);
        assert!(quotient(1, false, 0, 0).is_nan());
    }
}

//! Rounds a quotient of big integers to the nearest `f64`. This is the only place where sums and means are
//! rounded, once.

/// The exponent of the least positive `f64`, negated: it is 2^-1074.
pub const LEAST: i32 = 1074;

/// Returns the `f64` nearest to `magnitude * 2^exponent / count`, ties to even; infinity beyond the
/// largest. NaN if `count` is 0.
///
/// With `more`, the true magnitude is larger by less than 1; its highest bit is then set.
pub fn quotient(magnitude: u128, more: bool, exponent: i32, count: u64) -> f64 {
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

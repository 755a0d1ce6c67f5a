//! Quotients are rounded to the nearest float.

use proptest::prelude::*;
use tegula_pairs::combine::rounding::{LEAST, quotient};

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

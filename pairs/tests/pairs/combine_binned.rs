//! Sums are exact or within the promised bound, and special values are as documented. Independence of order
//! and nesting is tested with the other combines' contract.

use proptest::prelude::*;
use tegula_pairs::combine::Binned;

fn of(values: &[f64]) -> Binned {
    let mut sum = Binned::ZERO;
    values.iter().for_each(|value| sum.add(*value));
    sum
}

proptest! {
    #[test]
    fn multiples_of_one_power_of_two_are_summed_exactly(
        multiples in prop::collection::vec(-(1_i64 << 53)..1 << 53, 0..100),
        shift in -1000..900,
    ) {
        let unit = 2_f64.powi(shift);
        let values: Vec<_> = multiples.iter().map(|n| *n as f64 * unit).collect();
        let exact: i128 = multiples.iter().map(|n| i128::from(*n)).sum();
        prop_assert_eq!(of(&values).sum(), exact as f64 * unit);
    }

    #[test]
    fn two_values_are_added_as_the_hardware_does(bits: u64, delta in -9..10_i64, other: u64) {
        const FIELD: u64 = 0x7ff << 52;
        let field = ((bits & FIELD) >> 52).cast_signed() + delta;
        let near = (field.clamp(0, 0x7fe).cast_unsigned() << 52) | (other & !FIELD);
        let (a, b) = (f64::from_bits(bits), f64::from_bits(near));
        prop_assume!(a.is_finite());
        prop_assert_eq!(of(&[a, b]).sum(), a + b);
    }

    #[test]
    fn what_is_cut_is_within_the_bound(
        parts in prop::collection::vec((-(1_i64 << 53)..1 << 53, 0..66_u32), 1..100),
        base in -200..200,
    ) {
        let unit = 2_f64.powi(base);
        let values: Vec<_> = parts
            .iter()
            .map(|(n, shift)| *n as f64 * 2_f64.powi(shift.cast_signed()) * unit)
            .collect();
        let whole = |(n, shift): &(i64, u32)| i128::from(*n) << shift;
        let exact: i128 = parts.iter().map(whole).sum();
        let largest = parts.iter().map(|part| whole(part).unsigned_abs()).max().unwrap_or(0);
        let sum = (of(&values).sum() / unit) as i128;
        let half_place = sum.unsigned_abs() >> 53;
        let bound = half_place + ((parts.len() as u128 * (largest >> 32)) >> 32) + 1;
        prop_assert!(sum.abs_diff(exact) <= bound, "{sum} for {exact}");
    }

    #[test]
    fn a_mean_is_the_nearest_float_to_the_true_mean(
        values in prop::collection::vec(-(1_i64 << 30)..1 << 30, 1..100),
    ) {
        let floats: Vec<_> = values.iter().map(|n| *n as f64).collect();
        let mean = values.iter().sum::<i64>() as f64 / values.len() as f64;
        prop_assert_eq!(of(&floats).over(values.len() as u64), mean);
    }

    #[test]
    fn bins_filled_elsewhere_make_the_same_sum(
        values in prop::collection::vec(
            prop_oneof![prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL | prop::num::f64::ZERO, -9.0..9.0_f64],
            0..50,
        ),
    ) {
        // By whole bins, all of them at once, which no sum here holds.
        let (mut bins, mut top) = ([0_i64; 68], 0);
        for value in &values {
            let bits = value.to_bits();
            let field = (bits >> 52) as u32 & 0x7ff;
            let mantissa = bits & ((1 << 52) - 1) | u64::from(field != 0) << 52;
            let lowest = field.max(1) - 1;
            top = top.max((lowest + 52) / 32);
            let parts = u128::from(mantissa) << (lowest % 32);
            for i in 0..3 {
                let part = i64::from((parts >> (32 * i)) as u32);
                bins[(lowest / 32) as usize + i] += if *value < 0.0 { -part } else { part };
            }
        }
        prop_assert_eq!(Binned::of_bins(top, |bin| bins[bin as usize]), of(&values));
    }

    #[test]
    fn any_bytes_are_refused_or_harmless(bytes in prop::collection::vec(any::<u8>(), 50)) {
        if let Some(sum) = Binned::decode(&mut bytes.as_slice()) {
            let _ = (sum.sum(), sum.over(u64::MAX));
        }
    }
}

#[test]
fn order_that_ruins_a_plain_sum_does_not_show() {
    let mut values = vec![1e16, 1.0, -1e16, 0.1, 3e-7, 12345.678];
    let sum = of(&values);
    for _ in 0..values.len() {
        values.rotate_left(1);
        assert_eq!(of(&values), sum);
    }
    assert_eq!(of(&[1e16, 1.0, -1e16]).sum(), 1.0);
    assert_eq!(of(&[0.1; 10]).sum(), 1.0);
}

#[test]
fn only_the_whole_overflows() {
    let max = f64::MAX;
    assert_eq!(of(&[max, max, -max]).sum(), max);
    assert_eq!(of(&[max, max]).sum(), f64::INFINITY);
    assert_eq!(of(&[-max, -max]).sum(), f64::NEG_INFINITY);
    assert_eq!(of(&[max, max, max]).over(3), max);
}

#[test]
fn subnormals_and_zeros() {
    let least = f64::from_bits(1);
    assert_eq!(of(&[least; 3]).sum(), f64::from_bits(3));
    assert_eq!(of(&[f64::MIN_POSITIVE, -least]).sum(), f64::MIN_POSITIVE - least);
    assert_eq!(of(&[-least]).sum(), -least);
    assert_eq!(of(&[-0.0, -0.0]).sum().to_bits(), 0);
    assert_eq!(of(&[1.5, -1.5]).sum().to_bits(), 0);
    assert_eq!(of(&[-least, 0.0]).over(2).abs(), 0.0);
}

#[test]
fn nan_and_infinities() {
    let (up, down) = (f64::INFINITY, f64::NEG_INFINITY);
    assert_eq!(of(&[up, -1.0, up]).sum(), up);
    assert_eq!(of(&[down, 1.0]).over(2), down);
    assert!(of(&[up, down]).sum().is_nan());
    assert!(of(&[up, f64::NAN]).sum().is_nan());
    assert!(of(&[]).over(0).is_nan());
}

/// Sums 2^64 values at once, by doubling: the size for which bins are made.
#[test]
fn as_many_values_as_can_be() {
    let value = -1.999_999_999_999_999_8;
    let mut sum = of(&[value]);
    for _ in 0..64 {
        sum.merge(&sum.clone());
    }
    assert_eq!(sum.sum(), value * 2_f64.powi(64));
    let mut bytes = Vec::new();
    sum.encode(&mut bytes);
    assert_eq!(Binned::decode(&mut bytes.as_slice()), Some(sum));
}

#[test]
fn bytes_that_no_sum_wrote_are_refused() {
    let mut bytes = Vec::new();
    of(&[1.0, f64::NAN]).encode(&mut bytes);
    for (at, wrong) in [(48, 1), (48, 66), (49, 8), (15, 0x10)] {
        let mut broken = bytes.clone();
        broken[at] = wrong;
        assert_eq!(Binned::decode(&mut broken.as_slice()), None, "byte {at}");
    }
}

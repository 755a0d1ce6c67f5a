//! The least and the greatest value obey the contract, for all values of the order.

use super::combine_contract::obey_contract;
use proptest::prelude::*;
use tegula_pairs::combine::{Combine, Max, Min};

/// The last and the first float of the total order.
const LAST: f64 = f64::from_bits(u64::MAX >> 1);
const FIRST: f64 = f64::from_bits(u64::MAX);

proptest! {
    #[test]
    fn obey_the_contract(bits in prop::collection::vec(any::<u64>(), 0..50), seed: u64) {
        let signed: Vec<_> = bits.iter().map(|bits| bits.cast_signed()).collect();
        let floats: Vec<_> = bits.iter().map(|bits| f64::from_bits(*bits)).collect();
        obey_contract::<Min<u64>>(&bits, seed);
        obey_contract::<Max<u64>>(&bits, seed);
        obey_contract::<Min<i64>>(&signed, seed);
        obey_contract::<Max<i64>>(&signed, seed);
        obey_contract::<Min<f64>>(&floats, seed);
        obey_contract::<Max<f64>>(&floats, seed);
    }
}

fn all<C: Combine<Value = T>, T: Copy>(values: &[T]) -> C::Output {
    let mut accumulator = C::identity();
    values.iter().for_each(|value| C::absorb(&mut accumulator, *value));
    C::finish(&accumulator)
}

#[test]
fn keep_the_extremes() {
    assert_eq!(all::<Min<u64>, _>(&[7, 3, 9]), 3);
    assert_eq!(all::<Max<u64>, _>(&[7, 3, 9]), 9);
    assert_eq!(all::<Min<i64>, _>(&[7, -3, 9]), -3);
    assert_eq!(all::<Max<i64>, _>(&[-7, -3]), -3);
    assert_eq!(all::<Min<f64>, _>(&[0.5, f64::INFINITY]), 0.5);
    assert_eq!(all::<Max<f64>, _>(&[f64::NEG_INFINITY, -0.5]), -0.5);
}

#[test]
fn zeros_and_nan_are_ordered() {
    assert!(all::<Min<f64>, _>(&[0.0, -0.0]).is_sign_negative());
    assert!(all::<Max<f64>, _>(&[-0.0, 0.0]).is_sign_positive());
    let nan = f64::NAN.copysign(1.0);
    assert!(all::<Max<f64>, _>(&[nan, f64::INFINITY]).is_nan());
    assert_eq!(all::<Min<f64>, _>(&[nan, f64::INFINITY]), f64::INFINITY);
    assert!(all::<Min<f64>, _>(&[-nan, f64::NEG_INFINITY]).is_nan());
}

#[test]
fn every_value_replaces_the_identity() {
    for value in [FIRST, f64::NEG_INFINITY, 0.0, f64::INFINITY, LAST] {
        assert_eq!(all::<Min<f64>, _>(&[value]).to_bits(), value.to_bits());
        assert_eq!(all::<Max<f64>, _>(&[value]).to_bits(), value.to_bits());
    }
    assert_eq!(all::<Min<u64>, _>(&[u64::MAX]), u64::MAX);
    assert_eq!(all::<Max<i64>, _>(&[i64::MIN]), i64::MIN);
}

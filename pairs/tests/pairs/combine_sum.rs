//! Sums obey the contract and never wrap.

use super::combine_contract::obey_contract;
use proptest::prelude::*;
use std::cmp::Ordering;
use tegula_pairs::combine::{Binned, Combine, Sum};

proptest! {
    #[test]
    fn obey_the_contract(
        unsigned in prop::collection::vec(0..u64::MAX / 50, 0..50),
        signed in prop::collection::vec(any::<i64>(), 0..50),
        bits in prop::collection::vec(any::<u64>(), 0..50),
        near in prop::collection::vec(-1e9..1e9, 0..50),
        seed: u64,
    ) {
        obey_contract::<Sum<u64>>(&unsigned, seed);
        obey_contract::<Sum<i64>>(&signed, seed);
        let floats: Vec<_> = bits.into_iter().map(f64::from_bits).collect();
        obey_contract::<Sum<f64>>(&floats, seed);
        obey_contract::<Sum<f64>>(&near, seed);
    }
}

#[test]
fn a_signed_sum_may_leave_its_range_and_come_back() {
    let mut sum = Sum::<i64>::identity();
    for value in [i64::MAX, i64::MAX, i64::MIN, i64::MIN] {
        Sum::<i64>::absorb(&mut sum, value);
    }
    assert_eq!(Sum::<i64>::finish(&sum), -2);
}

#[test]
#[should_panic(expected = "the sum of a key exceeds u64")]
fn an_unsigned_sum_never_wraps() {
    Sum::<u64>::absorb(&mut 1, u64::MAX);
}

#[test]
#[should_panic(expected = "the sum of a key exceeds i64")]
fn a_signed_sum_never_wraps() {
    Sum::<i64>::finish(&(i128::from(i64::MAX) + 1));
}

#[test]
fn float_sums_rank_by_value() {
    let (mut small, mut large) = (Binned::ZERO, Binned::ZERO);
    small.add(-1e300);
    large.add(1e-300);
    assert_eq!(Sum::<f64>::rank(&small, &large), Ordering::Less);
    assert_eq!(Sum::<f64>::rank(&large, &large), Ordering::Equal);
}

//! Means obey the contract and are rounded once.

use super::combine_contract::obey_contract;
use proptest::prelude::*;
use std::cmp::Ordering;
use tegula_pairs::combine::{Combine, Mean};

fn mean<T: Copy>(values: &[T]) -> f64
where
    Mean<T>: Combine<Value = T, Output = f64>,
{
    let mut accumulator = Mean::<T>::identity();
    values.iter().for_each(|value| Mean::<T>::absorb(&mut accumulator, *value));
    Mean::<T>::finish(&accumulator)
}

proptest! {
    #[test]
    fn obey_the_contract(bits in prop::collection::vec(any::<u64>(), 0..50), seed: u64) {
        let signed: Vec<_> = bits.iter().map(|bits| bits.cast_signed()).collect();
        let floats: Vec<_> = bits.iter().map(|bits| f64::from_bits(*bits)).collect();
        obey_contract::<Mean<u64>>(&bits, seed);
        obey_contract::<Mean<i64>>(&signed, seed);
        obey_contract::<Mean<f64>>(&floats, seed);
    }

    #[test]
    fn whole_floats_and_integers_have_the_same_mean(
        values in prop::collection::vec(-(1_i64 << 53)..1 << 53, 1..50),
    ) {
        let floats: Vec<_> = values.iter().map(|value| *value as f64).collect();
        prop_assert_eq!(mean(&values), mean(&floats));
    }
}

#[test]
fn means_of_extremes() {
    assert_eq!(mean(&[u64::MAX; 9]), u64::MAX as f64);
    assert_eq!(mean(&[i64::MIN; 9]), i64::MIN as f64);
    assert_eq!(mean(&[f64::MAX; 9]), f64::MAX);
    assert_eq!(mean(&[-1_i64, 2, 2]), 1.0);
    assert_eq!(mean(&[-1_i64, 0]), -0.5);
    assert!(mean::<u64>(&[]).is_nan() && mean::<f64>(&[]).is_nan());
}

#[test]
fn rank_is_by_mean_not_by_sum() {
    let (mut few, mut many) = (Mean::<i64>::identity(), Mean::<i64>::identity());
    Mean::<i64>::absorb(&mut few, 5);
    (0..9).for_each(|_| Mean::<i64>::absorb(&mut many, 4));
    assert_eq!(Mean::<i64>::rank(&few, &many), Ordering::Greater);
}

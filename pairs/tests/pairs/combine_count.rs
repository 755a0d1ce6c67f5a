//! Counts obey the contract and never overflow silently.

use super::combine_contract::obey_contract;
use proptest::prelude::*;
use std::cmp::Ordering;
use tegula_pairs::combine::{Combine, Count};

proptest! {
    #[test]
    fn obeys_the_contract(times in 0..50_usize, seed: u64) {
        obey_contract::<Count>(&vec![(); times], seed);
    }
}

#[test]
fn counts() {
    let mut count = Count::identity();
    (0..7).for_each(|_| Count::absorb(&mut count, ()));
    assert_eq!(Count::finish(&count), 7);
    assert_eq!(Count::rank(&3, &4), Ordering::Less);
}

#[test]
#[should_panic(expected = "the count of a key exceeds 2^63 - 1")]
fn never_overflows_silently() {
    Count::merge(&mut 1, &(u64::MAX / 2));
}

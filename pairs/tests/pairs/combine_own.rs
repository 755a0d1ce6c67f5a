//! A combine of a user's own obeys the contract as those of the engine do.

use super::combine_contract::obey_contract;
use std::cmp::Ordering;
use tegula_pairs::combine::Combine;

/// A user's own combine: the second-best value of a key, kept as the best two.
struct SecondBest;

impl Combine for SecondBest {
    type Value = u32;
    type Accumulator = [u32; 2];
    type Output = u32;

    fn identity() -> [u32; 2] {
        [0, 0]
    }

    fn absorb(into: &mut [u32; 2], value: u32) {
        into[1] = into[1].max(value.min(into[0]));
        into[0] = into[0].max(value);
    }

    fn merge(into: &mut [u32; 2], other: &[u32; 2]) {
        other.iter().for_each(|value| Self::absorb(into, *value));
    }

    fn finish(best: &[u32; 2]) -> u32 {
        best[1]
    }

    fn rank(a: &[u32; 2], b: &[u32; 2]) -> Ordering {
        a[1].cmp(&b[1])
    }

    fn encode(best: &[u32; 2], out: &mut Vec<u8>) {
        best.iter().for_each(|value| out.extend_from_slice(&value.to_le_bytes()));
    }

    fn decode(bytes: &mut &[u8]) -> Option<[u32; 2]> {
        let mut take = || {
            let (piece, rest) = bytes.split_first_chunk()?;
            *bytes = rest;
            Some(u32::from_le_bytes(*piece))
        };
        Some([take()?, take()?])
    }
}

#[test]
fn a_combiner_of_a_users_own_can_be_checked() {
    for seed in 0..50 {
        obey_contract::<SecondBest>(&[5, 9, 2, 9, 7, 1, 0, 3], seed);
    }
    let mut best = SecondBest::identity();
    [4, 8, 6].into_iter().for_each(|value| SecondBest::absorb(&mut best, value));
    assert_eq!(SecondBest::finish(&best), 6);
}

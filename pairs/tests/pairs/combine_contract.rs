//! The test that every combine must pass, also those of users. It uses only the trait, so it accepts any
//! combine and any values.

use std::cmp::Ordering;
use tegula_pairs::combine::{Combine, Inverse, Share};

/// Checks the contract of [`Combine`] on some values. They are split over accumulators and merged in orders
/// and nestings drawn from `seed`, which must all give the same bytes. The byte form must survive a round
/// trip, consume exactly its own bytes, and be refused when cut short. `rank` must be an order.
///
/// # Panics
/// Panics if the contract is broken.
pub(super) fn obey_contract<C: Combine>(values: &[C::Value], seed: u64) {
    let mut random = Random(seed);
    let mut whole = C::identity();
    values.iter().for_each(|value| C::absorb(&mut whole, *value));
    let expected = bytes::<C>(&whole);
    for _ in 0..4 {
        let mut shuffled = values.to_vec();
        for i in (1..shuffled.len()).rev() {
            shuffled.swap(i, random.below(i + 1));
        }
        let nested = nest::<C>(&shuffled, &mut random);
        assert_eq!(bytes::<C>(&nested), expected, "order or nesting shows");
        check_rank::<C>(&whole, &nest::<C>(&shuffled[..shuffled.len() / 2], &mut random));
    }
    check_bytes::<C>(&expected);
    if let Some(inverse) = C::INVERSE {
        check_inverse::<C>(&inverse, values, &mut random);
    }
    if let Some(share) = C::SHARE {
        check_share::<C>(&share, values, &mut random);
    }
}

/// Divides the values into parts.
fn check_share<C: Combine>(
    share: &Share<C::Accumulator>,
    values: &[C::Value],
    random: &mut Random,
) {
    let size = random.below(values.len()) + 1;
    let parts: Vec<C::Accumulator> =
        values.chunks(size).map(|part| nest::<C>(part, random)).collect();
    let mut whole = C::identity();
    let mut most = C::identity();
    for part in &parts {
        C::merge(&mut whole, part);
        most = (share.most)(&most, part);
    }
    assert!(C::rank(&most, &whole).is_eq(), "parts exceed the most");
    assert!(parts.iter().all(|part| C::rank(part, &whole).is_le()), "a part ranks higher");
    let least = (share.of)(&whole, parts.len().max(1) as u64);
    let is_there = |part: &C::Accumulator| C::rank(part, &least).is_ge();
    assert!(parts.is_empty() || parts.iter().any(is_there), "no part has its share");
}

/// Takes some of the values out again.
fn check_inverse<C: Combine>(
    inverse: &Inverse<C::Accumulator>,
    values: &[C::Value],
    random: &mut Random,
) {
    let (taken, left) = values.split_at(random.below(values.len() + 1));
    let out = (inverse.of)(&nest::<C>(taken, random));
    let mut parts = [nest::<C>(taken, random), nest::<C>(left, random), out];
    parts.swap(random.below(3), 2);
    let mut rest = C::identity();
    parts.iter().for_each(|part| C::merge(&mut rest, part));
    assert_eq!(bytes::<C>(&rest), bytes::<C>(&nest::<C>(left, random)), "values taken out show");
    assert_eq!((inverse.is_nothing)(&rest), left.is_empty(), "a key is there if it has values");
}

/// Combines values by a random tree: some leaves absorb several values, some none.
fn nest<C: Combine>(values: &[C::Value], random: &mut Random) -> C::Accumulator {
    if values.len() < 2 || random.below(4) == 0 {
        let mut leaf = C::identity();
        values.iter().for_each(|value| C::absorb(&mut leaf, *value));
        return leaf;
    }
    let (left, right) = values.split_at(random.below(values.len() + 1));
    if left.is_empty() || right.is_empty() {
        let mut identity = C::identity();
        let mut some = nest::<C>(&values[..values.len() / 2], random);
        C::merge(&mut identity, &some);
        C::merge(&mut some, &C::identity());
        assert_eq!(bytes::<C>(&identity), bytes::<C>(&some), "identity shows");
        values[values.len() / 2..].iter().for_each(|value| C::absorb(&mut some, *value));
        return some;
    }
    let mut left = nest::<C>(left, random);
    C::merge(&mut left, &nest::<C>(right, random));
    left
}

fn check_bytes<C: Combine>(expected: &[u8]) {
    let mut followed = [expected, b"next"].concat();
    let mut rest = followed.as_slice();
    let decoded = C::decode(&mut rest).expect("a byte form can be read back");
    assert_eq!(rest, b"next", "decode takes its own bytes alone");
    assert_eq!(bytes::<C>(&decoded), expected, "a round trip shows");
    followed.truncate(expected.len());
    while followed.pop().is_some() {
        assert!(C::decode(&mut followed.as_slice()).is_none(), "cut short");
    }
}

fn check_rank<C: Combine>(a: &C::Accumulator, b: &C::Accumulator) {
    assert_eq!(C::rank(a, a), Ordering::Equal);
    assert_eq!(C::rank(a, b), C::rank(b, a).reverse());
}

fn bytes<C: Combine>(accumulator: &C::Accumulator) -> Vec<u8> {
    let mut bytes = Vec::new();
    C::encode(accumulator, &mut bytes);
    bytes
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        let bound = bound.max(1);
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % bound as u64) as usize
    }
}

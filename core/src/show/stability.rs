//! Tracks since when the first keys of shows are the same ones. For each N the set of the first N keys is
//! compared with that of the show before, for all N in one pass: a key that is in only one of the two
//! prefixes is a difference, until the other prefix reaches it.

use std::collections::HashMap;

/// The largest N for which it is known since when the first N keys are the same.
pub const STABLE_KEYS_MOST: usize = 1000;

/// The first keys of the last show.
#[derive(Debug, Default)]
pub(super) struct Stability {
    keys: Vec<Box<[u8]>>,
    /// For each N, the bytes seen by the first show with the same first N keys.
    since: Vec<u64>,
}

impl Stability {
    /// Takes the first keys of a show that has seen `bytes` bytes.
    pub(super) fn see<'k>(&mut self, keys: impl Iterator<Item = &'k [u8]>, bytes: u64) {
        let keys: Vec<Box<[u8]>> = keys.take(STABLE_KEYS_MOST).map(Box::from).collect();
        let mut since = Vec::with_capacity(keys.len());
        // 1 for a key in this show's prefix alone, -1 for one in the last show's alone.
        let mut sides: HashMap<&[u8], i8> = HashMap::with_capacity(2 * keys.len());
        let mut differ = 0_usize;
        for (place, key) in keys.iter().enumerate() {
            for (key, side) in [(Some(key), 1), (self.keys.get(place), -1)] {
                let Some(key) = key else { continue };
                let now = sides.entry(key).or_default();
                *now += side;
                if *now == 0 { differ -= 1 } else { differ += 1 }
            }
            let before = self.since.get(place).copied().filter(|_| differ == 0);
            since.push(before.unwrap_or(bytes));
        }
        drop(sides);
        (self.keys, self.since) = (keys, since);
    }

    pub(super) fn since(&self, count: usize) -> Option<u64> {
        self.since.get(count.checked_sub(1)?).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn see(stability: &mut Stability, keys: &str, bytes: u64) {
        let keys: Vec<String> = keys.chars().map(String::from).collect();
        stability.see(keys.iter().map(String::as_bytes), bytes);
    }

    #[test]
    fn a_set_is_stable_whatever_its_order() {
        let mut stability = Stability::default();
        see(&mut stability, "abc", 1);
        see(&mut stability, "bac", 2);
        let since = |stability: &Stability| [0, 1, 2, 3, 4].map(|count| stability.since(count));
        assert_eq!(since(&stability), [None, Some(2), Some(1), Some(1), None]);
        see(&mut stability, "bacd", 3);
        assert_eq!(since(&stability), [None, Some(2), Some(1), Some(1), Some(3)]);
        see(&mut stability, "bdca", 4);
        assert_eq!(since(&stability), [None, Some(2), Some(4), Some(4), Some(3)]);
    }

    proptest! {
        #[test]
        fn every_prefix_is_compared_with_the_same_of_the_show_before(
            shows in prop::collection::vec(Just(b"abcdefg".to_vec()).prop_shuffle(), 1..12),
        ) {
            let mut stability = Stability::default();
            for (number, keys) in shows.iter().enumerate() {
                stability.see(keys.iter().map(std::slice::from_ref), number as u64);
                for count in 1..=keys.len() {
                    let set = |keys: &[u8]| {
                        let mut set = keys[..count].to_vec();
                        set.sort_unstable();
                        set
                    };
                    let same = shows[..=number].iter().rev().take_while(|then| set(then) == set(keys));
                    let first = number + 1 - same.count();
                    prop_assert_eq!(stability.since(count), Some(first as u64));
                }
            }
        }
    }
}

//! Since when the first keys of shows are the same.

use proptest::prelude::*;
use tegula_core::show::Stability;

fn see(stability: &mut Stability, keys: &str, bytes: u64) {
    stability.see(keys.bytes().map(|key| Box::from([key])).collect(), bytes);
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
            stability.see(keys.iter().map(|key| Box::from([*key])).collect(), number as u64);
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

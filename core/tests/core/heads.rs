//! The first bytes of keys as numbers, and what is sorted and divided by them.

use proptest::prelude::*;
use tegula_core::heads::{Borders, every_nth, head, radix, shared};
use tegula_pairs::slots::{MediumKey, SlotKey};

#[test]
fn heads_are_ordered_as_keys_are() {
    assert_eq!(head(b"abcdefghi", 0), u64::from_be_bytes(*b"abcdefgh"));
    assert_eq!(head(b"abc", 1), u64::from_be_bytes(*b"bc\0\0\0\0\0\0"));
    assert_eq!(head(b"abc", 7), 0);
    assert!(head(b"ab", 0) < head(b"ab\x01", 0));
}

#[test]
fn shared_bytes_are_counted_to_the_last() {
    assert_eq!(shared(b"", b"a"), 0);
    assert_eq!(shared(b"abcdefghijk", b"abcdefghijx"), 10);
    assert_eq!(shared(b"abcdefgh", b"abcdefghijx"), 8);
    assert_eq!(shared(b"abc", b"xbc"), 0);
}

fn check(mut numbers: Vec<u64>) {
    let mut spare = vec![0; numbers.len()];
    let mut expected = numbers.clone();
    expected.sort();
    radix::sort(&mut numbers, &mut spare);
    assert!(numbers == expected);
}

proptest! {
    #[test]
    fn numbers_of_any_spread_come_in_order(
        numbers in prop::collection::vec(any::<u64>(), 0..2000),
        bits in 1u32..=64,
        above in any::<u64>(),
        few in 1u64..20,
    ) {
        let narrow = |&number: &u64| (number >> (64 - bits)).wrapping_add(above);
        check(numbers.iter().map(narrow).collect());
        check(numbers.iter().map(|number| ((number % few) << 50) | (number >> 20)).collect());
    }
}

#[test]
fn outliers_leave_the_rest_alike_and_in_order() {
    let mut numbers: Vec<u64> = (0..3000).rev().collect();
    numbers.extend([u64::MAX, 0, u64::MAX]);
    check(numbers);
    check(vec![7; 1000]);
}

fn found(borders: &Borders, key: &[u8]) -> usize {
    let found = borders.range_of(key, |skip| head(key, skip));
    // A slot has up to 31 bytes.
    if key.len() < size_of::<MediumKey>() {
        let slot = MediumKey::new(key);
        assert_eq!(found, borders.range_of(key, |skip| (slot.head(skip) >> 64) as u64));
    }
    found
}

/// Keys that begin alike, for one head or several, end within one, and have zeros.
const KEYS: &str = "(com[.]example[.]|com|)[a-d]{0,20}|[a\\x00]{0,12}|(albcl ){0,6}(yqp |pk ){0,3}";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn the_range_of_a_key_is_the_number_of_splitters_at_or_below_it(
        mut keys in prop::collection::vec(KEYS, 1..40),
        wanted in prop::collection::vec(KEYS, 1..40),
    ) {
        keys.sort();
        keys.dedup();
        let keys: Vec<Box<[u8]>> = keys.iter().map(|key| key.as_bytes().into()).collect();
        let borders = Borders::new(keys.clone());
        for key in wanted {
            let naive = keys.iter().filter(|splitter| ***splitter <= *key.as_bytes()).count();
            let short = &key.as_bytes()[..key.len().min(15)];
            prop_assert_eq!(found(&borders, key.as_bytes()), naive);
            let naive = keys.iter().filter(|splitter| ***splitter <= *short).count();
            prop_assert_eq!(found(&borders, short), naive);
        }
    }
}

#[test]
fn parts_are_equal() {
    assert_eq!(every_nth((0..12).collect(), 4), [3, 6, 9]);
    assert_eq!(every_nth(vec![1], 4), [1]);
    assert!(every_nth(Vec::<u8>::new(), 4).is_empty());
}

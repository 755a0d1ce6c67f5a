//! Samples show what is certain, and nothing else.

use tegula_core::show::{Base, Highest, MARGIN, Sample, highest, least};
use tegula_pairs::combine::Count;
use tegula_pairs::memory::{BlockPool, Budget, ChunkPool, ValueStore};

fn pairs(of: &[(&str, u64)]) -> Vec<(Box<[u8]>, u64)> {
    of.iter().map(|&(key, count)| (key.as_bytes().into(), count)).collect()
}

fn sample(least: u64, of: &[(&str, u64)]) -> Sample<u64> {
    Sample { bytes: 1, least: Some(least), pairs: pairs(of), is_whole: true }
}

fn first(base: &Base<u64>, samples: &[Sample<u64>], top: usize) -> Option<Vec<String>> {
    let chunks = ChunkPool::new(BlockPool::new(Budget::new(None)));
    let store = &mut ValueStore::new(&chunks);
    let Highest { pairs, nth } = highest::<Count>(base, samples, top, store)?;
    let mut found: Vec<(u64, String)> = pairs
        .iter()
        .map(|(key, count)| (*count, String::from_utf8_lossy(key).into_owned()))
        .collect();
    found.sort();
    assert_eq!(found.len().checked_sub(top).map(|at| found[at].0), Some(nth));
    Some(found.into_iter().map(|(count, key)| format!("{key} {count}")).collect())
}

#[test]
fn what_is_certain_is_shown_and_what_is_not_is_not() {
    let base = Base { pairs: pairs(&[("a", 50), ("b", 40), ("c", 10)]), bound: Some(10) };
    let text = |of: &[&str]| Some(of.iter().map(|&text| text.to_owned()).collect());
    // b was not given by the second worker because it is not there.
    let samples = [sample(5, &[("a", 7), ("b", 2)]), sample(5, &[("a", 1), ("x", 9)])];
    assert_eq!(first(&base, &samples, 2), text(&["b 42", "a 58"]));
    // x has 9, plus at most 5 and 10 more; c has 10. The third key is not certain.
    assert_eq!(first(&base, &samples, 3), None);
    // A key that nobody has given has at most 10 in the base, plus at most 16 and 17.
    let samples = [sample(16, &[("a", 70)]), sample(17, &[("a", 70)])];
    assert_eq!(first(&base, &samples, 2), None);
    assert_eq!(first(&base, &samples, 1), text(&["a 190"]));
    // All keys of equal rank are given.
    let all = Base { pairs: pairs(&[("a", 5), ("b", 5), ("c", 3)]), bound: None };
    assert_eq!(first(&all, &[sample(1, &[])], 1), text(&["a 5", "b 5"]));
    assert_eq!(first(&all, &[], 4), None);
}

#[test]
fn thresholds_come_to_a_quarter_together() {
    for (own, all) in [(0, 0), (1, 7), (7, 7), (50, 99), (1, u64::MAX)] {
        let least = least::<Count>(&8000, own, all).unwrap();
        assert!(
            u128::from(least * MARGIN) * u128::from(all.max(1)) <= 8000 * u128::from(own.max(1)),
            "{own} of {all}: {least}"
        );
    }
}

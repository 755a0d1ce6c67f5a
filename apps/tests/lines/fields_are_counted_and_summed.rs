//! Counts and sums by a field are those of a plain pass, and the top of them is its largest.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;
use tegula::Order;
use tegula_apps::top::{FieldCounts, FieldSums};

/// Returns the largest sums, ties by key.
fn plain(rows: &[(String, i32)], top: usize) -> Vec<(Vec<u8>, i64)> {
    let mut sums: BTreeMap<Vec<u8>, i64> = BTreeMap::new();
    for (key, value) in rows {
        *sums.entry(key.clone().into_bytes()).or_default() += i64::from(*value);
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by_key(|(_, sum)| -sum);
    sums.truncate(top);
    sums
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn in_any_table(
        rows in prop::collection::vec(("[a-c]{0,2}|[a-z]{40}", -1_000_000..1_000_000_i32), 0..200),
        top in 1..9_usize,
        split in 1_u64..2000,
    ) {
        let options = Options { top: Some(top), order: Order::Value, ..Options::default() };
        let table: String =
            rows.iter().map(|(key, value)| format!("x;{key}; {value}.50;y\n")).collect();
        let table = table.as_bytes();

        let ones: Vec<_> = rows.iter().map(|(key, _)| (key.clone(), 1)).collect();
        let counts = pairs(&FieldCounts { separator: b';', by: 2 }, table, split, &options);
        let counts: Vec<_> = counts.into_iter().map(|(key, count)| (key, count as i64)).collect();
        prop_assert_eq!(counts, plain(&ones, top));

        // In halves: `-3.50` is -7 of them, and `3.50` is 7.
        let half = |value: i32, text: &str| 2 * value + if text.starts_with('-') { -1 } else { 1 };
        let halves: Vec<_> =
            rows.iter().map(|(key, value)| (key.clone(), half(*value, &value.to_string()))).collect();
        let sums = pairs(&FieldSums { separator: b';', by: 2, sum: 3 }, table, split, &options);
        let sums: Vec<_> = sums.into_iter().map(|(key, sum)| (key, (sum * 2.0) as i64)).collect();
        prop_assert_eq!(sums, plain(&halves, top));
    }
}

//! Sorts and selects numbers of pairs by a comparison that is called through a table, so that it is compiled once
//! for all types of pairs.

use std::cmp::Ordering;

/// How two numbers of pairs compare.
type CompareNumbers<'c> = dyn Fn(u64, u64) -> Ordering + 'c;

/// Sorts numbers; those that compare as equal keep their order.
pub fn sort_numbers(numbers: &mut [u64], compare: &CompareNumbers<'_>) {
    numbers.sort_by(|&a, &b| compare(a, b));
}

/// Sorts numbers of which no two compare as equal, in place.
pub fn sort_distinct(numbers: &mut [u64], compare: &CompareNumbers<'_>) {
    numbers.sort_unstable_by(|&a, &b| compare(a, b));
}

/// Returns which `least` of `count` numbers from 0 on come first, in ascending order, and the last of them in the
/// order of `compare`; `least` is from 1 to `count`. Expected linear time.
pub fn select_numbers(count: usize, least: usize, compare: &CompareNumbers<'_>) -> (Vec<u64>, u64) {
    let mut numbers: Vec<u64> = (0..count as u64).collect();
    let (_, &mut last, _) = numbers.select_nth_unstable_by(least - 1, |&a, &b| compare(a, b));
    numbers.truncate(least);
    numbers.sort_unstable();
    (numbers, last)
}

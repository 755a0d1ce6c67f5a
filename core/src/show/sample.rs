//! Samples: shows of the top N for which workers keep their tables. At the end of its present work, each
//! worker gives those of its own pairs that rank high. Nothing is handed over, and only these pairs are
//! merged.
//!
//! This is the first phase of TPUT (Cao and Wang, "Efficient Top-K Query Calculation in Distributed
//! Networks", 2004). TPUT's second phase asks all nodes for the keys that only some have given. Here it
//! would find other values, because workers have mapped on. So workers give more than TPUT's bound
//! requires, and also all their pairs of the keys that were high before. If a doubt remains, a full show is
//! made instead.
//!
//! # Why it is exact
//! Merging never lowers the rank of an accumulator ([`Share`](crate::combine::Share)), so the N-th total of the last
//! show is at most the next one. A quarter of that total is divided among the workers in proportion to
//! their bytes; this is a worker's threshold, and it gives all its pairs from the threshold on. So a key
//! that a worker has not given has less than the threshold there, which bounds the key's total. If the
//! bound is less than the N-th of the fully known totals, the key is not among the first N. The thresholds
//! of all workers add up to a quarter of the N-th total, whatever each has mapped, so there is seldom a
//! doubt.

use crate::aggregate::Aggregate;
use std::collections::HashMap;
use std::sync::Arc;

/// A worker's threshold is its share of the N-th total, divided by this.
const MARGIN: u64 = 4;

/// The contribution of one worker.
pub(crate) struct Sample<V> {
    /// Bytes that it has mapped since it last handed its pairs over.
    pub(crate) bytes: u64,
    /// The threshold: the sample has all its pairs that rank at least as high, and those of requested keys.
    pub(crate) least: Option<V>,
    pub(crate) pairs: Vec<(Box<[u8]>, V)>,
    /// Whether the worker holds all pairs of those bytes, and has given all requested ones.
    pub(crate) is_whole: bool,
}

impl<V> Sample<V> {
    /// The sample of a worker whose pairs were handed over.
    pub(super) const NOTHING: Sample<V> =
        Sample { bytes: 0, least: None, pairs: Vec::new(), is_whole: false };
}

/// The highest pairs of the run's own partial, to which nobody adds meanwhile. All workers are asked for
/// their keys.
pub(crate) struct Base<V> {
    pub(crate) pairs: Vec<(Box<[u8]>, V)>,
    /// No other key's value in the partial ranks above this; `None` if there is no other key.
    pub(super) bound: Option<V>,
}

/// The request for a sample.
#[derive(Clone)]
pub(crate) struct Asked<V> {
    /// The N-th total of the last show.
    pub(crate) nth: V,
    /// Pairs of its keys are requested whatever their values.
    pub(crate) base: Arc<Base<V>>,
}

/// Pairs that include the first N and all of equal rank.
pub(super) struct Highest<V> {
    pub(super) pairs: Vec<(Box<[u8]>, V)>,
    /// The N-th of them.
    pub(super) nth: V,
}

/// A key with the known part of its value.
struct Total<V> {
    value: V,
    /// The workers that have given it, ascending.
    given: Vec<usize>,
    is_in_base: bool,
}

/// Returns the threshold of a worker that has mapped `own` of `all` bytes, if the N-th total was `nth`.
/// `None` if the combine has no [`Share`](crate::combine::Share).
pub(super) fn least<C: Aggregate>(
    nth: &C::Accumulator,
    own: u64,
    all: u64,
) -> Option<C::Accumulator> {
    let parts = all.max(1).div_ceil(own.max(1)).saturating_mul(MARGIN);
    C::SHARE.map(|share| (share.of)(nth, parts))
}

fn rank<C: Aggregate>(a: &C::Accumulator, b: &C::Accumulator) -> std::cmp::Ordering {
    C::rank(&C::reduce(&[], a), &C::reduce(&[], b))
}

/// Returns the pairs among the first `top`, and those of the same rank as the last of them. Returns `None`
/// if that is not certain.
pub(super) fn highest<C: Aggregate>(
    base: &Base<C::Accumulator>,
    samples: &[Sample<C::Accumulator>],
    top: usize,
) -> Option<Highest<C::Accumulator>> {
    let share = C::SHARE?;
    let totals = totals::<C>(base, samples);
    let is_known = |total: &Total<C::Accumulator>| {
        total.is_in_base || base.bound.is_none() && total.given.len() == samples.len()
    };
    let known = totals.values().filter(|total| is_known(total));
    let mut known: Vec<C::Accumulator> = known.map(|total| total.value).collect();
    if top == 0 || known.len() < top {
        return None;
    }
    let (_, &mut nth, _) = known.select_nth_unstable_by(top - 1, |a, b| rank::<C>(b, a));
    // The most to which a key that is not fully known can amount.
    let most = |total: &Total<C::Accumulator>| {
        let mut most = total.value;
        let mut given = total.given.iter().peekable();
        for (number, sample) in samples.iter().enumerate() {
            if given.next_if_eq(&&number).is_none() {
                most = sample.least.iter().fold(most, |most, least| (share.most)(&most, least));
            }
        }
        base.bound.iter().fold(most, |most, bound| (share.most)(&most, bound))
    };
    let nowhere = Total { value: C::identity(), given: Vec::new(), is_in_base: false };
    let mut doubtful = totals.values().filter(|total| !is_known(total)).chain([&nowhere]);
    if doubtful.any(|total| rank::<C>(&most(total), &nth).is_ge()) {
        return None;
    }
    let known = totals.iter().filter(|(_, total)| is_known(total));
    let first = known.filter(|(_, total)| rank::<C>(&total.value, &nth).is_ge());
    let pairs = first.map(|(key, total)| ((*key).into(), total.value)).collect();
    Some(Highest { pairs, nth })
}

/// Collects the known values of each key.
fn totals<'s, C: Aggregate>(
    base: &'s Base<C::Accumulator>,
    samples: &'s [Sample<C::Accumulator>],
) -> HashMap<&'s [u8], Total<C::Accumulator>> {
    let mut totals: HashMap<&[u8], Total<C::Accumulator>> = HashMap::new();
    let sources = samples.iter().map(|sample| &sample.pairs).chain([&base.pairs]);
    for (number, pairs) in sources.enumerate() {
        for (key, value) in pairs {
            let total = totals.entry(key).or_insert_with(|| {
                let given = Vec::new();
                Total { value: C::identity(), given, is_in_base: false }
            });
            C::merge(&mut total.value, value);
            match number < samples.len() {
                true => total.given.push(number),
                false => total.is_in_base = true,
            }
        }
    }
    totals
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::combine::Count;

    fn pairs(of: &[(&str, u64)]) -> Vec<(Box<[u8]>, u64)> {
        of.iter().map(|&(key, count)| (key.as_bytes().into(), count)).collect()
    }

    fn sample(least: u64, of: &[(&str, u64)]) -> Sample<u64> {
        Sample { bytes: 1, least: Some(least), pairs: pairs(of), is_whole: true }
    }

    fn first(base: &Base<u64>, samples: &[Sample<u64>], top: usize) -> Option<Vec<String>> {
        let Highest { pairs, nth } = highest::<Count>(base, samples, top)?;
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
                u128::from(least * MARGIN) * u128::from(all.max(1))
                    <= 8000 * u128::from(own.max(1)),
                "{own} of {all}: {least}"
            );
        }
    }
}

//! Samples: shows of the top N for which workers keep what they hold. Each worker gives, at the end of what
//! it has in hand, the pairs that rank high among its own; nothing is handed over, and nothing is merged but
//! those. It is the first phase of TPUT (Cao and Wang, "Efficient Top-K Query Calculation in Distributed
//! Networks", 2004); the second, in which all are asked for what only some have given, would find other
//! values, for workers have mapped on. So they give more than that bound asks for, and beside it all they have
//! of the keys that were high before; and what remains doubtful is made by a full show instead.
//!
//! # Why it is exact
//! What is merged into an accumulator never lowers its rank ([`Share`](crate::Share)), so the N-th total that
//! was shown last is no more than the next. Of a quarter of that total, the part that a worker's bytes are of
//! all is what it gives pairs from. So a key that it has not given came to less than that there, and what
//! such a key comes to at most in all is known; if that is less than the N-th of those that are wholly
//! known, it is not among the first N. The thresholds of all workers come to a quarter of the N-th total
//! together, whatever each has mapped, so that is seldom in doubt.

use crate::aggregate::Aggregate;
use std::collections::HashMap;
use std::sync::Arc;

/// Workers give pairs from this part on of their part of the N-th total.
const MARGIN: u64 = 4;

/// What one worker gives.
pub(crate) struct Sample<V> {
    /// Bytes that it has mapped since its pairs were last handed over.
    pub(crate) bytes: u64,
    /// Its pairs that rank as high as this, or higher, and those of keys that were asked for.
    pub(crate) least: Option<V>,
    pub(crate) pairs: Vec<(Box<[u8]>, V)>,
    /// Whether it holds all pairs of those bytes, and has given all that were asked for.
    pub(crate) is_whole: bool,
}

impl<V> Sample<V> {
    /// What is given by a worker whose pairs were handed over.
    pub(super) const NOTHING: Sample<V> =
        Sample { bytes: 0, least: None, pairs: Vec::new(), is_whole: false };
}

/// The highest pairs of the run's own partial, to which nobody adds meanwhile; all workers are asked for their
/// keys.
pub(crate) struct Base<V> {
    pub(crate) pairs: Vec<(Box<[u8]>, V)>,
    /// What no other key's value there ranks above; `None` if there is no other key.
    pub(super) bound: Option<V>,
}

/// What a sample is to have.
#[derive(Clone)]
pub(crate) struct Asked<V> {
    /// The N-th total that was shown last.
    pub(crate) nth: V,
    /// Its keys are those that are wanted whatever they came to.
    pub(crate) base: Arc<Base<V>>,
}

/// Pairs among which the first N are, and all that rank as high.
pub(super) struct Highest<V> {
    pub(super) pairs: Vec<(Box<[u8]>, V)>,
    /// The N-th of them.
    pub(super) nth: V,
}

/// A key, as far as it is known.
struct Total<V> {
    value: V,
    /// The workers that have given it, ascending.
    given: Vec<usize>,
    is_in_base: bool,
}

/// What a worker gives pairs from that has mapped `own` of `all` bytes, if the N-th total was `nth`.
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

/// The pairs that are among the first `top`, and those that rank as high as the last of them; `None` if that
/// is not certain.
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
    // What a key comes to at most that is not wholly known.
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

/// What is known of each key.
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
        // x comes to 9 and at most 5 and 10 more, c to 10: which of them is third?
        assert_eq!(first(&base, &samples, 3), None);
        // What nobody has given may come to 10 in the base, and to 16 and 17 beside.
        let samples = [sample(16, &[("a", 70)]), sample(17, &[("a", 70)])];
        assert_eq!(first(&base, &samples, 2), None);
        assert_eq!(first(&base, &samples, 1), text(&["a 190"]));
        // Of equals all are given.
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

//! The order of an answer by value: what the job says, and then the key, so that no two pairs are
//! equal.

use crate::aggregate::Aggregate;
use crate::job::{Job, Pair};
use crate::partial::PairRef;
use std::cmp::Ordering;

/// A job's order.
pub(crate) struct Ranking<'j, J: Job>(pub(crate) &'j J);

impl<J: Job> Clone for Ranking<'_, J> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<J: Job> Copy for Ranking<'_, J> {}

type Value<J> = <<J as Job>::Combine as Aggregate>::Reduced;

impl<J: Job> Ranking<'_, J> {
    /// By value, as the job compares.
    #[inline]
    pub(crate) fn by_value(&self, a: PairRef<'_, Value<J>>, b: PairRef<'_, Value<J>>) -> Ordering {
        self.0.compare(Pair::of(a), Pair::of(b))
    }

    /// By value, ties by key.
    #[inline]
    pub(crate) fn compare(&self, a: PairRef<'_, Value<J>>, b: PairRef<'_, Value<J>>) -> Ordering {
        self.by_value(a, b).then_with(|| a.key.cmp(b.key))
    }
}

//! Selecting the top N: each worker keeps the best it has seen and a bar that the next must pass.
//! Expected linear time in the number of keys; nothing is sorted but what is kept.

use super::splitters::by_value;
use crate::combine::Combine;
use crate::container::{Entry, SlotKey};
use crate::error::MemoryError;
use crate::memory::{ByteArena, ChunkPool};
use crate::partial::{PairRef, Pairs, Taker};
use std::cmp::Ordering;
use std::sync::Arc;

/// The N best pairs seen, and some more that were not yet thrown out.
pub(super) struct Selection<C: Combine> {
    most: usize,
    kept: Vec<Kept<C>>,
    /// Whether the worst of the best N is known and stands at `kept[most - 1]`.
    has_bar: bool,
}

struct Kept<C: Combine> {
    value: C::Accumulator,
    key: Box<[u8]>,
}

impl<C: Combine> Selection<C> {
    pub(super) fn new(most: usize) -> Selection<C> {
        Selection { most, kept: Vec::new(), has_bar: false }
    }

    /// The best of several selections.
    pub(super) fn merge(
        selections: Vec<Selection<C>>,
        most: usize,
        chunks: &Arc<ChunkPool>,
    ) -> Result<Pairs<C::Accumulator>, MemoryError> {
        let mut all = Selection::<C>::new(most);
        all.kept = selections.into_iter().flat_map(|selection| selection.kept).collect();
        all.throw_out();
        // Which worker saw a pair first is chance; the order of what is kept must not be.
        all.kept.sort_unstable_by(Kept::compare);
        let mut pairs = Pairs::new(chunks);
        all.kept.iter().try_for_each(|kept| pairs.push(&kept.key, kept.value))?;
        Ok(pairs)
    }

    /// Keeps the best N and sets the bar.
    fn throw_out(&mut self) {
        if self.kept.len() >= self.most && self.most > 0 {
            self.kept.select_nth_unstable_by(self.most - 1, Kept::compare);
            self.has_bar = true;
        }
        self.kept.truncate(self.most);
    }

    fn passes(&self, pair: PairRef<'_, C::Accumulator>) -> bool {
        match self.kept.get(self.most.wrapping_sub(1)) {
            _ if self.most == 0 => false,
            Some(bar) if self.has_bar => by_value::<C>(pair, bar.pair()).is_lt(),
            _ => true,
        }
    }
}

impl<C: Combine> Kept<C> {
    fn pair(&self) -> PairRef<'_, C::Accumulator> {
        PairRef { key: &self.key, value: &self.value }
    }

    fn compare(a: &Kept<C>, b: &Kept<C>) -> Ordering {
        by_value::<C>(a.pair(), b.pair())
    }
}

impl<C: Combine> Taker<C::Accumulator> for Selection<C> {
    fn take<K: SlotKey>(&mut self, entry: &Entry<K, C::Accumulator>) -> Result<(), MemoryError> {
        if self.passes(PairRef::of(entry)) {
            self.kept.push(Kept { value: entry.value, key: entry.key.bytes().into() });
            if self.kept.len() >= self.most.saturating_mul(2) {
                self.throw_out();
            }
        }
        Ok(())
    }

    /// What is selected was copied.
    fn keep(&mut self, arena: ByteArena) {
        drop(arena);
    }
}

//! Selecting the top N: each worker keeps the best it has seen and a bar that the next must pass.
//! Expected linear time in the number of keys; only the kept pairs are sorted.

use super::copies::Copies;
use super::ranking::Ranking;
use crate::aggregate::Aggregate;
use crate::error::{MemoryError, Result};
use crate::heads::{select_numbers, sort_numbers};
use crate::memory::{BlockPool, ByteArena, ChunkPool, Reserved, ValueStore};
use crate::partial::{Pairs, Taker};
use crate::slots::{Entry, PairRef, SlotKey};
use std::sync::Arc;

/// The N best pairs seen, and some more that were not yet thrown out.
pub(super) struct Selection<'j, C: Aggregate> {
    ranking: Ranking<'j, C>,
    most: usize,
    kept: Vec<Kept<C>>,
    /// Whether the worst of the best N is known and at `kept[most - 1]`.
    has_bar: bool,
    key_bytes: usize,
    memory: Reserved,
    /// Copies of the stores of kept values, if the original stores are dropped soon.
    copies: Option<Copies>,
}

struct Kept<C: Aggregate> {
    value: C::Reduced,
    key: Box<[u8]>,
}

impl<'j, C: Aggregate> Selection<'j, C> {
    pub(super) fn new(
        ranking: Ranking<'j, C>,
        most: usize,
        blocks: &Arc<BlockPool>,
    ) -> Selection<'j, C> {
        let memory = Reserved::none(blocks, "the pairs of the top N");
        let (kept, copies) = (Vec::new(), None);
        Selection { ranking, most, kept, has_bar: false, key_bytes: 0, memory, copies }
    }

    /// Copies the stores of values, which then need not outlive a call.
    pub(super) fn copying(self, chunks: &Arc<ChunkPool>) -> Selection<'j, C> {
        Selection { copies: Copies::if_needed::<C>(chunks), ..self }
    }

    /// Returns the best of several selections, and the store that they point at, if they were copied.
    pub(super) fn merge(
        selections: Vec<Selection<'j, C>>,
        ranking: Ranking<'j, C>,
        most: usize,
        chunks: &Arc<ChunkPool>,
    ) -> Result<(Pairs<C::Reduced>, Option<ValueStore>), MemoryError> {
        let mut all = Selection::new(ranking, most, chunks.blocks());
        for mut selection in selections {
            selection.throw_out()?;
            if selection.copies.is_some() {
                let copies = match &mut all.copies {
                    Some(copies) => copies,
                    none => none.insert(Copies::new(chunks)),
                };
                for kept in &mut selection.kept {
                    kept.value = copies.copy::<C>(&kept.value)?;
                }
            }
            all.kept.append(&mut selection.kept);
            all.count()?;
        }
        all.throw_out()?;
        // Which worker saw a pair first is random; the order of kept pairs must not be.
        let mut order: Vec<u64> = (0..all.kept.len() as u64).collect();
        let kept = |number: u64| &all.kept[number as usize];
        sort_numbers(&mut order, &|a, b| ranking.compare(kept(a).pair(), kept(b).pair()));
        let mut pairs = Pairs::new(chunks);
        let mut in_order = order.into_iter().map(kept);
        in_order.try_for_each(|kept| pairs.push(&kept.key, kept.value))?;
        Ok((pairs, all.copies.map(Copies::into_store)))
    }

    /// Keeps the best N and sets the bar.
    fn throw_out(&mut self) -> Result<(), MemoryError> {
        let ranking = self.ranking;
        if self.kept.len() >= self.most && self.most > 0 {
            let pair = |number: u64| self.kept[number as usize].pair();
            let compare = |a, b| ranking.compare(pair(a), pair(b));
            let (best, worst) = select_numbers(self.kept.len(), self.most, &compare);
            for (to, &from) in best.iter().enumerate() {
                self.kept.swap(to, from as usize);
            }
            let bar = best.binary_search(&worst).unwrap_or_else(|place| place);
            self.kept.swap(bar, self.most - 1);
            self.has_bar = true;
        }
        self.kept.truncate(self.most);
        self.key_bytes = self.kept.iter().map(|kept| kept.key.len()).sum();
        if let Some(copies) = &mut self.copies {
            // The stores still contain values of dropped pairs.
            copies.thin::<C>(self.kept.iter_mut().map(|kept| &mut kept.value))?;
        }
        Ok(())
    }

    /// Keeps a pair that passes.
    #[inline(never)]
    fn add(&mut self, pair: PairRef<'_, C::Reduced>) -> Result<()> {
        let value = match &mut self.copies {
            Some(copies) => copies.copy::<C>(pair.value)?,
            None => *pair.value,
        };
        self.key_bytes += pair.key.len();
        self.kept.push(Kept { value, key: pair.key.into() });
        if self.kept.len() >= self.most.saturating_mul(2) {
            self.throw_out()?;
        }
        Ok(self.count()?)
    }

    #[inline(always)]
    fn passes(&self, pair: PairRef<'_, C::Reduced>) -> bool {
        match self.kept.get(self.most.wrapping_sub(1)) {
            _ if self.most == 0 => false,
            Some(bar) if self.has_bar => self.ranking.compare(pair, bar.pair()).is_lt(),
            _ => true,
        }
    }

    /// Counts the kept pairs in the budget.
    fn count(&mut self) -> Result<(), MemoryError> {
        // A small allocation costs a few words beside its bytes.
        const BESIDE: usize = 24;
        // A pair's place has a number while the best are selected.
        let place = size_of::<Kept<C>>() + size_of::<u64>();
        let pairs = self.kept.capacity() * place + self.kept.len() * BESIDE;
        self.memory.cover(pairs + self.key_bytes)
    }
}

impl<C: Aggregate> Kept<C> {
    fn pair(&self) -> PairRef<'_, C::Reduced> {
        PairRef { key: &self.key, value: &self.value }
    }
}

impl<C: Aggregate> Taker<C::Reduced> for Selection<'_, C> {
    /// Most pairs do not pass, so only the test is compiled into the loops of the receivers.
    #[inline(always)]
    fn take<K: SlotKey>(&mut self, entry: &Entry<K, C::Reduced>) -> Result<()> {
        let pair = PairRef::of(entry);
        if self.passes(pair) { self.add(pair) } else { Ok(()) }
    }

    /// Keys that are selected were copied.
    fn keep(&mut self, arena: ByteArena) {
        drop(arena);
    }
}

//! The inlet: a worker's way into its container, generic over the job because a map emits into it record by
//! record. Jobs with integer keys of a small range have an array, which takes pairs one by one; all others
//! emit in batches.

use super::array::{ArrayEmitter, ArraySplit};
use super::emitter::{BatchEmitter, BatchSplit};
use super::{Accumulator, Container, HandedOver, Making, Value};
use crate::error::{MemoryError, Result};
use crate::job::{Emit, Job};
use crate::key::Key;
use crate::partial::{Partial, Upkeep};
use crate::slots::PairRef;
use crate::split::Split;
use std::ptr::NonNull;

/// A worker's container, with its way in: an array of the job's keys where there is one, else batches.
pub struct Inlet<'p, J: Job> {
    batched: BatchEmitter<'p, J>,
    array: Option<ArrayEmitter<'p, J>>,
}

impl<'p, J: Job> Inlet<'p, J> {
    pub fn new(making: &Making<'p, J::Combine>) -> Result<Self, MemoryError> {
        let bytes = making.range.and_then(ArrayEmitter::<J>::bytes);
        let is_small = bytes.is_some_and(|bytes| bytes <= making.limits.cached);
        let has_array = match making.container {
            Container::Array => true,
            Container::Adaptive => is_small,
            _ => false,
        };
        let array = has_array.then(|| ArrayEmitter::new(making)).transpose()?;
        Ok(Inlet { batched: BatchEmitter::new(making)?, array })
    }

    /// Begins a split, whose bytes begin at `start`. Splits are numbered in the order of the input.
    ///
    /// # Safety
    /// From `start` on, `len + OVERREAD_BYTES` initialised bytes are readable and nobody writes to
    /// them before `finish_split` or `abandon_split`; keys and values that are emitted live as
    /// long.
    pub unsafe fn begin_split<'e, 's>(
        &'e mut self,
        start: NonNull<u8>,
        len: usize,
        number: u32,
    ) -> InletSplit<'e, 'p, 's, J> {
        let array = self.array.as_mut().map(|array| array.begin_split(number));
        // SAFETY: the caller's promises are the same.
        let batched = unsafe { self.batched.begin_split(start, len, number) };
        InletSplit { batched, array }
    }

    /// Takes in all emitted pairs; the split's buffer is free then.
    ///
    /// # Errors
    /// The first refusal of memory, or of a key, since the split began.
    pub fn finish_split(&mut self, split: &Split<'_>) -> Result<()> {
        self.array.as_mut().map_or(Ok(()), |array| array.finish_split(split))?;
        self.batched.finish_split(split)
    }

    /// Drops the pairs of a failed split that were not taken in yet.
    pub fn abandon_split(&mut self) {
        self.array.iter_mut().for_each(ArrayEmitter::abandon_split);
        self.batched.abandon_split();
    }

    /// Ends a piece that is saved, as [`Batched::end_piece`](super::Batched::end_piece).
    pub fn end_piece(&mut self) -> Result<(), MemoryError> {
        self.array.as_mut().map_or(Ok(()), ArrayEmitter::hand_over)?;
        let BatchEmitter { container, outlet, .. } = &mut self.batched;
        container.end_piece(outlet)
    }

    pub fn hand_over(&mut self) -> Result<(), MemoryError> {
        self.array.as_mut().map_or(Ok(()), ArrayEmitter::hand_over)?;
        let BatchEmitter { container, outlet, .. } = &mut self.batched;
        container.hand_over(outlet)
    }

    /// Hands over to another partial from now on. The container is empty.
    pub fn redirect(&mut self, partial: &'p Partial<Accumulator<J>>) {
        self.array.iter_mut().for_each(|array| array.outlet = array.outlet.to(partial));
        self.batched.outlet = self.batched.outlet.to(partial);
    }

    /// Returns the tools with which the worker keeps the partial small.
    pub fn upkeep(&mut self) -> &mut Upkeep<J::Combine> {
        self.batched.relief.upkeep()
    }

    pub fn emitted(&self) -> u64 {
        self.batched.emitted + self.array.as_ref().map_or(0, |array| array.emitted)
    }

    /// Returns the counts of all pairs that left the container so far.
    pub fn handed_over(&self) -> HandedOver {
        let mut all = self.batched.container.handed_over();
        all.pairs += self.batched.totals;
        all += self.array.as_ref().map_or(HandedOver::default(), |array| array.handed_over);
        all
    }

    /// Distinct keys in the container now; 0 where that would have to be counted.
    pub fn held(&self) -> u64 {
        self.batched.container.held()
    }

    /// Shows pairs, as [`Batched::each`](super::Batched::each).
    pub fn each(
        &self,
        wants: &dyn Fn(&Accumulator<J>) -> bool,
        see: &mut dyn FnMut(PairRef<'_, Accumulator<J>>),
    ) -> bool {
        match &self.array {
            Some(array) => array.each(wants, see),
            None => self.batched.container.each(wants, see),
        }
    }

    /// Returns the accumulator of a key, as [`Batched::get`](super::Batched::get).
    pub fn get(&self, key: &[u8]) -> Option<&Accumulator<J>> {
        match &self.array {
            Some(array) => array.get(key),
            None => self.batched.container.get(key),
        }
    }
}

/// The emitter of a map for one split.
pub struct InletSplit<'e, 'p, 's, J: Job> {
    batched: BatchSplit<'e, 'p, 's, J>,
    array: Option<ArraySplit<'e, 'p, J>>,
}

impl<'e, 'p, 's, J: Job> InletSplit<'e, 'p, 's, J> {
    /// Returns the way into batches, and the array, if there is one; for keys that are no integers that is known
    /// beforehand.
    #[inline(always)]
    fn ways(&mut self) -> (&mut BatchSplit<'e, 'p, 's, J>, Option<&mut ArraySplit<'e, 'p, J>>) {
        let array = if J::Key::IS_INTEGER { self.array.as_mut() } else { None };
        (&mut self.batched, array)
    }
}

/// Hands over the lists of an array that are large. Nothing is done, and known beforehand, for values that are
/// combined.
#[inline(always)]
fn make_room<J: Job>(array: &mut ArraySplit<'_, '_, J>, batched: &mut BatchSplit<'_, '_, '_, J>) {
    if array.is_full() && !batched.has_failed() {
        batched.handed_over(array.hand_over());
    }
}

impl<'s, J: Job> Emit<'s, J> for InletSplit<'_, '_, 's, J> {
    #[inline(always)]
    fn emit(&mut self, key: <J::Key as Key>::Borrowed<'s>, value: Value<'s, J>) {
        match self.ways() {
            (batched, Some(array)) => {
                array.add(key, value);
                make_room(array, batched);
            }
            (batched, None) => batched.emit(key, value),
        }
    }

    #[inline(always)]
    fn emit_each(
        &mut self,
        keys: impl Iterator<Item = <J::Key as Key>::Borrowed<'s>>,
        value: Value<'s, J>,
    ) {
        match self.ways() {
            (batched, Some(array)) => keys.for_each(|key| {
                array.add(key, value);
                make_room(array, batched);
            }),
            (batched, None) => batched.emit_each(keys, value),
        }
    }

    #[inline(always)]
    fn emit_copied(&mut self, key: <J::Key as Key>::Borrowed<'_>, value: Value<'_, J>) {
        match self.ways() {
            (batched, Some(array)) => {
                array.add(key, value);
                make_room(array, batched);
            }
            (batched, None) => batched.emit_copied(key, value),
        }
    }

    fn emit_total(&mut self, key: <J::Key as Key>::Borrowed<'_>, total: Accumulator<J>) {
        match self.ways() {
            (batched, Some(array)) => {
                array.add_total(key, &total);
                make_room(array, batched);
            }
            (batched, None) => batched.emit_total(key, total),
        }
    }
}

//! The array container: one accumulator for each key of a small range of integers. No batch, no hash
//! and no comparison until the array is handed over: a pair costs an index and its combining.

use super::range::{KeyRange, OutOfRange};
use super::{Accumulator, HandedOver, Making, Value};
use crate::aggregate::Aggregate;
use crate::error::{MemoryError, Result};
use crate::job::Job;
use crate::key::Key;
use crate::memory::{BlockPool, ValueStore};
use crate::partial::Outlet;
use crate::slots::{PairRef, ShortKey, SlotKey, Table};
use crate::split::Split;
use crate::timeline;
use std::sync::Arc;

/// A key's entry. An accumulator alone does not show whether its key was emitted.
#[derive(Clone, Copy)]
struct Cell<V> {
    value: V,
    is_used: bool,
}

pub(crate) struct ArrayEmitter<'p, J: Job> {
    pub(super) outlet: Outlet<'p, Accumulator<J>>,
    blocks: &'p Arc<BlockPool>,
    places: Vec<Cell<Accumulator<J>>>,
    store: ValueStore,
    most_value_bytes: usize,
    range: KeyRange,
    out_of_range: Option<OutOfRange>,
    pub(super) emitted: u64,
    pub(super) handed_over: HandedOver,
}

impl<'p, J: Job> ArrayEmitter<'p, J> {
    /// Bytes of an array for a range; `None` if that is no number.
    pub(super) fn bytes(range: KeyRange) -> Option<usize> {
        range.keys()?.checked_mul(size_of::<Cell<Accumulator<J>>>())
    }

    pub(super) fn new(making: &Making<'p, J::Combine>) -> Result<Self, MemoryError> {
        let range = making.range.unwrap_or(KeyRange::ALL);
        let bytes = Self::bytes(range).unwrap_or(usize::MAX / 2);
        let purpose = "an array with a place for each key of the range";
        let blocks = making.chunks.blocks();
        blocks.budget().take(bytes, purpose)?;
        let mut places = Vec::new();
        if places.try_reserve_exact(range.keys().unwrap_or(usize::MAX)).is_err() {
            blocks.budget().give(bytes);
            let cause = std::io::ErrorKind::OutOfMemory.into();
            return Err(MemoryError::System { purpose, bytes: bytes as u64, cause });
        }
        let place = Cell { value: J::Combine::identity(), is_used: false };
        places.resize(range.keys().unwrap_or(0), place);
        Ok(ArrayEmitter {
            outlet: making.outlet,
            blocks,
            places,
            store: ValueStore::new(making.chunks),
            most_value_bytes: making.limits.beside,
            range,
            out_of_range: None,
            emitted: 0,
            handed_over: HandedOver::default(),
        })
    }

    pub(super) fn begin_split(&mut self, number: u32) -> ArraySplit<'_, 'p, J> {
        self.store.set_split(number);
        ArraySplit {
            places: &mut self.places,
            store: &mut self.store,
            range: self.range,
            count: 0,
            emitted: &mut self.emitted,
            out_of_range: &mut self.out_of_range,
            most_value_bytes: self.most_value_bytes,
            way_out: WayOut { outlet: self.outlet, blocks: self.blocks },
            handed_over: &mut self.handed_over,
        }
    }

    pub(super) fn finish_split(&mut self, split: &Split<'_>) -> Result<()> {
        self.store.check()?;
        if self.store.bytes() > self.most_value_bytes {
            self.hand_over()?;
        }
        self.out_of_range.take().map_or(Ok(()), |out_of_range| Err(out_of_range.at(split)))
    }

    pub(super) fn abandon_split(&mut self) {
        self.out_of_range = None;
    }

    pub(super) fn hand_over(&mut self) -> Result<(), MemoryError> {
        let way_out = WayOut::<J> { outlet: self.outlet, blocks: self.blocks };
        self.handed_over += way_out.hand_over(&mut self.places, self.range, &mut self.store)?;
        Ok(())
    }

    pub(super) fn each(
        &self,
        wants: &dyn Fn(&Accumulator<J>) -> bool,
        see: &mut dyn FnMut(PairRef<'_, Accumulator<J>>),
    ) -> bool {
        for (place, number) in self.places.iter().zip(self.range.first..=u64::MAX) {
            if place.is_used && wants(&place.value) {
                let (bytes, len) = J::Key::bytes_of(number);
                see(PairRef { key: &bytes[..len], value: &place.value });
            }
        }
        true
    }

    pub(super) fn get(&self, key: &[u8]) -> Option<&Accumulator<J>> {
        let number = J::Key::number(J::Key::view(key))?;
        let place = self.places.get(usize::try_from(self.range.place_of(number)?).ok()?)?;
        place.is_used.then_some(&place.value)
    }
}

/// The way of an array's pairs to the partial.
struct WayOut<'p, J: Job> {
    outlet: Outlet<'p, Accumulator<J>>,
    blocks: &'p Arc<BlockPool>,
}

impl<J: Job> WayOut<'_, J> {
    /// Hands all pairs over; the places are unused then.
    fn hand_over(
        &self,
        places: &mut [Cell<Accumulator<J>>],
        range: KeyRange,
        store: &mut ValueStore,
    ) -> Result<HandedOver, MemoryError> {
        let handing_over = timeline::begin(timeline::Kind::Combine);
        let used = places.iter().filter(|place| place.is_used).count();
        let bits = Table::<ShortKey, Accumulator<J>, 0>::bits_for(used);
        let mut table = Table::<ShortKey, _, 0>::new(self.blocks, bits)?;
        for (place, number) in places.iter_mut().zip(range.first..=u64::MAX) {
            if place.is_used {
                let (bytes, len) = J::Key::bytes_of(number);
                let key = ShortKey::new(&bytes[..len]);
                table.combine(key, key.hash(), place.value, |_| ());
                *place = Cell { value: J::Combine::identity(), is_used: false };
            }
        }
        self.outlet.hand_over(&mut table)?;
        self.outlet.keep_values(store);
        Ok(HandedOver { pairs: used as u64, busy: handing_over.end() })
    }
}

impl<J: Job> Drop for ArrayEmitter<'_, J> {
    fn drop(&mut self) {
        self.blocks.budget().give(Self::bytes(self.range).unwrap_or(usize::MAX / 2));
    }
}

/// The emitter of a map for one split.
pub(crate) struct ArraySplit<'e, 'p, J: Job> {
    places: &'e mut [Cell<Accumulator<J>>],
    store: &'e mut ValueStore,
    range: KeyRange,
    /// Pairs of this split: counted here, where a loop can keep it in a register.
    count: u64,
    emitted: &'e mut u64,
    out_of_range: &'e mut Option<OutOfRange>,
    most_value_bytes: usize,
    way_out: WayOut<'p, J>,
    handed_over: &'e mut HandedOver,
}

impl<J: Job> ArraySplit<'_, '_, J> {
    /// Returns whether its lists are so large that they are to be handed over now.
    #[inline(always)]
    pub(super) fn is_full(&self) -> bool {
        J::Combine::KEEPS_VALUES && self.store.bytes() > self.most_value_bytes
    }

    #[cold]
    pub(super) fn hand_over(&mut self) -> Result<(), MemoryError> {
        *self.handed_over += self.way_out.hand_over(self.places, self.range, self.store)?;
        Ok(())
    }

    #[inline(always)]
    pub(super) fn add(&mut self, key: <J::Key as Key>::Borrowed<'_>, value: Value<'_, J>) {
        self.take(key, |into, store| J::Combine::absorb(into, J::Combine::hold(value), store));
    }

    pub(super) fn add_total(&mut self, key: <J::Key as Key>::Borrowed<'_>, total: &Accumulator<J>) {
        self.take(key, |into, store| J::Combine::merge(into, total, store));
    }

    #[inline(always)]
    fn take(
        &mut self,
        key: <J::Key as Key>::Borrowed<'_>,
        take: impl FnOnce(&mut Accumulator<J>, &mut ValueStore),
    ) {
        let number = J::Key::number(key).unwrap_or(0);
        let index = number.wrapping_sub(self.range.first) as usize;
        let Some(place) = self.places.get_mut(index) else { return self.refuse(number) };
        take(&mut place.value, self.store);
        place.is_used = true;
        self.count += 1;
    }

    #[cold]
    fn refuse(&mut self, number: u64) {
        let range = self.range;
        self.out_of_range.get_or_insert_with(|| OutOfRange::new::<J::Key>(number, range));
    }
}

impl<J: Job> Drop for ArraySplit<'_, '_, J> {
    fn drop(&mut self) {
        *self.emitted += self.count;
    }
}

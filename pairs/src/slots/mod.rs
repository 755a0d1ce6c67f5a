//! Slots: keys with their accumulators as tables and lists hold them, and the open table that is made of
//! them.

mod slot;
mod table;

pub use slot::{
    ClassEntry, ClassKey, Entry, LONG_KEY_BYTES, LongKey, MediumKey, ShortKey, SlotKey, hash_bytes,
    head,
};
pub use table::{Hint, SeeEntries, Table};

/// A pair of a list.
pub struct PairRef<'a, V> {
    pub key: &'a [u8],
    pub value: &'a V,
}

impl<V> Clone for PairRef<'_, V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<V> Copy for PairRef<'_, V> {}

impl<'a, V> PairRef<'a, V> {
    pub fn of<K: SlotKey>(entry: &'a Entry<K, V>) -> PairRef<'a, V> {
        PairRef { key: entry.key.bytes(), value: &entry.value }
    }
}

//! The combined pairs of saved pieces, where each piece has few keys. Combining them here costs a cache hit
//! each. Handed over piece by piece, each pair would go to a partition that left the cache since the last
//! piece: a miss or two a pair, and all of them to be folded at the end.

use crate::aggregate::Aggregate;
use crate::error::MemoryError;
use crate::memory::{BlockPool, ChunkPool, ValueStore};
use crate::partial::Outlet;
use crate::slots::{Entry, SlotKey, Table};
use std::sync::Arc;

/// The table of one size class of keys that are stored in it.
pub(super) struct Retained<K, V> {
    table: Option<Table<K, V, 0>>,
    blocks: Arc<BlockPool>,
    /// Bytes that its slots may take; 0 if nothing is to stay.
    most_bytes: usize,
}

impl<K: SlotKey, V: Copy> Retained<K, V> {
    pub(super) fn new(pool: &Arc<ChunkPool>, most_bytes: usize) -> Retained<K, V> {
        Retained { table: None, blocks: Arc::clone(pool.blocks()), most_bytes }
    }

    pub(super) fn len(&self) -> usize {
        self.table.as_ref().map_or(0, Table::len)
    }

    /// Takes in the pairs of a piece, which the witness sees. Returns the number of pairs handed over to make
    /// room; `None` if it did nothing, because the piece has too many pairs or its values lie elsewhere.
    pub(super) fn take_in<C: Aggregate<Accumulator = V>>(
        &mut self,
        piece: &mut Table<K, V, 0>,
        store: &mut ValueStore,
        outlet: &Outlet<'_, V>,
    ) -> Result<Option<u64>, MemoryError> {
        let bits = Table::<K, V, 0>::bits_for(piece.len());
        let fits = |bits: u32| size_of::<Entry<K, V>>() << bits <= self.most_bytes;
        if C::KEEPS_VALUES || !fits(bits) {
            return Ok(None);
        }
        let mut handed_over = 0;
        let table = match &mut self.table {
            Some(table) => table,
            none => none.insert(Table::new(&self.blocks, bits)?),
        };
        while !table.has_room(piece.len()) {
            if fits(table.bits() + 1) {
                table.grow(table.bits() + 1)?;
            } else {
                handed_over += table.len() as u64;
                outlet.hand_over_seen(table)?;
            }
        }
        outlet.show(piece, |entry| {
            let hash = entry.key.hash();
            table.combine_known(entry.key, hash, C::identity(), |total| {
                C::merge(total, &entry.value, store);
            });
        });
        Ok(Some(handed_over))
    }

    /// Hands over all pairs; returns their number.
    pub(super) fn hand_over(&mut self, outlet: &Outlet<'_, V>) -> Result<u64, MemoryError> {
        let pairs = self.len() as u64;
        self.table.as_mut().map_or(Ok(()), |table| outlet.hand_over_seen(table))?;
        Ok(pairs)
    }
}

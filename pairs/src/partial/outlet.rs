//! The outlet of a worker's container. Pairs that leave the container go to the partial; where the run saves
//! its partials (`state/`), a witness sees each of them on the way.

use super::{Current, Partial, Partition, partition_of};
use crate::error::MemoryError;
use crate::memory::ValueStore;
use crate::slots::{Entry, SlotKey, Table};
use crate::sync::{Mutex, MutexGuard};
use std::convert::Infallible;

/// An observer of the pairs that a worker hands over.
pub trait Witness<V>: Send {
    /// Sees a pair. An error is kept until the owner of the witness asks for it.
    fn see(&mut self, key: &[u8], value: &V);
}

/// One worker's way to the partial.
pub struct Outlet<'p, V: Copy> {
    partial: &'p Partial<V>,
    witness: Option<&'p Mutex<dyn Witness<V> + 'p>>,
}

impl<V: Copy> Clone for Outlet<'_, V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<V: Copy> Copy for Outlet<'_, V> {}

/// The witness while a table is handed over.
type Seeing<'a, V> = Option<MutexGuard<'a, dyn Witness<V> + 'a>>;

impl<'p, V: Copy> Outlet<'p, V> {
    pub fn new(partial: &'p Partial<V>) -> Outlet<'p, V> {
        Outlet { partial, witness: None }
    }

    /// Returns the way to another partial, which the same witness sees.
    pub fn to(self, partial: &'p Partial<V>) -> Outlet<'p, V> {
        Outlet { partial, ..self }
    }

    /// Such that `witness`, which is this worker's alone, sees each pair.
    pub fn seen_by(self, witness: &'p Mutex<dyn Witness<V> + 'p>) -> Outlet<'p, V> {
        Outlet { witness: Some(witness), ..self }
    }

    /// Returns where pairs go.
    pub fn partial(&self) -> &'p Partial<V> {
        self.partial
    }

    fn seeing(&self) -> Seeing<'p, V> {
        self.witness.map(|witness| witness.lock())
    }

    /// Takes over the store of the values of accumulators handed over so far.
    pub fn keep_values(&self, store: &mut ValueStore) {
        self.partial.keep_values(store);
    }

    /// Moves a table's pairs in; the table is empty then.
    pub fn hand_over<K: SlotKey>(&self, table: &mut Table<K, V, 0>) -> Result<(), MemoryError> {
        self.move_in(table, self.seeing())
    }

    /// As `hand_over`, of pairs that the witness has seen already, as others that came together in them.
    pub fn hand_over_seen<K: SlotKey>(
        &self,
        table: &mut Table<K, V, 0>,
    ) -> Result<(), MemoryError> {
        self.move_in(table, None)
    }

    /// Shows a table's pairs to the witness and gives them to `take`, in the order of their slots; the table is
    /// empty then.
    pub fn show<K: SlotKey>(&self, table: &mut Table<K, V, 0>, mut take: impl FnMut(&Entry<K, V>)) {
        let mut seeing = self.seeing();
        let Ok(()) = table.drain(|entry| {
            see(&mut seeing, entry);
            take(entry);
            Ok::<(), Infallible>(())
        });
    }

    fn move_in<K: SlotKey>(
        &self,
        table: &mut Table<K, V, 0>,
        mut seeing: Seeing<'_, V>,
    ) -> Result<(), MemoryError> {
        let mut current = Current::of(self.partial);
        table.drain(|entry| {
            see(&mut seeing, entry);
            let wanted = partition_of(entry.key.hash());
            current.partition(wanted, Partition::begin_segment).pairs.put(entry)
        })
    }

    /// Copies pairs of one partition in, any of which may have the same key.
    pub fn append<K: SlotKey>(
        &self,
        index: usize,
        entries: &[Entry<K, V>],
    ) -> Result<(), MemoryError> {
        let mut seeing = self.seeing();
        let mut partition = self.partial.partition(index);
        partition.begin_repeating_segment();
        entries.iter().try_for_each(|entry| {
            see(&mut seeing, entry);
            partition.pairs.put(entry)
        })
    }
}

#[inline(always)]
fn see<K: SlotKey, V: Copy>(seeing: &mut Seeing<'_, V>, entry: &Entry<K, V>) {
    if let Some(witness) = seeing {
        witness.see(entry.key.bytes(), &entry.value);
    }
}

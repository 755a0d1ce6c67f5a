//! The hash+tree container of Metis (section 3.3): a fixed hash table with an ordered tree in each
//! entry. Its entries are the partitions, so a tree is handed over unchanged.

use super::{Batched, HandedOver, Hashed};
use crate::aggregate::Aggregate;
use crate::error::MemoryError;
use crate::memory::{ByteArena, ChunkPool, ValueStore};
use crate::partial::{Outlet, PARTITIONS, partition_of};
use crate::sizing::TableLimits;
use crate::slots::{Entry, Hint, LongKey, MediumKey, ShortKey, SlotKey};
use crate::timeline;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The trees of one worker: 256 ordered trees (`BTreeMap`), one for each partition. A pair costs
/// O(log(k / 256)) comparisons for k keys. It is here to be compared with: on none of the four workloads of
/// Metis (section 5.4) does it win. Few keys with many repeats take 3.9 times the time of
/// [`Container::Hash`](super::Container::Hash), many keys with few repeats 3.6 times that of
/// [`Container::Append`](super::Container::Append): a comparison waits for the one before it, where a batch
/// of probes overlaps its misses.
pub(crate) struct ForestOf<C: Aggregate> {
    short: Forest<ShortKey, C::Accumulator>,
    medium: Forest<MediumKey, C::Accumulator>,
    long: Forest<LongKey, C::Accumulator>,
    /// The bytes of the keys in `long`.
    arena: ByteArena,
    limits: TableLimits,
    handed_over: HandedOver,
}

/// The trees of one size class, by partition.
struct Forest<K, V> {
    trees: Vec<BTreeMap<K, V>>,
    keys: usize,
    /// Bytes that the budget counts for them.
    counted: usize,
    pool: Arc<ChunkPool>,
    /// The store of the values.
    store: ValueStore,
}

/// Nodes are two thirds full on average.
const BYTES_PER_ENTRY_BYTE: f64 = 1.5;
/// Bytes are counted in steps of this.
const STEP_BYTES: usize = 64 << 10;

impl<K: SlotKey + Ord, V: Copy> Forest<K, V> {
    fn new(pool: &Arc<ChunkPool>) -> Forest<K, V> {
        let trees = (0..PARTITIONS).map(|_| BTreeMap::new()).collect();
        Forest { trees, keys: 0, counted: 0, pool: Arc::clone(pool), store: ValueStore::new(pool) }
    }

    fn bytes(&self) -> usize {
        ((self.keys * size_of::<Entry<K, V>>()) as f64 * BYTES_PER_ENTRY_BYTE) as usize
    }

    fn is_full(&self, limits: TableLimits) -> bool {
        self.bytes() > limits.most || self.store.bytes() > limits.beside
    }

    fn put<C: Aggregate<Accumulator = V>>(
        &mut self,
        batch: &[Hashed<K, C::Held>],
        mut keep: impl FnMut(K) -> Result<K, MemoryError>,
    ) -> Result<(), MemoryError> {
        for &Hashed { key, hash, value } in batch {
            let tree = &mut self.trees[partition_of(hash)];
            if let Some(total) = tree.get_mut(&key) {
                C::absorb(total, value, &mut self.store);
                continue;
            }
            let mut total = C::identity();
            C::absorb(&mut total, value, &mut self.store);
            tree.insert(keep(key)?, total);
            self.keys += 1;
        }
        self.store.check()?;
        let bytes = self.bytes();
        if bytes > self.counted {
            let more = (bytes - self.counted).next_multiple_of(STEP_BYTES);
            self.pool.blocks().budget().take(more, "trees of keys and values")?;
            self.counted += more;
        }
        Ok(())
    }

    fn hand_over(&mut self, outlet: &Outlet<'_, V>) -> Result<HandedOver, MemoryError> {
        let (handing_over, pairs) = (timeline::begin(timeline::Kind::Combine), self.keys as u64);
        for (index, tree) in self.trees.iter_mut().enumerate() {
            let entries = std::mem::take(tree).into_iter().map(|(key, value)| Entry { key, value });
            outlet.add_segment(index, entries)?;
        }
        outlet.keep_values(&mut self.store);
        self.keys = 0;
        self.pool.blocks().budget().give(std::mem::take(&mut self.counted));
        Ok(HandedOver { pairs, busy: handing_over.end() })
    }
}

impl<K, V> Drop for Forest<K, V> {
    fn drop(&mut self) {
        self.pool.blocks().budget().give(self.counted);
    }
}

impl<C: Aggregate> ForestOf<C> {
    pub(super) fn new(pool: &Arc<ChunkPool>, limits: TableLimits) -> ForestOf<C> {
        ForestOf {
            short: Forest::new(pool),
            medium: Forest::new(pool),
            long: Forest::new(pool),
            arena: ByteArena::new(pool),
            limits,
            handed_over: HandedOver::default(),
        }
    }
}

impl<C: Aggregate> Batched<C> for ForestOf<C> {
    fn begin_split(&mut self, number: u32, _: usize) {
        self.short.store.set_split(number);
        self.medium.store.set_split(number);
        self.long.store.set_split(number);
    }

    fn ahead(&self) -> Hint<ShortKey, C::Accumulator, 0> {
        Hint::nowhere(self)
    }

    fn put_short(
        &mut self,
        batch: &[Hashed<ShortKey, C::Held>],
        outlet: &Outlet<'_, C::Accumulator>,
    ) -> Result<(), MemoryError> {
        if self.short.is_full(self.limits) {
            self.handed_over += self.short.hand_over(outlet)?;
        }
        self.short.put::<C>(batch, Ok)
    }

    fn put_medium(
        &mut self,
        batch: &[Hashed<MediumKey, C::Held>],
        outlet: &Outlet<'_, C::Accumulator>,
    ) -> Result<(), MemoryError> {
        if self.medium.is_full(self.limits) {
            self.handed_over += self.medium.hand_over(outlet)?;
        }
        self.medium.put::<C>(batch, Ok)
    }

    fn put_long(
        &mut self,
        batch: &[Hashed<LongKey, C::Held>],
        outlet: &Outlet<'_, C::Accumulator>,
    ) -> Result<(), MemoryError> {
        if self.long.is_full(self.limits) || self.arena.bytes() > self.limits.beside {
            self.handed_over += self.long.hand_over(outlet)?;
            self.arena.clear();
        }
        let arena = &mut self.arena;
        self.long.put::<C>(batch, |key| key.copied(arena))
    }

    fn hand_over(&mut self, outlet: &Outlet<'_, C::Accumulator>) -> Result<(), MemoryError> {
        self.handed_over += self.short.hand_over(outlet)?;
        self.handed_over += self.medium.hand_over(outlet)?;
        self.handed_over += self.long.hand_over(outlet)?;
        self.arena.clear();
        Ok(())
    }

    fn handed_over(&self) -> HandedOver {
        self.handed_over
    }

    fn held(&self) -> u64 {
        (self.short.keys + self.medium.keys + self.long.keys) as u64
    }
}

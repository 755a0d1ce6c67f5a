//! Partials: the results of tiles. A partial is combined pairs in R partitions by the top bits of the key's
//! hash; partials merge in any order. This is the ONE form in memory: containers hand their pairs over to it,
//! compress folds it while the job runs, reduce takes it partition by partition. Its ONE byte form is
//! `form.rs`; pairs that exceed memory are spilled in that form, and merged from it.
//!
//! A partition is a lock around lists of pairs. The lock is held while one table's pairs of that partition
//! are copied in. After each split that handed a table over, the worker folds the partitions that have
//! doubled since they were last folded (compress). So partials hold about twice the distinct pairs at most,
//! and a fixed number below which folding does not pay.

mod compress;
mod fold;
mod form;
mod merger;
mod outlet;
mod pairs;
mod partition;
mod runs;
mod spill;
mod taker;
mod tiers;
mod upkeep;

pub use compress::Compressor;
pub use fold::Folder;
pub use form::{
    Accumulators, Answers, BlockReader, Contents, Form, HEADER_BYTES, MIXED, OpenBlock, Sealer,
    front_block,
};
pub use merger::{Merger, read_run};
pub use outlet::{Outlet, Witness};
pub use pairs::{PairRefs, Pairs};
pub use partition::Partition;
pub use runs::{Run, RunReader, RunWriter, store};
pub use spill::{Spill, Spiller};
pub use taker::{Batch, Receiver, Taker};
pub use tiers::{Full, Tiers};
pub use upkeep::{Relief, Upkeep};

use crate::error::MemoryError;
use crate::memory::{ChunkPool, KeptValues, ValueStore};
use crate::slots::ClassKey;
use crate::sync::{Mutex, MutexGuard};
use std::sync::Arc;

/// log2 of the number of partitions of every partial. 256 of them keep a partition's table inside a
/// second-level cache up to some ten million keys, and cost a few hundred bytes each when empty. (Fewer for
/// Miri, which is slow.)
pub const PARTITION_BITS: u32 = if cfg!(miri) { 4 } else { 8 };
/// Number of partitions.
pub const PARTITIONS: usize = 1 << PARTITION_BITS;

/// Returns the partition of a key by its hash.
#[inline(always)]
pub fn partition_of(hash: u64) -> usize {
    (hash >> (64 - PARTITION_BITS)) as usize
}

/// The pairs handed over so far, by partition. Workers add to it side by side, a lock per partition,
/// held for a few hundred pairs at a time.
pub struct Partial<V: Copy> {
    partitions: Vec<Mutex<Partition<V>>>,
    /// The stores of the values of accumulators that were handed over.
    values: Mutex<Vec<KeptValues>>,
    /// `None` if memory has no limit.
    spill: Option<Spill>,
}

impl<V: Copy> Partial<V> {
    pub fn new(pool: &Arc<ChunkPool>, spill: Option<Spill>) -> Partial<V> {
        let partitions = (0..PARTITIONS).map(|_| Mutex::new(Partition::new(pool))).collect();
        Partial { partitions, values: Mutex::default(), spill }
    }

    /// Takes over the store of the values of accumulators handed over so far.
    pub fn keep_values(&self, store: &mut ValueStore) {
        if let Some(values) = store.seal() {
            self.values.lock().push(values);
        }
    }

    /// Returns the stores of the values of accumulators handed over so far; the caller keeps them as long as
    /// it uses the accumulators.
    pub fn take_values(&self) -> Vec<KeptValues> {
        let mut values = std::mem::take(&mut *self.values.lock());
        (0..PARTITIONS).for_each(|number| values.append(&mut self.partition(number).take_values()));
        values
    }

    /// Keeps stores of values from now on, such as those that were taken and are used after all.
    pub fn give_back(&self, values: Vec<KeptValues>) {
        self.values.lock().extend(values);
    }

    /// Moves all of another partial in, to which nobody adds meanwhile. Linear in its pairs.
    pub fn take_in(&self, other: &Partial<V>) -> Result<(), MemoryError> {
        // First: pairs that are moved in before an error must find their values.
        self.give_back(other.take_values());
        for number in 0..PARTITIONS {
            let (mut into, mut from) = (self.partition(number), other.partition(number));
            if let (Some(to), Some(of)) = (self.spill(), other.spill()) {
                to.take_over(of, from.runs.runs_mut())?;
            }
            into.take_in(&mut from)?;
        }
        Ok(())
    }

    /// Where pairs go that memory has no room for, if memory has a limit.
    pub fn spill(&self) -> Option<&Spill> {
        self.spill.as_ref()
    }

    pub fn partition(&self, index: usize) -> MutexGuard<'_, Partition<V>> {
        // A holder that panicked has failed its job; nobody reads the partition for an answer.
        self.partitions[index].lock()
    }

    /// Returns a way in for pairs that were saved. If they `are_folded`, all that comes by such ways has each
    /// key once, and comes before anything else.
    pub fn restore(&self, are_folded: bool) -> Restoring<'_, V> {
        Restoring { current: Current::of(self), are_folded }
    }
}

impl<V: Copy> Drop for Partial<V> {
    /// Gives the disk space of the runs back that nobody has taken out.
    fn drop(&mut self) {
        let Some(spill) = &self.spill else { return };
        for number in 0..PARTITIONS {
            let mut partition = self.partition(number);
            let runs = partition.runs.runs_mut();
            // Space that is not given back is free at the end of the run.
            let _ = runs.iter().try_for_each(|run| spill.scratch().free(&run.extents));
        }
    }
}

/// The partition to which pairs were added last. Its lock is kept, because many pairs of one partition follow
/// each other.
struct Current<'p, V: Copy> {
    partial: &'p Partial<V>,
    held: Option<(usize, MutexGuard<'p, Partition<V>>)>,
}

impl<'p, V: Copy> Current<'p, V> {
    fn of(partial: &'p Partial<V>) -> Current<'p, V> {
        Current { partial, held: None }
    }

    /// Returns a partition; `begin` is called with it if another one was held.
    #[inline(always)]
    fn partition(
        &mut self,
        wanted: usize,
        begin: impl FnOnce(&mut Partition<V>),
    ) -> &mut Partition<V> {
        if self.held.as_ref().is_none_or(|(index, _)| *index != wanted) {
            // Never two locks at once.
            self.held = None;
            let mut partition = self.partial.partition(wanted);
            begin(&mut partition);
            return &mut self.held.insert((wanted, partition)).1;
        }
        match &mut self.held {
            Some((_, partition)) => partition,
            None => unreachable!("it is the wanted one"),
        }
    }
}

/// Puts saved pairs in; it is quick where many of one partition follow each other.
pub struct Restoring<'p, V: Copy> {
    current: Current<'p, V>,
    are_folded: bool,
}

impl<V: Copy> Restoring<'_, V> {
    /// Copies a pair in.
    pub fn put(&mut self, key: &[u8], value: V) -> Result<(), MemoryError> {
        let begin = |partition: &mut Partition<V>| match self.are_folded {
            true => partition.go_on_with_folded(),
            false => partition.begin_repeating_segment(),
        };
        self.current.partition(partition_of(hash_of(key)), begin).pairs.push(key, value)
    }
}

/// Returns the hash of a key, which depends on the class that its length decides.
pub fn hash_of(key: &[u8]) -> u64 {
    ClassKey::of(key).class_and_hash().1
}

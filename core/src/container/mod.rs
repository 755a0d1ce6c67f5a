//! Containers hold the pairs that a worker's maps emit, without locks, until the worker hands them over to a
//! partial. Each is a type in a file of its own, and all give the same answer to the byte.
//! [`Container`] names them.
//!
//! A map emits into an [`Inlet`]. Its batch emitter loads and hashes keys, prefetches their slots, and
//! probes them together, so that the misses of a batch overlap; the containers take whole batches
//! ([`Batched`]). The array takes pairs one by one.

mod adaptive;
mod append;
mod array;
mod class;
mod emitter;
mod hash;
mod inlet;
mod range;
mod retained;

pub use crate::memory::OVERREAD_BYTES;
pub use inlet::Inlet;
pub use range::KeyRange;

use crate::aggregate::Aggregate;
use crate::error::{Error, MemoryError, Result};
use crate::job::Job;
use crate::memory::ChunkPool;
use crate::partial::{Outlet, Relief, Upkeep};
use crate::sizing::TableLimits;
use crate::slots::{Hint, LongKey, MediumKey, PairRef, ShortKey};
use adaptive::Choosing;
use append::Appender;
use hash::HashTables;
use std::ops::AddAssign;
use std::sync::Arc;
use std::time::Duration;

/// The containers that workers can keep their pairs in, for [`Options::container`](crate::Options::container).
/// The choice cannot change the answer, only its cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Container {
    /// Chooses by itself, and changes its mind.
    ///
    /// Integer keys of a small range go to an [`Array`](Container::Array). For other keys it begins with
    /// [`Hash`](Container::Hash) tables, each a sample of its stretch of the input: where one is about to
    /// outgrow the second-level cache and its keys hardly repeat, the next pairs are appended
    /// ([`Append`](Container::Append)), thirty-two times as many as the table took; then the next table is
    /// filled, and decides anew. If the input is likely to be long for the expected number of keys, a table
    /// that holds all of them takes over. Metis (section 3.4) predicts once, from the first 7 % of the input,
    /// and cannot go back.
    #[default]
    Adaptive,
    /// Open hash tables, one for each size class of keys (up to 15 bytes, up to 31, longer). A pair costs
    /// O(1), at most one cache miss. Best where keys repeat.
    Hash,
    /// Pairs go straight to the partial's partitions and are combined there later, when a partition has
    /// doubled and at the end. Best for keys that hardly repeat: there is no table to miss in, and each
    /// pair is written once before its partition is folded inside the cache.
    Append,
    /// One accumulator for every key of the job's range: that of its type for keys of 8 and 16 bits, that
    /// of [`Job::key_range`] for wider ones. A job without a range is refused, as is
    /// a key outside it. Memory is linear in the range, per worker. Best for keys of a small range, most of
    /// which occur.
    Array,
}

impl Container {
    /// Refuses a container that cannot hold the keys of a job with this range.
    pub(crate) fn check(self, range: Option<KeyRange>) -> Result<()> {
        match (self, range) {
            (Container::Array, None) => {
                let cause = "Container::Array needs the range of the job's keys: let the job's key_range \
                             give it, or choose another container";
                Err(Error::Option { option: "container", cause: cause.to_owned() })
            }
            _ => Ok(()),
        }
    }
}

/// Makes the tables of a worker, which take the pairs of about `share_bytes` of the input, if that is not 0.
pub fn tables<C: Aggregate>(
    container: Container,
    pool: &Arc<ChunkPool>,
    limits: TableLimits,
    share_bytes: u64,
) -> Result<Box<dyn Batched<C>>, MemoryError> {
    Ok(match container {
        Container::Adaptive | Container::Array => {
            Box::new(Choosing::<C>::new(pool, limits, share_bytes)?)
        }
        Container::Hash => Box::new(HashTables::<C>::new(pool, limits)?),
        Container::Append => Box::new(Appender::<C>::new(pool, limits)),
    })
}

/// Makes the tools with which a worker keeps its partial small.
pub fn upkeep<C: Aggregate>(pool: &Arc<ChunkPool>) -> Box<dyn Relief<C>> {
    Box::new(Upkeep::new(pool))
}

type Value<'s, J> = <<J as Job>::Combine as Aggregate>::Value<'s>;
type Accumulator<J> = <<J as Job>::Combine as Aggregate>::Accumulator;

/// The components of a worker's container.
pub struct Making<'p, C: Aggregate> {
    pub chunks: &'p Arc<ChunkPool>,
    pub outlet: Outlet<'p, C::Accumulator>,
    pub limits: TableLimits,
    /// The keys that the job may emit, where that is known.
    pub range: Option<KeyRange>,
    /// Bytes of the input that the worker is likely to map in all; 0 where nobody knows.
    pub share_bytes: u64,
    pub container: Container,
    /// [`tables`], compiled with the stages.
    pub tables: Tables<C>,
    /// [`upkeep`], likewise.
    pub upkeep: NewUpkeep<C>,
}

/// Makes the tools with which a worker keeps its partial small.
pub type NewUpkeep<C> = fn(&Arc<ChunkPool>) -> Box<dyn Relief<C>>;

/// Makes the tables of a worker.
pub type Tables<C> =
    fn(Container, &Arc<ChunkPool>, TableLimits, u64) -> Result<Box<dyn Batched<C>>, MemoryError>;

/// A container that takes its pairs in batches. Each call takes hundreds of pairs, so a call through a
/// pointer costs nothing, and the tables are compiled once for all jobs with the same aggregate.
pub trait Batched<C: Aggregate> {
    /// Says which split the pairs that follow come from, and its length.
    fn begin_split(&mut self, number: u32, bytes: usize);

    /// Where short keys are found, as of now.
    fn ahead(&self) -> Hint<ShortKey, C::Accumulator, 0>;

    fn put(
        &mut self,
        pairs: OfClass<'_, C::Held>,
        outlet: &Outlet<'_, C::Accumulator>,
    ) -> Result<(), MemoryError>;

    /// Ends a piece that is saved: the outlet's witness has seen all pairs then. They may stay in the
    /// container until `hand_over`, but `each` and `get` no longer show them.
    fn end_piece(&mut self, outlet: &Outlet<'_, C::Accumulator>) -> Result<(), MemoryError> {
        self.hand_over(outlet)
    }

    fn hand_over(&mut self, outlet: &Outlet<'_, C::Accumulator>) -> Result<(), MemoryError>;

    fn handed_over(&self) -> HandedOver;

    /// Distinct keys in the container now; 0 where that would have to be counted.
    fn held(&self) -> u64 {
        0
    }

    /// Shows the pairs in the container that `wants` says; each key comes once, whole. Returns whether it
    /// can: not if keys may be there several times.
    fn each(
        &self,
        wants: &dyn Fn(&C::Accumulator) -> bool,
        see: &mut dyn FnMut(PairRef<'_, C::Accumulator>),
    ) -> bool {
        let _ = (wants, see);
        false
    }

    /// Returns the accumulator of a key by its bytes, if it is in the container and that can be told.
    fn get(&self, key: &[u8]) -> Option<&C::Accumulator> {
        let _ = key;
        None
    }
}

/// Emitted pairs of one size class of keys.
#[derive(Clone, Copy)]
pub enum OfClass<'b, T> {
    /// Their slots were asked for.
    Short(&'b [Hashed<ShortKey, T>]),
    Medium(&'b [Hashed<MediumKey, T>]),
    /// The keys are borrowed; a container copies those that it keeps.
    Long(&'b [Hashed<LongKey, T>]),
}

/// An emitted pair that is not taken in yet.
#[derive(Clone, Copy)]
pub struct Hashed<K, T> {
    pub key: K,
    pub hash: u64,
    pub value: T,
}

/// The counts of pairs handed over so far.
#[derive(Clone, Copy, Default)]
pub struct HandedOver {
    pub pairs: u64,
    pub busy: Duration,
}

impl AddAssign for HandedOver {
    fn add_assign(&mut self, other: HandedOver) {
        self.pairs += other.pairs;
        self.busy += other.busy;
    }
}

//! Containers: where a worker keeps what its maps emit, without locks, until it hands the pairs over
//! to a partial. Each is a named type in a file of its own; the map loop is generic over them, and all
//! give the same answer to the byte. [`Adaptive`] chooses among the others.
//!
//! Most take batches: a map emits into the `BatchEmitter`, which loads and
//! hashes keys and asks for their slots ahead of time, then probes them together, so that the misses
//! of a batch overlap, and no job needs to know. The array takes pairs one by one.

mod adaptive;
mod append;
mod array;
mod class;
mod emitter;
mod hash;
mod hash_tree;
mod range;
mod slot;
mod standing;
mod table;
#[cfg(test)]
mod tests;

pub use adaptive::Adaptive;
pub use append::Append;
pub use array::Array;
pub use hash::Hash;
pub use hash_tree::HashTree;

pub(crate) use emitter::OVERREAD_BYTES;
pub(crate) use range::KeyRange;
pub(crate) use slot::{
    ClassEntry, Entry, LONG_KEY_BYTES, LongKey, MediumKey, ShortKey, SlotKey, hash_bytes, head,
};
pub(crate) use table::Table;

use crate::aggregate::Aggregate;
use crate::error::{MemoryError, Result};
use crate::job::{Emit, Job};
use crate::memory::ChunkPool;
use crate::partial::{Outlet, PairRef, Partial};
use crate::sizing::TableLimits;
use crate::split::Split;
use std::ops::AddAssign;
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Duration;

/// A named type of container, for [`Engine::run_in`](crate::Engine::run_in). Sealed: the containers
/// are those of this module.
pub trait Container: sealed::Run {}

pub(crate) mod sealed {
    use crate::engine::Engine;
    use crate::error::Result;
    use crate::input::Input;
    use crate::job::Job;
    use crate::options::Options;
    use crate::output::Output;

    pub trait Run {
        #[doc(hidden)]
        fn run<J: Job>(
            engine: &Engine,
            job: &J,
            input: Input,
            options: &Options,
        ) -> Result<Output<J>>;
    }
}

/// What stands behind a named type: the container that a worker makes.
pub(crate) trait Kind: Send + Sync + 'static {
    type Inlet<'p, J: Job + 'p>: Inlet<'p, J>;

    /// Whether it can hold the keys of a job with this range.
    fn check(range: Option<KeyRange>) -> Result<()> {
        let _ = range;
        Ok(())
    }
}

/// Makes a type a [`Container`] whose workers hold an inlet.
macro_rules! named {
    ($name:ident, $inlet:ty $(, $check:expr)?) => {
        impl $crate::container::Kind for $name {
            type Inlet<'p, J: $crate::job::Job + 'p> = $inlet;

            $(fn check(range: Option<$crate::container::KeyRange>) -> $crate::error::Result<()> {
                $check(range)
            })?
        }

        impl $crate::container::sealed::Run for $name {
            fn run<J: $crate::job::Job>(
                engine: &$crate::engine::Engine,
                job: &J,
                input: $crate::input::Input,
                options: &$crate::options::Options,
            ) -> $crate::error::Result<$crate::output::Output<J>> {
                $crate::run::run::<J, $name>(engine.core(), job, input, options, None)
            }
        }

        impl $crate::container::Container for $name {}
    };
}
pub(crate) use named;

/// What a worker's container is made from.
pub(crate) struct Making<'p, C: Aggregate> {
    pub(crate) chunks: &'p Arc<ChunkPool>,
    pub(crate) outlet: Outlet<'p, C::Accumulator>,
    pub(crate) limits: TableLimits,
    /// The keys that the job may emit, where that is known.
    pub(crate) range: Option<KeyRange>,
    /// Bytes of the input that the worker is likely to map in all; 0 where nobody knows.
    pub(crate) share_bytes: u64,
}

/// A worker's container, with its way in.
pub(crate) trait Inlet<'p, J: Job>: Sized + Send {
    /// The face that a map sees while it works on one split.
    type Split<'e, 's>: Emit<'s, J>
    where
        Self: 'e;

    fn new(making: &Making<'p, J::Combine>) -> Result<Self>;

    /// Begins a split, whose bytes begin at `start`. Splits are numbered in the order of the input.
    ///
    /// # Safety
    /// From `start` on, `len + OVERREAD_BYTES` initialised bytes are readable and nobody writes to
    /// them before `finish_split` or `abandon_split`; keys and values that are emitted live as
    /// long.
    unsafe fn begin_split<'e, 's>(
        &'e mut self,
        start: NonNull<u8>,
        len: usize,
        number: u32,
    ) -> Self::Split<'e, 's>;

    /// Takes in what was emitted to the last pair; the split's buffer is free then.
    ///
    /// # Errors
    /// The first refusal of memory, or of a key, since the split began.
    fn finish_split(&mut self, split: &Split<'_>) -> Result<()>;

    /// Drops what of a failed split was not taken in yet.
    fn abandon_split(&mut self);

    /// Ends a piece that is saved: the outlet's witness has seen all pairs then. They may stay in the container
    /// until `hand_over`, but not as what `each` and `get` show.
    fn end_piece(&mut self) -> Result<(), MemoryError> {
        self.hand_over()
    }

    /// Hands all pairs over.
    fn hand_over(&mut self) -> Result<(), MemoryError>;

    /// Hands over to another partial from now on. The container is empty.
    fn redirect(&mut self, partial: &'p Partial<<J::Combine as Aggregate>::Accumulator>);

    /// Pairs emitted so far.
    fn emitted(&self) -> u64;

    /// What left the container so far.
    fn handed_over(&self) -> HandedOver;

    /// Distinct keys in the container now; 0 where that would have to be counted.
    fn held(&self) -> u64 {
        0
    }

    /// Shows the pairs in the container that `wants` says; each key comes once, whole. Returns whether it can:
    /// not if keys may be there several times.
    fn each(
        &self,
        wants: impl Fn(&<J::Combine as Aggregate>::Accumulator) -> bool,
        see: impl FnMut(PairRef<'_, <J::Combine as Aggregate>::Accumulator>),
    ) -> bool {
        let _ = (wants, see);
        false
    }

    /// The accumulator of a key by its bytes, if it is in the container and that can be told.
    fn get(&self, key: &[u8]) -> Option<&<J::Combine as Aggregate>::Accumulator> {
        let _ = key;
        None
    }
}

/// A container that takes its pairs in batches.
pub(crate) trait Batched<C: Aggregate>: Sized {
    type Ahead: Ahead;

    /// Makes one that takes the pairs of about `share_bytes` of the input, if not 0.
    fn new(
        pool: &Arc<ChunkPool>,
        limits: TableLimits,
        share_bytes: u64,
    ) -> Result<Self, MemoryError>;

    /// Says which split the pairs that follow come from, and its length.
    fn begin_split(&mut self, number: u32, bytes: usize);

    /// Where short keys are found, as of now.
    fn ahead(&self) -> Self::Ahead;

    /// Takes keys of up to 15 bytes, whose places were asked for.
    fn put_short(
        &mut self,
        batch: &[Hashed<ShortKey, C::Held>],
        outlet: &Outlet<'_, C::Accumulator>,
    ) -> Result<(), MemoryError>;

    /// Takes keys of 16 to 31 bytes.
    fn put_medium(
        &mut self,
        batch: &[Hashed<MediumKey, C::Held>],
        outlet: &Outlet<'_, C::Accumulator>,
    ) -> Result<(), MemoryError>;

    /// Takes borrowed keys of 32 bytes and more; it copies those that it keeps.
    fn put_long(
        &mut self,
        batch: &[Hashed<LongKey, C::Held>],
        outlet: &Outlet<'_, C::Accumulator>,
    ) -> Result<(), MemoryError>;

    /// As [`Inlet::end_piece`].
    fn end_piece(&mut self, outlet: &Outlet<'_, C::Accumulator>) -> Result<(), MemoryError> {
        self.hand_over(outlet)
    }

    /// Hands everything over.
    fn hand_over(&mut self, outlet: &Outlet<'_, C::Accumulator>) -> Result<(), MemoryError>;

    fn handed_over(&self) -> HandedOver;

    /// Distinct keys in the container now; 0 where that would have to be counted.
    fn held(&self) -> u64 {
        0
    }

    /// As [`Inlet::each`].
    fn each(
        &self,
        wants: impl Fn(&C::Accumulator) -> bool,
        see: impl FnMut(PairRef<'_, C::Accumulator>),
    ) -> bool {
        let _ = (wants, see);
        false
    }

    /// As [`Inlet::get`].
    fn get(&self, key: &[u8]) -> Option<&C::Accumulator> {
        let _ = key;
        None
    }
}

/// Asks the processor for the place of a key before the key's batch is full.
pub(crate) trait Ahead: Copy {
    fn prefetch(&self, hash: u64);
}

/// A container whose places cannot be known ahead.
impl Ahead for () {
    #[inline(always)]
    fn prefetch(&self, _: u64) {}
}

/// A pair that was emitted and is to be taken in.
#[derive(Clone, Copy)]
pub(crate) struct Hashed<K, T> {
    pub(crate) key: K,
    pub(crate) hash: u64,
    pub(crate) value: T,
}

/// What was handed over so far.
#[derive(Clone, Copy, Default)]
pub(crate) struct HandedOver {
    pub(crate) pairs: u64,
    pub(crate) busy: Duration,
}

impl AddAssign for HandedOver {
    fn add_assign(&mut self, other: HandedOver) {
        self.pairs += other.pairs;
        self.busy += other.busy;
    }
}

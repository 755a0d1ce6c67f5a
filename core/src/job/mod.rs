//! The interface of a job, which a user writes: a map that emits pairs, and the named type that combines
//! them. The methods that states and devices need are in traits of their own.

mod offloadable;
mod resumable;

pub use offloadable::Offloadable;
pub use resumable::{Resumable, Sees};

use crate::aggregate::Aggregate;
use crate::error::Result;
use crate::input::Cut;
use crate::key::Key;
use crate::slots::PairRef;
use crate::split::Split;
use std::cmp::Ordering;
use std::fmt;
use std::ops::RangeInclusive;

/// A MapReduce job. The map is compiled into the engine's loop: no call through a pointer per
/// record.
///
/// The two types and [`map`](Job::map) are all that a job needs. [`cut`](Job::cut) and
/// [`folds_ascii`](Job::folds_ascii) decide how the input is prepared, [`compare`](Job::compare) and
/// [`LARGEST_FIRST`](Job::LARGEST_FIRST) which pairs come first, [`key_range`](Job::key_range) which keys
/// occur. States and devices have traits of their own, which [`state`](Job::state) and
/// [`device`](Job::device) name.
///
/// ```
/// use tegula::{Emit, Engine, Input, Job, Result, Split, Sum};
///
/// struct WordCount;
///
/// impl Job for WordCount {
///     type Key = [u8];
///     type Combine = Sum<u64>;
///
///     fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
///         for word in split.fields() {
///             emit.emit(word, 1);
///         }
///         Ok(())
///     }
/// }
///
/// # fn main() -> Result<()> {
/// let input = Input::bytes("to be or not to be");
/// let output = Engine::new()?.job(&WordCount).run(input)?;
/// let words: Vec<(&[u8], u64)> = output.iter()?.collect();
/// assert_eq!(words, [(&b"be"[..], 2), (b"not", 1), (b"or", 1), (b"to", 2)]);
/// # Ok(())
/// # }
/// ```
pub trait Job: Sync {
    /// The type of keys: `[u8]` for borrowed bytes (copied once, at first sight), or an integer.
    type Key: Key + ?Sized;
    /// The type that combines the values of one key: a [`Combine`](crate::combine::Combine), a
    /// [`Collect`](crate::aggregate::Collect) or a [`Group`](crate::aggregate::Group).
    type Combine: Aggregate;

    /// Whether [`compare`](Job::compare) is the default, so that the highest rank comes first. If it is,
    /// shows of the job's top N may be made of the largest values alone, which costs less
    /// ([`Show`](crate::Show)), if its combine has a [`SHARE`](crate::combine::Combine::SHARE). It changes no
    /// answer. Default: `false`.
    const LARGEST_FIRST: bool = false;

    /// Returns where the input may be cut, so that every record lies whole in one split. Default: after each
    /// newline.
    fn cut(&self) -> Cut {
        Cut::Lines
    }

    /// Returns whether the letters A-Z become a-z in the split before the map sees it. (A split is the
    /// worker's own copy, so this costs one pass in its cache; files are never changed.)
    fn folds_ascii(&self) -> bool {
        false
    }

    /// Compares two pairs for [`Order::Value`](crate::Order::Value), first to last, and for
    /// [`Options::top`](crate::Options::top), which keeps the least N. Default: the greatest value first, as
    /// [`Combine::rank`](crate::combine::Combine::rank) ranks them. Pairs that are equal here come in the
    /// order of their keys.
    ///
    /// So a job gives its answer by value (Metis, section 4: output compare) without a second job that sorts
    /// it.
    fn compare(&self, a: Pair<'_, Self>, b: Pair<'_, Self>) -> Ordering {
        Self::Combine::rank(b.value, a.value)
    }

    /// Returns the keys that the map may emit, if they are integers of a small range: they are then kept in
    /// an array ([`Container::Array`](crate::Container::Array)), where a pair costs an indexed operation.
    /// Keys of 8 and 16 bits need not say so. A key outside the range fails the job. Default: not known.
    fn key_range(&self) -> Option<RangeInclusive<<Self::Key as Key>::Borrowed<'static>>> {
        None
    }

    /// Returns the interface that a [`State`](crate::State) needs: `Some(self)` for a job that is
    /// [`Resumable`]. Default: `None`, so no state can be kept.
    fn state(&self) -> Option<&dyn Resumable> {
        None
    }

    /// Returns the interface that devices need: `Some(self)` for a job that is [`Offloadable`]. Default:
    /// `None`.
    fn device(&self) -> Option<&dyn Offloadable<Self>> {
        None
    }

    /// Emits the pairs of one split. It is called once for each split, side by side on many
    /// threads, in no promised order; it must depend on the split alone. It runs on the engine's own
    /// workers, so it must not wait for another job of the same engine.
    ///
    /// # Errors
    /// Whatever it returns fails the job; [`Split::bad`] refuses a record with an error that
    /// names it.
    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()>;
}

type Reduced<J> = <<J as Job>::Combine as Aggregate>::Reduced;

/// Returns a job's [`compare`](Job::compare) as a function of pairs whose keys are bytes.
pub(crate) fn comparison<J: Job>(
    job: &J,
) -> impl Fn(PairRef<'_, Reduced<J>>, PairRef<'_, Reduced<J>>) -> Ordering + Sync {
    |a, b| job.compare(Pair::of(a), Pair::of(b))
}

/// A pair of the answer, on its way into its place.
pub struct Pair<'a, J: Job + ?Sized> {
    key: &'a [u8],
    value: &'a <J::Combine as Aggregate>::Reduced,
}

impl<J: Job + ?Sized> Clone for Pair<'_, J> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<J: Job + ?Sized> Copy for Pair<'_, J> {}

impl<J: Job + ?Sized> fmt::Debug for Pair<'_, J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = format_args!("{}", self.key.escape_ascii());
        f.debug_struct("Pair").field("key", &key).finish_non_exhaustive()
    }
}

impl<'a, J: Job + ?Sized> Pair<'a, J> {
    pub(crate) fn of(pair: PairRef<'a, <J::Combine as Aggregate>::Reduced>) -> Pair<'a, J> {
        Pair { key: pair.key, value: pair.value }
    }

    /// Returns the key.
    pub fn key(&self) -> <J::Key as Key>::Borrowed<'a> {
        J::Key::view(self.key)
    }

    /// Returns the value that the answer shows for the key.
    pub fn value(&self) -> <J::Combine as Aggregate>::Output<'a> {
        J::Combine::finish(self.value)
    }
}

/// Where a map puts its pairs.
pub trait Emit<'s, J: Job + ?Sized> {
    /// Emits a pair that lies in the split (or lives as long). The key is not copied unless it
    /// is new.
    fn emit(
        &mut self,
        key: <J::Key as Key>::Borrowed<'s>,
        value: <J::Combine as Aggregate>::Value<'s>,
    );

    /// Emits a pair of `value` with each of the keys, as [`emit`](Emit::emit) would one by one, but in
    /// a loop that is kept in registers: the way for maps that do nothing else with their keys.
    fn emit_each(
        &mut self,
        keys: impl Iterator<Item = <J::Key as Key>::Borrowed<'s>>,
        value: <J::Combine as Aggregate>::Value<'s>,
    ) where
        Self: Sized;

    /// Emits a pair that was made by the map: its bytes are copied at once.
    fn emit_copied(
        &mut self,
        key: <J::Key as Key>::Borrowed<'_>,
        value: <J::Combine as Aggregate>::Value<'_>,
    );

    /// Emits the combined total of many values of a key, such as a count that a device made. The key is
    /// copied. Costs more than a value: for keys that do not repeat.
    fn emit_total(
        &mut self,
        key: <J::Key as Key>::Borrowed<'_>,
        total: <J::Combine as Aggregate>::Accumulator,
    );
}

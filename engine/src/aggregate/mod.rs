//! Aggregates: what becomes of the values of one key. It is one of three: a [`Combine`], which makes
//! one value of them on the way; a [`Collect`], which keeps them all, in the order of the input; or a
//! [`Group`], which keeps them all until a function of the user's makes something of them. The engine
//! knows only this trait; that every `Combine` is an `Aggregate` is said once, here.

mod collect;
mod element;
mod fixed;
mod group;
mod list;
#[cfg(test)]
mod tests;
mod values;

pub use collect::Collect;
pub use element::Element;
pub use fixed::{ByteArray, Fixed};
pub use group::{Group, Reduce};
pub use list::List;
pub use values::Values;

use crate::combine::{Combine, Inverse, Share};
use crate::compiled::Compiled;
use crate::memory::ValueStore;
use std::cmp::Ordering;

/// What a job does with the values of one key: every [`Combine`] is one, and so are [`Collect`] and
/// [`Group`]. There is nothing to implement here: its functions are the engine's own.
pub trait Aggregate: Sized + 'static {
    /// What a map emits; it may borrow from the split.
    type Value<'s>: Copy;
    /// What the answer shows per key.
    type Output<'a>;

    /// A value on its way into an accumulator, without its lifetime: it is absorbed, or dropped,
    /// before the split's bytes go.
    #[doc(hidden)]
    type Held: Copy;
    /// What is kept per key while the job runs.
    #[doc(hidden)]
    type Accumulator: Copy + Send + Sync + 'static;
    /// What is kept per key of the answer.
    #[doc(hidden)]
    type Reduced: Copy + Send + Sync + 'static;

    /// Whether accumulators are lists of values, which lie in a store.
    #[doc(hidden)]
    const KEEPS_VALUES: bool;
    /// Whether what it keeps can be [relocated](Fixed::RELOCATES).
    #[doc(hidden)]
    const RELOCATES: bool = false;
    /// Whether `reduce` makes another type of accumulators.
    #[doc(hidden)]
    const REDUCES: bool;
    /// See [`Combine::INVERSE`].
    #[doc(hidden)]
    const INVERSE: Option<Inverse<Self::Accumulator>> = None;

    /// See [`Combine::SHARE`].
    #[doc(hidden)]
    const SHARE: Option<Share<Self::Accumulator>> = None;

    #[doc(hidden)]
    fn hold(value: Self::Value<'_>) -> Self::Held;
    /// Bytes that `held` borrows.
    #[doc(hidden)]
    fn held_bytes(held: &Self::Held) -> usize;
    /// Copies what `held` borrows behind `copied`, which has room for it, and borrows it from there.
    #[doc(hidden)]
    fn copy_held(held: Self::Held, copied: &mut Vec<u8>) -> Self::Held;
    /// The accumulator that has seen nothing.
    #[doc(hidden)]
    fn identity() -> Self::Accumulator;
    /// Takes one emitted value in. What it needs beyond the accumulator is the store's.
    #[doc(hidden)]
    fn absorb(into: &mut Self::Accumulator, held: Self::Held, store: &mut ValueStore);
    /// Takes another accumulator in, which is of no use then.
    #[doc(hidden)]
    fn merge(into: &mut Self::Accumulator, other: &Self::Accumulator);
    /// As `merge`, but what the other points at is copied, so that it need not live any longer.
    #[doc(hidden)]
    fn copy_in(into: &mut Self::Accumulator, other: &Self::Accumulator, store: &mut ValueStore);
    /// Makes the answer of a key that is complete.
    #[doc(hidden)]
    fn reduce(key: &[u8], accumulator: &Self::Accumulator) -> Self::Reduced;
    /// The accumulator of an answer, if it is one.
    #[doc(hidden)]
    fn unreduced(_: &Self::Reduced) -> Option<Self::Accumulator> {
        None
    }
    /// The answer for the key.
    #[doc(hidden)]
    fn finish(reduced: &Self::Reduced) -> Self::Output<'_>;
    /// Ranks two answers.
    #[doc(hidden)]
    fn rank(a: &Self::Reduced, b: &Self::Reduced) -> Ordering;
    /// Bytes of the accumulator's byte form, where they may be many.
    #[doc(hidden)]
    fn form_bytes(_: &Self::Accumulator) -> usize {
        0
    }
    /// Bytes of an answer's byte form, where they may be many.
    #[doc(hidden)]
    fn reduced_form_bytes(_: &Self::Reduced) -> usize {
        0
    }
    /// Appends the accumulator's byte form.
    #[doc(hidden)]
    fn encode(accumulator: &Self::Accumulator, out: &mut Vec<u8>);
    /// Reads a byte form back, taking its bytes off the front; `None` if they are not one.
    #[doc(hidden)]
    fn decode(bytes: &mut &[u8], store: &mut ValueStore) -> Option<Self::Accumulator>;
    /// Appends the byte form of an answer.
    #[doc(hidden)]
    fn encode_reduced(reduced: &Self::Reduced, out: &mut Vec<u8>);
    /// Reads an answer's byte form back.
    #[doc(hidden)]
    fn decode_reduced(bytes: &mut &[u8], store: &mut ValueStore) -> Option<Self::Reduced>;
    /// See [`Combine::compiled`].
    #[doc(hidden)]
    fn compiled() -> &'static Compiled<Self> {
        &Compiled::HERE
    }
}

impl<C: Combine> Aggregate for C {
    type Value<'s> = C::Value;
    type Output<'a> = C::Output;
    type Held = C::Value;
    type Accumulator = C::Accumulator;
    type Reduced = C::Accumulator;

    const KEEPS_VALUES: bool = false;
    const REDUCES: bool = false;
    const INVERSE: Option<Inverse<C::Accumulator>> = C::INVERSE;
    const SHARE: Option<Share<C::Accumulator>> = C::SHARE;

    #[inline(always)]
    fn hold(value: C::Value) -> C::Value {
        value
    }

    #[inline(always)]
    fn held_bytes(_: &C::Value) -> usize {
        0
    }

    #[inline(always)]
    fn copy_held(held: C::Value, _: &mut Vec<u8>) -> C::Value {
        held
    }

    #[inline(always)]
    fn identity() -> C::Accumulator {
        C::identity()
    }

    #[inline(always)]
    fn absorb(into: &mut C::Accumulator, held: C::Value, _: &mut ValueStore) {
        C::absorb(into, held);
    }

    #[inline(always)]
    fn merge(into: &mut C::Accumulator, other: &C::Accumulator) {
        C::merge(into, other);
    }

    #[inline(always)]
    fn copy_in(into: &mut C::Accumulator, other: &C::Accumulator, _: &mut ValueStore) {
        C::merge(into, other);
    }

    #[inline(always)]
    fn reduce(_: &[u8], accumulator: &C::Accumulator) -> C::Accumulator {
        *accumulator
    }

    #[inline(always)]
    fn unreduced(reduced: &C::Accumulator) -> Option<C::Accumulator> {
        Some(*reduced)
    }

    #[inline(always)]
    fn finish(reduced: &C::Accumulator) -> C::Output {
        C::finish(reduced)
    }

    #[inline(always)]
    fn rank(a: &C::Accumulator, b: &C::Accumulator) -> Ordering {
        C::rank(a, b)
    }

    fn encode(accumulator: &C::Accumulator, out: &mut Vec<u8>) {
        C::encode(accumulator, out);
    }

    fn decode(bytes: &mut &[u8], _: &mut ValueStore) -> Option<C::Accumulator> {
        C::decode(bytes)
    }

    fn encode_reduced(reduced: &C::Accumulator, out: &mut Vec<u8>) {
        C::encode(reduced, out);
    }

    fn decode_reduced(bytes: &mut &[u8], _: &mut ValueStore) -> Option<C::Accumulator> {
        C::decode(bytes)
    }

    fn compiled() -> &'static Compiled<C> {
        <C as Combine>::compiled()
    }
}

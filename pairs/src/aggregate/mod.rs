//! Aggregates: the treatment of the values of one key. There are three: a [`Combine`] merges them into one
//! value on the way, a [`Collect`] keeps them all in the order of the input, and a [`Group`] keeps them all
//! for a function of the user's. The engine knows only this trait. This file makes every `Combine` an
//! `Aggregate`.

mod collect;
mod element;
mod fixed;
mod group;
mod list;
mod values;

pub use collect::Collect;
pub use element::Element;
pub use fixed::{ByteArray, Fixed};
pub use group::{Group, Reduce};
pub use list::List;
pub use values::Values;

use crate::combine::{Combine, Inverse, Share};
use crate::memory::ValueStore;
use std::cmp::Ordering;

/// The treatment of the values of one key: a [`Combine`], [`Collect`] or [`Group`]. Sealed, because its
/// functions belong to the engine: a treatment of your own is a [`Combine`], or a [`Reduce`] in a `Group`.
pub trait Aggregate: sealed::Sealed + Sized + 'static {
    /// The type that a map emits; it may borrow from the split.
    type Value<'s>: Copy;
    /// The type that the answer shows per key.
    type Output<'a>;

    /// A value on its way into an accumulator, without its lifetime: it is absorbed or dropped before the
    /// split's bytes are.
    #[doc(hidden)]
    type Held: Copy;
    /// The data per key while the job runs.
    #[doc(hidden)]
    type Accumulator: Copy + Send + Sync + 'static;
    /// The data per key of the answer.
    #[doc(hidden)]
    type Reduced: Copy + Send + Sync + 'static;

    /// Whether accumulators are lists of values in a store.
    #[doc(hidden)]
    const KEEPS_VALUES: bool;
    /// Whether the accumulator of one value points to memory of a store.
    #[doc(hidden)]
    const ONE_POINTS: bool = false;
    /// Whether its values can be [relocated](Fixed::RELOCATES).
    #[doc(hidden)]
    const RELOCATES: bool = false;
    /// Whether `reduce` changes the type of accumulators.
    #[doc(hidden)]
    const REDUCES: bool;
    /// See [`Combine::INVERSE`].
    #[doc(hidden)]
    const INVERSE: Option<Inverse<Self::Accumulator>> = None;

    /// See [`Combine::SHARE`].
    #[doc(hidden)]
    const SHARE: Option<Share<Self::Accumulator>> = None;

    /// See [`Combine::IS_COMPILED`].
    #[doc(hidden)]
    const IS_COMPILED: bool = false;

    #[doc(hidden)]
    fn hold(value: Self::Value<'_>) -> Self::Held;
    /// Returns the number of bytes that `held` borrows.
    #[doc(hidden)]
    fn held_bytes(held: &Self::Held) -> usize;
    /// Copies the bytes that `held` borrows to the end of `copied`, which has room for them, and borrows
    /// them from there.
    #[doc(hidden)]
    fn copy_held(held: Self::Held, copied: &mut Vec<u8>) -> Self::Held;
    /// Returns the accumulator without values.
    #[doc(hidden)]
    fn identity() -> Self::Accumulator;
    /// Adds one emitted value. Memory beyond the accumulator comes from the store.
    #[doc(hidden)]
    fn absorb(into: &mut Self::Accumulator, held: Self::Held, store: &mut ValueStore);
    /// Merges another accumulator, which must not be used afterwards. Memory beyond the accumulators comes from
    /// the store.
    #[doc(hidden)]
    fn merge(into: &mut Self::Accumulator, other: &Self::Accumulator, store: &mut ValueStore);
    /// Asks the processor to fetch the memory to which the next merge adds, if that is not the accumulator's own.
    #[doc(hidden)]
    #[inline(always)]
    fn prefetch(_: &Self::Accumulator) {}
    /// Like `merge`, but copies the memory to which the other points, so that it need not live any longer.
    #[doc(hidden)]
    fn copy_in(into: &mut Self::Accumulator, other: &Self::Accumulator, store: &mut ValueStore);
    /// Computes the answer of a complete key.
    #[doc(hidden)]
    fn reduce(key: &[u8], accumulator: &Self::Accumulator) -> Self::Reduced;
    /// Returns the accumulator of an answer, if the answer is one.
    #[doc(hidden)]
    fn unreduced(_: &Self::Reduced) -> Option<Self::Accumulator> {
        None
    }
    /// Returns the answer for the key.
    #[doc(hidden)]
    fn finish(reduced: &Self::Reduced) -> Self::Output<'_>;
    /// Compares two answers by rank.
    #[doc(hidden)]
    fn rank(a: &Self::Reduced, b: &Self::Reduced) -> Ordering;
    /// Returns the bytes of the accumulator's byte form, if they may be many.
    #[doc(hidden)]
    fn form_bytes(_: &Self::Accumulator) -> usize {
        0
    }
    /// Returns the bytes of an answer's byte form, if they may be many.
    #[doc(hidden)]
    fn reduced_form_bytes(_: &Self::Reduced) -> usize {
        0
    }
    /// Appends the accumulator's byte form.
    #[doc(hidden)]
    fn encode(accumulator: &Self::Accumulator, out: &mut Vec<u8>);
    /// Reads a byte form back and takes its bytes off the front. Returns `None` if they are not one.
    #[doc(hidden)]
    fn decode(bytes: &mut &[u8], store: &mut ValueStore) -> Option<Self::Accumulator>;
    /// Appends the byte form of an answer.
    #[doc(hidden)]
    fn encode_reduced(reduced: &Self::Reduced, out: &mut Vec<u8>);
    /// Reads an answer's byte form back. Returns `None` if the bytes are not one.
    #[doc(hidden)]
    fn decode_reduced(bytes: &mut &[u8], store: &mut ValueStore) -> Option<Self::Reduced>;
}

mod sealed {
    pub trait Sealed {}
}

/// The part of an [`Aggregate`] that all have whose accumulators are lists of elements.
macro_rules! of_lists {
    ($element:ty) => {
        type Held = <$element as Element>::Held;
        type Accumulator = List<$element>;

        const KEEPS_VALUES: bool = true;
        const ONE_POINTS: bool = !List::<$element>::HOLDS_ONE;
        const RELOCATES: bool = <$element as Element>::RELOCATES;

        #[inline(always)]
        fn hold(value: Self::Value<'_>) -> Self::Held {
            <$element>::hold(value)
        }

        #[inline(always)]
        fn held_bytes(held: &Self::Held) -> usize {
            <$element>::held_bytes(held)
        }

        #[inline(always)]
        fn copy_held(held: Self::Held, copied: &mut Vec<u8>) -> Self::Held {
            <$element>::copy_held(held, copied)
        }

        #[inline(always)]
        fn identity() -> List<$element> {
            List::EMPTY
        }

        #[inline(always)]
        fn absorb(into: &mut List<$element>, held: Self::Held, store: &mut ValueStore) {
            into.push(held, store);
        }

        #[inline(always)]
        fn merge(into: &mut List<$element>, other: &List<$element>, store: &mut ValueStore) {
            into.append(other, store);
        }

        #[inline(always)]
        fn prefetch(list: &List<$element>) {
            list.prefetch();
        }

        fn copy_in(into: &mut List<$element>, other: &List<$element>, store: &mut ValueStore) {
            into.copy_in(other, store);
        }

        fn form_bytes(list: &List<$element>) -> usize {
            list.form_bytes()
        }

        fn encode(list: &List<$element>, out: &mut Vec<u8>) {
            list.encode(out);
        }

        fn decode(bytes: &mut &[u8], store: &mut ValueStore) -> Option<List<$element>> {
            List::decode(bytes, store)
        }
    };
}
use of_lists;

impl<C: Combine> sealed::Sealed for C {}

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
    const IS_COMPILED: bool = C::IS_COMPILED;

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
    fn merge(into: &mut C::Accumulator, other: &C::Accumulator, _: &mut ValueStore) {
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
}

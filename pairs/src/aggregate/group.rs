//! Calls a function with all values of a key, for results that cannot be combined on the way.

use super::element::Element;
use super::fixed::{ByteArray, Fixed};
use super::list::List;
use super::values::Values;
use super::{Aggregate, of_lists, sealed};
use crate::memory::ValueStore;
use std::cmp::Ordering;
use std::marker::PhantomData;

/// A general reduce: a user's function of all values of a key at once, such as a median. Prefer a
/// [`Combine`](crate::combine::Combine) if one can do the job: it keeps one accumulator per key instead of all
/// values.
pub trait Reduce: 'static {
    /// The type that a map emits: a [`Fixed`](super::Fixed) value, or `[u8]`.
    type Value: Element + ?Sized;
    /// The type that the answer shows per key.
    type Output: Fixed;

    /// Computes the answer of one key. `key` is its bytes (an integer's: big-endian, the sign flipped);
    /// `values` come in the order of the input. Runs in the reduce stage, in parallel for many keys, and
    /// more than once for the same key if the answer is ordered by value. The result must depend on the
    /// arguments alone.
    fn reduce(key: &[u8], values: Values<'_, Self::Value>) -> Self::Output;

    /// Compares two answers for `Order::Value` (which shows the greatest first) and for the top N.
    fn rank(a: &Self::Output, b: &Self::Output) -> Ordering;
}

/// Turns a [`Reduce`] into an aggregate: `type Combine = Group<Median>`.
#[derive(Clone, Copy, Debug)]
pub struct Group<R: Reduce>(PhantomData<fn(R)>);

impl<R: Reduce> sealed::Sealed for Group<R> {}

impl<R: Reduce> Aggregate for Group<R> {
    type Value<'s> = <R::Value as Element>::Value<'s>;
    type Output<'a> = R::Output;
    type Reduced = R::Output;

    const REDUCES: bool = true;

    of_lists!(R::Value);

    fn reduce(key: &[u8], list: &List<R::Value>) -> R::Output {
        R::reduce(key, list.values())
    }

    fn finish(output: &R::Output) -> R::Output {
        *output
    }

    fn rank(a: &R::Output, b: &R::Output) -> Ordering {
        R::rank(a, b)
    }

    fn encode_reduced(output: &R::Output, out: &mut Vec<u8>) {
        out.extend_from_slice(output.to_bytes().as_ref());
    }

    fn decode_reduced(bytes: &mut &[u8], _: &mut ValueStore) -> Option<R::Output> {
        let mut form = <R::Output as Fixed>::Bytes::ZERO;
        let len = form.as_ref().len();
        let (own, rest) = bytes.split_at_checked(len)?;
        form.as_mut().copy_from_slice(own);
        *bytes = rest;
        Some(R::Output::from_bytes(form))
    }
}

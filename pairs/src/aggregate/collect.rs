//! Collects all values of a key, in the order of the input.

use super::element::Element;
use super::list::List;
use super::values::Values;
use super::{Aggregate, of_lists, sealed};
use crate::memory::ValueStore;
use std::cmp::Ordering;
use std::marker::PhantomData;

/// Keeps all values of a key, in the order of the input (files in their order, then as the map emitted
/// them), for any number of workers. `T` is [`Fixed`](super::Fixed), or `[u8]` for bytes of any length,
/// which are copied. A key ranks by the number of its values.
///
/// A value takes its own bytes and 4 more in memory, and at most as much again in partly filled blocks.
/// Nothing is combined, so memory is linear in the values. Prefer a [`Combine`](crate::combine::Combine) if one can
/// do the job.
/// ```
/// use tegula::{Collect, Emit, Engine, Input, Job, Result, Split};
///
/// /// The places of each word.
/// struct Places;
///
/// impl Job for Places {
///     type Key = [u8];
///     type Combine = Collect<u64>;
///
///     fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
///         for word in split.fields() {
///             emit.emit(word, split.offset_of(word));
///         }
///         Ok(())
///     }
/// }
///
/// # fn main() -> Result<()> {
/// let output = Engine::new()?.job(&Places).run(Input::bytes("to be or not to be"))?;
/// let places: Vec<(&[u8], Vec<u64>)> =
///     output.iter()?.map(|(word, values)| (word, values.collect())).collect();
/// assert_eq!(places[0], (&b"be"[..], vec![3, 16]));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Collect<T: Element + ?Sized>(PhantomData<fn(&T)>);

impl<T: Element + ?Sized> sealed::Sealed for Collect<T> {}

impl<T: Element + ?Sized> Aggregate for Collect<T> {
    type Value<'s> = T::Value<'s>;
    type Output<'a> = Values<'a, T>;
    type Reduced = List<T>;

    const REDUCES: bool = false;

    of_lists!(T);

    #[inline(always)]
    fn reduce(_: &[u8], list: &List<T>) -> List<T> {
        *list
    }

    fn finish(list: &List<T>) -> Values<'_, T> {
        list.values()
    }

    fn rank(a: &List<T>, b: &List<T>) -> Ordering {
        a.len().cmp(&b.len())
    }

    fn reduced_form_bytes(list: &List<T>) -> usize {
        list.form_bytes()
    }

    fn encode_reduced(list: &List<T>, out: &mut Vec<u8>) {
        list.encode(out);
    }

    fn decode_reduced(bytes: &mut &[u8], store: &mut ValueStore) -> Option<List<T>> {
        List::decode(bytes, store)
    }
}

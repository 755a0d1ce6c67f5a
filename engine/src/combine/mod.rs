//! Combining: how two values of one key become one. A combine is a named type, chosen by the job,
//! whose `merge` is associative and commutative *to the bit*, so that the number of workers, the
//! order of tiles, spills and restarts cannot change the answer.

mod binned;
#[cfg(test)]
mod contract;
mod count;
mod mean;
mod min_max;
mod rounding;
mod sum;

pub use binned::Binned;
#[cfg(test)]
pub(crate) use contract::obey_contract;
pub use count::Count;
pub use mean::{Mean, MeanAccumulator};
pub use min_max::{Max, Min};
pub use sum::Sum;

use std::cmp::Ordering;

/// How values of one key are combined. Implement it for a type of your own to add a combiner:
/// `identity`, `absorb`, `merge` and the byte form are all it takes.
///
/// # Contract
/// With `x = identity()` absorbing some values one by one: any split of those values over several
/// accumulators, merged in any order and nesting, gives an accumulator whose `encode` is the same
/// bytes. Floating-point addition alone does not satisfy this; see [`Binned`] for a sum that does.
pub trait Combine: Sized + 'static {
    /// What a map emits.
    type Value: Copy;
    /// What is kept per key while the job runs.
    type Accumulator: Copy + Send + Sync + 'static;
    /// What the answer shows per key.
    type Output;

    /// The accumulator that has seen nothing.
    fn identity() -> Self::Accumulator;
    /// Takes one emitted value in.
    fn absorb(into: &mut Self::Accumulator, value: Self::Value);
    /// Takes another accumulator in.
    fn merge(into: &mut Self::Accumulator, other: &Self::Accumulator);
    /// The answer for the key.
    fn finish(accumulator: &Self::Accumulator) -> Self::Output;
    /// Ranks two answers: the order of `Order::Value` (which shows the greatest first) and of top N.
    fn rank(a: &Self::Accumulator, b: &Self::Accumulator) -> Ordering;
    /// Appends the accumulator's byte form: the same bytes on every machine.
    fn encode(accumulator: &Self::Accumulator, out: &mut Vec<u8>);
    /// Reads a byte form back, taking its bytes off the front; `None` if they are not one.
    fn decode(bytes: &mut &[u8]) -> Option<Self::Accumulator>;
}

/// Takes a fixed-size piece off the front of a byte form.
fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (piece, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*piece)
}

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

use crate::compiled::Compiled;
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

    /// How what was merged is taken out again, for combines that can. A run that is
    /// [incremental](crate::Incremental) then takes what is gone out of its last result, instead of folding
    /// again all that is left. Default: `None`.
    const INVERSE: Option<Inverse<Self::Accumulator>> = None;

    /// How high one of the parts of a whole ranks at least, for combines of which the whole ranks no lower
    /// than any part. The top of many partials can then be found by the top of each
    /// ([`Job::LARGEST_FIRST`](crate::Job::LARGEST_FIRST)). Default: `None`.
    const SHARE: Option<Share<Self::Accumulator>> = None;

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
    /// The engine, compiled for this combine: by the crate that runs a job with it, unless it is one of
    /// the engine's own.
    #[doc(hidden)]
    fn compiled() -> &'static Compiled<Self> {
        &Compiled::HERE
    }
}

/// How accumulators are taken out of others that they were merged into: [`Combine::INVERSE`].
///
/// # Contract
/// Merging `of(x)` makes it as if `x` had never been merged, to the bytes that `encode` gives, though it may
/// be merged before `x` is, and others in between. What `is_nothing` is the identity, and no accumulator
/// that has absorbed values and was not taken out of is: a sum alone, which can come to 0 by its values, has no
/// inverse in this sense, for nobody could tell whether its key is still there.
#[derive(Debug)]
pub struct Inverse<A> {
    /// What takes an accumulator out where it is merged.
    pub of: fn(&A) -> A,
    /// Whether as much was taken out as was put in, so that the key is gone.
    pub is_nothing: fn(&A) -> bool,
}

/// How a whole divides into parts: [`Combine::SHARE`].
///
/// # Contract
/// What is merged into an accumulator never lowers its rank, nor does what ranks higher raise it less. If
/// `parts` accumulators come to one that ranks as high as `whole`, one of them ranks at least as high as
/// `of(whole, parts)`.
#[derive(Debug)]
pub struct Share<A> {
    /// Of a whole and a number of parts, at least 1.
    pub of: fn(&A, u64) -> A,
    /// What two parts come to at most: merged, unless that is out of range, where it is the greatest there is.
    pub most: fn(&A, &A) -> A,
}

/// Takes a fixed-size piece off the front of a byte form.
fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (piece, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*piece)
}

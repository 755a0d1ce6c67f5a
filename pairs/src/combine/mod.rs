//! Combines: how two values of one key become one. A combine is a named type, chosen by the job. Its
//! `merge` is associative and commutative *to the bit*, so that the number of workers, the order of tiles,
//! spills and restarts cannot change the answer.

mod binned;
mod count;
mod mean;
mod min_max;
#[doc(hidden)]
pub mod rounding;
mod sum;

pub use binned::Binned;
pub use count::Count;
pub use mean::{Mean, MeanAccumulator};
pub use min_max::{Max, Min};
pub use sum::Sum;

use std::cmp::Ordering;

/// Merges the values of one key. To add a combine of your own, implement `identity`, `absorb`, `merge` and
/// the byte form.
///
/// # Contract
/// Let accumulators that start as `identity()` absorb some values. However the values are distributed over
/// accumulators, and in whatever order and nesting these are merged, `encode` of the result gives the same
/// bytes. Floating-point addition alone does not satisfy this; see [`Binned`] for a sum that does.
pub trait Combine: Sized + 'static {
    /// The type that a map emits.
    type Value: Copy;
    /// The data per key while the job runs.
    type Accumulator: Copy + Send + Sync + 'static;
    /// The type that the answer shows per key.
    type Output;

    /// Takes a merged accumulator out again, for combines that can. An incremental
    /// run then takes the removed tiles out of its last result, instead of folding all remaining ones
    /// again. Default: `None`.
    const INVERSE: Option<Inverse<Self::Accumulator>> = None;

    /// The least rank of one of the parts of a whole, for combines whose whole ranks no lower than any
    /// part. With it, the top of many partials follows from the top of each
    /// (`Job::LARGEST_FIRST`). Default: `None`.
    const SHARE: Option<Share<Self::Accumulator>> = None;

    /// Whether the engine's crate holds the stages compiled for this combine, so that a crate with a job
    /// need not compile them again.
    #[doc(hidden)]
    const IS_COMPILED: bool = false;

    /// Returns the accumulator without values.
    fn identity() -> Self::Accumulator;
    /// Adds one emitted value.
    fn absorb(into: &mut Self::Accumulator, value: Self::Value);
    /// Adds another accumulator.
    fn merge(into: &mut Self::Accumulator, other: &Self::Accumulator);
    /// Computes the answer for the key.
    fn finish(accumulator: &Self::Accumulator) -> Self::Output;
    /// Compares two answers for `Order::Value` (which shows the greatest first) and for the top N.
    fn rank(a: &Self::Accumulator, b: &Self::Accumulator) -> Ordering;
    /// Appends the accumulator's byte form, which is the same on every machine.
    fn encode(accumulator: &Self::Accumulator, out: &mut Vec<u8>);
    /// Reads a byte form back and takes its bytes off the front. Returns `None` if they are not one.
    fn decode(bytes: &mut &[u8]) -> Option<Self::Accumulator>;
}

/// Takes accumulators out of others into which they were merged: [`Combine::INVERSE`].
///
/// # Contract
/// After merging `of(x)`, `encode` gives the bytes as if `x` had never been merged. `of(x)` may be merged
/// before `x`, and others in between. An accumulator for which `is_nothing` holds is the identity; it holds
/// for no accumulator that has absorbed values which were not taken out. So a sum alone has no inverse in
/// this sense: it can be 0 by its values, and then nobody could tell whether its key still exists.
#[derive(Debug)]
pub struct Inverse<A> {
    /// Returns the accumulator that takes `x` out when it is merged.
    pub of: fn(&A) -> A,
    /// Returns whether all that was added was also taken out, so that the key is gone.
    pub is_nothing: fn(&A) -> bool,
}

/// Divides a whole into parts: [`Combine::SHARE`].
///
/// # Contract
/// Merging never lowers the rank of an accumulator, and merging an accumulator of higher rank raises it no
/// less. If `parts` accumulators merge to one that ranks at least as high as `whole`, one of them ranks at
/// least as high as `of(whole, parts)`.
#[derive(Debug)]
pub struct Share<A> {
    /// Returns the least rank of the best part, for a whole and a number of parts (at least 1).
    pub of: fn(&A, u64) -> A,
    /// Returns the most that two parts can amount to: their merge, or the greatest value if that is out of
    /// range.
    pub most: fn(&A, &A) -> A,
}

/// Takes `N` bytes off the front of a byte form.
fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (piece, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*piece)
}

//! A holding: what one of several machines has of a job. It maps ranges of the job's tiles, holds their pairs,
//! gives pairs away and takes others in as blocks of the partial's byte form, and makes the answer of what it
//! holds. It knows no other machine: who maps what, and how blocks travel, is decided above.
//!
//! All machines plan the same input, so a tile has the same number, and its splits the same numbers, on each. So
//! lists of values are in the order of the input, and places of bad records are right, whoever mapped what.
//!
//! The pairs of a map are beside the holding until they are committed: a map counts once or not at all.

pub use crate::held::{Hold, Mapped, PartAnswer, Pull, Spool};
pub use crate::partial::PARTITIONS;
pub use crate::reduce::ReduceTotals;

use crate::compiled::Compiled;
use crate::core::Core;
use crate::error::Result;
use crate::facts::JobFacts;
use crate::held::{Answer, HoldingJob, damaged};
use crate::input::Input;
use crate::job::{Job, comparison};
use crate::map::JobMappers;
use crate::options::Options;
use crate::output::Output;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::path::PathBuf;
use std::sync::Arc;

/// The part of a job that one of several machines holds. [`Engine::hold`](crate::Engine::hold) makes an empty one.
/// All that does not depend on the job's type is done by [`Hold`].
///
/// ```
/// # use tegula::{Count, Emit, Job, Result, Split};
/// # struct Words;
/// # impl Job for Words {
/// #     type Key = [u8];
/// #     type Combine = Count;
/// #     fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
/// #         emit.emit_each(split.fields(), ());
/// #         Ok(())
/// #     }
/// # }
/// # fn main() -> Result<()> {
/// use tegula::holding::PARTITIONS;
/// use tegula::{Cancel, Engine, Input, Options};
///
/// let engine = Engine::new()?;
/// let options = Options { tile_bytes: Some(7), ..Options::default() };
/// let hold = || engine.hold(&Words, Input::bytes("to be\nor not\nto be\n"), &options);
/// let (mut here, mut there) = (hold()?, hold()?);
/// assert_eq!(here.tile_sizes(), [7, 7, 5]);
///
/// let mapped = here.map(0..1, &Cancel::new())?;
/// here.commit(mapped)?;
/// let mapped = there.map(1..3, &Cancel::new())?;
/// there.commit(mapped)?;
///
/// let mut sent = Vec::new();
/// there.blocks(0..PARTITIONS, &mut |block| {
///     sent.extend_from_slice(block);
///     Ok(())
/// })?;
/// let mut received = here.beside();
/// here.take_in(&mut received, &sent)?;
/// received.note(&there.counts())?;
/// here.commit(received)?;
/// let output = here.answer()?;
/// assert_eq!(output.iter()?.collect::<Vec<_>>(), [(&b"be"[..], 2), (b"not", 1), (b"or", 1), (b"to", 2)]);
/// # Ok(())
/// # }
/// ```
pub struct Holding<'e, J: Job> {
    held: Box<dyn Answer<J::Combine> + 'e>,
}

/// Returns the names and lengths of the files of a [`listing`](Hold::listing).
///
/// # Errors
/// [`StorageError::Damaged`](crate::error::StorageError::Damaged) if it is no listing.
pub fn listed(listing: &[u8]) -> Result<Vec<(PathBuf, u64)>> {
    crate::state::listed(listing).ok_or_else(|| damaged(0, "its list of files is cut short").into())
}

impl<'e, J: Job> Holding<'e, J> {
    pub(crate) fn new(
        core: &'e Arc<Core>,
        job: &'e J,
        input: Input,
        options: &Options,
    ) -> Result<Holding<'e, J>> {
        let facts = JobFacts::of(job)?;
        options.container.check(facts.key_range)?;
        let has_order = !facts.is_largest_first;
        let job = HoldingJob {
            facts,
            mappers: Box::new(JobMappers(job)),
            compare: has_order.then(|| Box::new(comparison(job)) as Box<_>),
        };
        Ok(Holding { held: (Compiled::get().hold)(core, job, input, options)? })
    }

    /// Makes the job's answer of all pairs that are held, or of the parts that were [collected](Hold::collect).
    ///
    /// # Errors
    /// Those of [`JobRun::run`](crate::JobRun::run).
    pub fn answer(self) -> Result<Output<J>> {
        Ok(Output::of(self.held.answer()?))
    }
}

impl<'e, J: Job> Deref for Holding<'e, J> {
    type Target = dyn Hold + 'e;

    fn deref(&self) -> &(dyn Hold + 'e) {
        &*self.held
    }
}

impl<'e, J: Job> DerefMut for Holding<'e, J> {
    fn deref_mut(&mut self) -> &mut (dyn Hold + 'e) {
        &mut *self.held
    }
}

impl<J: Job> fmt::Debug for Holding<'_, J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Holding");
        out.field("tiles", &self.tile_sizes().len()).finish_non_exhaustive()
    }
}

//! The interface that a state needs of a job, so that partials outlive the run that made them.

use crate::identity::Identity;

/// A job whose partials can be saved in a [`State`](crate::State): for a run that resumes after a crash, and
/// for one that maps only the changed input. [`Job::state`](crate::Job::state) gives it to the engine.
///
/// ```
/// use tegula::{Count, Emit, Identity, Job, Result, Resumable, Sees, Split};
///
/// struct Words;
///
/// impl Job for Words {
///     type Key = [u8];
///     type Combine = Count;
///
///     fn state(&self) -> Option<&dyn Resumable> {
///         Some(self)
///     }
///
///     fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
///         emit.emit_each(split.fields(), ());
///         Ok(())
///     }
/// }
///
/// impl Resumable for Words {
///     fn identity(&self) -> Identity {
///         Identity::new("words", 1)
///     }
///
///     fn sees(&self) -> Sees {
///         Sees::Records
///     }
/// }
/// ```
pub trait Resumable {
    /// Returns the identity of the job: all parameters that change its emitted pairs or how values combine.
    fn identity(&self) -> Identity;

    /// Returns which positions of records the map sees, so that tiles of the same bytes elsewhere are known
    /// to give the same pairs ([`State::incremental`](crate::State::incremental)). Default: all.
    fn sees(&self) -> Sees {
        Sees::Places
    }
}

/// The positions of its records that a map sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sees {
    /// Nothing: it looks at records alone. Then tiles are the same wherever they are.
    Records,
    /// The paths of files ([`Split::path`](crate::split::Split::path)), but not the offsets of records.
    Paths,
    /// The numbers of files and the offsets of records. All that the job keeps of them are values that can be
    /// [relocated](crate::aggregate::Fixed::RELOCATES), in a [`Collect`](crate::aggregate::Collect) or a
    /// [`Group`](crate::aggregate::Group). It does not see the paths of files: a renamed file is the same.
    Relocatable,
    /// Paths, and the numbers of files or the offsets of records, too.
    Places,
}

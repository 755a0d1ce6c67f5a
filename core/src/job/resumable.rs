//! What a state needs of a job, so that partials outlive the run that made them.

use crate::identity::Identity;

/// A job whose partials can be saved: in a [`State`](crate::State), for a run that goes on after a kill, and
/// for one that maps only what changed. [`Job::state`](crate::Job::state) gives it to the engine.
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
    /// Returns what identifies the job: all that changes what it emits or how values combine.
    fn identity(&self) -> Identity;

    /// Returns what the map sees of where records lie, so that tiles of the same bytes elsewhere are known to
    /// give the same pairs ([`State::incremental`](crate::State::incremental)). Default: all of it.
    fn sees(&self) -> Sees {
        Sees::Places
    }
}

/// What a map sees of where its records lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sees {
    /// Nothing: it looks at records alone. Then tiles are the same wherever they are.
    Records,
    /// The paths of files ([`Split::path`](crate::split::Split::path)), but not where in them records lie.
    Paths,
    /// The numbers of files and the offsets of records. All that the job keeps of them are values that can be
    /// [relocated](crate::aggregate::Fixed::RELOCATES), in a [`Collect`](crate::aggregate::Collect) or a
    /// [`Group`](crate::aggregate::Group). It does not see the paths of files: a renamed file is the same.
    Relocatable,
    /// Paths, and the numbers of files or the offsets of records, too.
    Places,
}

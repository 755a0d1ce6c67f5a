//! The work of devices in place of a job's map.

use super::{Emit, Job};
use crate::device::{ARGUMENTS, Alone, Offload};
use crate::error::Result;
use crate::split::Split;

/// A job that devices can do as well as its map, or instead of it
/// ([`Options::devices`](crate::Options::devices)). [`Job::device`] gives it to the engine. A device must make
/// the same pairs as the map, to the bit. `J` is the job; another type may implement this for it.
pub trait Offloadable<J: Job + ?Sized = Self> {
    /// Returns the kernel, and the shape of the partial that it fills.
    fn offload(&self) -> Offload;

    /// Returns `Some` if devices do all of the job, because it has no useful map. The run then needs a
    /// device, files or bytes that are not compressed, and the pipeline; it finds no tiles again and makes no
    /// shows in the order of the input. It fails if the devices fail, or if they have no room for a record.
    /// The map is never called. Default: `None`.
    fn alone(&self) -> Option<Alone> {
        None
    }

    /// Returns the numbers with which the kernel is launched for a split; `None` if only the map can do it.
    /// Default: zeros.
    fn launch(&self, split: &Split<'_>) -> Option<[u64; ARGUMENTS]> {
        let _ = split;
        Some([0; ARGUMENTS])
    }

    /// Emits the pairs of a partial that a device made: those that the map would have emitted for the same
    /// records, combined. Called for a few partials of each device.
    ///
    /// # Errors
    /// Any error that it returns fails the job.
    fn unload(&self, partial: &[u64], emit: &mut dyn Emit<'_, J>) -> Result<()>;
}

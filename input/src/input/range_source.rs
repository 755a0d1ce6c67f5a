//! Files kept elsewhere than in the file system: in an object store, in a distributed file system, or in any
//! place that a user's own code reads. The engine needs their lengths beforehand and their bytes by ranges.

use crate::error::InputError;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A source of files that are read by ranges; see [`Input::ranges`](crate::input::Input::ranges).
pub trait RangeSource: fmt::Debug + Send + Sync {
    /// Fills `into` with the bytes of the file called `name`, from byte `offset` on. Called from many threads
    /// at once, and may block: the engine then reads ahead of its workers. An implementation repeats requests
    /// that may succeed another time; an error ends the job.
    ///
    /// # Errors
    /// [`NotFound`](io::ErrorKind::NotFound) if there is no such file (any more),
    /// [`UnexpectedEof`](io::ErrorKind::UnexpectedEof) if it has fewer bytes, and any other.
    fn read_at(&self, name: &Path, offset: u64, into: &mut [u8]) -> io::Result<()>;

    /// Returns a number that is another one where the file has other contents, such as a hash of them. A run with a state
    /// that is not incremental is refused where it differs from that of the run before. By default it is 0, and files of
    /// the same names and lengths count as the same.
    fn stamp(&self, _name: &Path) -> u64 {
        0
    }
}

/// Fills `into` with bytes of a file that was there when it was listed.
pub fn read_range(
    source: &dyn RangeSource,
    name: PathBuf,
    offset: u64,
    into: &mut [u8],
) -> Result<(), InputError> {
    source.read_at(&name, offset, into).map_err(|cause| InputError::of_listed(name, cause))
}

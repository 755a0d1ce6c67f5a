//! Reads the headers of many files before a job runs: several at a time, because remote files answer
//! slowly.

use std::panic::resume_unwind;
use std::path::Path;
use std::thread;
use tegula::{Error, InputFile, Place, Result};

/// Threads that read headers.
const LOOKERS: usize = 16;

/// Returns the result of `look` for each file, in their order.
///
/// # Errors
/// Returns the error of the first file that has one, and [`Error::System`] if no threads can be started.
pub(crate) fn look_into<T: Send>(
    files: &[InputFile<'_>],
    look: impl Fn(&InputFile<'_>) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let look = &look;
    let mut seen = Vec::with_capacity(files.len());
    thread::scope(|scope| {
        let shares = files.chunks(files.len().div_ceil(LOOKERS).max(1));
        let lookers = shares.map(|share| {
            let looker = thread::Builder::new().name("header".to_owned());
            looker.spawn_scoped(scope, || share.iter().map(look).collect::<Result<Vec<_>>>())
        });
        for looker in lookers.collect::<Vec<_>>() {
            let action = "start a thread that reads headers";
            let looker = looker.map_err(|cause| Error::System { action, cause })?;
            seen.extend(looker.join().unwrap_or_else(|panic| resume_unwind(panic))?);
        }
        Ok(seen)
    })
}

/// Returns the first bytes of a file, at most `most`.
pub(crate) fn head(file: &InputFile<'_>, most: usize) -> Result<Vec<u8>> {
    let mut head = vec![0; most];
    let count = file.read_at(0, &mut head)?;
    head.truncate(count);
    Ok(head)
}

/// Returns an error that names a file and an offset in it.
pub(crate) fn at(path: &Path, offset: Option<u64>, cause: impl Into<String>) -> Error {
    let place = Place { source: path.to_path_buf(), line: None, offset };
    Error::Record { place, cause: cause.into().into() }
}

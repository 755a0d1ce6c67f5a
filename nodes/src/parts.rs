//! Parts of an answer, each a file that a node writes itself. They are written into a hidden folder beside the one that
//! was asked for, which appears when all of them are there. One after the other, by their names, they are the bytes of
//! the answer on one machine.

use crate::peer::random;
use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};
use tegula::{Cancel, Job, Output, OutputError, Result};

/// How long files may be added to a folder that is removed.
const REMOVED_WITHIN: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(10);

/// Where the parts of an answer go, and what writes one.
pub struct Parts<'a, J: Job> {
    /// The folder of all parts: it is not there yet, or empty. Each node reaches it by the same path.
    pub folder: &'a Path,
    /// What the names of the parts end with, such as `.parquet`.
    pub ending: &'a str,
    /// Writes a part, which is an answer of its own, to a file that appears when all of it is written.
    pub write: &'a WritePart<'a, J>,
}

/// Writes an answer to a file, and returns it. The flag ends the work.
pub type WritePart<'a, J> = dyn Fn(Output<J>, &Path, &Cancel) -> Result<Output<J>> + 'a;

impl<J: Job> fmt::Debug for Parts<'_, J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts").field("folder", &self.folder).finish_non_exhaustive()
    }
}

/// A folder of which not all parts are there yet. Dropping it removes those that are.
#[derive(Debug)]
pub(crate) struct PartsFolder {
    path: PathBuf,
    hidden: PathBuf,
    ending: String,
}

impl PartsFolder {
    /// Makes the hidden folder, of parts whose names are to end so. Refuses a path at which no folder can appear.
    ///
    /// # Errors
    /// [`OutputError::Create`].
    pub(crate) fn create(path: &Path, ending: &str) -> Result<PartsFolder, OutputError> {
        let made = destination(path).and_then(|path| {
            let name = path.file_name().ok_or(io::ErrorKind::AlreadyExists)?;
            let hidden = format!(".{}.{:032x}", name.to_string_lossy(), random()?);
            let hidden = path.with_file_name(hidden);
            fs::create_dir(&hidden)?;
            Ok(PartsFolder { path, hidden, ending: ending.to_owned() })
        });
        made.map_err(|cause| OutputError::Create { path: path.to_path_buf(), cause })
    }

    /// Returns the hidden folder.
    pub(crate) fn hidden(&self) -> &Path {
        &self.hidden
    }

    /// Returns whether a part of an attempt is there, with all of its bytes.
    pub(crate) fn has(&self, attempt: u64, part: usize, bytes: u64) -> bool {
        let found = fs::metadata(part_in(&self.hidden, attempt, part));
        found.is_ok_and(|found| found.len() == bytes)
    }

    /// Lets `write` write all of the answer to one part, and the folder appear with it.
    ///
    /// # Errors
    /// [`OutputError::Write`], and those of `write`.
    pub(crate) fn write_all<O>(&self, write: impl FnOnce(&Path) -> Result<O>) -> Result<O> {
        let output = write(&part_in(&self.hidden, 0, 0))?;
        self.publish(0, 1)?;
        Ok(output)
    }

    /// Lets the folder appear with the parts of an attempt.
    ///
    /// # Errors
    /// [`OutputError::Write`].
    pub(crate) fn publish(&self, attempt: u64, parts: usize) -> Result<(), OutputError> {
        let put = || {
            // A node that counts as lost may still write to the hidden folder, but not to this one.
            let whole = self.hidden.join("whole");
            fs::create_dir(&whole)?;
            for part in 0..parts {
                let name = whole.join(format!("part-{part:05}{}", self.ending));
                fs::rename(part_in(&self.hidden, attempt, part), name)?;
            }
            File::open(&whole)?.sync_all()?;
            fs::rename(&whole, &self.path)
        };
        put().map_err(|cause| OutputError::Write { path: self.path.clone(), cause })
    }
}

impl Drop for PartsFolder {
    fn drop(&mut self) {
        let began = Instant::now();
        // Nodes on other machines end some time after they are told to, and may add a file while this goes on.
        while let Err(cause) = fs::remove_dir_all(&self.hidden)
            && cause.kind() == io::ErrorKind::DirectoryNotEmpty
            && began.elapsed() < REMOVED_WITHIN
        {
            thread::sleep(PAUSE);
        }
    }
}

/// Returns where a folder is to appear: at an absolute path at which nothing is, or a folder.
fn destination(path: &Path) -> io::Result<PathBuf> {
    let path = match fs::symlink_metadata(path) {
        // No folder takes the place of a link, but it does that of the folder to which it leads.
        Ok(found) if found.is_symlink() => fs::canonicalize(path)?,
        _ => std::path::absolute(path)?,
    };
    match fs::symlink_metadata(&path) {
        Ok(found) if !found.is_dir() => Err(io::ErrorKind::NotADirectory.into()),
        _ => Ok(path),
    }
}

/// Returns the path of a part of an attempt to bring the pairs together.
pub(crate) fn part_in(hidden: &Path, attempt: u64, part: usize) -> PathBuf {
    hidden.join(format!("{attempt}-{part:05}"))
}

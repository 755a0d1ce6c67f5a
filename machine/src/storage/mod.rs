//! Storage: all access of the engine to its own bytes on disk. A [`Storage`] is a folder; it gives
//! [`StoredFile`]s, which are anonymous and gone with their last handle (scratch) or have names (states).
//! [`Folders`] is a folder of such folders. [`Disk`] is a real folder, and both.
//!
//! Calls are for large blocks and hence rare, so both are trait objects. Nothing here counts memory, caches,
//! or knows the meaning of the bytes. No anonymous file may remain, not even when the process is killed.

mod atomic;
mod disk;
mod nameless;
mod scratch;

pub use atomic::AtomicFile;
pub use disk::Disk;
pub use scratch::{Region, Scratch, Stored};

use crate::error::StorageError;
use std::fmt;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// A folder for files of the engine's own. Names are plain: no separator in them, not `.` or `..`.
pub trait Storage: fmt::Debug + Send + Sync {
    /// Returns the folder, for messages.
    fn path(&self) -> &Path;

    /// Returns a new, empty file without a name. Its space is given back when the handle is dropped or the
    /// process ends in whatever way.
    ///
    /// # Errors
    /// [`StorageError::Folder`] if the folder cannot be used.
    fn scratch(&self) -> Result<Box<dyn StoredFile>, StorageError>;

    /// Returns a new, empty file of that name. It may be gone if its handle is dropped before it is synced.
    ///
    /// # Errors
    /// [`StorageError::Exists`] if there is one, [`StorageError::Folder`] if the folder cannot be used.
    fn create(&self, name: &str) -> Result<Box<dyn StoredFile>, StorageError>;

    /// Returns the file of that name, for reading: a folder that may only be read is enough.
    ///
    /// # Errors
    /// [`StorageError::Missing`] if there is none.
    fn open(&self, name: &str) -> Result<Box<dyn StoredFile>, StorageError>;

    /// Gives a file another name at once; a file that has that name is replaced.
    ///
    /// # Errors
    /// [`StorageError::Missing`] if there is no file `from`.
    fn rename(&self, from: &str, to: &str) -> Result<(), StorageError>;

    /// Removes a file.
    ///
    /// # Errors
    /// [`StorageError::Missing`] if there is none.
    fn remove(&self, name: &str) -> Result<(), StorageError>;

    /// Returns the names of the folder's regular files, ascending. Names that are not UTF-8 are not of the
    /// engine's making and left out.
    ///
    /// # Errors
    /// [`StorageError::Folder`] if the folder cannot be read.
    fn list(&self) -> Result<Vec<String>, StorageError>;

    /// Returns the number from which a run that has the folder's lock numbers its new files: `next`, or a later one
    /// where a run that has lost the lock may still write.
    fn first_number(&self, next: u64) -> u64 {
        next
    }

    /// Makes changes of names durable over a loss of power.
    ///
    /// # Errors
    /// [`StorageError::Access`] if the system cannot promise it.
    fn sync(&self) -> Result<(), StorageError>;

    /// Locks the file of that name, made if need be, until the handle is dropped or the process ends in
    /// whatever way; `None` if it is locked by another handle, of any process.
    ///
    /// # Errors
    /// [`StorageError::Folder`] if the folder cannot be used, [`StorageError::Access`] if its file system
    /// knows no locks.
    fn lock(&self, name: &str) -> Result<Option<Box<dyn StoredFile>>, StorageError>;
}

/// A folder of folders. Names are plain, as those of files.
pub trait Folders: fmt::Debug + Send + Sync {
    /// Returns where it is, for messages.
    fn path(&self) -> &Path;

    /// Returns the names of the folders in it, ascending. Names that are not UTF-8 are left out.
    ///
    /// # Errors
    /// [`StorageError::Missing`] if it is not there, [`StorageError::Folder`] if it cannot be read.
    fn names(&self) -> Result<Vec<String>, StorageError>;

    /// Returns the folder of that name, which need not be there.
    fn folder(&self, name: &str) -> Arc<dyn Storage>;

    /// Returns the folder of that name, made if need be, with all that it lies in.
    ///
    /// # Errors
    /// [`StorageError::Folder`].
    fn make(&self, name: &str) -> Result<Arc<dyn Storage>, StorageError>;

    /// Removes a folder without files.
    ///
    /// # Errors
    /// [`StorageError::Access`].
    fn remove(&self, name: &str) -> Result<(), StorageError>;
}

/// An open file. Any number of threads may use it at once, at offsets of their own.
pub trait StoredFile: fmt::Debug + Send + Sync {
    /// Returns the file's path for messages; of an anonymous file, its folder's.
    fn path(&self) -> &Path;

    /// Tries once to read into `into` from `offset` on; returns the number of bytes read, 0 at the file's
    /// end.
    ///
    /// # Errors
    /// As the system answers. [`read_exact_at`](StoredFile::read_exact_at) is for use.
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Tries once to write `bytes` at `offset`; returns the number of bytes written.
    ///
    /// # Errors
    /// As the system answers. [`write_all_at`](StoredFile::write_all_at) is for use.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize>;

    /// Returns the file's length in bytes.
    ///
    /// # Errors
    /// [`StorageError::Access`].
    fn bytes(&self) -> Result<u64, StorageError>;

    /// Cuts the file short, or lengthens it by a hole that reads as zeros.
    ///
    /// # Errors
    /// [`StorageError::Full`] or [`StorageError::Access`].
    fn set_bytes(&self, bytes: u64) -> Result<(), StorageError>;

    /// Gives the space of a range back, which then reads as zeros; its length stays. Where the file
    /// system cannot, the space comes back with the file's end instead.
    ///
    /// # Errors
    /// [`StorageError::Access`].
    fn punch(&self, range: Range<u64>) -> Result<(), StorageError>;

    /// Makes written bytes durable over a loss of power.
    ///
    /// # Errors
    /// [`StorageError::Full`] or [`StorageError::Access`]: nothing written since the last sync is
    /// sure then, and a second try proves nothing.
    fn sync(&self) -> Result<(), StorageError>;

    /// Fills `into` from `offset` on, by as many reads as that takes.
    ///
    /// # Errors
    /// [`StorageError::Short`] if the file ends before, [`StorageError::Access`].
    fn read_exact_at(&self, into: &mut [u8], offset: u64) -> Result<(), StorageError> {
        let mut done = 0;
        while done < into.len() {
            let at = offset + done as u64;
            match self.read_at(&mut into[done..], at) {
                Ok(0) => {
                    let wanted = offset + into.len() as u64;
                    return Err(StorageError::Short {
                        path: self.path().to_path_buf(),
                        wanted,
                        found: at,
                    });
                }
                Ok(count) => done += count,
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
                Err(cause) => return Err(StorageError::from_io("be read", self.path(), cause)),
            }
        }
        Ok(())
    }

    /// Writes all of `bytes` at `offset`, by as many writes as that takes.
    ///
    /// # Errors
    /// [`StorageError::Full`] if there is no room, [`StorageError::Access`]. Part of the bytes may
    /// be written then.
    fn write_all_at(&self, bytes: &[u8], offset: u64) -> Result<(), StorageError> {
        let mut done = 0;
        while done < bytes.len() {
            match self.write_at(&bytes[done..], offset + done as u64) {
                Ok(0) => {
                    let cause = io::ErrorKind::WriteZero.into();
                    return Err(StorageError::from_io("be written", self.path(), cause));
                }
                Ok(count) => done += count,
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
                Err(cause) => return Err(StorageError::from_io("be written", self.path(), cause)),
            }
        }
        Ok(())
    }
}

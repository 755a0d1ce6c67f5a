//! The folder of a state: its lock, and the files that belong there. A file that the manifest does not name
//! was unfinished when a run ended, and is removed.

use super::manifest::{self, Manifest};
use crate::error::{Error, Result, StateError, StorageError};
use crate::storage::{Folders, Storage, StoredFile};
use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The name of the file that is locked while a run uses the folder.
pub(super) const LOCK: &str = "lock";
/// The most characters of a job's name: the limit of file systems, less a margin.
const ID_MOST: usize = 200;

/// A folder that no other process uses.
#[derive(Debug)]
pub(crate) struct StateFolder {
    pub(crate) storage: Arc<dyn Storage>,
    /// Whether nothing is left there that no manifest names.
    is_in_order: AtomicBool,
    /// Held as long as the folder is used.
    _lock: Box<dyn StoredFile>,
}

impl StateFolder {
    /// Returns the folder of the job called `id` below `state`, made if need be.
    ///
    /// # Errors
    /// [`StateError::Name`], [`StateError::InUse`], [`StateError::Folder`].
    pub(crate) fn open(state: &dyn Folders, id: &str) -> Result<StateFolder> {
        check_id(id)?;
        StateFolder::of(state.make(id).map_err(unusable)?)
    }

    /// Returns the storage of a job that is there.
    ///
    /// # Errors
    /// [`StateError::Missing`], [`StateError::Name`], and those of the disk.
    pub(super) fn storage_of(state: &dyn Folders, id: &str) -> Result<Arc<dyn Storage>> {
        check_id(id)?;
        let storage = state.folder(id);
        match is_state(&*storage).map_err(unusable)? {
            true => Ok(storage),
            false => Err(StateError::Missing { path: storage.path().to_path_buf() }.into()),
        }
    }

    /// As `open`, of storage that is a job's own.
    pub(crate) fn of(storage: Arc<dyn Storage>) -> Result<StateFolder> {
        let Some(lock) = storage.lock(LOCK).map_err(unusable)? else {
            return Err(StateError::InUse { path: storage.path().to_path_buf() }.into());
        };
        Ok(StateFolder { storage, is_in_order: AtomicBool::new(false), _lock: lock })
    }

    /// Notes that the run has ended as it should.
    pub(super) fn end(&self) {
        self.is_in_order.store(true, Ordering::Relaxed);
    }

    /// Removes all but the lock, the manifest first. If the removal is interrupted, the files left belong to
    /// no manifest and are removed next time.
    pub(super) fn clear(&self) -> Result<(), StorageError> {
        match self.storage.remove(manifest::NAME) {
            Ok(()) => self.storage.sync()?,
            Err(StorageError::Missing { .. }) => {}
            Err(fault) => return Err(fault),
        }
        self.tidy(None)?;
        self.end();
        Ok(())
    }

    /// Removes snapshots that no manifest names, and unfinished files.
    pub(crate) fn tidy(&self, manifest: Option<&Manifest>) -> Result<(), StorageError> {
        let named = manifest.map(Manifest::files_named).unwrap_or_default();
        let is_kept = |name: &str| named.iter().any(|named| named == name);
        let strays = self.storage.list()?.into_iter();
        strays
            .filter(|name| manifest::is_ours(name) && !is_kept(name))
            .try_for_each(|stray| self.storage.remove(&stray))
    }
}

impl Drop for StateFolder {
    /// Removes what a run that has failed had not finished, as far as possible: a disk that is full has its room back.
    fn drop(&mut self) {
        if !self.is_in_order.load(Ordering::Relaxed)
            && let Ok(manifest) = Manifest::read(&*self.storage)
        {
            let _ = self.tidy(manifest.as_ref());
        }
    }
}

/// Returns whether a run has begun there.
pub(super) fn is_state(storage: &dyn Storage) -> Result<bool, StorageError> {
    match storage.open(LOCK) {
        Ok(_) => Ok(true),
        Err(StorageError::Missing { .. }) => Ok(false),
        Err(StorageError::Folder { cause, .. })
            if matches!(cause.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
        {
            Ok(false)
        }
        Err(fault) => Err(fault),
    }
}

/// Returns the error of a state's folder that cannot be used.
pub(super) fn unusable(fault: impl Into<Error>) -> Error {
    match fault.into() {
        Error::Storage(StorageError::Folder { path, cause }) => {
            StateError::Folder { path, cause }.into()
        }
        fault => fault,
    }
}

/// Returns all bytes of a file.
pub(super) fn read_all(file: &dyn StoredFile) -> Result<Vec<u8>, StorageError> {
    let mut bytes = vec![0; usize::try_from(file.bytes()?).unwrap_or(usize::MAX)];
    file.read_exact_at(&mut bytes, 0)?;
    Ok(bytes)
}

/// Writes a file in place of another one, at once and for good: as `next` until it is complete and synced.
pub(super) fn replace<E: From<StorageError>>(
    storage: &dyn Storage,
    next: &str,
    name: &str,
    write: impl FnOnce(&dyn StoredFile) -> Result<(), E>,
) -> Result<(), E> {
    let file = match storage.create(next) {
        Err(StorageError::Exists { .. }) => {
            storage.remove(next)?;
            storage.create(next)?
        }
        created => created?,
    };
    write(&*file)?;
    file.sync()?;
    storage.rename(next, name)?;
    Ok(storage.sync()?)
}

/// Returns an error unless a name can be a folder's, inside of the state's folder.
fn check_id(id: &str) -> Result<(), StateError> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let is_good = (1..=ID_MOST).contains(&id.len()) && id.bytes().all(is_plain);
    match is_good && !id.starts_with('.') {
        true => Ok(()),
        false => Err(StateError::Name { id: id.to_owned() }),
    }
}

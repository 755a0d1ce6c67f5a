//! Disk: storage in a real folder. Anonymous files have never had a name where the file system can
//! do that (`O_TMPFILE`), and lose it at once where it cannot.

use super::{Folders, Storage, StoredFile, nameless};
use crate::error::StorageError;
use rustix::fs::{FallocateFlags, FlockOperation, Mode};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A folder of the file system. Nothing is opened before the first file is asked for.
#[derive(Debug)]
pub struct Disk {
    folder: PathBuf,
}

#[derive(Debug)]
struct DiskFile {
    file: File,
    path: PathBuf,
    is_locked: bool,
}

impl Drop for DiskFile {
    /// A lock goes with its last descriptor, and a process that another thread is starting has one of each, for a moment.
    fn drop(&mut self) {
        if self.is_locked {
            let _ = rustix::fs::flock(&self.file, FlockOperation::Unlock);
        }
    }
}

impl Disk {
    /// Storage in a folder, which must exist by the time it is used.
    pub fn new(folder: impl Into<PathBuf>) -> Disk {
        Disk { folder: folder.into() }
    }

    fn open_with(
        &self,
        options: &OpenOptions,
        name: &str,
    ) -> Result<Box<dyn StoredFile>, StorageError> {
        let path = self.folder.join(name);
        match options.open(&path) {
            Ok(file) => Ok(Box::new(DiskFile { file, path, is_locked: false })),
            Err(cause) => Err(self.fault(&path, cause)),
        }
    }

    /// Returns the error for an answer about the file at `path`. A missing folder makes every file missing,
    /// so the error names the folder.
    fn fault(&self, path: &Path, cause: io::Error) -> StorageError {
        match cause.kind() {
            io::ErrorKind::NotFound if self.folder.is_dir() => {
                StorageError::Missing { path: path.to_path_buf() }
            }
            io::ErrorKind::AlreadyExists => StorageError::Exists { path: path.to_path_buf() },
            _ => self.unusable(cause),
        }
    }

    fn unusable(&self, cause: io::Error) -> StorageError {
        match StorageError::from_io("be used", &self.folder, cause) {
            StorageError::Access { path, cause, .. } => StorageError::Folder { path, cause },
            full => full,
        }
    }

    fn locked(&self, name: &str) -> Result<Option<DiskFile>, StorageError> {
        let path = self.folder.join(name);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        loop {
            let file = options.open(&path).map_err(|cause| self.fault(&path, cause))?;
            match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
                // Whoever had the lock may have removed the file meanwhile.
                Ok(()) if !is_at(&file, &path) => {}
                Ok(()) => return Ok(Some(DiskFile { file, path, is_locked: true })),
                Err(Errno::WOULDBLOCK) => return Ok(None),
                Err(cause) => return Err(StorageError::from_io("be locked", path, cause.into())),
            }
        }
    }

    pub(super) fn named_then_unlinked(&self) -> io::Result<File> {
        let make = |path: &Path| new_file().open(path);
        let (file, path) = nameless::hidden(&self.folder, OsStr::new(""), make)?;
        fs::remove_file(path).map(|()| file)
    }
}

/// Returns whether a path leads to the file.
fn is_at(file: &File, path: &Path) -> bool {
    let inode = |file: fs::Metadata| (file.dev(), file.ino());
    file.metadata().ok().map(inode) == fs::metadata(path).ok().map(inode)
}

fn new_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    options
}

impl Storage for Disk {
    fn path(&self) -> &Path {
        &self.folder
    }

    fn scratch(&self) -> Result<Box<dyn StoredFile>, StorageError> {
        let file = match nameless::open(&self.folder, Mode::RUSR | Mode::WUSR) {
            Ok(Some(file)) => Ok(file),
            Ok(None) => self.named_then_unlinked(),
            Err(cause) => Err(cause),
        };
        match file {
            Ok(file) => {
                Ok(Box::new(DiskFile { file, path: self.folder.clone(), is_locked: false }))
            }
            Err(cause) => Err(self.unusable(cause)),
        }
    }

    fn create(&self, name: &str) -> Result<Box<dyn StoredFile>, StorageError> {
        self.open_with(&new_file(), name)
    }

    fn open(&self, name: &str) -> Result<Box<dyn StoredFile>, StorageError> {
        self.open_with(OpenOptions::new().read(true), name)
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), StorageError> {
        let path = self.folder.join(from);
        fs::rename(&path, self.folder.join(to)).map_err(|cause| self.fault(&path, cause))
    }

    fn remove(&self, name: &str) -> Result<(), StorageError> {
        let path = self.folder.join(name);
        fs::remove_file(&path).map_err(|cause| self.fault(&path, cause))
    }

    fn list(&self) -> Result<Vec<String>, StorageError> {
        let fault = |cause| self.unusable(cause);
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.folder).map_err(fault)? {
            let entry = entry.map_err(fault)?;
            if entry.file_type().map_err(fault)?.is_file() {
                names.extend(entry.file_name().into_string());
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn sync(&self) -> Result<(), StorageError> {
        let synced = File::open(&self.folder).and_then(|folder| folder.sync_all());
        synced.map_err(|cause| StorageError::from_io("be synced", &self.folder, cause))
    }

    fn lock(&self, name: &str) -> Result<Option<Box<dyn StoredFile>>, StorageError> {
        Ok(self.locked(name)?.map(|file| Box::new(file) as Box<dyn StoredFile>))
    }
}

impl Folders for Disk {
    fn path(&self) -> &Path {
        &self.folder
    }

    fn names(&self) -> Result<Vec<String>, StorageError> {
        let fault = |cause: io::Error| match cause.kind() {
            io::ErrorKind::NotFound => StorageError::Missing { path: self.folder.clone() },
            _ => self.unusable(cause),
        };
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.folder).map_err(fault)? {
            let entry = entry.map_err(fault)?;
            // A link to a folder is one, too.
            if entry.path().is_dir() {
                names.extend(entry.file_name().into_string());
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn folder(&self, name: &str) -> Arc<dyn Storage> {
        Arc::new(Disk::new(self.folder.join(name)))
    }

    fn make(&self, name: &str) -> Result<Arc<dyn Storage>, StorageError> {
        let folder = Disk::new(self.folder.join(name));
        fs::create_dir_all(&folder.folder).map_err(|cause| folder.unusable(cause))?;
        Ok(Arc::new(folder))
    }

    fn remove(&self, name: &str) -> Result<(), StorageError> {
        let path = self.folder.join(name);
        fs::remove_dir(&path).map_err(|cause| StorageError::from_io("be removed", &path, cause))
    }
}

impl StoredFile for DiskFile {
    fn path(&self) -> &Path {
        &self.path
    }

    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(into, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.file.write_at(bytes, offset)
    }

    fn bytes(&self) -> Result<u64, StorageError> {
        let found = self.file.metadata();
        found.map(|found| found.len()).map_err(|cause| self.fault("be looked at", cause))
    }

    fn set_bytes(&self, bytes: u64) -> Result<(), StorageError> {
        self.file.set_len(bytes).map_err(|cause| self.fault("change its length", cause))
    }

    fn punch(&self, range: Range<u64>) -> Result<(), StorageError> {
        if range.is_empty() {
            return Ok(());
        }
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        match rustix::fs::fallocate(&self.file, flags, range.start, range.end - range.start) {
            Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
            Err(cause) => Err(self.fault("give space back", cause.into())),
        }
    }

    fn sync(&self) -> Result<(), StorageError> {
        self.file.sync_all().map_err(|cause| self.fault("be synced", cause))
    }
}

impl DiskFile {
    fn fault(&self, action: &'static str, cause: io::Error) -> StorageError {
        StorageError::from_io(action, &self.path, cause)
    }
}

#[cfg(test)]
mod tests {
    use super::Disk;
    use crate::storage::Storage;

    #[test]
    fn where_files_must_have_a_name_they_lose_it_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let disk = Disk::new(folder.path());
        let files = [disk.named_then_unlinked().unwrap(), disk.named_then_unlinked().unwrap()];
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        assert!(files.iter().all(|file| file.metadata().unwrap().len() == 0));
    }

    /// As a process that is being started has it, until it runs its program.
    #[test]
    fn a_lock_ends_though_its_descriptor_was_copied() {
        let folder = tempfile::tempdir().unwrap();
        let disk = Disk::new(folder.path());
        let lock = disk.locked("lock").unwrap().unwrap();
        let copy = lock.file.try_clone().unwrap();
        assert!(disk.lock("lock").unwrap().is_none());
        drop(lock);
        assert!(disk.lock("lock").unwrap().is_some());
        drop(copy);
    }
}

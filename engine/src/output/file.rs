//! A file that appears whole or not at all: written under a temporary name beside its place, synced,
//! renamed. Dropped before that, it leaves nothing behind.

use crate::error::OutputError;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A file that takes its name when it is complete.
#[derive(Debug)]
pub struct AtomicFile {
    file: File,
    temporary: PathBuf,
    path: PathBuf,
    committed: bool,
}

impl AtomicFile {
    /// Creates the temporary file in the folder of `path`. A file that stands at `path` stays as it
    /// is until [`commit`](AtomicFile::commit).
    ///
    /// # Errors
    /// [`OutputError::IsFolder`], or [`OutputError::Create`] with the system's reason.
    pub fn create(path: impl AsRef<Path>) -> Result<AtomicFile, OutputError> {
        let path = path.as_ref().to_path_buf();
        let Some(name) = path.file_name().filter(|_| !path.is_dir()) else {
            return Err(OutputError::IsFolder { path });
        };
        let mut hidden = OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".tegula-{}", std::process::id()));
        let mut number = 0;
        loop {
            let mut unique = hidden.clone();
            unique.push(format!("-{number}"));
            let temporary = path.with_file_name(unique);
            match OpenOptions::new().write(true).create_new(true).open(&temporary) {
                Ok(file) => return Ok(AtomicFile { file, temporary, path, committed: false }),
                Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => number += 1,
                Err(cause) => return Err(OutputError::Create { path, cause }),
            }
        }
    }

    /// The path that the file will have.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Syncs the file, gives it its name, and syncs the folder.
    ///
    /// # Errors
    /// [`OutputError::Write`]; the temporary file is gone then.
    pub fn commit(mut self) -> Result<(), OutputError> {
        let fault = |cause| OutputError::Write { path: self.path.clone(), cause };
        self.file.sync_all().map_err(fault)?;
        fs::rename(&self.temporary, &self.path).map_err(fault)?;
        self.committed = true;
        let folder = match self.path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        // The rename is done; where folders cannot be synced, the file system orders it itself.
        let _ = File::open(folder).and_then(|folder| folder.sync_all());
        Ok(())
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if !self.committed {
            // Nothing better can be done about a file that will not go.
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_appears_whole_on_commit_and_not_at_all_without() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("counts.tsv");
        fs::write(&path, "old").unwrap();
        let mut file = AtomicFile::create(&path).unwrap();
        file.write_all(b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        let mut abandoned = AtomicFile::create(&path).unwrap();
        abandoned.write_all(b"never").unwrap();
        drop(abandoned);
        file.commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn folders_and_missing_folders_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let is_folder = AtomicFile::create(folder.path()).unwrap_err();
        assert!(matches!(is_folder, OutputError::IsFolder { .. }));
        let missing = AtomicFile::create(folder.path().join("no/such")).unwrap_err();
        assert!(matches!(missing, OutputError::Create { .. }));
        assert!(missing.to_string().contains("no/such"));
    }
}

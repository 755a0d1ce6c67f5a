//! A file that appears whole or not at all: written without a name, synced, and given its name. If it is
//! dropped before that, or the process dies, no file remains. Where the file system has no files without a
//! name, the file has a hidden one beside its final path, and remains only if the process is killed. A target
//! that is no regular file (a device, a pipe), or has no name itself, cannot be replaced and is written directly.

use super::nameless;
use crate::error::OutputError;
use rustix::fs::{AtFlags, CWD, Mode};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Of a file's name, the part in its hidden one, so that this is not too long.
const HIDDEN_BYTES_MOST: usize = 200;

/// A file that takes its name when it is complete.
#[derive(Debug)]
pub struct AtomicFile {
    file: File,
    path: PathBuf,
    /// The name of the file until the commit; `None` for a device or pipe, and after the commit.
    pending: Option<Pending>,
}

/// The name of a file that is not complete yet.
#[derive(Debug)]
enum Pending {
    Nameless,
    Named(PathBuf),
}

impl AtomicFile {
    /// Creates a file in the folder of `path`. An existing file at `path` stays as it is until
    /// [`commit`](AtomicFile::commit), which replaces it and keeps its permissions; a link is followed. A
    /// device or pipe is opened and written directly.
    ///
    /// # Errors
    /// [`OutputError::IsFolder`], or [`OutputError::Create`] with the system's reason.
    pub fn create(path: impl AsRef<Path>) -> Result<AtomicFile, OutputError> {
        let (path, standing) = look(path.as_ref())?;
        if standing.as_ref().is_some_and(|standing| !can_be_replaced(standing)) {
            let is_file = standing.is_some_and(|standing| standing.is_file());
            return match OpenOptions::new().write(true).truncate(is_file).open(&path) {
                Ok(file) => Ok(AtomicFile { file, path, pending: None }),
                Err(cause) => Err(OutputError::Create { path, cause }),
            };
        }
        let made = match nameless::open(folder_of(&path), Mode::from(0o666)) {
            Ok(Some(file)) if has_link(&file) => Ok((file, Pending::Nameless)),
            Ok(_) => make_beside(&path),
            Err(cause) => Err(cause),
        };
        let made = made.and_then(|(file, pending)| {
            let file = AtomicFile { file, path: path.clone(), pending: Some(pending) };
            standing.map_or(Ok(()), |old| file.file.set_permissions(old.permissions()))?;
            Ok(file)
        });
        made.map_err(|cause| OutputError::Create { path, cause })
    }

    /// Checks whether `create` would succeed, as far as that shows without a trace: pipes are not opened,
    /// because their readers would notice.
    ///
    /// # Errors
    /// As [`create`](AtomicFile::create).
    pub fn probe(path: impl AsRef<Path>) -> Result<(), OutputError> {
        match look(path.as_ref())? {
            (_, Some(standing)) if !can_be_replaced(&standing) => Ok(()),
            (path, _) => AtomicFile::create(path).map(drop),
        }
    }

    /// Returns the path that the file will have, links followed.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether bytes can be written at any offset: not to a device or a pipe.
    pub fn is_regular(&self) -> bool {
        self.pending.is_some()
    }

    /// Reserves space on the disk for the first `bytes` bytes, where the file system can.
    ///
    /// # Errors
    /// [`OutputError::Write`] if there is not as much.
    pub fn reserve(&self, bytes: u64) -> Result<(), OutputError> {
        use rustix::fs::{FallocateFlags, fallocate};
        use rustix::io::Errno;
        if !self.is_regular() || bytes == 0 {
            return Ok(());
        }
        match fallocate(&self.file, FallocateFlags::empty(), 0, bytes) {
            Err(cause @ (Errno::NOSPC | Errno::DQUOT)) => {
                Err(OutputError::from_write(&self.path, cause.into()))
            }
            _ => Ok(()),
        }
    }

    /// Writes all of `bytes` at an offset, from any number of threads at once.
    ///
    /// # Errors
    /// [`OutputError::Write`].
    pub fn write_all_at(&self, bytes: &[u8], offset: u64) -> Result<(), OutputError> {
        let written = self.file.write_all_at(bytes, offset);
        written.map_err(|cause| OutputError::from_write(&self.path, cause))
    }

    /// Syncs the file, gives it its name, and syncs the folder.
    ///
    /// # Errors
    /// [`OutputError::Write`]; the written bytes are gone then.
    pub fn commit(mut self) -> Result<(), OutputError> {
        let put = self.put_in_place();
        put.map_err(|cause| OutputError::Write { path: self.path.clone(), cause })
    }

    fn put_in_place(&mut self) -> io::Result<()> {
        let Some(pending) = &self.pending else { return Ok(()) };
        self.file.sync_all()?;
        if let Pending::Nameless = pending {
            match self.link(&self.path) {
                // Only a file that has a name can replace an existing one.
                Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {
                    let ((), name) = under_hidden_name(&self.path, |name| self.link(name))?;
                    self.pending = Some(Pending::Named(name));
                }
                linked => linked?,
            }
        }
        if let Some(Pending::Named(name)) = &self.pending {
            fs::rename(name, &self.path)?;
        }
        self.pending = None;
        // It has its name; where folders cannot be synced, the file system orders it itself.
        let _ = File::open(folder_of(&self.path)).and_then(|folder| folder.sync_all());
        Ok(())
    }

    /// Gives a file without a name one that nothing else has.
    fn link(&self, name: &Path) -> io::Result<()> {
        Ok(rustix::fs::linkat(CWD, link_of(&self.file), CWD, name, AtFlags::SYMLINK_FOLLOW)?)
    }
}

/// Where a file that is open can be found without its name.
fn link_of(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// Returns whether `link` can work: not where /proc is not mounted.
fn has_link(file: &File) -> bool {
    fs::symlink_metadata(link_of(file)).is_ok()
}

/// Returns the path with links followed, and the metadata of the file there.
fn look(path: &Path) -> Result<(PathBuf, Option<Metadata>), OutputError> {
    // A link to nothing is replaced, as it can be followed nowhere.
    let is_folder = path.as_os_str().as_bytes().ends_with(b"/");
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let standing = fs::metadata(&path).ok();
    if is_folder || standing.as_ref().is_some_and(Metadata::is_dir) || path.file_name().is_none() {
        return Err(OutputError::IsFolder { path });
    }
    Ok((path, standing))
}

/// Returns whether another file can take the place of this one: not that of a device or a pipe, nor of a file that is open
/// and has no name, to which a link of the system such as /dev/stdout leads.
fn can_be_replaced(standing: &Metadata) -> bool {
    standing.is_file() && standing.nlink() > 0
}

/// Returns a new file with a hidden name in the folder of `path`.
fn make_beside(path: &Path) -> io::Result<(File, Pending)> {
    let make = |name: &Path| OpenOptions::new().write(true).create_new(true).open(name);
    under_hidden_name(path, make).map(|(file, name)| (file, Pending::Named(name)))
}

/// Returns the result of `make` on a hidden name in the folder of `path`, and the name.
fn under_hidden_name<T>(
    path: &Path,
    make: impl Fn(&Path) -> io::Result<T>,
) -> io::Result<(T, PathBuf)> {
    let name = path.file_name().unwrap_or_default().as_bytes();
    let mut prefix = OsString::from(".");
    prefix.push(OsStr::from_bytes(&name[..name.len().min(HIDDEN_BYTES_MOST)]));
    nameless::hidden(path.parent().unwrap_or(Path::new("")), &prefix, make)
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
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
        if let Some(Pending::Named(name)) = &self.pending {
            // Nothing better can be done about a file that will not go.
            let _ = fs::remove_file(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_a_hidden_name_takes_its_place_or_goes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("counts");
        let make = || {
            let (file, pending) = make_beside(&path).unwrap();
            AtomicFile { file, path: path.clone(), pending: Some(pending) }
        };
        let (mut first, mut second, dropped) = (make(), make(), make());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
        first.write_all(b"first").unwrap();
        second.write_all(b"second").unwrap();
        drop(dropped);
        first.commit().unwrap();
        second.commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}

//! The folder of the answer. Part files are written to a hidden folder beside it, which gets its name when all of them
//! and `_SUCCESS` are complete: the folder is there with the whole answer, or not at all.

use crate::codec::{Codec, Encoder};
use rustix::fs::{CWD, FlockOperation, RenameFlags, flock, renameat_with};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tegula::{Error, InputError, OutputError, Result};

/// The folder of an answer that is being written.
pub(crate) struct OutputFolder {
    path: PathBuf,
    /// Where it is written.
    folder: PathBuf,
    /// Locked while this process writes; another run removes a folder that is not.
    lock: Option<File>,
}

/// A folder that is older than this and not locked is of a run that is gone.
const LOCKED_WITHIN: Duration = Duration::from_secs(2);

/// Numbers the folders of this process.
static FOLDERS: AtomicU64 = AtomicU64::new(0);

impl OutputFolder {
    /// Returns the name of the folder `path`, if there may be one. Writes nothing.
    ///
    /// # Errors
    /// [`InputError::Refused`] if it exists, or if it is no name for a folder.
    pub(crate) fn check(path: &Path) -> Result<&OsStr> {
        if fs::symlink_metadata(path).is_ok() {
            let advice = "name another folder, or remove it";
            return Err(refused(path, "the output exists", advice));
        }
        let advice = "name another one";
        path.file_name().ok_or_else(|| refused(path, "this is no name for a folder", advice))
    }

    /// Returns the folder `path`, before anything is written: only those above it are made.
    ///
    /// # Errors
    /// Those of [`check`](OutputFolder::check), and [`OutputError`] if the folders above it cannot be made.
    pub(crate) fn at(path: &Path) -> Result<OutputFolder> {
        let name = OutputFolder::check(path)?;
        let parent = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        fs::create_dir_all(parent).map_err(|cause| fault(parent, cause))?;
        let parent = fs::canonicalize(parent).map_err(|cause| fault(parent, cause))?;
        let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
        let own = format!("{}{}-{number}", prefix(name), process::id());
        Ok(OutputFolder { path: parent.join(name), folder: parent.join(own), lock: None })
    }

    /// Begins the folder. Someone must be there already who removes it if this process is killed.
    ///
    /// # Errors
    /// [`InputError::Refused`] if another run writes it, [`OutputError`] if it cannot be made.
    pub(crate) fn begin(mut self) -> Result<OutputFolder> {
        if let (Some(parent), Some(name)) = (self.path.parent(), self.path.file_name()) {
            let is_written = remove_remains(parent, &prefix(name));
            if is_written.map_err(|cause| fault(parent, cause))? {
                let advice = "wait for it, or name another folder";
                return Err(refused(&self.path, "another run is writing it", advice));
            }
        }
        fs::create_dir(&self.folder).map_err(|cause| fault(&self.folder, cause))?;
        self.lock = lock(&self.folder).map_err(|cause| fault(&self.folder, cause))?;
        Ok(self)
    }

    /// Returns the place where it is written.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the name that it will have.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Begins a part file.
    pub(crate) fn part(&self, number: usize, codec: Codec, is_lazy: bool) -> Result<Part> {
        let path = self.folder.join(part_name(number, codec));
        let mut part = Part { path, codec, to: None, buffer: Vec::new(), bytes: 0 };
        if !is_lazy {
            part.open()?;
        }
        Ok(part)
    }

    /// Gives part files other numbers. Each number that is taken is also given.
    pub(crate) fn renumber(&self, numbers: &[(usize, usize)], codec: Codec) -> Result<()> {
        let aside = self.of_tasks();
        let move_all = || {
            fs::create_dir_all(&aside)?;
            for (taken, _) in numbers {
                let name = part_name(*taken, codec);
                move_if_there(&self.folder.join(&name), &aside.join(&name))?;
            }
            numbers.iter().try_for_each(|(taken, wanted)| {
                let from = aside.join(part_name(*taken, codec));
                move_if_there(&from, &self.folder.join(part_name(*wanted, codec)))
            })
        };
        Ok(move_all().map_err(|cause| OutputError::Write { path: self.folder.clone(), cause })?)
    }

    /// Returns the folder in which tasks have theirs for files that go into the answer: renamed, they are there.
    pub(crate) fn of_tasks(&self) -> PathBuf {
        self.folder.join("_temporary")
    }

    /// Takes the files that a task has left in its own folder for the answer.
    pub(crate) fn take_files(&self, folder: &Path) -> Result<()> {
        match merge(folder, &self.folder) {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound || folder.exists() => {
                Err(OutputError::Write { path: folder.to_path_buf(), cause }.into())
            }
            _ => Ok(()),
        }
    }

    /// Gives the folder its name, with `_SUCCESS` in it.
    pub(crate) fn commit(mut self) -> Result<()> {
        let named = self.name();
        named.map_err(|cause| OutputError::Write { path: self.path.clone(), cause }.into())
    }

    fn name(&mut self) -> io::Result<()> {
        match fs::remove_dir_all(self.of_tasks()) {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => return Err(cause),
            _ => {}
        }
        File::create(self.folder.join("_SUCCESS"))?;
        File::open(&self.folder)?.sync_all()?;
        match renameat_with(CWD, &self.folder, CWD, &self.path, RenameFlags::NOREPLACE) {
            // Some file systems do not know the flag.
            Err(rustix::io::Errno::INVAL) => fs::rename(&self.folder, &self.path)?,
            named => named?,
        }
        self.lock = None;
        // It has its name; where folders cannot be synced, the file system orders it itself.
        let parent = self.path.parent().unwrap_or(Path::new("/"));
        let _ = File::open(parent).and_then(|parent| parent.sync_all());
        Ok(())
    }
}

fn part_name(number: usize, codec: Codec) -> String {
    format!("part-{number:05}{}", codec.extension())
}

/// Moves a part file; with lazy output, there may be none.
fn move_if_there(from: &Path, to: &Path) -> io::Result<()> {
    match fs::rename(from, to) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(()),
        moved => moved,
    }
}

/// Moves what is in a folder to another one. Folders of one name become one, also if several threads move at once.
fn merge(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if !entry.file_type()?.is_dir() {
            fs::rename(path, target)?;
            continue;
        }
        // A folder is not renamed, because that would replace an empty one into which another thread moves files.
        match fs::create_dir(&target) {
            Err(cause) if cause.kind() != io::ErrorKind::AlreadyExists => return Err(cause),
            _ => merge(&path, &target)?,
        }
    }
    Ok(())
}

/// Returns the beginning of the names of folders in which a folder of this name is written.
fn prefix(name: &OsStr) -> String {
    format!(".{}._temporary-", name.to_string_lossy())
}

fn refused(path: &Path, cause: &str, advice: &str) -> Error {
    let (path, cause, advice) = (path.to_path_buf(), cause.to_owned(), advice.to_owned());
    InputError::Refused { path, cause, advice }.into()
}

fn fault(path: &Path, cause: io::Error) -> Error {
    OutputError::Create { path: path.to_path_buf(), cause }.into()
}

/// Locks a folder until the handle is dropped or the process ends in whatever way; `None` if another process has.
fn lock(folder: &Path) -> io::Result<Option<File>> {
    let folder = File::open(folder)?;
    match flock(&folder, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(folder)),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
        Err(cause) => Err(cause.into()),
    }
}

/// Removes the folders that runs have left when the machine went down. (Of a run that is killed, the group's leader
/// removes it.) Returns whether a run is at work on one.
fn remove_remains(parent: &Path, prefix: &str) -> io::Result<bool> {
    for entry in fs::read_dir(parent)? {
        let entry = entry?;
        if !entry.file_name().to_string_lossy().starts_with(prefix) {
            continue;
        }
        match lock(&entry.path()) {
            Ok(Some(locked)) => {
                let age = locked.metadata()?.modified()?.elapsed().unwrap_or_default();
                if age > LOCKED_WITHIN {
                    // Another run may remove it, too.
                    let _ = fs::remove_dir_all(entry.path());
                }
            }
            Ok(None) => return Ok(true),
            // It has just gone.
            Err(_) => {}
        }
    }
    Ok(false)
}

impl Drop for OutputFolder {
    fn drop(&mut self) {
        if self.lock.is_some() {
            // Nothing better can be done about a folder that will not go.
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

/// A part file.
pub(crate) struct Part {
    path: PathBuf,
    codec: Codec,
    to: Option<Encoder<File>>,
    buffer: Vec<u8>,
    pub(crate) bytes: u64,
}

/// Text that is written at once.
const BUFFER_BYTES: usize = 256 << 10;

impl Part {
    /// Writes a record.
    pub(crate) fn write(&mut self, key: &[u8], separator: &[u8], value: &[u8]) -> Result<()> {
        self.buffer.extend_from_slice(key);
        self.buffer.extend_from_slice(separator);
        self.buffer.extend_from_slice(value);
        self.buffer.push(b'\n');
        if self.buffer.len() >= BUFFER_BYTES { self.flush() } else { Ok(()) }
    }

    /// Writes the rest, and makes the file durable. Returns the bytes of text in it.
    pub(crate) fn finish(mut self) -> Result<u64> {
        if !self.buffer.is_empty() {
            self.flush()?;
        }
        let bytes = self.bytes;
        if let Some(to) = self.to.take() {
            let synced =
                to.finish().and_then(|file| if bytes > 0 { file.sync_all() } else { Ok(()) });
            synced.map_err(|cause| self.fault(cause))?;
        }
        Ok(bytes)
    }

    fn open(&mut self) -> Result<()> {
        let made = File::create(&self.path);
        let file = made.map_err(|cause| OutputError::Create { path: self.path.clone(), cause })?;
        self.to = Some(self.codec.encoder(file));
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        if self.to.is_none() {
            self.open()?;
        }
        self.bytes += self.buffer.len() as u64;
        if let Some(to) = &mut self.to {
            let written = to.write_all(&self.buffer);
            written.map_err(|cause| self.fault(cause))?;
        }
        self.buffer.clear();
        Ok(())
    }

    fn fault(&self, cause: io::Error) -> OutputError {
        OutputError::Write { path: self.path.clone(), cause }
    }
}

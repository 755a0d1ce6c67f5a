//! A list of regular files, compact enough for millions of small ones: per file 24 bytes and its
//! name. Names lie end to end in one arena and a file points to its folder, so that no path is kept
//! whole. Lengths are fixed when the list is made; whoever reads holds the file to them.

use crate::error::InputError;
use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Consecutive regular files, in the order in which they are to be read.
#[derive(Debug, Default)]
pub(crate) struct FileList {
    /// Shared by the parts of a list.
    above: Arc<Folders>,
    names: Names,
    folders: Vec<Option<Folder>>,
    lengths: Vec<u64>,
}

/// The folders that files lie in.
#[derive(Clone, Debug, Default)]
struct Folders {
    names: Names,
    parents: Vec<Option<Folder>>,
}

/// A folder of one [`FileList`]: its index there plus 1, so that `Option<Folder>` is one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Folder(NonZeroUsize);

/// Opens a file that stood in a list; whatever stands there by now, without waiting for it.
pub(crate) fn open_file(path: &Path) -> io::Result<File> {
    // A pipe would wait for its writer.
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

/// As [`open_file`], of a file that was there when the list was made.
pub(crate) fn open_listed(path: PathBuf) -> Result<File, InputError> {
    open_file(&path).map_err(|cause| match cause.kind() {
        io::ErrorKind::NotFound => InputError::Vanished { path },
        _ => InputError::from_io(path, cause),
    })
}

/// Fills `into` with the bytes of an open file from `offset` on. `listed` is its length in the list,
/// and `path` is for messages.
pub(crate) fn read_listed(
    file: &File,
    path: impl Fn() -> PathBuf,
    listed: u64,
    mut offset: u64,
    mut into: &mut [u8],
) -> Result<(), InputError> {
    while !into.is_empty() {
        match file.read_at(into, offset) {
            Ok(0) => {
                let found = file.metadata().map_or(offset, |now| now.len().min(offset));
                return Err(InputError::Shrank { path: path(), planned: listed, found });
            }
            Ok(count) => {
                into = &mut into[count..];
                offset += count as u64;
            }
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
            Err(cause) => return Err(InputError::from_io(path(), cause)),
        }
    }
    Ok(())
}

impl FileList {
    /// How many files.
    pub(crate) fn len(&self) -> usize {
        self.lengths.len()
    }

    /// Length of the file when the list was made, in bytes.
    pub(crate) fn bytes(&self, file: usize) -> u64 {
        self.lengths[file]
    }

    /// The file's path: as given, or below the folder as given. Costs one allocation.
    pub(crate) fn path(&self, file: usize) -> PathBuf {
        let mut path = PathBuf::new();
        self.above.open(self.folders[file], &mut path);
        path.push(self.names.get(file));
        path
    }

    /// Adds a folder. Without a parent, `name` is a path as given.
    pub(super) fn add_folder(&mut self, parent: Option<Folder>, name: &OsStr) -> Folder {
        let above = Arc::make_mut(&mut self.above);
        above.names.push(name);
        above.parents.push(parent);
        Folder(NonZeroUsize::MIN.saturating_add(above.parents.len() - 1))
    }

    /// The folder of that path, added unless it is the latest one added.
    pub(super) fn folder_at(&mut self, path: &Path) -> Folder {
        match self.above.parents.iter().zip(1..).last() {
            Some((None, count)) if self.above.names.get(count - 1) == path => {
                Folder(NonZeroUsize::MIN.saturating_add(count - 1))
            }
            _ => self.add_folder(None, path.as_os_str()),
        }
    }

    /// Adds a file. Without a folder, `name` is a path as given.
    pub(super) fn add_file(&mut self, folder: Option<Folder>, name: &OsStr, bytes: u64) {
        self.names.push(name);
        self.folders.push(folder);
        self.lengths.push(bytes);
    }

    /// A list of some of the files, in the same order.
    pub(crate) fn part(&self, files: Range<usize>) -> FileList {
        let mut part = FileList { above: Arc::clone(&self.above), ..FileList::default() };
        for file in files {
            part.add_file(self.folders[file], self.names.get(file), self.lengths[file]);
        }
        part
    }
}

impl Folders {
    fn open(&self, folder: Option<Folder>, path: &mut PathBuf) {
        // Folders nest no deeper than a path of the system is long, so recursion is safe here.
        if let Some(Folder(number)) = folder {
            let index = number.get() - 1;
            self.open(self.parents[index], path);
            path.push(self.names.get(index));
        }
    }
}

/// Names end to end.
#[derive(Clone, Debug, Default)]
struct Names {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Names {
    fn push(&mut self, name: &OsStr) {
        self.bytes.extend_from_slice(name.as_bytes());
        self.ends.push(self.bytes.len());
    }

    fn get(&self, index: usize) -> &OsStr {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        OsStr::from_bytes(&self.bytes[start..self.ends[index]])
    }
}

#[cfg(test)]
impl FileList {
    /// The files in order: paths and lengths.
    pub(super) fn iter(&self) -> impl Iterator<Item = (PathBuf, u64)> + '_ {
        (0..self.len()).map(|file| (self.path(file), self.bytes(file)))
    }

    /// Memory held by the list, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        let words = [
            self.above.parents.capacity(),
            self.above.names.ends.capacity(),
            self.folders.capacity(),
            self.lengths.capacity(),
            self.names.ends.capacity(),
        ];
        let names = self.above.names.bytes.capacity() + self.names.bytes.capacity();
        words.iter().sum::<usize>() * size_of::<u64>() + names
    }
}

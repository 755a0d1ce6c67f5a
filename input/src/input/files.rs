//! A list of regular files, compact enough for millions of small ones: per file 12 bytes and its name. Names
//! lie end to end in one arena and consecutive files share their folder, so no path is kept whole. Lengths
//! are fixed when the list is made; readers check that a file still has its length.

use super::open_folder::OpenFolder;
use crate::error::InputError;
use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io;
use std::num::NonZeroUsize;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Consecutive regular files, in the order in which they are read.
#[derive(Clone, Debug, Default)]
pub struct FileList {
    /// Shared by the parts of a list.
    above: Arc<Folders>,
    names: Names,
    runs: Vec<Run>,
    lengths: Vec<u64>,
}

/// Files that follow each other in one folder, up to the next run's first.
#[derive(Clone, Copy, Debug)]
struct Run {
    first: usize,
    folder: Option<FolderId>,
}

/// The folders that files lie in.
#[derive(Clone, Debug, Default)]
pub(super) struct Folders {
    names: Names,
    parents: Vec<Option<FolderId>>,
}

/// A folder of one [`FileList`], by its index there plus 1, so that `Option<FolderId>` is one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FolderId(NonZeroUsize);

/// Files that follow each other in a folder before it is opened for their sake.
const FILES_WORTH_A_FOLDER: usize = 4;

/// Opens a listed file without waiting, even if another kind of file has replaced it.
pub fn open_file(path: &Path) -> io::Result<File> {
    // A pipe would wait for its writer.
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

/// As [`open_file`], of a file that was there when the list was made.
pub fn open_listed(path: PathBuf) -> Result<File, InputError> {
    open_file(&path).map_err(|cause| InputError::of_listed(path, cause))
}

/// Fills `into` with the bytes of an open file from `offset` on. `listed` is its length in the list,
/// and `path` is for messages.
pub fn read_listed(
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
    /// Returns the number of files.
    pub fn len(&self) -> usize {
        self.lengths.len()
    }

    /// Length of the file when the list was made, in bytes.
    pub fn bytes(&self, file: usize) -> u64 {
        self.lengths[file]
    }

    /// Returns the file's path: as given, or below the folder as given. Costs one allocation.
    pub fn path(&self, file: usize) -> PathBuf {
        let mut path = PathBuf::new();
        self.above.push_path(self.run(file).1, &mut path);
        path.push(self.names.get(file));
        path
    }

    /// Returns the end of the file's path: its name, or the path as given.
    pub fn name(&self, file: usize) -> &Path {
        Path::new(self.names.get(file))
    }

    /// Opens the file. In a folder of many, it is looked up in the folder, which stays open in `held`.
    ///
    /// # Errors
    /// The system's error, for the file or for its folder.
    pub fn open(&self, file: usize, held: &mut OpenFolder) -> io::Result<File> {
        match self.run(file) {
            (files, Some(folder)) if files >= FILES_WORTH_A_FOLDER => {
                held.open(&self.above, folder, self.names.get(file))
            }
            _ => open_file(&self.path(file)),
        }
    }

    /// Memory that the list holds, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.above.parents.capacity() * size_of::<Option<FolderId>>()
            + self.above.names.memory_bytes()
            + self.names.memory_bytes()
            + self.runs.capacity() * size_of::<Run>()
            + self.lengths.capacity() * size_of::<u64>()
    }

    /// Returns the number of listed files in the file's folder, and the folder.
    fn run(&self, file: usize) -> (usize, Option<FolderId>) {
        let next = self.runs.partition_point(|run| run.first <= file);
        let Run { first, folder } = self.runs[next - 1];
        let end = self.runs.get(next).map_or(self.len(), |next| next.first);
        (end - first, folder)
    }

    /// Adds a folder. Without a parent, `name` is a path as given.
    pub fn add_folder(&mut self, parent: Option<FolderId>, name: &OsStr) -> FolderId {
        let above = Arc::make_mut(&mut self.above);
        above.names.push(name);
        above.parents.push(parent);
        FolderId(NonZeroUsize::MIN.saturating_add(above.parents.len() - 1))
    }

    /// Returns the folder of that path, added unless it is the latest one added.
    pub(super) fn folder_at(&mut self, path: &Path) -> FolderId {
        match self.above.parents.iter().zip(1..).last() {
            Some((None, count)) if self.above.names.get(count - 1) == path => {
                FolderId(NonZeroUsize::MIN.saturating_add(count - 1))
            }
            _ => self.add_folder(None, path.as_os_str()),
        }
    }

    /// Adds a file. Without a folder, `name` is a path as given.
    pub fn add_file(&mut self, folder: Option<FolderId>, name: &OsStr, bytes: u64) {
        if self.runs.last().is_none_or(|run| run.folder != folder) {
            self.runs.push(Run { first: self.len(), folder });
        }
        self.names.push(name);
        self.lengths.push(bytes);
    }

    /// Adds a file that is known by its path alone, and not read.
    pub fn add_path(&mut self, path: &OsStr, bytes: u64) {
        self.add_file(None, path, bytes);
    }

    /// Gives back unused capacity.
    pub(super) fn shrink(&mut self) {
        self.names.bytes.shrink_to_fit();
        self.names.ends.shrink_to_fit();
        self.runs.shrink_to_fit();
        self.lengths.shrink_to_fit();
    }

    /// Returns a list of some of the files, in the same order.
    pub fn part(&self, files: impl IntoIterator<Item = usize>) -> FileList {
        let mut part = FileList { above: Arc::clone(&self.above), ..FileList::default() };
        for file in files {
            part.add_file(self.run(file).1, self.names.get(file), self.lengths[file]);
        }
        part
    }
}

impl Folders {
    /// Returns the path of a folder.
    pub(super) fn path(&self, folder: FolderId) -> PathBuf {
        let mut path = PathBuf::new();
        self.push_path(Some(folder), &mut path);
        path
    }

    fn push_path(&self, folder: Option<FolderId>, path: &mut PathBuf) {
        // Folders nest no deeper than a path of the system is long, so recursion is safe here.
        if let Some(FolderId(number)) = folder {
            let index = number.get() - 1;
            self.push_path(self.parents[index], path);
            path.push(self.names.get(index));
        }
    }
}

/// Names end to end.
#[derive(Clone, Debug, Default)]
struct Names {
    bytes: Vec<u8>,
    /// Where blocks of names begin.
    blocks: Vec<usize>,
    /// Where each name ends, from its block's begin on.
    ends: Vec<u32>,
}

/// Names per block: some 4 GiB of names would exceed the ends of a block.
const NAMES_PER_BLOCK: usize = 256;

impl Names {
    fn push(&mut self, name: &OsStr) {
        if self.ends.len().is_multiple_of(NAMES_PER_BLOCK) {
            self.blocks.push(self.bytes.len());
        }
        self.bytes.extend_from_slice(name.as_bytes());
        let block = self.blocks[self.blocks.len() - 1];
        let end = u32::try_from(self.bytes.len() - block);
        assert!(end.is_ok(), "{NAMES_PER_BLOCK} names are longer than 4 GiB");
        self.ends.push(end.unwrap_or_default());
    }

    fn get(&self, index: usize) -> &OsStr {
        let block = self.blocks[index / NAMES_PER_BLOCK];
        let before = if index.is_multiple_of(NAMES_PER_BLOCK) { 0 } else { self.ends[index - 1] };
        OsStr::from_bytes(&self.bytes[block + before as usize..block + self.ends[index] as usize])
    }

    fn memory_bytes(&self) -> usize {
        self.bytes.capacity()
            + self.blocks.capacity() * size_of::<usize>()
            + self.ends.capacity() * size_of::<u32>()
    }
}

//! The input of a job: files, folders, patterns, standard input, pipes or bytes in memory, named by the
//! person and looked up once. The result is an ordered list of sources for the plan to cut into tiles. Only
//! folders are opened and read here. A file that is not read is an error or is counted.

mod cut;
mod delimiter;
mod file;
mod files;
mod format;
mod listing;
mod material;
mod named;
mod open_folder;
mod pattern;
mod range_source;
mod tile_source;
mod walk;

pub use cut::{ByteSet, Cut};
pub use delimiter::{Delimited, Delimiter};
pub use file::InputFile;
pub use files::{FileList, open_file, open_listed, read_listed};
pub use format::Format;
pub use material::{MEMORY, Material, OpenFile};
pub use open_folder::OpenFolder;
#[doc(hidden)]
pub use pattern::{Parts, Pattern, is_pattern};
pub use range_source::RangeSource;
pub use range_source::read_range;
pub use tile_source::TileSource;
pub use tile_source::TileStream;

use crate::error::Result;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The data that a plan keeps of a file: its place among all bytes, its format.
const PLANNED_FILE_BYTES: usize = size_of::<u64>() + 2;

/// The input of a job, in a fixed order: arguments as given; below a folder depth first, by the bytes of file
/// names. A file that is named twice is read twice.
///
/// Regular files are read to the length they have when the `Input` is made. Below folders, hidden
/// files are read; symbolic links and special files are counted ([`Input::passed_over`]) and not
/// read. Folders of `/proc` and `/sys` give their files lengths that mean nothing: name such files
/// one by one, and they are read to their end, as pipes are.
#[derive(Clone, Debug, Default)]
pub struct Input {
    #[doc(hidden)]
    pub sources: Vec<Source>,
    #[doc(hidden)]
    pub passed_over: u64,
}

/// A part of the input that is read in one way.
#[derive(Clone, Debug)]
pub enum Source {
    /// Regular files, read in parallel at any offset.
    Files(FileList),
    /// Files of a source of the caller's, read in parallel at any offset.
    Ranges(Arc<dyn RangeSource>, FileList),
    /// Files of which some are compressed, each read in order.
    Packed(PackedFiles),
    /// Bytes that come once and in order, their number unknown.
    Stream(StreamSource),
    /// Bytes in memory.
    Memory(Arc<Vec<u8>>),
}

/// Files that are decompressed as they are read.
#[derive(Clone, Debug)]
pub struct PackedFiles {
    /// Where they are kept, if not in the file system.
    pub from: Option<Arc<dyn RangeSource>>,
    #[doc(hidden)]
    pub files: FileList,
    /// Of each file.
    pub formats: Vec<Format>,
}

/// Something to read in order until it ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamSource {
    /// The path to open, or the name of standard input in messages.
    pub name: PathBuf,
    #[doc(hidden)]
    pub kind: StreamKind,
    /// Whether it is read as stored, even if it is compressed.
    pub plain: bool,
}

/// The way to open a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamKind {
    /// It is open: the standard input of the process.
    Stdin,
    /// By its path. Opening a pipe may wait for its writer.
    Path,
    /// From the caller, tile by tile.
    Tiles(TileStream),
}

impl Source {
    fn files(&self) -> usize {
        match self {
            Source::Files(files)
            | Source::Ranges(_, files)
            | Source::Packed(PackedFiles { files, .. }) => files.len(),
            Source::Stream(_) | Source::Memory(_) => 1,
        }
    }
}

impl Input {
    /// Returns the files and folders at these paths, taken literally.
    ///
    /// # Errors
    /// [`InputError`](crate::error::InputError) for a path that is missing, may not be read, is a socket or
    /// a block device, or is a loop of links. That files *below folders* can be opened is seen only
    /// when they are read.
    pub fn paths(paths: impl IntoIterator<Item: AsRef<Path>>) -> Result<Input> {
        let mut input = Input::default();
        for path in paths {
            input.add_named(path.as_ref())?;
        }
        Ok(input.looked_up())
    }

    /// Reads arguments as of a command line: `-` is standard input, the path of an existing file or folder is
    /// a path, and any other argument with `*`, `?` or `[` is a pattern (`**` matches any number of folders).
    /// Wildcards match hidden names too. A link that a pattern matches is followed; a pipe, socket or device
    /// that it matches is passed over.
    ///
    /// # Errors
    /// As [`Input::paths`], and for a pattern that is malformed or matches nothing.
    pub fn patterns(arguments: impl IntoIterator<Item: AsRef<OsStr>>) -> Result<Input> {
        let mut input = Input::default();
        for argument in arguments {
            let argument = argument.as_ref();
            let exists = || fs::symlink_metadata(argument).is_ok();
            if argument == "-" {
                input.add_stream(StreamSource::stdin());
            } else if is_pattern(argument) && !exists() {
                input.add_pattern(argument)?;
            } else {
                input.add_named(Path::new(argument))?;
            }
        }
        Ok(input.looked_up())
    }

    /// Returns the standard input of this process, to its end.
    pub fn stdin() -> Input {
        Input { sources: vec![Source::Stream(StreamSource::stdin())], passed_over: 0 }
    }

    /// Bytes in memory; messages call them `memory`.
    pub fn bytes(bytes: impl Into<Vec<u8>>) -> Input {
        Input::shared(Arc::new(bytes.into()))
    }

    /// As [`Input::bytes`], of shared memory: a job of many rounds reads it again in each, without a copy of
    /// the whole.
    pub fn shared(bytes: Arc<Vec<u8>>) -> Input {
        Input { sources: vec![Source::Memory(bytes)], passed_over: 0 }
    }

    /// Files of another source than the file system, by name and length in bytes. Names are for the
    /// source and for messages; nothing is looked up before it is read.
    pub fn ranges(
        source: Arc<dyn RangeSource>,
        files: impl IntoIterator<Item = (impl AsRef<Path>, u64)>,
    ) -> Input {
        let mut list = FileList::default();
        for (name, bytes) in files {
            list.add_file(None, name.as_ref().as_os_str(), bytes);
        }
        Input { sources: vec![Source::Ranges(source, list)], passed_over: 0 }
    }

    /// Reads tiles that a source of the caller's makes; messages call them `name`. The calling thread
    /// acquires them, copies each into the workers' buffers, cut at the job's borders, and releases it: the
    /// engine never holds two. A tile's end is always a border; with [`Cut::Whole`] a tile is one split.
    ///
    /// ```
    /// # use tegula::{Input, TileSource};
    /// /// Blocks from a ring that a camera, a socket or another program fills.
    /// struct Ring(Vec<Vec<u8>>);
    ///
    /// impl TileSource for Ring {
    ///     type Tile = Vec<u8>;
    ///     fn acquire(&mut self) -> std::io::Result<Option<Vec<u8>>> {
    ///         Ok(self.0.pop())
    ///     }
    ///     fn release(&mut self, tile: Vec<u8>) { /* The ring may fill it again. */ }
    /// }
    /// let input = Input::tiles("the ring", Ring(vec![b"some lines\n".to_vec()]));
    /// ```
    pub fn tiles(name: impl AsRef<Path>, source: impl TileSource + 'static) -> Input {
        let kind = StreamKind::Tiles(TileStream::new(source));
        let stream = StreamSource { name: name.as_ref().to_path_buf(), kind, plain: true };
        Input { sources: vec![Source::Stream(stream)], passed_over: 0 }
    }

    /// Adds the sources of another input after this one's.
    pub fn append(&mut self, later: Input) {
        self.sources.extend(later.sources);
        self.passed_over += later.passed_over;
    }

    /// Returns the files, in order. For jobs that must look into their files before they run.
    pub fn listing(&self) -> impl Iterator<Item = InputFile<'_>> {
        self.sources
            .iter()
            .flat_map(|source| (0..source.files()).map(move |place| InputFile::of(source, place)))
    }

    /// Leaves out the files for which `keep` returns `false`.
    #[doc(hidden)]
    pub fn retain(&mut self, mut keep: impl FnMut(&InputFile<'_>) -> bool) {
        self.sources.retain_mut(|source| {
            let count = source.files();
            let kept: Vec<usize> =
                (0..count).filter(|&place| keep(&InputFile::of(source, place))).collect();
            match source {
                _ if kept.len() == count => return true,
                Source::Files(files) | Source::Ranges(_, files) => {
                    *files = files.part(kept.clone());
                }
                Source::Packed(PackedFiles { files, formats, .. }) => {
                    *files = files.part(kept.clone());
                    *formats = kept.iter().map(|&place| formats[place]).collect();
                }
                Source::Stream(_) | Source::Memory(_) => {}
            }
            !kept.is_empty()
        });
    }

    /// Returns the memory of the list of files and of a plan of it, in bytes.
    #[doc(hidden)]
    pub fn list_bytes(&self) -> usize {
        let bytes = self.sources.iter().map(|source| match source {
            Source::Files(files)
            | Source::Ranges(_, files)
            | Source::Packed(PackedFiles { files, .. }) => {
                files.memory_bytes() + files.len() * PLANNED_FILE_BYTES
            }
            Source::Stream(_) | Source::Memory(_) => 0,
        });
        bytes.sum()
    }

    /// Returns the number of symbolic links and special files (pipes, sockets, devices) in the given folders
    /// that are not read.
    pub fn passed_over(&self) -> u64 {
        self.passed_over
    }

    /// Returns an input to which nothing is added any more.
    fn looked_up(mut self) -> Input {
        for source in &mut self.sources {
            if let Source::Files(files) = source {
                files.shrink();
            }
        }
        self
    }

    /// Returns the list that the next file belongs to.
    fn files(&mut self) -> &mut FileList {
        if !matches!(self.sources.last(), Some(Source::Files(_))) {
            self.sources.push(Source::Files(FileList::default()));
        }
        match self.sources.last_mut() {
            Some(Source::Files(files)) => files,
            _ => unreachable!("a list of files was put there above"),
        }
    }

    fn add_stream(&mut self, stream: StreamSource) {
        self.sources.push(Source::Stream(stream));
    }
}

impl StreamSource {
    fn stdin() -> StreamSource {
        StreamSource {
            name: PathBuf::from("standard input"),
            kind: StreamKind::Stdin,
            plain: false,
        }
    }

    fn path(path: &Path) -> StreamSource {
        StreamSource { name: path.to_path_buf(), kind: StreamKind::Path, plain: false }
    }
}

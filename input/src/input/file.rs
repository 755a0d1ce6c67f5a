//! One file of an input, wherever it is kept, for jobs that must look into their files before they run: at
//! headers that contain the offsets of numbers or pixels.

use super::{
    FileList, MEMORY, PackedFiles, RangeSource, Source, open_listed, read_listed, read_range,
};
use crate::error::{InputError, Result};
use std::io;
use std::path::{Path, PathBuf};

/// A file, stream or piece of memory that an [`Input`](crate::input::Input) names; see
/// [`Input::listing`](crate::input::Input::listing).
#[derive(Debug)]
pub struct InputFile<'i> {
    name: PathBuf,
    kept: Kept<'i>,
}

/// Where its bytes are.
#[derive(Debug)]
enum Kept<'i> {
    Disk { bytes: u64 },
    Elsewhere { source: &'i dyn RangeSource, bytes: u64 },
    Memory(&'i [u8]),
    Stream,
}

impl<'i> InputFile<'i> {
    /// Returns one that is part of a source.
    pub(super) fn of(source: &'i Source, place: usize) -> InputFile<'i> {
        let disk = |files: &FileList| (files.path(place), Kept::Disk { bytes: files.bytes(place) });
        let elsewhere = |source, files: &FileList| {
            (files.path(place), Kept::Elsewhere { source, bytes: files.bytes(place) })
        };
        let (name, kept) = match source {
            Source::Files(files) | Source::Packed(PackedFiles { from: None, files, .. }) => {
                disk(files)
            }
            Source::Ranges(from, files)
            | Source::Packed(PackedFiles { from: Some(from), files, .. }) => {
                elsewhere(&**from, files)
            }
            Source::Stream(stream) => (stream.name.clone(), Kept::Stream),
            Source::Memory(bytes) => (PathBuf::from(MEMORY), Kept::Memory(bytes)),
        };
        InputFile { name, kept }
    }

    /// Returns the name by which splits and messages speak of it: a path, a URL, `standard input`.
    pub fn name(&self) -> &Path {
        &self.name
    }

    /// Returns its length in bytes, compressed if it is; of a stream it is not known.
    pub fn bytes(&self) -> Option<u64> {
        match self.kept {
            Kept::Disk { bytes } | Kept::Elsewhere { bytes, .. } => Some(bytes),
            Kept::Memory(bytes) => Some(bytes.len() as u64),
            Kept::Stream => None,
        }
    }

    /// Copies its bytes from `offset` on into `into`, as stored, compressed or not. Returns their number,
    /// which is less than the length of `into` only at the file's end. Where the file is kept elsewhere, the
    /// calling thread makes one request; so ask for much at a time.
    ///
    /// # Errors
    /// [`Error::Input`](crate::error::Error::Input) if it cannot be read, or has changed since it was listed;
    /// and for a stream, whose bytes come once.
    pub fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<usize> {
        let left = self.bytes().unwrap_or(u64::MAX).saturating_sub(offset);
        let count = into.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let into = &mut into[..count];
        let name = || self.name.clone();
        match self.kept {
            Kept::Disk { bytes } => read_listed(&open_listed(name())?, name, bytes, offset, into)?,
            Kept::Elsewhere { source, .. } if count > 0 => {
                read_range(source, name(), offset, into)?;
            }
            Kept::Elsewhere { .. } => {}
            Kept::Memory(bytes) => {
                let from = bytes.len() - left as usize;
                into.copy_from_slice(&bytes[from..from + count]);
            }
            Kept::Stream => {
                let cause = io::ErrorKind::NotSeekable.into();
                return Err(InputError::Read { path: name(), cause }.into());
            }
        }
        Ok(count)
    }
}

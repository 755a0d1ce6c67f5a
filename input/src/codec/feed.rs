//! Feeds a decoder with the bytes of a planned file in order: from the file system or from the caller's
//! source.

use super::ahead::{Ahead, RANGE_BYTES};
use super::source::Feed;
use crate::error::{InputError, Result};
use crate::input::{Material, RangeSource, open_listed, read_range};
use crate::memory::BlockPool;
use crate::plan::Packed;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// Reads one file of a part of the plan.
pub(super) struct FileFeed<'p> {
    material: &'p Material,
    file: usize,
    handle: Option<File>,
    ahead: Option<Ahead>,
}

impl<'p> FileFeed<'p> {
    /// The file is opened at the first read.
    pub(super) fn of(packed: &'p Packed, file: usize) -> FileFeed<'p> {
        FileFeed { material: &packed.material, file, handle: None, ahead: None }
    }

    /// Enables reading ahead if the file is remote and memory has room. Only for callers that read to the
    /// file's end.
    pub(super) fn read_ahead(mut self, blocks: &Arc<BlockPool>) -> FileFeed<'p> {
        if let Material::Ranges(source, files) = self.material {
            let (name, bytes) = (files.path(self.file), files.bytes(self.file));
            self.ahead = Ahead::new(source, name, bytes, blocks);
        }
        self
    }

    /// Returns whether small reads are cheap.
    pub(super) fn is_near(&self) -> bool {
        !matches!(self.material, Material::Ranges(..))
    }

    fn read_file(&mut self, offset: u64, into: &mut [u8]) -> Result<usize, InputError> {
        let handle = match &self.handle {
            Some(handle) => handle,
            None => self.handle.insert(open_listed(self.material.path(self.file))?),
        };
        loop {
            match handle.read_at(into, offset) {
                Ok(0) if !into.is_empty() => {
                    return Err(InputError::Shrank {
                        path: self.material.path(self.file),
                        planned: self.material.bytes(self.file),
                        found: handle.metadata().map_or(offset, |now| now.len().min(offset)),
                    });
                }
                Ok(count) => return Ok(count),
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
                Err(cause) => {
                    return Err(InputError::from_io(self.material.path(self.file), cause));
                }
            }
        }
    }

    fn read_range(
        &self,
        source: &dyn RangeSource,
        offset: u64,
        into: &mut [u8],
    ) -> Result<usize, InputError> {
        read_range(source, self.material.path(self.file), offset, into)?;
        Ok(into.len())
    }
}

impl Feed for FileFeed<'_> {
    fn read(&mut self, offset: u64, into: &mut [u8]) -> Result<usize> {
        if let Some(ahead) = &mut self.ahead {
            return ahead.read(offset, into);
        }
        match self.material {
            Material::Files(_) => Ok(self.read_file(offset, into)?),
            Material::Ranges(source, _) => Ok(self.read_range(&**source, offset, into)?),
            Material::Memory(bytes) => {
                let from = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
                let count = into.len().min(bytes.len() - from);
                into[..count].copy_from_slice(&bytes[from..from + count]);
                Ok(count)
            }
        }
    }

    fn bytes_at_once(&self) -> Option<usize> {
        (!self.is_near() && self.ahead.is_none()).then_some(RANGE_BYTES)
    }
}

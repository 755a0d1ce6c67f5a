//! Reads the bytes of a planned file in order: from the file system or from the caller's source.

use super::ahead::{Ahead, RANGE_BYTES};
use super::source::ReadAt;
use crate::error::Result;
use crate::input::{Material, OpenFile};
use crate::memory::BlockPool;
use crate::plan::Packed;
use std::sync::Arc;

/// Reads one file of a part of the plan.
pub(super) struct FileBytes<'p> {
    material: &'p Material,
    file: usize,
    open: OpenFile,
    ahead: Option<Ahead>,
}

impl<'p> FileBytes<'p> {
    /// The file is opened at the first read.
    pub(super) fn of(packed: &'p Packed, file: usize) -> FileBytes<'p> {
        FileBytes { material: &packed.material, file, open: OpenFile::default(), ahead: None }
    }

    /// Enables reading ahead if the file is remote and memory has room. Only for callers that read to the
    /// file's end.
    pub(super) fn read_ahead(mut self, blocks: &Arc<BlockPool>) -> FileBytes<'p> {
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
}

impl ReadAt for FileBytes<'_> {
    fn read(&mut self, offset: u64, into: &mut [u8]) -> Result<usize> {
        if let Some(ahead) = &mut self.ahead {
            return ahead.read(offset, into);
        }
        let left = self.material.bytes(self.file).saturating_sub(offset);
        let count = into.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        self.open.read(0, self.material, self.file, offset, &mut into[..count])?;
        Ok(count)
    }

    fn bytes_at_once(&self) -> Option<usize> {
        (!self.is_near() && self.ahead.is_none()).then_some(RANGE_BYTES)
    }
}

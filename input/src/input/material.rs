//! Bytes that can be read at any offset, wherever they are kept, and the one reader of them.

use super::{FileList, OpenFolder, RangeSource, open_file, read_listed, read_range};
use crate::error::{InputError, Result};
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// The name of bytes in memory in messages.
pub const MEMORY: &str = "memory";

/// Bytes that can be read at any offset.
#[allow(missing_debug_implementations, reason = "no part of the interface")]
pub enum Material {
    #[doc(hidden)]
    Files(FileList),
    /// Files that a source of the caller's reads.
    Ranges(Arc<dyn RangeSource>, FileList),
    #[doc(hidden)]
    Memory(Arc<Vec<u8>>),
}

impl Material {
    #[doc(hidden)]
    pub fn files(&self) -> usize {
        match self {
            Material::Files(files) | Material::Ranges(_, files) => files.len(),
            Material::Memory(_) => 1,
        }
    }

    /// Length of a file, as fixed when the job was planned.
    pub fn bytes(&self, file: usize) -> u64 {
        match self {
            Material::Files(files) | Material::Ranges(_, files) => files.bytes(file),
            Material::Memory(bytes) => bytes.len() as u64,
        }
    }

    #[doc(hidden)]
    pub fn path(&self, file: usize) -> PathBuf {
        match self {
            Material::Files(files) | Material::Ranges(_, files) => files.path(file),
            Material::Memory(_) => PathBuf::from(MEMORY),
        }
    }
}

/// Reads bytes of materials. The file read last stays open, so consecutive reads of one big file open it
/// once.
#[derive(Default)]
#[allow(missing_debug_implementations, reason = "no part of the interface")]
pub struct OpenFile {
    /// By the number of the material and that of the file in it.
    last: Option<((usize, usize), File)>,
    /// The folder of many small files, where many are read one after the other.
    folder: Option<OpenFolder>,
}

impl OpenFile {
    /// Returns a reader of many files, which keeps their folder open, too.
    pub fn of_many() -> OpenFile {
        OpenFile { last: None, folder: Some(OpenFolder::default()) }
    }

    /// Returns the open file of material number `part`, and whether this call has opened it.
    pub fn of(
        &mut self,
        part: usize,
        material: &Material,
        file: usize,
    ) -> Result<(&File, bool), InputError> {
        let wanted = (part, file);
        if self.last.as_ref().is_none_or(|(open, _)| *open != wanted) {
            // One file at a time is open.
            self.last = None;
        }
        let is_new = self.last.is_none();
        let (_, open) = match &mut self.last {
            Some(last) => last,
            last => {
                let opened = match (material, &mut self.folder) {
                    (Material::Files(files), Some(folder)) => files.open(file, folder),
                    (Material::Files(files), None) => open_file(&files.path(file)),
                    (Material::Ranges(..) | Material::Memory(_), _) => {
                        Err(io::ErrorKind::Unsupported.into())
                    }
                };
                let opened =
                    opened.map_err(|cause| InputError::of_listed(material.path(file), cause))?;
                last.insert((wanted, opened))
            }
        };
        Ok((open, is_new))
    }

    /// Fills `into` with bytes of a file from `offset` on, all of which the file had when it was listed.
    pub fn read(
        &mut self,
        part: usize,
        material: &Material,
        file: usize,
        offset: u64,
        into: &mut [u8],
    ) -> Result<(), InputError> {
        match material {
            Material::Memory(bytes) => {
                into.copy_from_slice(&bytes[offset as usize..offset as usize + into.len()]);
                Ok(())
            }
            Material::Ranges(source, files) if !into.is_empty() => {
                read_range(&**source, files.path(file), offset, into)
            }
            Material::Ranges(..) => Ok(()),
            Material::Files(files) => {
                let (open, _) = self.of(part, material, file)?;
                read_listed(open, || files.path(file), files.bytes(file), offset, into)
            }
        }
    }
}

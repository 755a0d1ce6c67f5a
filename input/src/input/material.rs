//! Bytes that can be read at any offset, wherever they are kept.

use super::{FileList, RangeSource};
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

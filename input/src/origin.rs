//! Origin: the source of a split, and how a place in it is named: path, line and byte.
//!
//! Lines are not counted while a job runs, because most jobs never name one. Naming a place counts the
//! newlines before it, by reading that much of the file once more, in bounded memory.
//! A stream cannot be read again, so its reader counts as it goes.

use crate::error::Place;
use crate::input::{FileList, MEMORY, Material, RangeSource, open_file};
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The source of a split. The path is put together only when it is needed.
#[derive(Clone, Copy)]
pub struct Origin<'s> {
    /// Its part of the plan.
    pub part: usize,
    pub kind: OriginKind<'s>,
}

#[derive(Clone, Copy)]
pub enum OriginKind<'s> {
    File {
        files: &'s FileList,
        file: usize,
    },
    Range {
        source: &'s dyn RangeSource,
        files: &'s FileList,
        file: usize,
    },
    Memory(&'s [u8]),
    /// A compressed file; places in it are those of its decompressed bytes.
    Packed {
        material: &'s Material,
        file: usize,
        /// Newlines before the split, where they are counted.
        newlines: Option<u64>,
    },
    Stream {
        name: &'s Path,
        /// Newlines before the split, where they are counted.
        newlines: Option<u64>,
    },
}

/// The bytes that are read of a file at a time.
const BLOCK_BYTES: usize = 256 << 10;

impl Origin<'_> {
    pub fn path(&self) -> PathBuf {
        match self.kind {
            OriginKind::File { files, file } | OriginKind::Range { files, file, .. } => {
                files.path(file)
            }
            OriginKind::Memory(_) => PathBuf::from(MEMORY),
            OriginKind::Packed { material, file, .. } => material.path(file),
            OriginKind::Stream { name, .. } => name.to_path_buf(),
        }
    }

    pub fn place(&self, line: Option<u64>, offset: u64) -> Place {
        Place { source: self.path(), line, offset: Some(offset) }
    }

    /// Returns its file's number in its part of the plan.
    pub fn file(&self) -> usize {
        match self.kind {
            OriginKind::File { file, .. }
            | OriginKind::Range { file, .. }
            | OriginKind::Packed { file, .. } => file,
            OriginKind::Memory(_) | OriginKind::Stream { .. } => 0,
        }
    }

    /// Newlines in a range of the file's bytes; `None` where they cannot be read (again).
    pub fn newlines(&self, range: Range<u64>) -> Option<u64> {
        match self.kind {
            OriginKind::File { files, file } => {
                let file = open_file(&files.path(file)).ok()?;
                newlines_by_blocks(range, |block, at| file.read_exact_at(block, at))
            }
            OriginKind::Range { source, files, file } => {
                let name = files.path(file);
                newlines_by_blocks(range, |block, at| source.read_at(&name, at, block))
            }
            OriginKind::Memory(bytes) => {
                Some(newlines(&bytes[range.start as usize..range.end as usize]))
            }
            OriginKind::Packed { .. } | OriginKind::Stream { .. } => None,
        }
    }
}

pub fn newlines(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

fn newlines_by_blocks(
    range: Range<u64>,
    read: impl Fn(&mut [u8], u64) -> io::Result<()>,
) -> Option<u64> {
    let mut buffer = vec![0; BLOCK_BYTES.min((range.end - range.start) as usize)];
    let (mut at, mut count) = (range.start, 0);
    while at < range.end {
        let block = &mut buffer[..BLOCK_BYTES.min((range.end - at) as usize)];
        read(block, at).ok()?;
        at += block.len() as u64;
        count += newlines(block);
    }
    Some(count)
}

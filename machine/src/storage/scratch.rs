//! Scratch: one file without a name, to which any thread writes blocks and from which it reads them back. It
//! is created with the first block, and its space is free again when it is dropped. A writer of much data
//! that belongs together reserves regions, so that few offsets describe its place.

use super::{Storage, StoredFile};
use crate::encoding::checksum_of;
use crate::error::StorageError;
use crate::sync::Mutex;
use crate::timeline;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// Bytes that did not fit in memory.
#[allow(missing_debug_implementations, reason = "no part of the interface")]
pub struct Scratch {
    storage: Arc<dyn Storage>,
    file: OnceLock<Box<dyn StoredFile>>,
    opening: Mutex<()>,
    /// Where nothing was reserved yet.
    end: AtomicU64,
    written: Arc<AtomicU64>,
}

/// The shortest and the longest stretch that is reserved at once, in bytes.
const REGION_BYTES_LEAST: u64 = 256 << 10;
const REGION_BYTES_MOST: u64 = 1 << 30;

/// A region of the file for bytes that belong together. A part that is never written is a hole, which takes
/// no space.
#[derive(Debug, Default)]
pub struct Region {
    left: Range<u64>,
    taken: u64,
}

/// Bytes that were written to a file: where they are, and their checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Where they begin.
    pub offset: u64,
    /// Their number.
    pub bytes: usize,
    /// XXH3 (64 bits).
    pub sum: u64,
}

impl Stored {
    /// What is wrong with bytes that have another checksum.
    pub const DAMAGE: &'static str = "it holds other bytes than were written";

    /// Reads them into the first of `into`.
    ///
    /// # Errors
    /// [`StorageError::Damaged`] if they are other bytes now, and those of the file.
    pub fn read(&self, file: &dyn StoredFile, into: &mut [u8]) -> Result<(), StorageError> {
        let &Stored { offset, bytes, sum } = self;
        let into = &mut into[..bytes];
        file.read_exact_at(into, offset)?;
        if checksum_of([into]) == sum {
            return Ok(());
        }
        Err(StorageError::Damaged { path: file.path().to_path_buf(), offset, cause: Self::DAMAGE })
    }
}

impl Region {
    /// Returns the next range for `bytes`. A new region is as long as all before it, so the number of regions
    /// grows by one when the bytes double.
    pub fn take(&mut self, scratch: &Scratch, bytes: u64) -> Range<u64> {
        if self.left.end - self.left.start < bytes {
            let more = self.taken.clamp(REGION_BYTES_LEAST, REGION_BYTES_MOST).max(bytes);
            let start = scratch.end.fetch_add(more, Ordering::Relaxed);
            self.left = start..start + more;
        }
        let place = self.left.start..self.left.start + bytes;
        self.left.start = place.end;
        self.taken += bytes;
        place
    }
}

impl Scratch {
    #[doc(hidden)]
    pub fn new(storage: &Arc<dyn Storage>) -> Arc<Scratch> {
        Arc::new(Scratch {
            storage: Arc::clone(storage),
            file: OnceLock::new(),
            opening: Mutex::new(()),
            end: AtomicU64::new(0),
            written: Arc::default(),
        })
    }

    /// Appends bytes that have a checksum among them; returns their range.
    pub fn append(&self, bytes: &[u8]) -> Result<Range<u64>, StorageError> {
        let start = self.end.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.write(bytes, start)?;
        Ok(start..start + bytes.len() as u64)
    }

    /// Appends parts, one after the other, and their checksum to what is returned.
    pub fn store<const N: usize>(&self, parts: [&[u8]; N]) -> Result<Stored, StorageError> {
        let bytes = parts.iter().map(|part| part.len()).sum();
        let offset = self.end.fetch_add(bytes as u64, Ordering::Relaxed);
        let mut at = offset;
        for part in parts {
            self.write(part, at)?;
            at += part.len() as u64;
        }
        Ok(Stored { offset, bytes, sum: checksum_of(parts) })
    }

    /// Reads what was stored into the first of `into`.
    ///
    /// # Errors
    /// [`StorageError::Damaged`] if it is something else now, and those of the disk.
    pub fn load(&self, stored: &Stored, into: &mut [u8]) -> Result<(), StorageError> {
        let _reading = timeline::begin(timeline::Kind::Spill);
        stored.read(self.file()?, into)
    }

    /// Writes bytes where a region has taken a place for them.
    pub fn write(&self, bytes: &[u8], offset: u64) -> Result<(), StorageError> {
        let _writing = timeline::begin(timeline::Kind::Spill);
        self.file()?.write_all_at(bytes, offset)?;
        self.written.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Fills `into` from `offset` on.
    pub fn read(&self, offset: u64, into: &mut [u8]) -> Result<(), StorageError> {
        let _reading = timeline::begin(timeline::Kind::Spill);
        self.file()?.read_exact_at(into, offset)
    }

    /// Gives the space of these bytes back, which nobody will read again.
    pub fn free(&self, extents: &[Range<u64>]) -> Result<(), StorageError> {
        extents.iter().try_for_each(|extent| self.file()?.punch(extent.clone()))
    }

    /// Bytes written so far.
    pub fn bytes(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// Returns the count of `bytes`, which can be read while they are written.
    pub fn count(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.written)
    }

    /// Returns the error for bytes at `offset` that differ from those written there.
    pub fn damaged(&self, offset: u64, cause: &'static str) -> StorageError {
        let path = self.file.get().map_or(PathBuf::new(), |file| file.path().to_path_buf());
        StorageError::Damaged { path, offset, cause }
    }

    fn file(&self) -> Result<&dyn StoredFile, StorageError> {
        if self.file.get().is_none() {
            let _one = self.opening.lock();
            if self.file.get().is_none() {
                let _ = self.file.set(self.storage.scratch()?);
            }
        }
        self.file
            .get()
            .map(AsRef::as_ref)
            .ok_or_else(|| StorageError::Missing { path: self.storage.path().to_path_buf() })
    }
}

//! Memory of Python objects as input: an array is read where it lies, split by split, and never copied whole; parts
//! are each one record.

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rustix::mm::{Advice, madvise};
use std::fmt;
use std::hash::Hasher;
use std::io;
use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};
use tegula::RangeSource;
use twox_hash::XxHash3_64;

/// Bytes that are hashed at a time: they stay in the first-level cache.
const HASHED_BYTES: usize = 16 << 10;

/// The bytes of an object that gives a contiguous buffer, held for as long as this is.
pub(crate) struct Memory(PyBuffer<u8>);

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").field("bytes", &self.len()).finish()
    }
}

impl Memory {
    pub(crate) fn new(bytes: PyBuffer<u8>) -> PyResult<Memory> {
        if !bytes.is_c_contiguous() {
            return Err(PyValueError::new_err(
                "the array is not contiguous: give numpy.ascontiguousarray of it",
            ));
        }
        Ok(Memory(bytes))
    }

    pub(crate) fn len(&self) -> u64 {
        self.0.len_bytes() as u64
    }
}

impl Memory {
    /// Returns XXH3 (64 bits) of all bytes.
    fn hash(&self) -> u64 {
        let (mut hash, mut bytes) = (XxHash3_64::new(), [0; HASHED_BYTES]);
        let mut offset = 0;
        while offset < self.len() {
            let part = &mut bytes[..(self.len() - offset).min(HASHED_BYTES as u64) as usize];
            // The range is inside.
            let _ = self.copy(offset, part);
            hash.write(part);
            offset += part.len() as u64;
        }
        hash.finish()
    }

    /// Copies the bytes from `offset` on.
    pub(crate) fn copy(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let offset = usize::try_from(offset).map_err(|_| io::ErrorKind::UnexpectedEof)?;
        let is_inside = offset.checked_add(into.len()).is_some_and(|end| end <= self.0.len_bytes());
        if !is_inside {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        // SAFETY: the buffer is contiguous and held, so its bytes stay, and the range is inside. A caller that
        // writes into its array during the run gets one or the other of its values, as with any array that two
        // threads of Python share.
        unsafe {
            let from = self.0.buf_ptr().cast::<u8>().add(offset);
            std::ptr::copy_nonoverlapping(from, into.as_mut_ptr(), into.len());
        }
        Ok(())
    }
}

impl RangeSource for Memory {
    fn read_at(&self, _: &Path, offset: u64, into: &mut [u8]) -> io::Result<()> {
        self.copy(offset, into)
    }

    fn stamp(&self, _: &Path) -> u64 {
        self.hash()
    }
}

/// Objects that are read one after another, each of which is a record, by names that are their numbers.
#[derive(Debug)]
pub(crate) struct Parts(Vec<Memory>);

impl Parts {
    pub(crate) fn new(parts: Vec<PyBuffer<u8>>) -> PyResult<Parts> {
        Ok(Parts(parts.into_iter().map(Memory::new).collect::<PyResult<_>>()?))
    }

    /// Returns the name and the bytes of each.
    pub(crate) fn list(&self) -> Vec<(PathBuf, u64)> {
        let names = (0..).map(|number: usize| PathBuf::from(format!("batch {number}")));
        names.zip(self.0.iter().map(Memory::len)).collect()
    }

    fn part(&self, name: &Path) -> Option<&Memory> {
        let number: usize = name.to_str()?.strip_prefix("batch ")?.parse().ok()?;
        self.0.get(number)
    }
}

impl RangeSource for Parts {
    fn read_at(&self, name: &Path, offset: u64, into: &mut [u8]) -> io::Result<()> {
        self.part(name).ok_or(io::ErrorKind::NotFound)?.copy(offset, into)
    }

    fn stamp(&self, name: &Path) -> u64 {
        self.part(name).map_or(0, Memory::hash)
    }
}

/// The least size of a page. Larger ones are multiples of it; the system refuses a range that does not fit them.
const PAGE_BYTES: usize = 4 << 10;

/// Has the system bring all pages of memory that is about to be written, at a fraction of a page fault for each.
pub(crate) fn bring<T>(room: &mut [MaybeUninit<T>]) {
    let range = room.as_mut_ptr_range();
    let begin = (range.start as usize).next_multiple_of(PAGE_BYTES);
    let bytes = (range.end as usize / PAGE_BYTES * PAGE_BYTES).saturating_sub(begin);
    if bytes > 0 {
        let begin = range.start.cast::<u8>().wrapping_add(begin - range.start as usize);
        // SAFETY: the whole pages are inside `room`, which is borrowed alone, and the call never changes contents.
        // Where it is refused, each page is brought when it is touched.
        let _ = unsafe { madvise(begin.cast(), bytes, Advice::LinuxPopulateWrite) };
    }
}

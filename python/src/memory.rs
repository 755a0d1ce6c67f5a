//! Memory of a Python object as input: an array is read where it lies, split by split, and never copied whole.

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::fmt;
use std::io;
use std::path::Path;
use tegula::RangeSource;

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

impl RangeSource for Memory {
    fn read_at(&self, _: &Path, offset: u64, into: &mut [u8]) -> io::Result<()> {
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

//! A file that appears whole or not at all, for the writers in Python.

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use std::io::Write;
use std::path::PathBuf;
use tegula_machine::sync::{Mutex, MutexGuard};

/// A file without a name until `commit`. One that is dropped before, or whose process dies, leaves nothing.
#[pyclass(frozen, module = "tegula._tegula")]
pub(crate) struct AtomicFile(Mutex<Option<tegula::output::AtomicFile>>);

fn failed(error: &tegula::OutputError) -> PyErr {
    PyOSError::new_err(error.to_string())
}

impl AtomicFile {
    fn open(&self) -> MutexGuard<'_, Option<tegula::output::AtomicFile>> {
        self.0.lock()
    }
}

#[pymethods]
impl AtomicFile {
    /// Creates a file that takes the place of `path`.
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<AtomicFile> {
        let file = py.detach(|| tegula::output::AtomicFile::create(path));
        Ok(AtomicFile(Mutex::new(Some(file.map_err(|error| failed(&error))?))))
    }

    /// Appends bytes.
    fn write(&self, py: Python<'_>, bytes: &[u8]) -> PyResult<()> {
        let write = |file: &mut tegula::output::AtomicFile| {
            let written = file.write_all(bytes);
            written.map_err(|cause| tegula::OutputError::from_write(file.path(), cause))
        };
        let written = py.detach(|| self.open().as_mut().map(write));
        written.ok_or_else(closed)?.map_err(|error| failed(&error))
    }

    /// Syncs the file and gives it its name.
    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        let put = py.detach(|| self.open().take().map(tegula::output::AtomicFile::commit));
        put.ok_or_else(closed)?.map_err(|error| failed(&error))
    }

    /// Drops the file if it has no name yet.
    fn close(&self) {
        drop(self.open().take());
    }
}

fn closed() -> PyErr {
    PyValueError::new_err("the file is closed")
}

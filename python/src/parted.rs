//! Parts of an answer that nodes write: a function of Python's writes each.

use crate::answer::{Answer, Ended};
use crate::dynamic::Columns;
use crate::objects::KeyForm;
use pyo3::prelude::*;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tegula::{Error, Job, Output, Result};

/// Where the parts go, and what writes one.
pub(crate) struct Parted {
    pub(crate) folder: PathBuf,
    /// What the names of the files end with.
    pub(crate) ending: String,
    /// Called with an answer and the path of a file, which appears when all of it is written.
    write: Py<PyAny>,
}

impl Parted {
    pub(crate) fn of(parts: &Bound<'_, PyAny>) -> PyResult<Option<Parted>> {
        let parts: Option<(PathBuf, String, Py<PyAny>)> = parts.extract()?;
        Ok(parts.map(|(folder, ending, write)| Parted { folder, ending, write }))
    }

    /// Lets the function write an answer, and returns it.
    pub(crate) fn write<J>(
        &self,
        output: Output<J>,
        path: &Path,
        (keys, names): (KeyForm, &[String]),
    ) -> Result<Output<J>>
    where
        J: Job<Key = [u8]> + 'static,
        J::Combine: Columns,
        Output<J>: Send + Sync,
    {
        let output = Arc::new(output);
        let ended = Ended::new(Arc::clone(&output));
        let answer = Answer::new(Box::new(ended), keys, names.to_vec());
        Python::attach(|py| self.write.call1(py, (answer, path)).map(drop))
            .map_err(|error| io::Error::other(error.to_string()))
            .and_then(|()| {
                let kept = || io::Error::other("the function keeps the answer");
                Arc::into_inner(output).ok_or_else(kept)
            })
            .map_err(|cause| Error::System { action: "write a part of the answer", cause })
    }
}

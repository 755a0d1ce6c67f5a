//! Estimates of the final values of keys, from the shows that Python has taken: the engine's own, of `tegula --show`.

use crate::answer::Answer;
use crate::dynamic::Number;
use pyo3::exceptions::{PyIndexError, PyRuntimeError};
use pyo3::prelude::*;
use tegula_machine::sync::Mutex;

/// Follows the figures of keys from show to show. Memory is linear in the shown keys.
#[pyclass(frozen, module = "tegula._tegula")]
pub(crate) struct Estimates {
    columns: Vec<usize>,
    /// For each column.
    known: Mutex<Vec<tegula::Estimates>>,
}

/// The estimates of the pairs of one show.
#[pyclass(frozen, module = "tegula._tegula")]
pub(crate) struct Estimated {
    columns: Vec<usize>,
    /// For each column, that of each pair; `None` where it has no number.
    found: Vec<Vec<Option<tegula::Estimate>>>,
}

#[pymethods]
impl Estimates {
    /// Follows the numbers of some columns.
    #[new]
    fn new(columns: Vec<usize>) -> Estimates {
        let known = columns.iter().map(|_| tegula::Estimates::new()).collect();
        Estimates { columns, known: Mutex::new(known) }
    }

    /// Takes the next show, of `bytes` bytes of the input that has `planned`, and returns its estimates.
    fn add(
        &self,
        py: Python<'_>,
        answer: &Bound<'_, Answer>,
        bytes: u64,
        planned: u64,
    ) -> PyResult<Estimated> {
        let answer = answer.get();
        let take = || {
            let batch = answer.copied()?;
            let mut known = self.known.lock();
            let found = self.columns.iter().zip(known.iter_mut()).map(|(column, known)| {
                known.begin(bytes, planned);
                let number = |place| match batch.columns.get(*column)?.number(place)? {
                    Number::Int(int) => Some(int as f64),
                    Number::Float(float) => Some(float),
                };
                let mut of = |place| Some(known.estimate(batch.key(place), number(place)?));
                (0..batch.len()).map(&mut of).collect()
            });
            Ok(Estimated { columns: self.columns.clone(), found: found.collect() })
        };
        let taken: tegula::Result<Estimated> = py.detach(take);
        taken.map_err(|error| PyRuntimeError::new_err(error.to_string()))
    }
}

#[pymethods]
impl Estimated {
    /// The final value of a pair in a column, and its largest error; `None` where the pair has no number.
    fn of(&self, column: usize, place: usize) -> PyResult<Option<(f64, Option<f64>)>> {
        let column = self.columns.iter().position(|known| *known == column);
        let found = column.and_then(|column| self.found[column].get(place));
        let found = found.ok_or_else(|| PyIndexError::new_err("no such pair"))?;
        Ok(found.map(|estimate| (estimate.total, estimate.within)))
    }
}

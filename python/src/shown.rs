//! Answers while a job runs: the engine's show leaves each in a slot of one, from which Python takes the newest. Who
//! takes them slowly sees fewer, and holds up nothing.

use crate::answer::Answer;
use crate::dynamic::Columns;
use crate::objects::KeyForm;
use crate::running::{self, Running};
use pyo3::prelude::*;
use pyo3::types::PyList;
use std::sync::Arc;
use std::time::Duration;
use tegula::{Error, Every, Job, STABLE_KEYS_MOST, Shown};
use tegula_machine::sync::Mutex;

/// The shows that are asked for, and their receiver.
pub(crate) struct Showing {
    pub(crate) every: Every,
    /// Only the pairs with the greatest values.
    pub(crate) top: Option<usize>,
    /// Whether each show is of a prefix of the input.
    pub(crate) in_order: bool,
    pub(crate) slot: Slot,
}

/// Holds the newest show that nobody has taken.
pub(crate) type Slot = Arc<Mutex<Option<Seen>>>;

/// The answer of a job so far.
#[pyclass(frozen, get_all, module = "tegula._tegula")]
pub(crate) struct Seen {
    /// The number of the show, from 1.
    number: u64,
    /// Bytes of the input that are in the answer.
    bytes: u64,
    bytes_planned: Option<u64>,
    /// The part of the input, up to 1.
    part: Option<f64>,
    keys: Option<u64>,
    seconds: f64,
    is_last: bool,
    answer: Py<Answer>,
    /// For each count from 1: the bytes at which the first keys became what they are.
    stable: Vec<u64>,
}

impl Seen {
    /// The pairs, as Python has them: all of a show of some are in one portion.
    pub(crate) fn pairs<'py>(seen: &Seen, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let answer = seen.answer.get();
        if answer.is_empty() { Ok(PyList::empty(py)) } else { answer.pairs(py, 0) }
    }
}

impl Showing {
    /// Puts a show into the slot.
    pub(crate) fn see<J: Job<Key = [u8]>>(
        &self,
        shown: &Shown<'_, J>,
        keys: KeyForm,
        names: &[String],
    ) -> tegula::Result<()>
    where
        J::Combine: Columns,
    {
        let answer = Answer::copy(shown.answers(), keys, names.to_vec())?;
        let most = shown.answers().len().min(STABLE_KEYS_MOST);
        let seen = Python::attach(|py| {
            Py::new(py, answer).map(|answer| Seen {
                number: shown.number,
                bytes: shown.bytes,
                bytes_planned: shown.bytes_planned,
                part: shown.part(),
                keys: shown.keys,
                seconds: shown.elapsed.as_secs_f64(),
                is_last: shown.is_last,
                answer,
                stable: (1..=most).map_while(|count| shown.stable_since(count)).collect(),
            })
        });
        // Python has no memory for it: then this show is left out.
        if let Ok(seen) = seen {
            *self.slot.lock() = Some(seen);
        }
        Ok(())
    }
}

/// A job that runs and shows its answers. Dropping it stops the job.
#[pyclass(module = "tegula._tegula")]
pub(crate) struct Stream {
    running: Option<Running>,
    slot: Slot,
    /// Who is told of progress.
    watch: Option<Py<PyAny>>,
}

impl Stream {
    pub(crate) fn new(running: Running, slot: Slot, watch: Option<Py<PyAny>>) -> Stream {
        Stream { running: Some(running), slot, watch }
    }

    fn take(&self) -> Option<Seen> {
        self.slot.lock().take()
    }
}

/// How long a stream waits between looks into its slot.
const LOOK_EVERY: Duration = Duration::from_millis(10);

#[pymethods]
impl Stream {
    /// Waits for the next show. `None` when the job has ended; a `Failure` if it failed.
    fn next<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        loop {
            if let Some(seen) = self.take() {
                return Ok(Some(Bound::new(py, seen)?.into_any()));
            }
            let Some(running) = &mut self.running else { return Ok(None) };
            let watch = self.watch.as_ref().map(|watch| watch.bind(py));
            let ended = match running.wait(py, LOOK_EVERY) {
                Ok(None) if running.is_cancelled() => Ok(Some(Err(Error::Cancelled))),
                Ok(None) => running.report(py, watch, None).map(|()| None),
                ended => ended,
            };
            let ended = match ended {
                Ok(None) => continue,
                Ok(Some(ended)) => ended,
                Err(error) => {
                    self.stop(py);
                    return Err(error);
                }
            };
            match ended {
                Ok(_) => self.running = None,
                Err(error) => {
                    self.stop(py);
                    return Ok(Some(running::failure(py, &error)?));
                }
            }
        }
    }

    /// Stops the job.
    fn stop(&mut self, py: Python<'_>) {
        if let Some(running) = self.running.take() {
            running.stop(py);
        }
    }
}

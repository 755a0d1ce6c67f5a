//! An answer, as Python sees it: pairs by portion, the largest of them, and Arrow batches.

use crate::arrow::{self, Shape};
use crate::batch::Batch;
use crate::dynamic::{Column, Columns, Number};
use crate::objects::{KeyForm, shown, shown_key};
use crate::running::Failure;
use crate::sorting;
use pyo3::buffer::{Element, PyBuffer};
use pyo3::exceptions::{PyIndexError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyDict, PyList, PySlice};
use std::cmp::Ordering;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use tegula::output::Portion;
use tegula::{Job, Output, Stats};
use tegula_machine::sync::Mutex;

/// An answer whose job's type is gone.
pub(crate) trait Answered: Send + Sync {
    fn len(&self) -> usize;
    /// Returns the number of portions.
    fn portions(&self) -> usize;
    /// Returns columns for a batch.
    fn columns(&self, width: usize) -> Vec<Column>;
    /// Reads a portion into a batch that is empty, and hands it to `full` and empties it whenever it has `most`
    /// bytes, and at the portion's end. One pair may have more.
    fn read_in_parts(
        &self,
        portion: usize,
        batch: &mut Batch,
        most: usize,
        full: &mut dyn FnMut(&mut Batch) -> tegula::Result<()>,
    ) -> tegula::Result<()>;
    /// Adds a portion to a batch.
    fn read(&self, portion: usize, batch: &mut Batch) -> tegula::Result<()> {
        self.read_in_parts(portion, batch, usize::MAX, &mut |_| Ok(()))
    }
    /// Returns what the run did; `None` while it runs.
    fn stats(&self) -> Option<&Stats>;
    fn file(&self, number: u32) -> Option<PathBuf>;
}

/// The answer of a run that has ended.
pub(crate) struct Ended<J: Job> {
    /// Somebody else may have it, too.
    output: Arc<Output<J>>,
    portions: Vec<Portion>,
}

impl<J: Job> Ended<J> {
    pub(crate) fn new(output: impl Into<Arc<Output<J>>>) -> Ended<J> {
        let output = output.into();
        let portions = output.portions();
        Ended { output, portions }
    }
}

impl<J: Job<Key = [u8]>> Answered for Ended<J>
where
    J::Combine: Columns,
    Output<J>: Send + Sync,
{
    fn len(&self) -> usize {
        self.output.len()
    }

    fn portions(&self) -> usize {
        self.portions.len()
    }

    fn columns(&self, width: usize) -> Vec<Column> {
        J::Combine::columns(width)
    }

    fn read_in_parts(
        &self,
        portion: usize,
        batch: &mut Batch,
        most: usize,
        full: &mut dyn FnMut(&mut Batch) -> tegula::Result<()>,
    ) -> tegula::Result<()> {
        self.output.for_each_in(self.portions[portion], |key, answer| {
            batch.add::<J::Combine>(key, answer);
            if most < usize::MAX && batch.bytes() >= most {
                full(batch)?;
                batch.clear();
            }
            Ok(())
        })?;
        full(batch)
    }

    fn stats(&self) -> Option<&Stats> {
        Some(self.output.stats())
    }

    fn file(&self, number: u32) -> Option<PathBuf> {
        self.output.file(number)
    }
}

/// A copy of what a run has seen so far.
struct Copied {
    batch: Batch,
    columns: fn(usize) -> Vec<Column>,
    /// Of the input, if values name them by their numbers.
    files: Vec<PathBuf>,
}

impl Answered for Copied {
    fn len(&self) -> usize {
        self.batch.len()
    }

    fn portions(&self) -> usize {
        usize::from(self.batch.len() > 0)
    }

    fn columns(&self, width: usize) -> Vec<Column> {
        (self.columns)(width)
    }

    fn read_in_parts(
        &self,
        _: usize,
        batch: &mut Batch,
        _: usize,
        full: &mut dyn FnMut(&mut Batch) -> tegula::Result<()>,
    ) -> tegula::Result<()> {
        batch.append(&self.batch);
        full(batch)
    }

    fn stats(&self) -> Option<&Stats> {
        None
    }

    fn file(&self, number: u32) -> Option<PathBuf> {
        self.files.get(number as usize).cloned()
    }
}

/// The answer of a run.
#[pyclass(frozen, module = "tegula._tegula")]
pub(crate) struct Answer {
    read: Arc<Reading>,
    /// Where each portion ends among the pairs, of those that were counted.
    ends: Mutex<Vec<usize>>,
    /// The most memory that the run's processes had, in bytes.
    companion_bytes_peak: u64,
}

/// The source of batches.
pub(crate) struct Reading {
    pub(crate) output: Box<dyn Answered>,
    pub(crate) keys: KeyForm,
    /// Names of the columns; empty where there is one, which has no name.
    pub(crate) names: Vec<String>,
    /// The process that has the threads of its engine.
    process: u32,
}

/// The last answer of an engine ends its threads, and waits for them. A forked child has none of them: there its
/// memory stays.
impl Drop for Reading {
    fn drop(&mut self) {
        if std::process::id() != self.process {
            let (batch, files) = (Batch::new(Vec::new()), Vec::new());
            let nothing = Copied { batch, columns: |_| Vec::new(), files };
            std::mem::forget(std::mem::replace(&mut self.output, Box::new(nothing)));
        }
    }
}

impl Reading {
    pub(crate) fn batch(&self) -> Batch {
        Batch::new(self.output.columns(self.names.len().max(1)))
    }
}

fn failed(error: &tegula::Error) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}

impl Answer {
    pub(crate) fn new(output: Box<dyn Answered>, keys: KeyForm, names: Vec<String>) -> Answer {
        let process = std::process::id();
        let read = Arc::new(Reading { output, keys, names, process });
        Answer { read, ends: Mutex::default(), companion_bytes_peak: 0 }
    }

    /// Adds the most memory that the run's processes had.
    pub(crate) fn beside(self, companion_bytes_peak: u64) -> Answer {
        Answer { companion_bytes_peak, ..self }
    }

    /// Copies all pairs into one batch.
    pub(crate) fn copied(&self) -> tegula::Result<Batch> {
        let mut batch = self.read.batch();
        let mut portions = 0..self.read.output.portions();
        portions.try_for_each(|portion| self.read.output.read(portion, &mut batch))?;
        Ok(batch)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.read.output.len() == 0
    }

    /// Returns the portion that holds a pair, and its first pair.
    fn portion_of(&self, pair: usize) -> tegula::Result<Option<(usize, usize)>> {
        let mut ends = self.ends.lock();
        while ends.last().is_none_or(|end| *end <= pair) {
            if ends.len() >= self.read.output.portions() {
                return Ok(None);
            }
            let mut batch = self.read.batch();
            self.read.output.read(ends.len(), &mut batch)?;
            let end = ends.last().copied().unwrap_or(0) + batch.len();
            ends.push(end);
        }
        let portion = ends.partition_point(|end| *end <= pair);
        Ok(Some((portion, portion.checked_sub(1).map_or(0, |before| ends[before]))))
    }

    /// Copies answers so far, which are `width` columns.
    pub(crate) fn copy<J: Job<Key = [u8]>>(
        answers: &tegula::output::Answers<'_, J>,
        keys: KeyForm,
        names: Vec<String>,
    ) -> tegula::Result<Answer>
    where
        J::Combine: Columns,
    {
        let columns = <J::Combine as Columns>::columns;
        let mut batch = Batch::new(columns(names.len().max(1)));
        answers.for_each(|key, answer| {
            batch.add::<J::Combine>(key, answer);
            Ok(())
        })?;
        let mut files = Vec::new();
        if J::Combine::NAMES_FILES {
            files.extend((0..).map_while(|number| answers.file(number)));
        }
        Ok(Answer::new(Box::new(Copied { batch, columns, files }), keys, names))
    }

    fn value<'py>(
        &self,
        py: Python<'py>,
        batch: &Batch,
        place: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        if self.read.names.is_empty() {
            return shown(py, &batch.columns[0], place);
        }
        let row = PyDict::new(py);
        for (name, column) in self.read.names.iter().zip(&batch.columns) {
            row.set_item(name, shown(py, column, place)?)?;
        }
        Ok(row.into_any())
    }
}

#[pymethods]
impl Answer {
    fn __len__(&self) -> usize {
        self.read.output.len()
    }

    /// The number of portions.
    fn portions(&self) -> usize {
        self.read.output.portions()
    }

    /// The pairs of a portion, in order.
    pub(crate) fn pairs<'py>(
        &self,
        py: Python<'py>,
        portion: usize,
    ) -> PyResult<Bound<'py, PyList>> {
        if portion >= self.read.output.portions() {
            return Err(PyIndexError::new_err("portion"));
        }
        let batch = py.detach(|| {
            let mut batch = self.read.batch();
            self.read.output.read(portion, &mut batch).map(|()| batch)
        });
        let batch = batch.map_err(|error| failed(&error))?;
        let pairs = PyList::empty(py);
        for place in 0..batch.len() {
            let key = shown_key(py, self.read.keys, batch.key(place))?;
            pairs.append((key, self.value(py, &batch, place)?))?;
        }
        Ok(pairs)
    }

    /// The pairs from `begin` up to `end`, in order. Portions before them are counted at the first call.
    fn between<'py>(
        &self,
        py: Python<'py>,
        begin: usize,
        end: usize,
    ) -> PyResult<Bound<'py, PyList>> {
        let (pairs, mut at) = (PyList::empty(py), begin);
        while at < end {
            let found = py.detach(|| {
                let Some((portion, first)) = self.portion_of(at)? else { return Ok(None) };
                let mut batch = self.read.batch();
                self.read.output.read(portion, &mut batch).map(|()| Some((batch, first)))
            });
            let found = found.map_err(|error| failed(&error))?;
            let (batch, first) = found.ok_or_else(|| PyIndexError::new_err("no such pair"))?;
            let last = batch.len().min(end - first);
            for place in at - first..last {
                let key = shown_key(py, self.read.keys, batch.key(place))?;
                pairs.append((key, self.value(py, &batch, place)?))?;
            }
            at = first + last;
        }
        Ok(pairs)
    }

    /// The `most` pairs with the greatest numbers in a column, greatest first, and of equal ones the least key.
    fn top<'py>(
        &self,
        py: Python<'py>,
        most: usize,
        column: usize,
    ) -> PyResult<Bound<'py, PyList>> {
        let best = py.detach(|| self.best(most, column)).map_err(|error| failed(&error))?;
        let pairs = PyList::empty(py);
        for (place, batch) in best {
            let key = shown_key(py, self.read.keys, batch.key(place))?;
            pairs.append((key, self.value(py, &batch, place)?))?;
        }
        Ok(pairs)
    }

    /// A capsule of an Arrow stream of all pairs. `binary`: keys that are text stay bytes.
    fn stream<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let read = Arc::clone(&self.read);
        let shape = py.detach(|| Shape::of(&read)).map_err(PyValueError::new_err)?;
        let stream = arrow::stream(read, shape);
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// A capsule of the Arrow schema.
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let shape = py.detach(|| Shape::of(&self.read)).map_err(PyValueError::new_err)?;
        let schema = shape.c_schema().map_err(PyValueError::new_err)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// Whether the numbers of a column are floats: if one is, or if one is missing.
    fn has_floats(&self, py: Python<'_>, column: usize) -> PyResult<bool> {
        py.detach(|| self.find_floats(column)).map_err(PyValueError::new_err)
    }

    /// Writes the integers of a column into an array with room for all.
    fn fill_ints(&self, py: Python<'_>, column: usize, to: &Bound<'_, PyAny>) -> PyResult<()> {
        self.fill(py, column, to, |number| match number {
            Some(Number::Int(int)) => i64::try_from(int).map_err(|_| arrow::too_large(int)),
            _ => Err("a number is no integer".to_owned()),
        })
    }

    /// Writes the numbers of a column, as floats, into an array with room for all; a missing one is NaN.
    fn fill_floats(&self, py: Python<'_>, column: usize, to: &Bound<'_, PyAny>) -> PyResult<()> {
        self.fill(py, column, to, |number| {
            Ok(match number {
                Some(Number::Int(int)) => int as f64,
                Some(Number::Float(float)) => float,
                None => f64::NAN,
            })
        })
    }

    /// The records of a portion, as bytes: each key as often as it was counted, or the values of each key; from the
    /// last key to the first if `last_first`.
    fn records<'py>(
        &self,
        py: Python<'py>,
        portion: usize,
        is_each_once: bool,
        last_first: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        let batch = py.detach(|| {
            let mut batch = self.read.batch();
            self.read.output.read(portion, &mut batch).map(|()| batch)
        });
        let batch = batch.map_err(|error| failed(&error))?;
        let records = PyList::empty(py);
        for place in 0..batch.len() {
            let place = if last_first { batch.len() - 1 - place } else { place };
            let mut added = Ok(());
            let seen = sorting::each(&batch, place, is_each_once, |record| {
                if added.is_ok() {
                    added = records.append(PyBytes::new(py, record));
                }
                Ok(())
            });
            seen.map_err(|error| failed(&error))?;
            added?;
        }
        Ok(records)
    }

    /// Writes all records to a file, each followed by `end`; the other arguments are those of `records`.
    fn write_records(
        &self,
        py: Python<'_>,
        path: PathBuf,
        end: &[u8],
        is_each_once: bool,
        last_first: bool,
    ) -> PyResult<Option<Failure>> {
        let read = &self.read;
        let write = move || sorting::write(read, &path, end, is_each_once, last_first);
        let written = py.detach(write);
        Ok(written.err().map(|error| Failure::of(py, &error)))
    }

    /// Whether some values are objects, which come pickled.
    fn has_objects(&self, py: Python<'_>) -> PyResult<bool> {
        let look = || {
            for portion in 0..self.read.output.portions() {
                let mut batch = self.read.batch();
                self.read.output.read(portion, &mut batch)?;
                if batch.columns.iter().any(Column::has_objects) {
                    return Ok(true);
                }
            }
            Ok(false)
        };
        py.detach(look).map_err(|error| failed(&error))
    }

    /// The path or URL of an input file by its number.
    fn file(&self, number: u32) -> Option<OsString> {
        self.read.output.file(number).map(PathBuf::into_os_string)
    }

    /// Returns the figures of the run.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        let Some(stats) = self.read.output.stats() else { return Ok(dict) };
        dict.set_item("workers", stats.workers)?;
        dict.set_item("files", stats.files)?;
        dict.set_item("bytes", stats.bytes)?;
        dict.set_item("tiles", stats.tiles)?;
        dict.set_item("pairs", stats.pairs)?;
        dict.set_item("keys", stats.keys)?;
        dict.set_item("bad_records", stats.bad_records)?;
        let first = stats.bad_first.iter().map(|bad| format!("{}: {}", bad.place, bad.cause));
        dict.set_item("bad_first", first.collect::<Vec<_>>())?;
        dict.set_item("spilled_bytes", stats.spilled_bytes)?;
        dict.set_item("restored_bytes", stats.restored_bytes)?;
        dict.set_item("saved_bytes", stats.saved_bytes)?;
        let companion_bytes = self.companion_bytes_peak;
        dict.set_item("companion_bytes_peak", companion_bytes)?;
        dict.set_item("memory_bytes_peak", stats.memory_resident_peak + companion_bytes)?;
        let seconds = PyDict::new(py);
        for stage in &stats.stages {
            seconds.set_item(stage.stage.name(), stage.wall.as_secs_f64())?;
        }
        dict.set_item("seconds", seconds)?;
        Ok(dict)
    }
}

impl Answer {
    fn best(&self, most: usize, column: usize) -> tegula::Result<Vec<(usize, Arc<Batch>)>> {
        type Candidate = (Option<Number>, usize, Arc<Batch>);
        let order = |a: &Candidate, b: &Candidate| {
            let numbers = match (a.0, b.0) {
                (Some(a), Some(b)) => b.compare(a),
                (a, b) => b.is_some().cmp(&a.is_some()),
            };
            numbers.then_with(|| a.2.key(a.1).cmp(b.2.key(b.1)))
        };
        let mut best: Vec<Candidate> = Vec::new();
        if most == 0 {
            return Ok(Vec::new());
        }
        for portion in 0..self.read.output.portions() {
            let mut batch = self.read.batch();
            self.read.output.read(portion, &mut batch)?;
            let batch = Arc::new(batch);
            let least = if best.len() < most { None } else { best.last().and_then(|one| one.0) };
            for place in 0..batch.len() {
                let number = batch.columns[column].number(place);
                let is_less = match (number, least) {
                    (Some(number), Some(least)) => number.compare(least) == Ordering::Less,
                    (None, Some(_)) => true,
                    _ => false,
                };
                if !is_less {
                    best.push((number, place, Arc::clone(&batch)));
                }
            }
            best.sort_unstable_by(order);
            best.truncate(most);
        }
        Ok(best.into_iter().map(|(_, place, batch)| (place, batch)).collect())
    }

    fn find_floats(&self, column: usize) -> Result<bool, String> {
        let mut batch = self.read.batch();
        match &batch.columns[column] {
            Column::Lists { .. } => return Err("lists are no array of numbers".to_owned()),
            Column::Ints(_) => return Ok(false),
            Column::Floats(_) => return Ok(true),
            Column::Numbers(_) | Column::Objects { .. } => {}
        }
        let mut has_floats = false;
        for portion in 0..self.read.output.portions() {
            batch.clear();
            self.read.output.read(portion, &mut batch).map_err(|error| error.to_string())?;
            let column = &batch.columns[column];
            if column.has_objects() {
                return Err("the values are not all numbers: read the pairs".to_owned());
            }
            let mut numbers = (0..batch.len()).map(|place| column.number(place));
            has_floats |= numbers.any(|number| !matches!(number, Some(Number::Int(_))));
        }
        Ok(has_floats)
    }

    /// Writes a column, portion by portion, into the memory of an array.
    fn fill<T: Element + Send>(
        &self,
        py: Python<'_>,
        column: usize,
        to: &Bound<'_, PyAny>,
        of: impl Fn(Option<Number>) -> Result<T, String> + Send + Sync,
    ) -> PyResult<()> {
        let mut at = 0;
        for portion in 0..self.read.output.portions() {
            let numbers = py.detach(|| {
                let mut batch = self.read.batch();
                let read = self.read.output.read(portion, &mut batch);
                read.map_err(|error| error.to_string())?;
                let column = &batch.columns[column];
                (0..batch.len())
                    .map(|place| of(column.number(place)))
                    .collect::<Result<Vec<T>, _>>()
            });
            let numbers = numbers.map_err(PyValueError::new_err)?;
            let (begin, end) = (at as isize, (at + numbers.len()) as isize);
            let room = to.get_item(PySlice::new(py, begin, end, 1))?;
            PyBuffer::<T>::get(&room)?.copy_from_slice(py, &numbers)?;
            at += numbers.len();
        }
        Ok(())
    }
}

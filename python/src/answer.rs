//! An answer, as Python sees it: pairs by portion, the largest of them, and Arrow batches.

use crate::arrow::{self, Shape};
use crate::dynamic::{Column, Columns, INT_TAG, Number};
use crate::running::Failure;
use crate::sorting;
use pyo3::exceptions::{PyIndexError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyDict, PyList, PyString, PyTuple};
use std::cmp::Ordering;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use tegula::output::Portion;
use tegula::{Job, Output, Stats};

/// What keys are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyForm {
    /// Text in UTF-8.
    Text,
    Bytes,
    /// A byte that says which, and then the key, as `_packing.py` writes it.
    Tagged,
}

/// Pairs of a portion, in columns.
#[derive(Clone)]
pub(crate) struct Batch {
    /// Where each key ends.
    pub(crate) key_ends: Vec<usize>,
    pub(crate) keys: Vec<u8>,
    pub(crate) columns: Vec<Column>,
}

impl Batch {
    pub(crate) fn new(columns: Vec<Column>) -> Batch {
        Batch { key_ends: Vec::new(), keys: Vec::new(), columns }
    }

    fn clear(&mut self) {
        self.key_ends.clear();
        self.keys.clear();
        self.columns.iter_mut().for_each(Column::clear);
    }

    fn add<C: Columns>(&mut self, key: &[u8], answer: C::Output<'_>) {
        self.keys.extend_from_slice(key);
        self.key_ends.push(self.keys.len());
        C::add(answer, &mut self.columns);
    }

    /// Adds the pairs of another batch, whose columns are of the same types.
    pub(crate) fn append(&mut self, other: &Batch) {
        let before = self.keys.len();
        self.keys.extend_from_slice(&other.keys);
        self.key_ends.extend(other.key_ends.iter().map(|end| before + end));
        self.columns.iter_mut().zip(&other.columns).for_each(|(to, from)| to.append(from));
    }

    /// Bytes of keys and of collected values.
    fn bytes(&self) -> usize {
        let columns = self.columns.iter().map(|column| match column {
            Column::Lists { bytes, ends, .. } => bytes.len() + 8 * ends.len(),
            _ => 0,
        });
        self.keys.len() + 8 * self.len() + columns.sum::<usize>()
    }

    pub(crate) fn len(&self) -> usize {
        self.key_ends.len()
    }

    pub(crate) fn key(&self, place: usize) -> &[u8] {
        let begin = place.checked_sub(1).map_or(0, |before| self.key_ends[before]);
        &self.keys[begin..self.key_ends[place]]
    }
}

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
    output: Output<J>,
    portions: Vec<Portion>,
}

impl<J: Job> Ended<J> {
    pub(crate) fn new(output: Output<J>) -> Ended<J> {
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

    fn file(&self, _: u32) -> Option<PathBuf> {
        None
    }
}

/// The answer of a run.
#[pyclass(frozen, module = "tegula._tegula")]
pub(crate) struct Answer {
    read: Arc<Reading>,
}

/// What batches are made from.
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
            let nothing = Copied { batch: Batch::new(Vec::new()), columns: |_| Vec::new() };
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
        Answer { read: Arc::new(Reading { output, keys, names, process }) }
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
        Ok(Answer::new(Box::new(Copied { batch, columns }), keys, names))
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

/// Returns a value as an object of Python's.
fn shown<'py>(py: Python<'py>, column: &Column, place: usize) -> PyResult<Bound<'py, PyAny>> {
    match column {
        Column::Lists { list_ends, ends, bytes } => {
            let begin = place.checked_sub(1).map_or(0, |before| list_ends[before]);
            let values = (begin..list_ends[place]).map(|value| {
                let begin = value.checked_sub(1).map_or(0, |before| ends[before]);
                PyBytes::new(py, &bytes[begin..ends[value]])
            });
            Ok(PyList::new(py, values.collect::<Vec<_>>())?.into_any())
        }
        Column::Objects { numbers, ends, bytes } if numbers[place].is_none() => {
            let begin = place.checked_sub(1).map_or(0, |before| ends[before]);
            Ok(PyBytes::new(py, &bytes[begin..ends[place]]).into_any())
        }
        column => match column.number(place) {
            Some(Number::Int(int)) => Ok(int.into_pyobject(py)?.into_any()),
            Some(Number::Float(float)) => Ok(float.into_pyobject(py)?.into_any()),
            None => Ok(py.None().into_bound(py)),
        },
    }
}

/// Returns text as a `str`, in which bytes that are no UTF-8 are surrogates.
fn text<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(PyString::new(py, text).into_any()),
        Err(_) => PyBytes::new(py, bytes).call_method1("decode", ("utf-8", "surrogateescape")),
    }
}

/// Returns a key as an object of Python's.
fn shown_key<'py>(py: Python<'py>, form: KeyForm, key: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    let malformed = || PyValueError::new_err("a key has no form of this version of Tegula");
    match form {
        KeyForm::Text => text(py, key),
        KeyForm::Bytes => Ok(PyBytes::new(py, key).into_any()),
        KeyForm::Tagged => {
            let (tag, rest) = key.split_first().ok_or_else(malformed)?;
            match tag {
                b's' => text(py, rest),
                b'b' => Ok(PyBytes::new(py, rest).into_any()),
                &INT_TAG => Ok(int_of(rest).ok_or_else(malformed)?.into_pyobject(py)?.into_any()),
                b'f' => Ok(float_of(rest).ok_or_else(malformed)?.into_pyobject(py)?.into_any()),
                b't' => {
                    let mut rest = rest;
                    let mut items = Vec::new();
                    while !rest.is_empty() {
                        let item = next_item(&mut rest).ok_or_else(malformed)?;
                        items.push(shown_key(py, KeyForm::Tagged, &item)?);
                    }
                    Ok(PyTuple::new(py, items)?.into_any())
                }
                _ => Err(malformed()),
            }
        }
    }
}

pub(crate) fn int_of(bytes: &[u8]) -> Option<i64> {
    Some((u64::from_be_bytes(bytes.try_into().ok()?) ^ 1 << 63).cast_signed())
}

/// Floats are in the order of their bits, of which a negative one's are turned over.
pub(crate) fn float_of(bytes: &[u8]) -> Option<f64> {
    let bits = u64::from_be_bytes(bytes.try_into().ok()?);
    Some(f64::from_bits(if bits >> 63 == 1 { bits ^ 1 << 63 } else { !bits }))
}

/// Takes an item off a tuple: it ends with two zeros, and a zero of its own is followed by 255.
fn next_item(rest: &mut &[u8]) -> Option<Vec<u8>> {
    let mut item = Vec::new();
    loop {
        let zero = memchr::memchr(0, rest)?;
        item.extend_from_slice(&rest[..zero]);
        let after = *rest.get(zero + 1)?;
        *rest = &rest[zero + 2..];
        match after {
            0 => return Some(item),
            255 => item.push(0),
            _ => return None,
        }
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
    fn pairs<'py>(&self, py: Python<'py>, portion: usize) -> PyResult<Bound<'py, PyList>> {
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

    /// The numbers of a column, in order, as bytes: whether they are floats, and 8 bytes each.
    fn numbers<'py>(
        &self,
        py: Python<'py>,
        column: usize,
    ) -> PyResult<(bool, Bound<'py, PyBytes>)> {
        let (is_float, bytes) =
            py.detach(|| self.column_bytes(column)).map_err(PyValueError::new_err)?;
        Ok((is_float, PyBytes::new(py, &bytes)))
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

    /// What the run did.
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
        dict.set_item("memory_bytes_peak", stats.memory_resident_peak)?;
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

    fn column_bytes(&self, column: usize) -> Result<(bool, Vec<u8>), String> {
        let mut numbers = Vec::with_capacity(self.read.output.len());
        let mut batch = self.read.batch();
        for portion in 0..self.read.output.portions() {
            batch.clear();
            self.read.output.read(portion, &mut batch).map_err(|error| error.to_string())?;
            let column = &batch.columns[column];
            if matches!(column, Column::Lists { .. }) {
                return Err("lists are no array of numbers".to_owned());
            }
            if column.has_objects() {
                return Err("the values are not all numbers: read the pairs".to_owned());
            }
            numbers.extend((0..batch.len()).map(|place| column.number(place)));
        }
        let is_float = numbers.iter().any(|number| !matches!(number, Some(Number::Int(_))));
        let bytes = numbers.into_iter().map(|number| match number {
            Some(Number::Int(int)) if !is_float => {
                let int = i64::try_from(int).map_err(|_| arrow::too_large(int))?;
                Ok(int.to_le_bytes())
            }
            Some(Number::Int(int)) => Ok((int as f64).to_le_bytes()),
            Some(Number::Float(float)) => Ok(float.to_le_bytes()),
            None => Ok(f64::NAN.to_le_bytes()),
        });
        let bytes = bytes.collect::<Result<Vec<_>, String>>()?;
        Ok((is_float, bytes.into_flattened()))
    }
}

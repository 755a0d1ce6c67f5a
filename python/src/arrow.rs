//! Answers as Arrow batches, by the C data interface: whoever takes the stream takes pointers, and copies nothing.

use crate::answer::Reading;
use crate::batch::Batch;
use crate::dynamic::{Column, INT_TAG, Number};
use crate::objects::{KeyForm, float_of, int_of};
use arrow_array::builder::{Float64Builder, Int64Builder};
use arrow_array::ffi::FFI_ArrowSchema;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    ArrayRef, Float64Array, Int64Array, LargeBinaryArray, LargeListArray, LargeStringArray,
    RecordBatch, RecordBatchReader,
};
use arrow_buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use std::collections::VecDeque;
use std::mem::take;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;

/// Portions in a batch: 65,536 pairs in memory.
const PORTIONS: usize = 8;
/// The most pairs of a portion in memory.
const PORTION_PAIRS: usize = 8 << 10;
/// The most batches that are made at once, each by a thread.
const THREADS_MOST: usize = 4;

/// The types of an answer's columns.
pub(crate) struct Shape {
    schema: SchemaRef,
}

/// Says that an integer has no room in a column.
pub(crate) fn too_large(int: i128) -> String {
    format!(
        "{int} exceeds 64 bits, which Arrow's and numpy's integers have: read the pairs one by one"
    )
}

impl Shape {
    /// Finds the types. The pairs of Python's own maps are looked at from first to last; other jobs say their types.
    pub(crate) fn of(read: &Reading) -> Result<Shape, String> {
        let mut batch = read.batch();
        let mut tags = [false; 256];
        let mut has_floats = vec![false; batch.columns.len()];
        let is_open = batch
            .columns
            .iter()
            .any(|column| matches!(column, Column::Numbers(_) | Column::Objects { .. }));
        if read.keys == KeyForm::Tagged || is_open {
            for portion in 0..read.output.portions() {
                batch = read.batch();
                read.output.read(portion, &mut batch).map_err(|error| error.to_string())?;
                for place in 0..batch.len() {
                    let tag = match batch.key(place) {
                        // Behind the integer below it is a float.
                        [INT_TAG, rest @ ..] if rest.len() > 8 => b'f',
                        key => key.first().copied().unwrap_or(0),
                    };
                    tags[usize::from(tag)] = true;
                }
                for (has, column) in has_floats.iter_mut().zip(&batch.columns) {
                    if let Column::Numbers(numbers) | Column::Objects { numbers, .. } = column {
                        *has |=
                            numbers.iter().any(|number| matches!(number, Some(Number::Float(_))));
                    }
                }
            }
        }
        let key = match read.keys {
            KeyForm::Text => DataType::LargeUtf8,
            KeyForm::Bytes => DataType::LargeBinary,
            KeyForm::Tagged => tagged(&tags)?,
        };
        let mut fields = vec![Field::new("key", key, false)];
        for (place, column) in batch.columns.iter().enumerate() {
            let (kind, nulls) = match column {
                Column::Ints(_) => (DataType::Int64, false),
                Column::Floats(_) => (DataType::Float64, false),
                Column::Numbers(_) | Column::Objects { .. } if has_floats[place] => {
                    (DataType::Float64, true)
                }
                Column::Numbers(_) | Column::Objects { .. } => (DataType::Int64, true),
                Column::Lists { .. } => {
                    let item = match read.keys {
                        KeyForm::Text => DataType::LargeUtf8,
                        KeyForm::Bytes | KeyForm::Tagged => DataType::LargeBinary,
                    };
                    (DataType::LargeList(Arc::new(Field::new("item", item, false))), false)
                }
            };
            fields.push(Field::new(
                read.names.get(place).map_or("value", String::as_str),
                kind,
                nulls,
            ));
        }
        Ok(Shape { schema: Arc::new(Schema::new(fields)) })
    }

    pub(crate) fn c_schema(&self) -> Result<FFI_ArrowSchema, String> {
        FFI_ArrowSchema::try_from(&*self.schema).map_err(|error| error.to_string())
    }
}

fn tagged(tags: &[bool; 256]) -> Result<DataType, String> {
    let seen: Vec<u8> = (0..=255).filter(|tag| tags[usize::from(*tag)]).collect();
    match seen[..] {
        [] | [b's'] => Ok(DataType::LargeUtf8),
        [b'b'] => Ok(DataType::LargeBinary),
        [INT_TAG] => Ok(DataType::Int64),
        [b'f'] | [b'f', INT_TAG] => Ok(DataType::Float64),
        [b't'] => {
            Err("keys are tuples, which Arrow has no column for: read the pairs, or to_dict()"
                .to_owned())
        }
        _ => Err(
            "keys are of several types, and an Arrow column has one: read the pairs, or to_dict()"
                .to_owned(),
        ),
    }
}

/// Returns a stream of batches.
pub(crate) fn stream(read: Arc<Reading>, shape: Shape) -> FFI_ArrowArrayStream {
    let threads = thread::available_parallelism().map_or(1, |cores| cores.get().min(THREADS_MOST));
    let batches = Batches { read, schema: shape.schema, next: 0, ready: VecDeque::new(), threads };
    FFI_ArrowArrayStream::new(Box::new(batches))
}

struct Batches {
    read: Arc<Reading>,
    schema: SchemaRef,
    /// The first portion of the batches that are not made yet.
    next: usize,
    /// Batches that are not asked for yet.
    ready: VecDeque<Result<RecordBatch, ArrowError>>,
    threads: usize,
}

impl RecordBatchReader for Batches {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ready.is_empty() {
            self.ready = self.make();
            self.next += self.ready.len() * PORTIONS;
        }
        self.ready.pop_front()
    }
}

impl Batches {
    /// Makes the next batches side by side, each on a thread.
    fn make(&self) -> VecDeque<Result<RecordBatch, ArrowError>> {
        let starts = (self.next..self.read.output.portions()).step_by(PORTIONS);
        let mut starts = starts.take(self.threads);
        let Some(first) = starts.next() else { return VecDeque::new() };
        thread::scope(|scope| {
            let others: Vec<_> =
                starts.map(|start| scope.spawn(move || self.batch(start))).collect();
            let first = self.batch(first);
            let others = others.into_iter();
            let others =
                others.map(|thread| thread.join().unwrap_or_else(|cause| resume_unwind(cause)));
            std::iter::once(first).chain(others).collect()
        })
    }

    /// Makes the batch that begins with a portion.
    fn batch(&self, start: usize) -> Result<RecordBatch, ArrowError> {
        let mut batch = self.read.batch();
        for portion in start..self.read.output.portions().min(start + PORTIONS) {
            let read = self.read.output.read(portion, &mut batch);
            read.map_err(|error| ArrowError::ExternalError(Box::new(error)))?;
            if portion == start {
                batch.reserve(self.read.output.len().min(PORTIONS * PORTION_PAIRS));
            }
        }
        let fields = self.schema.fields();
        let keys = keys(&mut batch, self.read.keys, fields[0].data_type());
        let columns = batch.columns.into_iter().zip(&fields[1..]);
        let values = columns.map(|(column, field)| values(column, field.data_type()));
        let arrays = std::iter::once(keys).chain(values).collect::<Result<Vec<_>, _>>()?;
        RecordBatch::try_new(Arc::clone(&self.schema), arrays)
    }
}

/// Returns offsets in the ends' own memory.
fn offsets(ends: Vec<usize>) -> OffsetBuffer<i64> {
    let mut offsets: Vec<i64> = ends.into_iter().map(|end| end as i64).collect();
    offsets.insert(0, 0);
    OffsetBuffer::new(ScalarBuffer::from(offsets))
}

fn text(ends: Vec<usize>, bytes: Vec<u8>) -> Result<ArrayRef, ArrowError> {
    let refused = |cause| {
        ArrowError::InvalidArgumentError(format!(
            "text is no UTF-8, which Arrow's text must be ({cause}): give the source encoding=None, and keys are bytes"
        ))
    };
    LargeStringArray::try_new(offsets(ends), Buffer::from_vec(bytes), None)
        .map(|array| Arc::new(array) as ArrayRef)
        .map_err(refused)
}

fn binary(ends: Vec<usize>, bytes: Vec<u8>) -> Result<ArrayRef, ArrowError> {
    Ok(Arc::new(LargeBinaryArray::try_new(offsets(ends), Buffer::from_vec(bytes), None)?))
}

/// Returns the keys as an array. Text and bytes are the batch's own, which gives them away.
fn keys(batch: &mut Batch, form: KeyForm, kind: &DataType) -> Result<ArrayRef, ArrowError> {
    let each = || (0..batch.len()).map(|place| batch.key(place));
    match kind {
        DataType::Int64 => {
            let ints = each().map(|key| int_of(&key[1..]).unwrap_or_default());
            Ok(Arc::new(Int64Array::from_iter_values(ints)))
        }
        DataType::Float64 => {
            let floats = each().map(|key| match key {
                [INT_TAG, rest @ ..] if rest.len() == 8 => int_of(rest).unwrap_or_default() as f64,
                key => float_of(&key[1..]).unwrap_or_default(),
            });
            Ok(Arc::new(Float64Array::from_iter_values(floats)))
        }
        kind => {
            if form == KeyForm::Tagged {
                batch.strip_tags();
            }
            let (ends, bytes) = (take(&mut batch.key_ends), take(&mut batch.keys));
            if *kind == DataType::LargeUtf8 { text(ends, bytes) } else { binary(ends, bytes) }
        }
    }
}

fn values(column: Column, kind: &DataType) -> Result<ArrayRef, ArrowError> {
    match column {
        Column::Ints(ints) => Ok(Arc::new(Int64Array::from(ints))),
        Column::Floats(floats) => Ok(Arc::new(Float64Array::from(floats))),
        Column::Numbers(numbers) | Column::Objects { numbers, .. } if *kind == DataType::Int64 => {
            let mut ints = Int64Builder::with_capacity(numbers.len());
            for number in numbers {
                match number {
                    Some(Number::Int(int)) => ints.append_value(
                        i64::try_from(int)
                            .map_err(|_| ArrowError::InvalidArgumentError(too_large(int)))?,
                    ),
                    _ => ints.append_null(),
                }
            }
            Ok(Arc::new(ints.finish()))
        }
        Column::Numbers(numbers) | Column::Objects { numbers, .. } => {
            let mut floats = Float64Builder::with_capacity(numbers.len());
            for number in numbers {
                floats.append_option(number.map(|number| match number {
                    Number::Int(int) => int as f64,
                    Number::Float(float) => float,
                }));
            }
            Ok(Arc::new(floats.finish()))
        }
        Column::Lists { list_ends, ends, bytes } => {
            let DataType::LargeList(field) = kind else {
                return Err(ArrowError::SchemaError("lists".to_owned()));
            };
            let items = match field.data_type() {
                DataType::LargeUtf8 => text(ends, bytes)?,
                _ => binary(ends, bytes)?,
            };
            Ok(Arc::new(LargeListArray::try_new(
                Arc::clone(field),
                offsets(list_ends),
                items,
                None,
            )?))
        }
    }
}

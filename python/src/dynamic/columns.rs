//! The aggregates that a plan may come to, as columns of numbers or bytes: how a value of a map goes in, and
//! how an answer comes out.

use super::cells::{Cells, Item, Kind};
use super::number::Number;
use super::packed::Given;
use tegula::{Aggregate, Collect, Count, Emit, Job, Mean, Sum};
use tegula_apps::native::{Average, End, Extreme, Value};

/// A column of an answer.
#[derive(Clone, Debug)]
pub(crate) enum Column {
    Ints(Vec<i64>),
    Floats(Vec<f64>),
    /// Integers and floats that Python's maps gave, `None` where a key has no value in this column.
    Numbers(Vec<Option<Number>>),
    /// Lists of byte strings: where each list ends among the values, where each value ends, and the bytes.
    Lists {
        list_ends: Vec<usize>,
        ends: Vec<usize>,
        bytes: Vec<u8>,
    },
    /// Numbers, and where there is none, a pickled object: where each ends, and the bytes.
    Objects {
        numbers: Vec<Option<Number>>,
        ends: Vec<usize>,
        bytes: Vec<u8>,
    },
}

impl Column {
    /// Removes all values.
    pub(crate) fn clear(&mut self) {
        match self {
            Column::Ints(ints) => ints.clear(),
            Column::Floats(floats) => floats.clear(),
            Column::Numbers(numbers) => numbers.clear(),
            Column::Lists { list_ends, ends, bytes } => {
                list_ends.clear();
                ends.clear();
                bytes.clear();
            }
            Column::Objects { numbers, ends, bytes } => {
                numbers.clear();
                ends.clear();
                bytes.clear();
            }
        }
    }

    /// Adds the values of a column of the same type.
    pub(crate) fn append(&mut self, other: &Column) {
        match (self, other) {
            (Column::Ints(to), Column::Ints(from)) => to.extend_from_slice(from),
            (Column::Floats(to), Column::Floats(from)) => to.extend_from_slice(from),
            (Column::Numbers(to), Column::Numbers(from)) => to.extend_from_slice(from),
            (
                Column::Lists { list_ends, ends, bytes },
                Column::Lists { list_ends: their_lists, ends: theirs, bytes: their_bytes },
            ) => {
                list_ends.extend(their_lists.iter().map(|end| ends.len() + end));
                ends.extend(theirs.iter().map(|end| bytes.len() + end));
                bytes.extend_from_slice(their_bytes);
            }
            (
                Column::Objects { numbers, ends, bytes },
                Column::Objects { numbers: their_numbers, ends: theirs, bytes: their_bytes },
            ) => {
                numbers.extend_from_slice(their_numbers);
                ends.extend(theirs.iter().map(|end| bytes.len() + end));
                bytes.extend_from_slice(their_bytes);
            }
            _ => {}
        }
    }

    /// Whether some values are objects.
    pub(crate) fn has_objects(&self) -> bool {
        matches!(self, Column::Objects { numbers, .. } if numbers.iter().any(Option::is_none))
    }

    /// Returns the number at a place. A list ranks by its length.
    pub(crate) fn number(&self, place: usize) -> Option<Number> {
        match self {
            Column::Ints(ints) => Some(Number::Int(ints[place].into())),
            Column::Floats(floats) => Some(Number::Float(floats[place])),
            Column::Numbers(numbers) | Column::Objects { numbers, .. } => numbers[place],
            Column::Lists { list_ends, .. } => {
                let begin = place.checked_sub(1).map_or(0, |before| list_ends[before]);
                Some(Number::Int((list_ends[place] - begin) as i128))
            }
        }
    }
}

/// A value does not fit the aggregate. Only code that does not keep to its declared type comes to it.
#[derive(Debug)]
pub(crate) struct Unfit;

/// An aggregate whose values and answers are columns.
pub(crate) trait Columns: Aggregate {
    /// Whether values have numbers of files of the input.
    const NAMES_FILES: bool = false;

    /// Emits a pair.
    fn put<'s, J: Job<Key = [u8], Combine = Self>>(
        emit: &mut impl Emit<'s, J>,
        key: &[u8],
        column: (u8, Kind),
        value: Given<'_>,
    ) -> Result<(), Unfit>;

    /// Returns the columns of an answer of `width` columns, without keys.
    fn columns(width: usize) -> Vec<Column>;

    /// Adds the answer of a key.
    fn add(answer: Self::Output<'_>, to: &mut [Column]);
}

/// Implements [`Columns`] for aggregates: which value a map's column and value are, or that they do not fit; the
/// columns of an answer; and how the answer of a key goes into them.
macro_rules! columns {
    ($(
        $(#[$meta:meta])*
        $aggregate:ty $(, const $size:ident)? {
            value($column:pat, $given:pat) => $value:expr,
            columns($width:pat) => $columns:expr,
            add($answer:pat, $to:pat) => $add:expr $(,)?
        }
    )*) => {$(
        $(#[$meta])*
        impl$(<const $size: usize>)? Columns for $aggregate {
            fn put<'s, J: Job<Key = [u8], Combine = Self>>(
                emit: &mut impl Emit<'s, J>,
                key: &[u8],
                $column: (u8, Kind),
                $given: Given<'_>,
            ) -> Result<(), Unfit> {
                emit.emit_copied(key, $value);
                Ok(())
            }

            fn columns($width: usize) -> Vec<Column> {
                $columns
            }

            fn add($answer: Self::Output<'_>, $to: &mut [Column]) {
                $add
            }
        }
    )*};
}

columns! {
    /// Counts, by the ready-made jobs alone.
    Count {
        value(_, _) => (),
        columns(_) => vec![Column::Ints(Vec::new())],
        add(count, to) => add_int(whole(count), to),
    }

    /// Counts: a value is how many values there were.
    Sum<u64> {
        value(_, given) => match given {
            Given::Int(count) => u64::try_from(count).map_err(|_| Unfit)?,
            Given::Nothing | Given::Float(_) | Given::Bytes(_) => 1,
        },
        columns(_) => vec![Column::Ints(Vec::new())],
        add(count, to) => add_int(whole(count), to),
    }

    Sum<i64> {
        value(_, given) => int(given)?,
        columns(_) => vec![Column::Ints(Vec::new())],
        add(sum, to) => add_int(sum, to),
    }

    Extreme {
        value((_, kind), given) => {
            let end = if kind == Kind::Min { End::Least } else { End::Greatest };
            match given {
                Given::Float(float) => Extreme::of_float(end, float),
                given => Extreme::of_int(end, int(given)?),
            }
        },
        columns(_) => vec![Column::Numbers(Vec::new())],
        add(answer, to) => add_numbers([match answer.value() {
            Value::Ignored => None,
            Value::Int(int) => Some(Number::Int(int.into())),
            Value::Float(float) => Some(Number::Float(float)),
        }], to),
    }

    Average {
        value(_, given) => match given {
            Given::Float(float) => Value::Float(float),
            given => Value::Int(int(given)?),
        },
        columns(_) => vec![Column::Floats(Vec::new())],
        add(mean, to) => add_float(mean, to),
    }

    Sum<f64> {
        value(_, given) => float(given)?,
        columns(_) => vec![Column::Floats(Vec::new())],
        add(sum, to) => add_float(sum, to),
    }

    Mean<f64> {
        value(_, given) => float(given)?,
        columns(_) => vec![Column::Floats(Vec::new())],
        add(mean, to) => add_float(mean, to),
    }

    Cells<N>, const N {
        value((column, kind), given) => Item { column, kind, number: number(given)? },
        columns(width) => vec![Column::Numbers(Vec::new()); width],
        add(answer, to) => add_numbers(answer, to),
    }

    Collect<[u8]> {
        value(_, given) => match given {
            Given::Bytes(bytes) => bytes,
            _ => return Err(Unfit),
        },
        columns(_) => vec![Column::Lists {
            list_ends: Vec::new(),
            ends: Vec::new(),
            bytes: Vec::new(),
        }],
        add(values, to) => add_list(values, to),
    }
}

/// Returns a count as Arrow's integer. 2^63 of anything take centuries.
fn whole(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn int(given: Given<'_>) -> Result<i64, Unfit> {
    match given {
        Given::Int(int) => i64::try_from(int).map_err(|_| Unfit),
        _ => Err(Unfit),
    }
}

fn float(given: Given<'_>) -> Result<f64, Unfit> {
    match given {
        Given::Float(float) => Ok(float),
        _ => Err(Unfit),
    }
}

fn number(given: Given<'_>) -> Result<Number, Unfit> {
    match given {
        Given::Nothing => Ok(Number::Int(1)),
        Given::Int(int) => Ok(Number::Int(int)),
        Given::Float(float) => Ok(Number::Float(float)),
        Given::Bytes(_) => Err(Unfit),
    }
}

fn add_int(int: i64, to: &mut [Column]) {
    if let [Column::Ints(ints)] = to {
        ints.push(int);
    }
}

fn add_float(float: f64, to: &mut [Column]) {
    if let [Column::Floats(floats)] = to {
        floats.push(float);
    }
}

fn add_numbers<const N: usize>(answer: [Option<Number>; N], to: &mut [Column]) {
    for (column, number) in to.iter_mut().zip(answer) {
        if let Column::Numbers(numbers) = column {
            numbers.push(number);
        }
    }
}

fn add_list<'a>(values: impl IntoIterator<Item = &'a [u8]>, to: &mut [Column]) {
    if let [Column::Lists { list_ends, ends, bytes }] = to {
        for value in values {
            bytes.extend_from_slice(value);
            ends.push(bytes.len());
        }
        list_ends.push(ends.len());
    }
}

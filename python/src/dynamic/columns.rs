//! The aggregates that a plan may come to, as columns of numbers or bytes: how a value of a map goes in, and
//! how an answer comes out.

use super::cells::{Cells, Item, Kind};
use super::number::Number;
use super::packed::Given;
use tegula::{Aggregate, Collect, Count, Emit, Job, Mean, Sum};

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
        }
    }

    /// Returns the number at a place. A list ranks by its length.
    pub(crate) fn number(&self, place: usize) -> Option<Number> {
        match self {
            Column::Ints(ints) => Some(Number::Int(ints[place].into())),
            Column::Floats(floats) => Some(Number::Float(floats[place])),
            Column::Numbers(numbers) => numbers[place],
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

fn add_int(int: u64, to: &mut [Column]) {
    if let [Column::Ints(ints)] = to {
        // A count of 2^63 takes centuries, and sums of text are limited to it below.
        ints.push(i64::try_from(int).unwrap_or(i64::MAX));
    }
}

fn add_float(float: f64, to: &mut [Column]) {
    if let [Column::Floats(floats)] = to {
        floats.push(float);
    }
}

/// Counts, by the ready-made jobs alone.
impl Columns for Count {
    fn put<'s, J: Job<Key = [u8], Combine = Self>>(
        emit: &mut impl Emit<'s, J>,
        key: &[u8],
        _: (u8, Kind),
        _: Given<'_>,
    ) -> Result<(), Unfit> {
        emit.emit_copied(key, ());
        Ok(())
    }

    fn columns(_: usize) -> Vec<Column> {
        vec![Column::Ints(Vec::new())]
    }

    fn add(answer: u64, to: &mut [Column]) {
        add_int(answer, to);
    }
}

/// Counts: a value is how many values there were.
impl Columns for Sum<u64> {
    fn put<'s, J: Job<Key = [u8], Combine = Self>>(
        emit: &mut impl Emit<'s, J>,
        key: &[u8],
        _: (u8, Kind),
        value: Given<'_>,
    ) -> Result<(), Unfit> {
        let count = match value {
            Given::Int(count) => u64::try_from(count).map_err(|_| Unfit)?,
            Given::Nothing | Given::Float(_) | Given::Bytes(_) => 1,
        };
        emit.emit_copied(key, count);
        Ok(())
    }

    fn columns(_: usize) -> Vec<Column> {
        vec![Column::Ints(Vec::new())]
    }

    fn add(answer: u64, to: &mut [Column]) {
        add_int(answer, to);
    }
}

impl Columns for Sum<i64> {
    fn put<'s, J: Job<Key = [u8], Combine = Self>>(
        emit: &mut impl Emit<'s, J>,
        key: &[u8],
        _: (u8, Kind),
        value: Given<'_>,
    ) -> Result<(), Unfit> {
        let Given::Int(int) = value else { return Err(Unfit) };
        emit.emit_copied(key, i64::try_from(int).map_err(|_| Unfit)?);
        Ok(())
    }

    fn columns(_: usize) -> Vec<Column> {
        vec![Column::Ints(Vec::new())]
    }

    fn add(answer: i64, to: &mut [Column]) {
        if let [Column::Ints(ints)] = to {
            ints.push(answer);
        }
    }
}

macro_rules! floats {
    ($($combine:ty),*) => {$(
        impl Columns for $combine {
            fn put<'s, J: Job<Key = [u8], Combine = Self>>(
                emit: &mut impl Emit<'s, J>,
                key: &[u8],
                _: (u8, Kind),
                value: Given<'_>,
            ) -> Result<(), Unfit> {
                let Given::Float(float) = value else { return Err(Unfit) };
                emit.emit_copied(key, float);
                Ok(())
            }

            fn columns(_: usize) -> Vec<Column> {
                vec![Column::Floats(Vec::new())]
            }

            fn add(answer: f64, to: &mut [Column]) {
                add_float(answer, to);
            }
        }
    )*};
}

floats!(Sum<f64>, Mean<f64>);

impl<const N: usize> Columns for Cells<N> {
    fn put<'s, J: Job<Key = [u8], Combine = Self>>(
        emit: &mut impl Emit<'s, J>,
        key: &[u8],
        (column, kind): (u8, Kind),
        value: Given<'_>,
    ) -> Result<(), Unfit> {
        let number = match value {
            Given::Nothing => Number::Int(1),
            Given::Int(int) => Number::Int(int),
            Given::Float(float) => Number::Float(float),
            Given::Bytes(_) => return Err(Unfit),
        };
        emit.emit_copied(key, Item { column, kind, number });
        Ok(())
    }

    fn columns(width: usize) -> Vec<Column> {
        (0..width).map(|_| Column::Numbers(Vec::new())).collect()
    }

    fn add(answer: [Option<Number>; N], to: &mut [Column]) {
        for (column, number) in to.iter_mut().zip(answer) {
            if let Column::Numbers(numbers) = column {
                numbers.push(number);
            }
        }
    }
}

impl Columns for Collect<[u8]> {
    fn put<'s, J: Job<Key = [u8], Combine = Self>>(
        emit: &mut impl Emit<'s, J>,
        key: &[u8],
        _: (u8, Kind),
        value: Given<'_>,
    ) -> Result<(), Unfit> {
        let Given::Bytes(bytes) = value else { return Err(Unfit) };
        emit.emit_copied(key, bytes);
        Ok(())
    }

    fn columns(_: usize) -> Vec<Column> {
        vec![Column::Lists { list_ends: Vec::new(), ends: Vec::new(), bytes: Vec::new() }]
    }

    fn add(answer: Self::Output<'_>, to: &mut [Column]) {
        if let [Column::Lists { list_ends, ends, bytes }] = to {
            for value in answer {
                bytes.extend_from_slice(value);
                ends.push(bytes.len());
            }
            list_ends.push(ends.len());
        }
    }
}

//! Matrices: rows of numbers, all of one length. Read from text or from NumPy's `.npy` files, which the
//! first bytes tell apart. Kept as little-endian bytes, like the engine's splits, and viewed as numbers.

mod element;
mod npy;
mod sweep;
mod text;

pub use element::{Element, Number};
#[cfg(feature = "linreg")]
pub(crate) use text::{no_number, numbers};

use crate::{Runs, fault};
use std::sync::Arc;
use tegula::{Error, Input, Result};

/// A matrix in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    /// The type of its numbers.
    pub element: Element,
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub columns: usize,
    /// The numbers, row by row, little-endian: `rows * columns * element.bytes()` bytes.
    pub bytes: Arc<Vec<u8>>,
}

impl Matrix {
    /// Creates a matrix of these numbers, given row by row. Their number must be a multiple of `columns`,
    /// which is at least 1.
    pub fn of<T: Number>(columns: usize, numbers: &[T]) -> Matrix {
        let mut bytes = Vec::with_capacity(size_of_val(numbers));
        numbers.iter().for_each(|number| number.write(&mut bytes));
        let rows = numbers.len() / columns;
        Matrix { element: T::ELEMENT, rows, columns, bytes: Arc::new(bytes) }
    }

    /// Reads a matrix from a file or stream, or from several as consecutive rows. Linear in the bytes,
    /// which all workers read.
    ///
    /// # Errors
    /// Returns [`Error::Record`] if a row has another length than the first, if a number is malformed or
    /// not finite, if a `.npy` file is cut short or contains anything except a matrix of floats, or if
    /// files do not fit together; and errors of reading.
    pub fn read(runs: &mut Runs<'_>, input: Input) -> Result<Matrix> {
        let first = input.listing().next().ok_or_else(nothing)?;
        let is_npy = first.bytes().is_some() && npy::is_npy(&first)?;
        drop(first);
        runs.on_cores(|runs| if is_npy { npy::read(runs, &input) } else { text::read(runs, input) })
    }

    /// Returns the size of a row in bytes.
    pub fn row_bytes(&self) -> usize {
        self.columns * self.element.bytes()
    }

    /// Returns the bytes of some rows.
    pub fn row_range(&self, rows: std::ops::Range<usize>) -> &[u8] {
        &self.bytes[rows.start * self.row_bytes()..rows.end * self.row_bytes()]
    }

    /// Returns the numbers of some rows, in double precision.
    pub fn wide_rows(&self, rows: std::ops::Range<usize>) -> Vec<f64> {
        let bytes = self.row_range(rows);
        match self.element {
            Element::F32 => f32::read(bytes).map(Number::wide).collect(),
            Element::F64 => f64::read(bytes).collect(),
        }
    }

    /// Returns the header of a `.npy` file of this shape; the matrix's bytes follow it in the file.
    pub fn npy_header(&self) -> Vec<u8> {
        npy::header(self.element, self.rows, self.columns)
    }

    /// Appends the rows as text: numbers separated by tabs, each the shortest text that reads back as the
    /// same number.
    pub fn write_text(&self, rows: std::ops::Range<usize>, out: &mut Vec<u8>) {
        for row in rows {
            let bytes = self.row_range(row..row + 1);
            match self.element {
                Element::F32 => text::write_row(f32::read(bytes), out),
                Element::F64 => text::write_row(f64::read(bytes), out),
            }
        }
    }
}

fn nothing() -> Error {
    fault("the input", "no file; give one, or a folder with one in it")
}

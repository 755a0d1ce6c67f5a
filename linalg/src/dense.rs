//! Between the bytes of a matrix and what faer works on: numbers in memory, row by row.

use faer::linalg::matmul::matmul;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::{Accum, MatMut, MatRef, Par};
use tegula_apps::matrix::Number;

/// A number that both matrices and faer know.
pub(crate) trait Real: Number + faer::traits::RealField {}

impl Real for f32 {}
impl Real for f64 {}

/// The numbers of little-endian bytes.
pub(crate) fn numbers<T: Number>(bytes: &[u8]) -> Vec<T> {
    T::read(bytes).collect()
}

/// Numbers row by row, as a matrix.
pub(crate) fn rows<T>(numbers: &[T], columns: usize) -> MatRef<'_, T> {
    MatRef::from_row_major_slice(numbers, numbers.len() / columns, columns)
}

/// The product of two matrices, into numbers row by row.
pub(crate) fn multiply<T: Real>(a: MatRef<'_, T>, b: MatRef<'_, T>, into: &mut [T]) {
    let into = MatMut::from_row_major_slice_mut(into, a.nrows(), b.ncols());
    // Workers share blocks among them; faer's own threads would get in their way.
    matmul(into, Accum::Replace, a, b, T::one_impl(), Par::Seq);
}

/// The product of a transposed matrix with itself, row by row: its lower triangle and diagonal.
pub(crate) fn squares(a: MatRef<'_, f64>, into: &mut [f64]) {
    let into = MatMut::from_row_major_slice_mut(into, a.ncols(), a.ncols());
    let (lower, full) = (BlockStructure::TriangularLower, BlockStructure::Rectangular);
    triangular::matmul(into, lower, Accum::Replace, a.transpose(), full, a, full, 1.0, Par::Seq);
}

//! Between the bytes of a matrix and what faer works on: numbers in memory, row by row.

use bytemuck::Pod;
use faer::linalg::matmul::matmul;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::{Accum, MatMut, MatRef, Par};
use std::borrow::Cow;
use tegula_apps::matrix::Number;

/// A number that both matrices and faer know.
pub(crate) trait Real: Number + Pod + faer::traits::RealField {}

impl Real for f32 {}
impl Real for f64 {}

/// The numbers of little-endian bytes: the bytes themselves where they stand as numbers do in memory,
/// as large allocations do on most machines.
pub(crate) fn numbers<T: Real>(bytes: &[u8]) -> Cow<'_, [T]> {
    match bytemuck::try_cast_slice(bytes) {
        Ok(numbers) if cfg!(target_endian = "little") => Cow::Borrowed(numbers),
        _ => Cow::Owned(T::read(bytes).collect()),
    }
}

/// Has numbers made at the place of their little-endian bytes, or made elsewhere and put there if
/// numbers cannot stand there.
pub(crate) fn make_numbers<T: Real, R>(bytes: &mut [u8], make: impl FnOnce(&mut [T]) -> R) -> R {
    match bytemuck::try_cast_slice_mut(bytes) {
        Ok(numbers) if cfg!(target_endian = "little") => make(numbers),
        _ => {
            let mut numbers = vec![T::zero_impl(); bytes.len() / T::ELEMENT.bytes()];
            let result = make(&mut numbers);
            let mut made = Vec::with_capacity(bytes.len());
            numbers.into_iter().for_each(|number| number.write(&mut made));
            bytes.copy_from_slice(&made);
            result
        }
    }
}

/// Numbers row by row, as a matrix.
pub(crate) fn rows<T>(numbers: &[T], columns: usize) -> MatRef<'_, T> {
    MatRef::from_row_major_slice(numbers, numbers.len() / columns, columns)
}

/// The product of two matrices, into numbers row by row.
pub(crate) fn multiply<T: Real>(a: MatRef<'_, T>, b: MatRef<'_, T>, into: MatMut<'_, T>) {
    // Workers share blocks among them; faer's own threads would get in their way.
    matmul(into, Accum::Replace, a, b, T::one_impl(), Par::Seq);
}

/// The product of a transposed matrix with itself, row by row: its lower triangle and diagonal.
pub(crate) fn squares(a: MatRef<'_, f64>, into: &mut [f64]) {
    let into = MatMut::from_row_major_slice_mut(into, a.ncols(), a.ncols());
    let (lower, full) = (BlockStructure::TriangularLower, BlockStructure::Rectangular);
    triangular::matmul(into, lower, Accum::Replace, a.transpose(), full, a, full, 1.0, Par::Seq);
}

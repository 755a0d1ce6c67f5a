//! Converts between the bytes of a matrix and the matrices of faer: numbers in memory, row by row.

use bytemuck::Pod;
use faer::linalg::matmul::matmul;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::{Accum, MatMut, MatRef, Par};
use std::borrow::Cow;
use tegula_apps::matrix::Number;

/// A number type of both matrices and faer.
pub(crate) trait Real: Number + Pod + faer::traits::RealField {}

impl Real for f32 {}
impl Real for f64 {}

/// Returns the numbers of little-endian bytes: the bytes themselves if they are aligned and in the
/// machine's byte order, as large allocations mostly are.
pub(crate) fn numbers<T: Real>(bytes: &[u8]) -> Cow<'_, [T]> {
    numbers_in_place(bytes).map_or_else(|| Cow::Owned(T::read(bytes).collect()), Cow::Borrowed)
}

/// Returns the bytes of the copy that [`numbers`] makes.
pub(crate) fn copied_bytes<T: Real>(bytes: &[u8]) -> usize {
    match numbers_in_place::<T>(bytes) {
        Some(_) => 0,
        None => bytes.len(),
    }
}

fn numbers_in_place<T: Real>(bytes: &[u8]) -> Option<&[T]> {
    bytemuck::try_cast_slice(bytes).ok().filter(|_| cfg!(target_endian = "little"))
}

/// Lets `make` write numbers in place of their little-endian bytes, or elsewhere with a copy if the bytes
/// are not suitable.
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

/// Views numbers, row by row, as a matrix.
pub(crate) fn rows<T>(numbers: &[T], columns: usize) -> MatRef<'_, T> {
    MatRef::from_row_major_slice(numbers, numbers.len() / columns, columns)
}

/// Writes the product of two matrices into numbers, row by row.
pub(crate) fn multiply<T: Real>(a: MatRef<'_, T>, b: MatRef<'_, T>, into: MatMut<'_, T>) {
    // Workers share the blocks among them; faer's own threads would interfere.
    matmul(into, Accum::Replace, a, b, T::one_impl(), Par::Seq);
}

/// Writes the product of a transposed matrix with itself, row by row: its lower triangle and diagonal.
pub(crate) fn squares(a: MatRef<'_, f64>, into: &mut [f64]) {
    let into = MatMut::from_row_major_slice_mut(into, a.ncols(), a.ncols());
    let (lower, full) = (BlockStructure::TriangularLower, BlockStructure::Rectangular);
    triangular::matmul(into, lower, Accum::Replace, a.transpose(), full, a, full, 1.0, Par::Seq);
}

//! Room for matrices: their bytes are counted in the engine's limit before there are any, and a matrix for which the
//! system has no memory is an error. Without that, a product of two small files could end the process.

use bytemuck::Zeroable;
use std::io::ErrorKind;
use tegula::{Error, MemoryError, Result};
use tegula_apps::Runs;
use tegula_machine::memory::Reserved;

/// Returns the bytes of a matrix of numbers that take `each` bytes.
pub(crate) fn bytes_of(rows: usize, columns: usize, each: usize) -> Result<usize> {
    let bytes = rows.checked_mul(columns).and_then(|numbers| numbers.checked_mul(each));
    bytes.ok_or_else(|| too_large(usize::MAX))
}

/// Counts several parts of memory together, as long as what is returned lives.
pub(crate) fn reserve(runs: &Runs<'_>, parts: &[usize]) -> Result<Reserved> {
    runs.reserve(parts.iter().fold(0, |sum: usize, &part| sum.saturating_add(part)))
}

/// Returns zeros. Their bytes must be counted.
pub(crate) fn zeros<T: Zeroable>(count: usize) -> Result<Vec<T>> {
    let zeros = bytemuck::allocation::try_zeroed_vec(count);
    zeros.map_err(|()| too_large(count.saturating_mul(size_of::<T>())))
}

fn too_large(bytes: usize) -> Error {
    let cause = ErrorKind::OutOfMemory.into();
    MemoryError::System { purpose: "a matrix", bytes: bytes as u64, cause }.into()
}

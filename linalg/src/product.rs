//! The product of two matrices, by blocks of rows. Tasks are blocks of a fixed number of rows, so that
//! each number of the result is the same sum, in the same order, whoever makes it. Blocks of the
//! result are large values that nothing combines: a map makes its block where it shall stand in the
//! result and emits which rows it holds; the engine's pairs then say that each row was made once.

use crate::dense::{Real, make_numbers, multiply, numbers, rows};
use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};
use tegula::{Cut, Emit, Error, Job, Place, Result, Split, Sum};
use tegula_apps::matrix::Element;
use tegula_apps::{Matrix, Runs, TASK_BYTES, task_numbers};

/// Rows of a task. The second matrix is packed anew for each: with half as many that costs a tenth more.
const BLOCK_ROWS: usize = 256;

/// The product of `a` and `b`. Takes rows of `a` x columns of `a` x columns of `b` steps, shared by all
/// workers; memory holds the three matrices.
///
/// # Errors
/// [`Error::Record`] if `a` has not as many columns as `b` has rows, or their numbers are not of the
/// same type; those of running.
pub fn product(runs: &mut Runs<'_>, a: &Matrix, b: &Matrix) -> Result<Matrix> {
    let shape = |matrix: &Matrix| {
        format!("{} x {} of {}", matrix.rows, matrix.columns, matrix.element.name())
    };
    let advice = match (a.columns == b.rows, a.element == b.element) {
        (true, true) => None,
        (false, _) => Some("the first must have as many columns as the second has rows"),
        (true, false) => Some("give both the same type"),
    };
    if let Some(advice) = advice {
        let cause = format!("{} times {}: {advice}", shape(a), shape(b));
        return Err(Error::Record { place: Place::stage("the matrices"), cause: cause.into() });
    }
    match a.element {
        Element::F32 => blocks::<f32>(runs, a, b),
        Element::F64 => blocks::<f64>(runs, a, b),
    }
}

fn blocks<T: Real>(runs: &mut Runs<'_>, a: &Matrix, b: &Matrix) -> Result<Matrix> {
    let row_bytes = b.columns * T::ELEMENT.bytes();
    let mut bytes = vec![0; a.rows * row_bytes];
    let blocks = bytes.chunks_mut((BLOCK_ROWS * row_bytes).max(1)).map(Mutex::new).collect();
    let job = Product::<T> { a, columns: b.columns, b: numbers(&b.bytes), blocks };
    runs.tasks(&job, a.rows.div_ceil(BLOCK_ROWS))?;
    let (element, rows, columns) = (a.element, a.rows, b.columns);
    Ok(Matrix { element, rows, columns, bytes: Arc::new(bytes) })
}

struct Product<'m, T: Real> {
    a: &'m Matrix,
    b: Cow<'m, [T]>,
    /// Columns of `b`.
    columns: usize,
    /// The bytes of the result, block by block.
    blocks: Vec<Mutex<&'m mut [u8]>>,
}

impl<T: Real> Job for Product<'_, T> {
    type Key = u64;
    type Combine = Sum<u64>;

    fn cut(&self) -> Cut {
        Cut::Fixed(TASK_BYTES as u64)
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        for block in task_numbers(split.bytes()) {
            let first = block * BLOCK_ROWS;
            let last = self.a.rows.min(first + BLOCK_ROWS);
            let a = numbers::<T>(self.a.row_range(first..last));
            let mut bytes = self.blocks[block].lock().unwrap_or_else(PoisonError::into_inner);
            make_numbers(&mut bytes, |into| {
                multiply(rows(&a, self.a.columns), rows(&self.b, self.columns), into);
            });
            (first..last).for_each(|row| emit.emit(row as u64, 1));
        }
        Ok(())
    }
}

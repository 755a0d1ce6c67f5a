//! The product of two matrices, by blocks of rows. Tasks are blocks of a fixed number of rows, so that
//! each number of the result is the same sum, in the same order, whoever makes it. Blocks of the
//! result are large values that nothing combines: a map leaves its block with the job and emits which
//! rows it holds; the engine's pairs then say that each row was made once.

use crate::dense::{Real, multiply, numbers, rows};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use tegula::{Cut, Emit, Error, Job, Place, Result, Split, Sum};
use tegula_apps::matrix::Element;
use tegula_apps::{Matrix, Runs, TASK_BYTES, task_numbers};

/// Rows of a task.
const BLOCK_ROWS: usize = 128;

/// The product of `a` and `b`. Takes rows of `a` x columns of `a` x columns of `b` steps, shared by all
/// workers; memory holds the three matrices, and `b` and the result twice.
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
    let job = Product::<T> { a, columns: b.columns, b: numbers(&b.bytes), done: Mutex::default() };
    runs.tasks(&job, a.rows.div_ceil(BLOCK_ROWS))?;
    let done = job.done.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut bytes = Vec::with_capacity(a.rows * b.columns * T::ELEMENT.bytes());
    done.into_values().flatten().for_each(|number| number.write(&mut bytes));
    let (element, rows, columns) = (a.element, a.rows, b.columns);
    Ok(Matrix { element, rows, columns, bytes: Arc::new(bytes) })
}

struct Product<'a, T> {
    a: &'a Matrix,
    b: Vec<T>,
    /// Columns of `b`.
    columns: usize,
    /// Blocks of the result, by their number.
    done: Mutex<BTreeMap<usize, Vec<T>>>,
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
            let a: Vec<T> = numbers(self.a.row_range(first..last));
            let mut result = vec![T::zero_impl(); (last - first) * self.columns];
            multiply(rows(&a, self.a.columns), rows(&self.b, self.columns), &mut result);
            self.done.lock().unwrap_or_else(PoisonError::into_inner).insert(block, result);
            (first..last).for_each(|row| emit.emit(row as u64, 1));
        }
        Ok(())
    }
}

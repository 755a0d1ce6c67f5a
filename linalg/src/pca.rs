//! Principal components: the directions of the largest spread of rows of numbers. There are two jobs and a
//! last step: the means of the columns, their covariances, and on one processor faer's decomposition of the
//! covariances. Tasks are blocks of rows that follow from the matrix alone, and sums are reproducible or in
//! a fixed order, so the number of workers changes nothing.

use crate::dense::{rows, squares};
use crate::ordered_sum::OrderedSum;
use faer::Side;
use std::sync::{Mutex, PoisonError};
use tegula::{Cut, Emit, Error, Job, Place, Result, Split, Sum};
use tegula_apps::{Matrix, Runs, TASK_BYTES, task_numbers};

/// The fewest and the most rows of a task: enough that a product of columns justifies the cost of its sum.
const BLOCK_ROWS: (usize, usize) = (256, 4096);

/// Principal components of rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Pca {
    /// The mean of each column.
    pub means: Vec<f64>,
    /// Covariance of each pair of columns, row by row, divided by the number of rows minus one.
    pub covariance: Vec<f64>,
    /// Directions of length 1, the one of the largest variance first. The coordinate of the largest
    /// magnitude, or the first of equal ones, is positive.
    pub components: Vec<Vec<f64>>,
    /// The variance along each of them.
    pub variances: Vec<f64>,
}

impl Pca {
    /// Computes the first `count` components of the rows of a matrix, or as many as it has columns. Takes
    /// rows x columns^2 steps, shared by all workers, and columns^3 on one processor if any components are
    /// wanted. Memory holds the matrix, and a few times columns^2 numbers.
    ///
    /// # Errors
    /// Returns [`Error::Record`] if there are fewer than two rows, a number is not finite, or the
    /// decomposition does not converge; and errors of running.
    pub fn of(runs: &mut Runs<'_>, matrix: &Matrix, count: usize) -> Result<Pca> {
        if matrix.rows < 2 {
            return Err(fault("fewer than two rows do not spread; give more"));
        }
        matrix.check_finite(runs)?;
        let blocks =
            Blocks { matrix, rows: matrix.rows.div_ceil(16).clamp(BLOCK_ROWS.0, BLOCK_ROWS.1) };
        let means = means(runs, &blocks)?;
        let covariance = covariance(runs, &blocks, &means)?;
        let (components, variances) = components(&covariance, matrix.columns, count)?;
        Ok(Pca { means, covariance, components, variances })
    }
}

fn fault(cause: &str) -> Error {
    Error::Record { place: Place::stage("the matrix"), cause: cause.into() }
}

/// A matrix in blocks of rows; the last block may be shorter. Their height follows from the matrix alone,
/// because a block's sum depends on it.
struct Blocks<'m> {
    matrix: &'m Matrix,
    rows: usize,
}

impl Blocks<'_> {
    fn count(&self) -> usize {
        self.matrix.rows.div_ceil(self.rows)
    }

    /// Returns a block's numbers, row by row.
    fn numbers(&self, block: usize) -> Vec<f64> {
        let first = block * self.rows;
        self.matrix.wide_rows(first..self.matrix.rows.min(first + self.rows))
    }
}

/// The job that sums columns. Keys are the columns' numbers.
struct ColumnSums<'m>(&'m Blocks<'m>);

impl Job for ColumnSums<'_> {
    type Key = u64;
    type Combine = Sum<f64>;

    fn cut(&self) -> Cut {
        Cut::Fixed(TASK_BYTES as u64)
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        for block in task_numbers(split.bytes()) {
            let mut sums = vec![0.0; self.0.matrix.columns];
            for row in self.0.numbers(block).chunks_exact(sums.len()) {
                sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
            }
            (0..).zip(sums).for_each(|(column, sum)| emit.emit(column, sum));
        }
        Ok(())
    }
}

fn means(runs: &mut Runs<'_>, blocks: &Blocks<'_>) -> Result<Vec<f64>> {
    let output = runs.tasks(&ColumnSums(blocks), blocks.count())?;
    let mut means = Vec::with_capacity(blocks.matrix.columns);
    output.for_each(|_, sum| means.push(sum / blocks.matrix.rows as f64))?;
    Ok(means)
}

/// The job that sums products about the means. A block's products are one large value, and a sum of floats
/// depends on its order. So a map leaves them with the job, which adds them block by block, and emits the
/// block's number and rows.
struct ProductSums<'m> {
    blocks: &'m Blocks<'m>,
    means: &'m [f64],
    sum: Mutex<OrderedSum>,
}

impl Job for ProductSums<'_> {
    type Key = u64;
    type Combine = Sum<u64>;

    fn cut(&self) -> Cut {
        Cut::Fixed(TASK_BYTES as u64)
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        let columns = self.means.len();
        for block in task_numbers(split.bytes()) {
            let mut about = self.blocks.numbers(block);
            for row in about.chunks_exact_mut(columns) {
                row.iter_mut().zip(self.means).for_each(|(value, mean)| *value -= mean);
            }
            let mut products = vec![0.0; columns * columns];
            squares(rows(&about, columns), &mut products);
            self.sum.lock().unwrap_or_else(PoisonError::into_inner).add(block, products);
            emit.emit(block as u64, (about.len() / columns) as u64);
        }
        Ok(())
    }
}

fn covariance(runs: &mut Runs<'_>, blocks: &Blocks<'_>, means: &[f64]) -> Result<Vec<f64>> {
    let columns = means.len();
    let sum = Mutex::new(OrderedSum::new(columns * columns));
    let job = ProductSums { blocks, means, sum };
    runs.tasks(&job, blocks.count())?;
    let mut covariance = job.sum.into_inner().unwrap_or_else(PoisonError::into_inner).finish();
    for row in 0..columns {
        for column in 0..=row {
            let value = covariance[row * columns + column] / (blocks.matrix.rows - 1) as f64;
            covariance[row * columns + column] = value;
            covariance[column * columns + row] = value;
        }
    }
    Ok(covariance)
}

/// Returns the leading eigenvectors and eigenvalues of a symmetric matrix.
fn components(matrix: &[f64], size: usize, count: usize) -> Result<(Vec<Vec<f64>>, Vec<f64>)> {
    if count == 0 {
        return Ok((Vec::new(), Vec::new()));
    }
    let decomposed = rows(matrix, size).self_adjoint_eigen(Side::Lower);
    let decomposed = decomposed
        .map_err(|_| fault("the covariances have no decomposition; scale the columns"))?;
    // They come in ascending order.
    let leading = (0..size).rev().take(count);
    let vectors = leading.clone().map(|place| {
        let vector: Vec<f64> = decomposed.U().col(place).iter().copied().collect();
        let largest =
            vector.iter().fold(
                0.0,
                |largest: f64, value| {
                    if value.abs() > largest.abs() { *value } else { largest }
                },
            );
        vector.into_iter().map(|value| value * largest.signum()).collect()
    });
    // Rounding may make a variance of 0 slightly negative.
    let variances = leading.clone().map(|place| decomposed.S()[place].max(0.0));
    Ok((vectors.collect(), variances.collect()))
}

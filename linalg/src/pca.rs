//! Principal components: the directions of the largest spread of rows of numbers. There are two jobs and a
//! last step: the means of the columns, their covariances, and on one processor faer's decomposition of the
//! covariances. Tasks are blocks of rows that follow from the matrix alone, and sums are reproducible or in
//! a fixed order, so the number of workers changes nothing.

use crate::dense::{rows, squares};
use crate::ordered_sum::OrderedSum;
use crate::room::bytes_of;
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd_scratch};
use faer::{Side, Spec};
use tegula::{Combine, Error, Place, Result, Sum};
use tegula_apps::{Matrix, Runs};
use tegula_machine::sync::Mutex;

/// The fewest and the most rows of a task: enough that a product of columns justifies the cost of its sum.
const BLOCK_ROWS: (usize, usize) = (256, 4096);

const NUMBER_BYTES: usize = size_of::<f64>();

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
    /// wanted. Memory holds the matrix, and a few times columns^2 numbers, which count in the engine's limit.
    ///
    /// # Errors
    /// Returns [`Error::Record`] if there are fewer than two rows, a number is not finite, a covariance is beyond the
    /// largest number, or the decomposition does not converge; [`Error::Memory`] if there is no room for the numbers; and
    /// errors of running.
    pub fn of(runs: &mut Runs<'_>, matrix: &Matrix, count: usize) -> Result<Pca> {
        if matrix.rows < 2 {
            return Err(fault("fewer than two rows do not spread; give more"));
        }
        matrix.check_finite(runs)?;
        let blocks =
            Blocks { matrix, rows: matrix.rows.div_ceil(16).clamp(BLOCK_ROWS.0, BLOCK_ROWS.1) };
        let columns = matrix.columns;
        // Whatever is made of pairs of columns has a size.
        bytes_of(columns, columns, NUMBER_BYTES)?;
        // Each worker that has a block has its numbers in double precision.
        let block_bytes = bytes_of(blocks.rows.min(matrix.rows), columns, NUMBER_BYTES)?;
        let at_work = runs.workers().min(blocks.count());
        let in_work = runs.reserve(block_bytes.saturating_mul(at_work))?;
        let means = means(runs, &blocks)?;
        let covariance = covariance(runs, &blocks, &means)?;
        if !means.iter().chain(&covariance).all(|number| number.is_finite()) {
            return Err(fault("sums beyond the largest number; scale the columns down"));
        }
        drop(in_work);
        let count = count.min(columns);
        let _decomposing =
            runs.reserve(if count == 0 { 0 } else { bytes_to_decompose(columns)? })?;
        runs.keep(runs.reserve(bytes_of(count, columns, NUMBER_BYTES)?)?);
        let (components, variances) = components(&covariance, columns, count)?;
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

fn means(runs: &mut Runs<'_>, blocks: &Blocks<'_>) -> Result<Vec<f64>> {
    let columns = blocks.matrix.columns;
    let totals = Mutex::new(vec![Sum::<f64>::identity(); columns]);
    runs.tasks(blocks.count(), |block| {
        let mut sums = vec![0.0; columns];
        for row in blocks.numbers(block).chunks_exact(columns) {
            sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
        }
        let mut totals = totals.lock();
        totals.iter_mut().zip(sums).for_each(|(total, sum)| Sum::<f64>::absorb(total, sum));
        Ok(())
    })?;
    let totals = totals.into_inner();
    let mean = |total| Sum::<f64>::finish(total) / blocks.matrix.rows as f64;
    Ok(totals.iter().map(mean).collect())
}

fn covariance(runs: &mut Runs<'_>, blocks: &Blocks<'_>, means: &[f64]) -> Result<Vec<f64>> {
    let columns = means.len();
    // A sum of floats depends on its order, so it takes the blocks' products in the order of the blocks.
    // Beside a list for each worker there is one that waits for its turn.
    let lists_most = blocks.count().min(runs.workers() + 1);
    let sum = OrderedSum::new(columns * columns, lists_most, runs.reserve(0)?)?;
    runs.tasks(blocks.count(), |_| {
        // Another task has failed.
        let Some(mut products) = sum.begin()? else { return Ok(()) };
        let mut about = blocks.numbers(products.number);
        for row in about.chunks_exact_mut(columns) {
            row.iter_mut().zip(means).for_each(|(value, mean)| *value -= mean);
        }
        squares(rows(&about, columns), &mut products.list);
        products.add();
        Ok(())
    })?;
    let (mut covariance, counted) = sum.finish()?;
    runs.keep(counted);
    for row in 0..columns {
        for column in 0..=row {
            let value = covariance[row * columns + column] / (blocks.matrix.rows - 1) as f64;
            covariance[row * columns + column] = value;
            covariance[column * columns + row] = value;
        }
    }
    Ok(covariance)
}

/// Returns the bytes that the decomposition of a symmetric matrix takes beside it: the eigenvectors, and faer's memory to
/// work in.
fn bytes_to_decompose(size: usize) -> Result<usize> {
    let vectors = bytes_of(size, size, NUMBER_BYTES)?;
    let (with_vectors, parameters) = (ComputeEigenvectors::Yes, Spec::default());
    let par = faer::get_global_parallelism();
    let work = self_adjoint_evd_scratch::<f64>(size, with_vectors, par, parameters);
    Ok(vectors.saturating_add(work.unaligned_bytes_required()))
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

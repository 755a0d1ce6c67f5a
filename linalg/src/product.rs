//! Multiplies two matrices by blocks. Tasks are blocks of the result of a fixed size, so each number of the
//! result is the same sum, in the same order, on any worker. Blocks are large values that are not combined:
//! a map writes its block at its place in the result and emits the number of its elements. The pairs of the
//! job then show that each was made once.

use crate::dense::{Real, copied_bytes, make_numbers, multiply, numbers, rows};
use crate::room::{bytes_of, reserve, zeros};
use faer::reborrow::ReborrowMut;
use faer::{MatMut, MatRef};
use std::sync::Arc;
use tegula::{Error, Place, Result};
use tegula_apps::matrix::Element;
use tegula_apps::{Matrix, Runs};
use tegula_machine::sync::Mutex;

/// Rows and columns of a block. Columns of the second matrix are packed for each block that contains them,
/// so blocks are tall: with 256 whole rows each, a product of 2048 x 2048 took a fifth longer.
const BLOCK: (usize, usize) = (1024, 256);

/// Multiplies `a` and `b`. Takes rows of `a` x columns of `a` x columns of `b` steps, shared by all
/// workers; memory holds the three matrices, and the result counts in the engine's limit until the end of all runs.
///
/// # Errors
/// Returns [`Error::Record`] if `a` does not have as many columns as `b` has rows, or if their numbers are
/// not of the same type; [`Error::Memory`] if there is no room for the result; and errors of running.
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
    let length = bytes_of(a.rows, b.columns, T::ELEMENT.bytes())?;
    runs.keep(runs.reserve(length)?);
    let mut bytes = zeros::<u8>(length)?;
    let copies = [copied_bytes::<T>(&a.bytes), copied_bytes::<T>(&b.bytes)];
    // A result that numbers cannot be written into is made elsewhere, and then copied by way of other bytes.
    let made = 2 * copied_bytes::<T>(&bytes);
    let _copies = reserve(runs, &[copies[0], copies[1], made])?;
    let (left, right) = (numbers(&a.bytes), numbers(&b.bytes));
    make_numbers::<T, _>(&mut bytes, |result| {
        let (a, b) = (rows(&left, a.columns), rows(&right, b.columns));
        let into = MatMut::from_row_major_slice_mut(result, a.nrows(), b.ncols());
        let blocks = cut(a, b, into);
        runs.tasks(blocks.len(), |number| {
            // Each block belongs to one task, so nobody waits here.
            let mut block = blocks[number].lock();
            let Block { a, b, into } = &mut *block;
            multiply(*a, *b, into.rb_mut());
            Ok(())
        })
    })?;
    let (element, rows, columns) = (a.element, a.rows, b.columns);
    Ok(Matrix { element, rows, columns, bytes: Arc::new(bytes) })
}

/// Cuts a product into its blocks.
fn cut<'m, T>(a: MatRef<'m, T>, b: MatRef<'m, T>, into: MatMut<'m, T>) -> Vec<Mutex<Block<'m, T>>> {
    let (mut blocks, mut below) = (Vec::new(), into);
    for row in (0..a.nrows()).step_by(BLOCK.0) {
        let height = BLOCK.0.min(below.nrows());
        let (mut right, rest) = below.split_at_row_mut(height);
        below = rest;
        for column in (0..b.ncols()).step_by(BLOCK.1) {
            let width = BLOCK.1.min(right.ncols());
            let (into, rest) = right.split_at_col_mut(width);
            right = rest;
            let (a, b) = (a.subrows(row, height), b.subcols(column, width));
            blocks.push(Mutex::new(Block { a, b, into }));
        }
    }
    blocks
}

/// A block of the result, with its factors.
struct Block<'m, T> {
    a: MatRef<'m, T>,
    b: MatRef<'m, T>,
    into: MatMut<'m, T>,
}

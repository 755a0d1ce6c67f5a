//! The linear algebra of `tegula matmul` and `tegula pca` by faer alone, on one processor, as the reference
//! for the engine's speed. Reads and writes the same files.
//!
//!     direct matmul A.npy B.npy
//!     direct pca ROWS.npy COMPONENTS

use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::{Accum, Mat, MatRef, Par, Side};
use std::io::Write;
use std::sync::Arc;
use tegula::{Engine, Input, Options, Result};
use tegula_apps::{Matrix, Runs};

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["matmul", a, b] => multiply(&read(a)?, &read(b)?),
        ["pca", rows, count] => components(&read(rows)?, count.parse()?),
        _ => Err("usage: direct matmul A.npy B.npy | direct pca ROWS.npy COMPONENTS".into()),
    }
}

fn read(path: &str) -> Result<Matrix> {
    let engine = Engine::builder().workers(1).build()?;
    Matrix::read(&mut Runs::new(&engine, Options::default()), Input::paths([path])?)
}

/// Numbers stay where their bytes were read, and are made where they are written from.
fn multiply(a: &Matrix, b: &Matrix) -> std::result::Result<(), Box<dyn std::error::Error>> {
    let (x, y) =
        (bytemuck::cast_slice::<u8, f64>(&a.bytes), bytemuck::cast_slice::<u8, f64>(&b.bytes));
    let x = MatRef::from_row_major_slice(x, a.rows, a.columns);
    let y = MatRef::from_row_major_slice(y, b.rows, b.columns);
    let mut bytes = vec![0; a.rows * b.row_bytes()];
    let into = bytemuck::cast_slice_mut(&mut bytes);
    let into = faer::MatMut::from_row_major_slice_mut(into, a.rows, b.columns);
    faer::linalg::matmul::matmul(into, Accum::Replace, x, y, 1.0, Par::Seq);
    let product = Matrix { rows: a.rows, bytes: Arc::new(bytes), ..*b };
    let mut out = std::io::stdout().lock();
    out.write_all(&product.npy_header())?;
    Ok(out.write_all(&product.bytes)?)
}

fn components(rows: &Matrix, count: usize) -> std::result::Result<(), Box<dyn std::error::Error>> {
    let mut numbers = rows.wide_rows(0..rows.rows);
    let mut means = vec![0.0; rows.columns];
    for row in numbers.chunks_exact(rows.columns) {
        means.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
    }
    means.iter_mut().for_each(|sum| *sum /= rows.rows as f64);
    for row in numbers.chunks_exact_mut(rows.columns) {
        row.iter_mut().zip(&means).for_each(|(value, mean)| *value -= mean);
    }
    let about = MatRef::from_row_major_slice(&numbers, rows.rows, rows.columns);
    let mut covariance = Mat::zeros(rows.columns, rows.columns);
    let (lower, full) = (BlockStructure::TriangularLower, BlockStructure::Rectangular);
    let scale = 1.0 / (rows.rows - 1) as f64;
    let into = covariance.as_mut();
    triangular::matmul(
        into,
        lower,
        Accum::Replace,
        about.transpose(),
        full,
        about,
        full,
        scale,
        Par::Seq,
    );
    let decomposed = covariance.self_adjoint_eigen(Side::Lower);
    let decomposed = decomposed.map_err(|_| "no decomposition")?;
    let mut out = std::io::stdout().lock();
    for place in (0..rows.columns).rev().take(count) {
        writeln!(out, "{:?} {:?}", decomposed.S()[place], decomposed.U().col(place))?;
    }
    Ok(())
}

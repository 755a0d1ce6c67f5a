//! `tegula matmul`: the product of two matrices, as text or as a `.npy` file.

use crate::flags::RunFlags;
use crate::request::Request;
use crate::run;
use clap::{Args, ValueEnum};
use std::ffi::OsString;
use std::slice;
use tegula::Result;
use tegula_apps::Matrix;

#[derive(Args)]
pub(crate) struct Flags {
    /// The first matrix: a file of text, one row per line, or a .npy file of f32 or f64.
    #[arg(value_name = "A")]
    first: OsString,

    /// The second matrix, with as many rows as the first has columns.
    #[arg(value_name = "B")]
    second: OsString,

    /// text: numbers with tabs between, one row per line. npy: a file as NumPy's save makes it.
    #[arg(long, value_enum, default_value_t = MatrixFormat::Text, help_heading = "Answer")]
    format: MatrixFormat,

    #[command(flatten)]
    run: RunFlags,
}

#[derive(Clone, Copy, ValueEnum)]
enum MatrixFormat {
    Text,
    Npy,
}

/// Rows of text that are written at a time.
const BLOCK_ROWS: usize = 64;

pub(crate) fn run(flags: &Flags) -> Result<()> {
    run::command_over(&flags.run, Request::of("matmul"), [&flags.first, &flags.second], |run| {
        run.refuse_partials()?;
        run.refuse_direct()?;
        let [first, second] = run.inputs([&flags.first, &flags.second].map(slice::from_ref))?;
        let product = run.several(|runs| {
            let (first, second) = (Matrix::read(runs, first)?, Matrix::read(runs, second)?);
            tegula_linalg::product(runs, &first, &second)
        })?;
        run.write(|sink| match flags.format {
            MatrixFormat::Npy => {
                sink.write(&product.npy_header())?;
                sink.write(&product.bytes)
            }
            MatrixFormat::Text => {
                let mut text = Vec::new();
                for first in (0..product.rows).step_by(BLOCK_ROWS) {
                    text.clear();
                    product.write_text(first..product.rows.min(first + BLOCK_ROWS), &mut text);
                    sink.write(&text)?;
                }
                Ok(())
            }
        })
    })
}

//! `tegula pca`: means, variances and components, one line each.

use crate::flags::RunFlags;
use crate::request::Request;
use crate::run;
use clap::Args;
use std::ffi::OsString;
use std::io::Write;
use tegula::Result;
use tegula_apps::Matrix;
use tegula_linalg::Pca;

#[derive(Args)]
pub(crate) struct Flags {
    /// Rows of numbers: files of text, one row per line, or .npy files of f32 or f64; folders, patterns
    /// (* ? [...] **), or - for text on standard input.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<OsString>,

    /// The number of components; 0 for means and covariances alone [default: the number of columns].
    #[arg(short, long, value_name = "N")]
    components: Option<usize>,

    /// Show the covariances of the columns too.
    #[arg(long)]
    covariance: bool,

    #[command(flatten)]
    run: RunFlags,
}

pub(crate) fn run(flags: &Flags) -> Result<()> {
    run::command_over(&flags.run, Request::of("pca"), &flags.paths, |run| {
        run.refuse_partials()?;
        run.refuse_direct()?;
        let input = run.input(&flags.paths)?;
        let pca = run.several(|runs| {
            let matrix = Matrix::read(runs, input)?;
            Pca::of(runs, &matrix, flags.components.unwrap_or(usize::MAX))
        })?;
        run.write(|sink| {
            let mut put = |name: &str, numbers: &[f64]| sink.write(&line(name, numbers));
            put("mean", &pca.means)?;
            if flags.covariance {
                let mut rows = pca.covariance.chunks_exact(pca.means.len());
                rows.try_for_each(|row| put("covariance", row))?;
            }
            if !pca.components.is_empty() {
                put("variance", &pca.variances)?;
            }
            pca.components.iter().try_for_each(|component| put("component", component))
        })
    })
}

fn line(name: &str, numbers: &[f64]) -> Vec<u8> {
    let mut text = name.as_bytes().to_vec();
    // Writing to a vector cannot fail.
    let _ = numbers.iter().try_for_each(|number| write!(text, "\t{number:?}"));
    text.push(b'\n');
    text
}

//! `tegula teragen`: rows of the TeraSort benchmark into a file or to standard output.

use crate::session::Session;
use clap::Args;
use std::path::PathBuf;
use tegula::output::AtomicFile;
use tegula::{Result, Topology};
use tegula_apps::TeraRows;

#[derive(Args)]
pub(crate) struct Flags {
    /// How many rows of 100 bytes.
    #[arg(value_name = "N")]
    rows: u64,

    /// Printable rows, as gensort -a makes them, each a line.
    #[arg(long)]
    ascii: bool,

    /// Write the rows to FILE instead of standard output. FILE appears, or is replaced, only when all
    /// of them are written.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(crate) fn run(flags: &Flags) -> Result<()> {
    if let Some(path) = &flags.output {
        AtomicFile::probe(path)?;
    }
    let form = if flags.ascii { TeraRows::Ascii } else { TeraRows::Binary };
    let threads = Topology::detect().processors.len();
    Session::command(|session| {
        session.write(flags.output.as_deref(), |sink| {
            form.generate(flags.rows, threads, |rows| sink.write(rows))
        })
    })
}

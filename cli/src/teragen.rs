//! `tegula teragen`: rows of the TeraSort benchmark into a file or to standard output.

use crate::making::MakeFlags;
use clap::Args;
use tegula::{Result, Topology};
use tegula_apps::{ROW_BYTES, TeraRows};

#[derive(Args)]
pub(crate) struct Flags {
    /// How many rows of 100 bytes.
    #[arg(value_name = "N")]
    rows: u64,

    /// Printable rows, as gensort -a makes them, one on each line.
    #[arg(long)]
    ascii: bool,

    #[command(flatten)]
    make: MakeFlags,
}

pub(crate) fn run(flags: &Flags) -> Result<()> {
    let form = if flags.ascii { TeraRows::Ascii } else { TeraRows::Binary };
    let threads = Topology::detect().processors.len();
    flags.make.write(flags.rows, |maker| {
        form.generate(flags.rows, threads, |rows| {
            maker.write((rows.len() / ROW_BYTES) as u64, rows)
        })
    })
}

//! `tegula topology`: the machine as the engine sees it, and the sizes that the engine starts from.

use crate::flags::grouping;
use crate::session::Session;
use crate::size;
use clap::Args;
use std::ffi::OsString;
use std::fmt::Write;
use tegula::{DEFAULT_TILE_BYTES, Grouping, Result, Topology, sizing};

/// Which machine to show.
#[derive(Args)]
pub(crate) struct Flags {
    /// Show the groups that this value of --groups makes: N of the same size, or the machine that FILE
    /// describes.
    #[arg(long, value_name = "auto|N|FILE", default_value = "auto")]
    groups: OsString,
}

pub(crate) fn run(flags: &Flags) -> Result<()> {
    let machine = Topology::detect();
    let workers = machine.workers();
    let topology = match grouping(&flags.groups)? {
        Grouping::Auto => machine,
        Grouping::Count(count) => machine.divided(count)?,
        Grouping::Like(topology) => topology,
    };
    let mut text = topology.to_string();
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{:<12}{workers} by default", "workers");
    let _ = writeln!(text, "{:<12}{}", "tile", size::show(DEFAULT_TILE_BYTES));
    let _ = writeln!(text, "{:<12}{}", "split", size::show(sizing::unit_bytes(&topology)));
    Session::command(|session| session.write(None, |sink| sink.write(text.as_bytes())))
}

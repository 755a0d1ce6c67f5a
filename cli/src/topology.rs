//! `tegula topology`: the machine as the engine sees it, and the sizes it would start from.

use crate::session::Session;
use crate::size;
use std::fmt::Write;
use tegula::{DEFAULT_TILE_BYTES, Result, Topology, sizing};

pub(crate) fn run() -> Result<()> {
    let topology = Topology::detect();
    let mut text = topology.to_string();
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{:<12}{}", "tile", size::show(DEFAULT_TILE_BYTES));
    let _ = writeln!(text, "{:<12}{}", "split", size::show(sizing::unit_bytes(&topology)));
    Session::command(|session| session.write(None, |sink| sink.write(text.as_bytes())))
}

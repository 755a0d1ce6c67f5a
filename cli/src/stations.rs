//! `tegula stations`: the answer is one text, as the One Billion Row Challenge asks for it.

use crate::flags::RunFlags;
use crate::run;
use clap::Args;
use std::ffi::OsString;
use tegula::Result;
use tegula_apps::stations::{Stations, answer};

#[derive(Args)]
pub(crate) struct Flags {
    /// Files, folders (with all below them), patterns (* ? [...] **), or - for standard input.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<OsString>,

    #[command(flatten)]
    pub(crate) run: RunFlags,
}

pub(crate) fn run(flags: &Flags) -> Result<()> {
    run::command(&flags.run, |run| {
        let input = run.input(&flags.paths)?;
        let output = run.job(&Stations, input, &run.options())?;
        run.write(|sink| sink.write(&answer(&output)?))
    })
}

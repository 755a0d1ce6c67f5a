//! `tegula stations`: the answer is one text, in the form of the One Billion Row Challenge.

use crate::flags::RunFlags;
use crate::request::Request;
use crate::run::{self, Run};
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
    run: RunFlags,
}

pub(crate) fn request(_: &Flags) -> Result<Request> {
    Ok(Request::of("stations"))
}

pub(crate) fn run(flags: &Flags) -> Result<()> {
    run::command(&flags.run, request(flags)?, |run| write(run, &flags.paths))
}

#[cfg(feature = "state")]
pub(crate) fn show(request: &Request, flags: &RunFlags) -> Result<()> {
    run::command(flags, request.clone(), |run| write(run, &[]))
}

fn write(run: &mut Run<'_>, paths: &[OsString]) -> Result<()> {
    let input = run.input(paths)?;
    let output = run.job(&Stations, input, &run.options())?;
    run.write(|sink| sink.write(&answer(&output)?))
}

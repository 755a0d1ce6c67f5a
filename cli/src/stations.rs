//! `tegula stations`: the answer is one text, in the form of the One Billion Row Challenge.

use crate::flags::{AnswerFlags, RunFlags};
use crate::request::Request;
use crate::run::{self, Run};
use crate::show::{ShowFlags, ShowWhen, Shows};
use clap::Args;
use std::ffi::OsString;
use tegula::{Result, Shown};
use tegula_apps::stations::{Stations, Text, answer};

#[derive(Args)]
pub(crate) struct Flags {
    /// Files, folders (with all below them), patterns (* ? [...] **), or - for standard input.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<OsString>,

    #[command(flatten)]
    show: ShowWhen,

    #[command(flatten)]
    run: RunFlags,
}

pub(crate) fn request(_: &Flags) -> Result<Request> {
    Ok(Request::of("stations"))
}

pub(crate) fn run(flags: &Flags) -> Result<()> {
    run::command_over(&flags.run, request(flags)?, &flags.paths, |run| {
        write(run, &flags.paths, &flags.show)
    })
}

#[cfg(feature = "state")]
pub(crate) fn show(request: &Request, flags: &RunFlags) -> Result<()> {
    run::command(flags, request.clone(), |run| write(run, &[], &ShowWhen::default()))
}

fn write(run: &mut Run<'_>, paths: &[OsString], show: &ShowWhen) -> Result<()> {
    run.writes("--show-to", show.show_to.as_ref())?;
    let input = run.input(paths)?;
    let flags = AnswerFlags { show: ShowFlags::whole(show), ..AnswerFlags::default() };
    let show = |shows: &mut Shows<'_>, shown: &Shown<'_, Stations>| {
        let mut text = Text::default();
        shown.answers().for_each(|name, temperatures| {
            text.add(name, temperatures);
            Ok(())
        })?;
        let text = text.end();
        shows.write_text(shown, |_| text.clone())
    };
    run.answer(&Stations, input, &flags, show, |sink, output| sink.write(&answer(output)?))
}

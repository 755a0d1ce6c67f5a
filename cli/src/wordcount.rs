//! `tegula wordcount`: its own flags, and the job that they make.

use crate::devices::DeviceFlags;
use crate::flags::{AnswerFlags, RunFlags};
use crate::request::Request;
use crate::run::{self, Run};
use clap::{Args, ValueEnum};
use std::ffi::OsString;
use tegula::Result;
use tegula_apps::WordCount;

#[derive(Args)]
pub(crate) struct Flags {
    /// Files, folders (with all below them), patterns (* ? [...] **), or - for standard input.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<OsString>,

    /// What a word is: any bytes between white space; a run of A-Z and a-z, in lower case; or a word
    /// of Unicode text (UAX #29), in folded case.
    #[arg(long, value_enum, default_value_t = Words::Whitespace)]
    words: Words,

    #[command(flatten)]
    answer: AnswerFlags,

    #[command(flatten)]
    devices: DeviceFlags,

    #[command(flatten)]
    run: RunFlags,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Words {
    Whitespace,
    Alpha,
    Unicode,
}

impl Words {
    pub(crate) fn definition(self) -> tegula_apps::Words {
        match self {
            Words::Whitespace => tegula_apps::Words::Whitespace,
            Words::Alpha => tegula_apps::Words::Alpha,
            Words::Unicode => tegula_apps::Words::Unicode,
        }
    }
}

pub(crate) fn run(flags: &Flags) -> Result<()> {
    let request = Request::of("wordcount").choice("words", &flags.words).answer(&flags.answer);
    run::command(&flags.run, request, |run| {
        run.use_devices(flags.devices.open()?);
        answer(run, flags.words, &flags.paths, &flags.answer)
    })
}

#[cfg(feature = "state")]
pub(crate) fn show(request: &Request, flags: &RunFlags) -> Result<()> {
    let (words, kept) = (request.chosen("words")?, request.answer_flags()?);
    run::command(flags, request.clone(), |run| answer(run, words, &[], &kept))
}

fn answer(run: &mut Run<'_>, words: Words, paths: &[OsString], flags: &AnswerFlags) -> Result<()> {
    let job = WordCount { words: words.definition() };
    run.pairs(&job, paths, flags, |word, count, line| {
        line.bytes("key", word).total("value", count);
    })
}

//! `tegula wordcount`: the flags of its own, and the job they make.

use crate::devices::DeviceFlags;
use crate::flags::{AnswerFlags, RunFlags};
use crate::run;
use clap::{Args, ValueEnum};
use std::ffi::OsString;
use tegula::Result;
use tegula_apps::WordCount;

#[derive(Args)]
pub(crate) struct Flags {
    /// Files, folders (with all below them), patterns (* ? [...] **), or - for standard input.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<OsString>,

    /// What a word is: what stands between white space, any bytes; runs of A-Z and a-z in lower
    /// case; or words of Unicode text (UAX #29) in folded case.
    #[arg(long, value_enum, default_value_t = Words::Whitespace)]
    words: Words,

    #[command(flatten)]
    answer: AnswerFlags,

    #[command(flatten)]
    devices: DeviceFlags,

    #[command(flatten)]
    pub(crate) run: RunFlags,
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
    let job = WordCount { words: flags.words.definition() };
    run::command(&flags.run, |run| {
        run.use_devices(flags.devices.open()?);
        run.pairs(&job, &flags.paths, &flags.answer, |word, count, line| {
            line.bytes("key", word).total("value", count);
        })
    })
}

//! `tegula grep`: the flags of its own, and the job they make.

use crate::flags::{AnswerFlags, RunFlags};
use crate::run;
use clap::{Args, ValueEnum};
use std::ffi::OsString;
use tegula::Result;
use tegula_apps::grep::{Counted, Grep, Meaning};

#[derive(Args)]
pub(crate) struct Flags {
    /// A regular expression, in the syntax of Rust's crate regex.
    pattern: String,

    /// Files, folders (with all below them), patterns (* ? [...] **), or - for standard input.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<OsString>,

    /// Count by file, or by the text that matches. What has no match is not shown.
    #[arg(long, value_enum, default_value_t = By::File)]
    by: By,

    /// By file: count lines with a match, instead of matches.
    #[arg(short, long, conflicts_with = "by")]
    lines: bool,

    /// A letter matches its other case too.
    #[arg(short, long)]
    ignore_case: bool,

    /// The pattern is a text, not a regular expression.
    #[arg(short = 'F', long)]
    fixed: bool,

    #[command(flatten)]
    answer: AnswerFlags,

    #[command(flatten)]
    pub(crate) run: RunFlags,
}

#[derive(Clone, Copy, ValueEnum)]
enum By {
    File,
    Match,
}

pub(crate) fn run(flags: &Flags) -> Result<()> {
    let meaning = Meaning { ignores_case: flags.ignore_case, is_fixed: flags.fixed };
    let (name, count) = match (flags.by, flags.lines) {
        (By::Match, _) => ("match", Counted::Texts),
        (By::File, true) => ("file", Counted::Lines),
        (By::File, false) => ("file", Counted::Matches),
    };
    let job = Grep::new(&flags.pattern, meaning, count)?;
    let number = if flags.lines { "lines" } else { "matches" };
    run::pairs(&job, &flags.paths, &flags.answer, &flags.run, |key, count, line| {
        line.bytes(name, key).total(number, count);
    })
}

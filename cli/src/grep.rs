//! `tegula grep`: its own flags, and the job that they make.

use crate::flags::{AnswerFlags, RunFlags};
use crate::request::Request;
use crate::run::{self, Run};
use clap::{Args, ValueEnum};
#[cfg(feature = "state")]
use serde_json::Value;
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

    /// Count by file, or by the text that matches. A file without a match is not shown.
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
    run: RunFlags,
}

#[derive(Clone, Copy, ValueEnum)]
enum By {
    File,
    Match,
}

/// The pattern to search for, and the kind of count.
struct Search<'a> {
    pattern: &'a str,
    by: By,
    lines: bool,
    ignore_case: bool,
    fixed: bool,
}

pub(crate) fn request(flags: &Flags) -> Result<Request> {
    let &Flags { by, lines, ignore_case, fixed, .. } = flags;
    let request = Request::of("grep").with("pattern", &*flags.pattern).choice("by", &by);
    let request =
        request.with("lines", lines).with("ignore_case", ignore_case).with("fixed", fixed);
    Ok(request.answer(&flags.answer))
}

pub(crate) fn run(flags: &Flags) -> Result<()> {
    let &Flags { by, lines, ignore_case, fixed, .. } = flags;
    let search = Search { pattern: &flags.pattern, by, lines, ignore_case, fixed };
    run::command_over(&flags.run, request(flags)?, &flags.paths, |run| {
        run.refuse_skip_bad("any bytes are a line, so no record is bad")?;
        search.answer(run, &flags.paths, &flags.answer)
    })
}

#[cfg(feature = "state")]
pub(crate) fn show(request: &Request, flags: &RunFlags) -> Result<()> {
    let flag = |name| request.option(name, Value::as_bool);
    let search = Search {
        pattern: request.option("pattern", Value::as_str)?,
        by: request.chosen("by")?,
        lines: flag("lines")?,
        ignore_case: flag("ignore_case")?,
        fixed: flag("fixed")?,
    };
    let kept = request.answer_flags()?;
    run::command(flags, request.clone(), |run| search.answer(run, &[], &kept))
}

impl Search<'_> {
    fn answer(&self, run: &mut Run<'_>, paths: &[OsString], flags: &AnswerFlags) -> Result<()> {
        let meaning = Meaning { ignores_case: self.ignore_case, is_fixed: self.fixed };
        let (name, count) = match (self.by, self.lines) {
            (By::Match, _) => ("match", Counted::Texts),
            (By::File, true) => ("file", Counted::Lines),
            (By::File, false) => ("file", Counted::Matches),
        };
        let job = Grep::new(self.pattern, meaning, count)?;
        let number = if self.lines { "lines" } else { "matches" };
        run.pairs(&job, paths, flags, |key, count, line| {
            line.bytes(name, key).total(number, count);
        })
    }
}

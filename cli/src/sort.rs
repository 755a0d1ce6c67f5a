//! `tegula sort`: its own flags, and the sort that they make.

use crate::flags::RunFlags;
#[cfg(feature = "nodes")]
use crate::nodes;
use crate::request::Request;
use crate::run::{self, refuse};
use clap::Args;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::ffi::OsString;
use std::ops::Range;
use tegula::{Records, Result, Sort};

#[derive(Args)]
pub(crate) struct Flags {
    /// Files, folders (with all below them), patterns (* ? [...] **), or - for standard input.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<OsString>,

    /// The records: lines; fixed:N, records of N bytes; or terasort, which is fixed:100 with the key 0..10.
    #[arg(long, value_name = "lines|fixed:N|terasort", default_value = "lines", value_parser = kind)]
    records: Kind,

    /// The bytes of a record to sort by, from A to before B, counted from 0 [default: all; of a line,
    /// all but the newline].
    #[arg(long, value_name = "A..B", value_parser = range)]
    key: Option<Range<u64>>,

    /// Sort from the last key to the first.
    #[arg(short, long)]
    reverse: bool,

    /// Of records with equal keys, keep only the first of the input.
    #[arg(short, long)]
    unique: bool,

    /// Keep records with equal keys in the order of the input. The sort always does; the flag states
    /// that it matters.
    #[arg(short, long)]
    stable: bool,

    #[command(flatten)]
    run: RunFlags,
}

#[derive(Clone, Copy)]
enum Kind {
    Lines,
    Fixed(u64),
    TeraSort,
}

pub(crate) fn run(flags: &Flags) -> Result<()> {
    let mut sort = match flags.records {
        Kind::Lines => Sort::lines(),
        Kind::Fixed(bytes) => Sort { records: Records::Fixed(bytes), ..Sort::lines() },
        Kind::TeraSort => Sort::terasort(),
    };
    if flags.key.is_some() {
        sort.key = flags.key.clone();
    }
    (sort.reverse, sort.unique) = (flags.reverse, flags.unique);
    run::command_over(&flags.run, Request::of("sort"), &flags.paths, |run| {
        check(&flags.run, flags.records)?;
        if flags.run.state.is_some() {
            may_open_more_files();
        }
        let input = run.input(&flags.paths)?;
        run.sort(&sort, input)
    })
}

/// Raises the limit on open files as far as this user may: each save of a sort is a file that stays open until the
/// output is written. Where the limit stays, a sort that reaches it fails by the name of the file.
fn may_open_more_files() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

/// Refuses flags of other jobs that a sort of these records does not know.
fn check(flags: &RunFlags, records: Kind) -> Result<()> {
    #[cfg(feature = "nodes")]
    nodes::refuse(flags, true, "records are sorted by one machine")?;
    let is_bad = flags.skip_bad && matches!(records, Kind::Lines);
    refuse(is_bad, "--skip-bad", "any bytes are a line, so no record is bad")?;
    refuse(
        flags.incremental,
        "--incremental",
        "records are moved, so no part of a sort is found again",
    )
}

fn kind(text: &str) -> Result<Kind, String> {
    match (text, text.strip_prefix("fixed:").map(str::parse)) {
        ("lines", _) => Ok(Kind::Lines),
        ("terasort", _) => Ok(Kind::TeraSort),
        (_, Some(Ok(bytes))) if bytes > 0 => Ok(Kind::Fixed(bytes)),
        _ => Err("write lines, terasort, or fixed: and a record's bytes, at least 1".to_owned()),
    }
}

fn range(text: &str) -> Result<Range<u64>, String> {
    let range = text.split_once("..").and_then(|(a, b)| Some(a.parse().ok()?..b.parse().ok()?));
    range
        .filter(|range| !range.is_empty())
        .ok_or_else(|| "write two numbers, the second one larger: 0..10".to_owned())
}

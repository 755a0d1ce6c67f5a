//! `tegula sort`: its own flags, and the sort that they make. The engine's sort does it, or, where the flags ask for what
//! jobs alone have, a job that collects records by their keys. Both write the same bytes.

use crate::flags::RunFlags;
use crate::request::Request;
use crate::run::{self, Run};
use clap::Args;
#[cfg(feature = "state")]
use serde_json::Value;
use std::ffi::OsString;
use std::ops::Range;
use tegula::{Input, Options, Records, Result, Sort};
use tegula_apps::SortRecords;

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
    let job = SortRecords::new(sort.clone())?;
    run::command(&flags.run, request(&sort), |run| {
        run.refuse_skip_bad("every line is a record, and so are N bytes; none is bad")?;
        let input = run.input(&flags.paths)?;
        if run.wants_a_job() { answer(run, &job, input) } else { run.sort(&sort, input) }
    })
}

/// Returns a sort as data: the bytes of a record (0 for lines), its key if it is a part, and the order.
fn request(sort: &Sort) -> Request {
    let bytes = match sort.records {
        Records::Lines => 0,
        Records::Fixed(bytes) => bytes,
    };
    let request = Request::of("sort").with("record_bytes", bytes);
    let request = request.with("reverse", sort.reverse).with("unique", sort.unique);
    match &sort.key {
        Some(key) => request.with("key", vec![key.start, key.end]),
        None => request,
    }
}

/// Writes the records that a state has so far, in order.
#[cfg(feature = "state")]
pub(crate) fn show(request: &Request, flags: &RunFlags) -> Result<()> {
    let flag = |name| request.option(name, Value::as_bool);
    let records = match request.option("record_bytes", Value::as_u64)? {
        0 => Records::Lines,
        bytes => Records::Fixed(bytes),
    };
    let range = |key: &Value| Some(key[0].as_u64()?..key[1].as_u64()?);
    let key = if request.has("key") { Some(request.option("key", range)?) } else { None };
    let sort = Sort { records, key, reverse: flag("reverse")?, unique: flag("unique")? };
    let job = SortRecords::new(sort)?;
    run::command(flags, request.clone(), |run| {
        let input = run.input(&[])?;
        answer(run, &job, input)
    })
}

/// Sorts by a job, and writes its records.
fn answer(run: &mut Run<'_>, job: &SortRecords, input: Input) -> Result<()> {
    let options = Options { order: job.order(), ..run.options() };
    let output = run.job(job, input, &options)?;
    run.write(|sink| sink.pairs(&output, |key, records, text| job.write(key, records, text)))
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

//! `tegula run`: a map in a shared library, written against `tegula.h`.

use crate::flags::{AnswerFlags, RunFlags};
use crate::format::Line;
use crate::request::Request;
use crate::run;
use clap::{Args, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;
use tegula::{Max, Mean, Min, Result, Sum};
use tegula_apps::native::{Library, Native, NativeCombine};

#[derive(Args)]
pub(crate) struct Flags {
    /// The shared library, compiled with tegula.h. Its code runs in this process, so it must be trusted.
    #[arg(value_name = "LIBRARY")]
    library: PathBuf,

    /// Files, folders (with all below them), patterns (* ? [...] **), or - for standard input.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<OsString>,

    /// The map: the name of a function that the library exports.
    #[arg(long, value_name = "NAME")]
    map: String,

    /// What becomes of the values of a key. count does not look at them.
    #[arg(long, value_enum)]
    combine: Combine,

    /// The type of the map's values: int64_t, or double.
    #[arg(long, value_enum, default_value_t = Type::I64)]
    value: Type,

    /// What a record is: lines; or fixed:N, records of N bytes.
    #[arg(long, value_name = "lines|fixed:N", default_value = "lines", value_parser = records)]
    records: Records,

    #[command(flatten)]
    answer: AnswerFlags,

    #[command(flatten)]
    run: RunFlags,
}

#[derive(Clone, Copy, ValueEnum)]
enum Combine {
    Count,
    Sum,
    Min,
    Max,
    Mean,
}

#[derive(Clone, Copy, ValueEnum)]
enum Type {
    I64,
    F64,
}

/// The size of records; `None` of lines.
#[derive(Clone, Copy)]
struct Records(Option<u64>);

fn records(text: &str) -> Result<Records, String> {
    match (text, text.strip_prefix("fixed:").map(str::parse)) {
        ("lines", _) => Ok(Records(None)),
        (_, Some(Ok(bytes))) if bytes > 0 => Ok(Records(Some(bytes))),
        _ => Err("write lines, or fixed: and a record's bytes, at least 1".to_owned()),
    }
}

pub(crate) fn run(flags: &Flags) -> Result<()> {
    match (flags.combine, flags.value) {
        (Combine::Count, _) => totals::<Sum<u64>>(flags, "count"),
        (Combine::Sum, Type::I64) => totals::<Sum<i64>>(flags, "sum"),
        (Combine::Sum, Type::F64) => floats::<Sum<f64>>(flags, "sum"),
        (Combine::Min, Type::I64) => integers::<Min<i64>>(flags, "min"),
        (Combine::Min, Type::F64) => floats::<Min<f64>>(flags, "min"),
        (Combine::Max, Type::I64) => integers::<Max<i64>>(flags, "max"),
        (Combine::Max, Type::F64) => floats::<Max<f64>>(flags, "max"),
        (Combine::Mean, Type::I64) => floats::<Mean<i64>>(flags, "mean"),
        (Combine::Mean, Type::F64) => floats::<Mean<f64>>(flags, "mean"),
    }
}

/// Runs with whole numbers that grow with the input.
fn totals<C>(flags: &Flags, name: &'static str) -> Result<()>
where
    C: NativeCombine<Output: itoa::Integer>,
{
    answer::<C>(flags, |key, total, line| {
        line.bytes("key", key).total(name, total);
    })
}

/// Runs with other whole numbers.
fn integers<C>(flags: &Flags, name: &'static str) -> Result<()>
where
    C: NativeCombine<Output: itoa::Integer>,
{
    answer::<C>(flags, |key, value, line| {
        line.bytes("key", key).integer(name, value);
    })
}

fn floats<C: NativeCombine<Output = f64>>(flags: &Flags, name: &'static str) -> Result<()> {
    answer::<C>(flags, |key, value, line| {
        line.bytes("key", key).float(name, value);
    })
}

fn answer<C: NativeCombine>(
    flags: &Flags,
    fill: impl Fn(&[u8], C::Output, &mut Line<'_>) + Sync,
) -> Result<()> {
    let job = Native::<C>::new(Library::load(&flags.library, &flags.map)?, flags.records.0)?;
    run::command(&flags.run, Request::of("run"), |run| {
        run.pairs(&job, &flags.paths, &flags.answer, |key, value, line| fill(key, value, line))
    })
}

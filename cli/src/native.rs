//! `tegula run`: a map in a shared library, written against `tegula.h`.

use crate::flags::{AnswerFlags, RunFlags};
use crate::format::Line;
use crate::request::Request;
use crate::run;
use clap::{Args, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;
use tegula::{Result, Sum};
use tegula_apps::native::{
    Average, End, Extreme, Library, Native, NativeCombine, Value, ValueType,
};

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

impl Type {
    fn of_map(self) -> ValueType {
        match self {
            Type::I64 => ValueType::Int,
            Type::F64 => ValueType::Float,
        }
    }
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
        (Combine::Sum, Type::F64) => floats::<Sum<f64>>(flags, (), "sum"),
        (Combine::Min, value) => extremes(flags, End::Least, value, "min"),
        (Combine::Max, value) => extremes(flags, End::Greatest, value, "max"),
        (Combine::Mean, value) => floats::<Average>(flags, value.of_map(), "mean"),
    }
}

/// Runs with whole numbers that grow with the input.
fn totals<C>(flags: &Flags, name: &'static str) -> Result<()>
where
    C: NativeCombine<Choice = (), Output: itoa::Integer>,
{
    answer::<C>(flags, (), |key, total, line| {
        line.bytes("key", key).total(name, total);
    })
}

fn extremes(flags: &Flags, end: End, value: Type, name: &'static str) -> Result<()> {
    answer::<Extreme>(flags, (end, value.of_map()), |key, extreme, line| {
        let line = line.bytes("key", key);
        match extreme.value() {
            Value::Int(int) => line.integer(name, int),
            Value::Float(float) => line.float(name, float),
            Value::Ignored => line,
        };
    })
}

fn floats<C>(flags: &Flags, choice: C::Choice, name: &'static str) -> Result<()>
where
    C: NativeCombine<Output = f64>,
{
    answer::<C>(flags, choice, |key, value, line| {
        line.bytes("key", key).float(name, value);
    })
}

fn answer<C: NativeCombine>(
    flags: &Flags,
    choice: C::Choice,
    fill: impl Fn(&[u8], C::Output, &mut Line<'_>) + Sync,
) -> Result<()> {
    let library = Library::load(&flags.library, &flags.map)?;
    let job = Native::<C>::new(library, choice, flags.records.0)?;
    let request = Request::of("run").answer(&flags.answer);
    let reads = [("LIBRARY", flags.library.as_path())];
    run::command_reading(&flags.run, request, (&flags.paths, &reads), |run| {
        run.pairs(&job, &flags.paths, &flags.answer, |key, value, line| fill(key, value, line))
    })
}

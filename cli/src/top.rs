//! `tegula top`: the largest counts, or sums, of a field of lines or of JSON.

use crate::flags::{AnswerFlags, Format, RunFlags};
use crate::request::Request;
use crate::run::{self, Run};
use crate::show::ShowFlags;
use clap::Args;
#[cfg(feature = "state")]
use serde_json::Value;
use std::ffi::OsString;
use tegula::{Count, Error, Job, Result, Sum};
use tegula_apps::json::{JsonCounts, JsonPath, JsonSums};
use tegula_apps::top::{FieldCounts, FieldSums};

#[derive(Args)]
pub(crate) struct Flags {
    /// How many to show.
    #[arg(value_name = "N", value_parser = crate::flags::count)]
    count: usize,

    /// Files, folders (with all below them), patterns (* ? [...] **), or - for standard input.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<OsString>,

    /// The field whose values are counted, from 1.
    #[arg(long, value_name = "FIELD", value_parser = crate::flags::count, default_value = "1")]
    by: usize,

    /// Read lines of JSON, and count the values of this field: keys of objects and indices of arrays, with
    /// dots between them (user.id). A backslash before a dot makes it part of a key.
    #[arg(long, value_name = "FIELD", conflicts_with_all = ["by", "separator"])]
    json: Option<JsonPath>,

    /// Add up this field's numbers, instead of counting lines: from 1, or as --json names fields.
    #[arg(long, value_name = "FIELD")]
    sum: Option<String>,

    /// The byte between fields: a character of ASCII, or \t.
    #[arg(short, long, value_name = "C", value_parser = separator, default_value = "\\t")]
    separator: u8,

    /// tsv: value, tab, count or sum. jsonl: {"value":"...","count":N}, and "value_hex" where it is not
    /// UTF-8.
    #[arg(long, value_enum, default_value_t = Format::Tsv)]
    format: Format,

    #[command(flatten)]
    show: ShowFlags,

    #[command(flatten)]
    run: RunFlags,
}

pub(crate) fn request(flags: &Flags) -> Result<Request> {
    Ok(Fields::of(flags)?.request().answer(&answer_flags(flags)))
}

pub(crate) fn run(flags: &Flags) -> Result<()> {
    let (fields, kept) = (Fields::of(flags)?, answer_flags(flags));
    run::command_over(&flags.run, request(flags)?, &flags.paths, |run| {
        if matches!(fields, Fields::Columns { by: 1, sum: None, .. }) {
            run.refuse_skip_bad("every line has a first field, so none is bad")?;
        }
        fields.answer(run, &flags.paths, &kept)
    })
}

fn answer_flags(Flags { count, format, show, .. }: &Flags) -> AnswerFlags {
    AnswerFlags { top: Some(*count), order: None, format: *format, show: show.clone() }
}

#[cfg(feature = "state")]
pub(crate) fn show(request: &Request, flags: &RunFlags) -> Result<()> {
    let number = |value: &Value| usize::try_from(value.as_u64()?).ok();
    let path = |value: &Value| value.as_str()?.parse::<JsonPath>().ok();
    let fields = if request.has("json") {
        Fields::Json {
            by: request.option("json", path)?,
            sum: request.option("sum", |value| match value.is_null() {
                true => Some(None),
                false => path(value).map(Some),
            })?,
        }
    } else {
        Fields::Columns {
            separator: request.option("separator", |value| number(value)?.try_into().ok())?,
            by: request.option("by", number)?,
            sum: request.option("sum", |value| match value.is_null() {
                true => Some(None),
                false => number(value).map(Some),
            })?,
        }
    };
    let kept = request.answer_flags()?;
    run::command(flags, request.clone(), |run| fields.answer(run, &[], &kept))
}

/// The field that is the key, and the field to add up, if any.
#[derive(Clone)]
enum Fields {
    Columns { separator: u8, by: usize, sum: Option<usize> },
    Json { by: JsonPath, sum: Option<JsonPath> },
}

impl Fields {
    fn of(Flags { by, json, sum, separator, .. }: &Flags) -> Result<Fields> {
        let fields = match json {
            None => Fields::columns(*separator, *by, sum.as_deref()),
            Some(by) => Fields::json(by.clone(), sum.as_deref()),
        };
        fields.map_err(|cause| Error::Option { option: "--sum", cause })
    }

    fn columns(separator: u8, by: usize, sum: Option<&str>) -> Result<Fields, String> {
        Ok(Fields::Columns { separator, by, sum: sum.map(crate::flags::count).transpose()? })
    }

    fn json(by: JsonPath, sum: Option<&str>) -> Result<Fields, String> {
        Ok(Fields::Json { by, sum: sum.map(str::parse).transpose()? })
    }

    fn request(&self) -> Request {
        let request = Request::of("top");
        match self {
            Fields::Columns { separator, by, sum } => {
                request.with("by", *by).with("sum", *sum).with("separator", *separator)
            }
            Fields::Json { by, sum } => {
                let sum = sum.as_ref().map(ToString::to_string);
                request.with("json", by.to_string()).with("sum", sum)
            }
        }
    }

    fn answer(&self, run: &mut Run<'_>, paths: &[OsString], flags: &AnswerFlags) -> Result<()> {
        match self.clone() {
            Fields::Columns { separator, by, sum: None } => {
                counts(run, &FieldCounts { separator, by }, paths, flags)
            }
            Fields::Columns { separator, by, sum: Some(sum) } => {
                sums(run, &FieldSums { separator, by, sum }, paths, flags)
            }
            Fields::Json { by, sum: None } => counts(run, &JsonCounts { by }, paths, flags),
            Fields::Json { by, sum: Some(sum) } => sums(run, &JsonSums { by, sum }, paths, flags),
        }
    }
}

fn counts(
    run: &mut Run<'_>,
    job: &impl Job<Key = [u8], Combine = Count>,
    paths: &[OsString],
    flags: &AnswerFlags,
) -> Result<()> {
    run.pairs(job, paths, flags, |value, count, line| {
        line.bytes("value", value).total("count", count);
    })
}

fn sums(
    run: &mut Run<'_>,
    job: &impl Job<Key = [u8], Combine = Sum<f64>>,
    paths: &[OsString],
    flags: &AnswerFlags,
) -> Result<()> {
    run.pairs(job, paths, flags, |value, sum, line| {
        line.bytes("value", value).float_total("sum", sum);
    })
}

fn separator(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"\\t" => Ok(b'\t'),
        [byte] if *byte != b'\n' => Ok(*byte),
        _ => Err("write one character of ASCII other than a line feed, or \\t".to_owned()),
    }
}

//! `tegula top`: the largest counts, or sums, of a field.

use crate::flags::{AnswerFlags, Format, RunFlags};
use crate::request::Request;
use crate::run::{self, Run};
use crate::show::ShowFlags;
use clap::Args;
#[cfg(feature = "state")]
use serde_json::Value;
use std::ffi::OsString;
use tegula::Result;
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

    /// Add up this field's numbers, instead of counting lines.
    #[arg(long, value_name = "FIELD", value_parser = crate::flags::count)]
    sum: Option<usize>,

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

pub(crate) fn run(flags: &Flags) -> Result<()> {
    let &Flags { count, by, sum, separator, format, ref show, .. } = flags;
    let kept = AnswerFlags { top: Some(count), order: None, format, show: show.clone() };
    let request = Request::of("top").with("by", by).with("sum", sum).with("separator", separator);
    let fields = Fields { separator, by, sum };
    run::command(&flags.run, request.answer(&kept), |run| fields.answer(run, &flags.paths, &kept))
}

#[cfg(feature = "state")]
pub(crate) fn show(request: &Request, flags: &RunFlags) -> Result<()> {
    let number = |value: &Value| usize::try_from(value.as_u64()?).ok();
    let fields = Fields {
        separator: request.option("separator", |value| number(value)?.try_into().ok())?,
        by: request.option("by", number)?,
        sum: request.option("sum", |value| match value.is_null() {
            true => Some(None),
            false => number(value).map(Some),
        })?,
    };
    let kept = request.answer_flags()?;
    run::command(flags, request.clone(), |run| fields.answer(run, &[], &kept))
}

/// The field that is the key, and the field to add up, if any.
struct Fields {
    separator: u8,
    by: usize,
    sum: Option<usize>,
}

impl Fields {
    fn answer(&self, run: &mut Run<'_>, paths: &[OsString], flags: &AnswerFlags) -> Result<()> {
        let &Fields { separator, by, sum } = self;
        match sum {
            None => {
                run.pairs(&FieldCounts { separator, by }, paths, flags, |value, count, line| {
                    line.bytes("value", value).total("count", count);
                })
            }
            Some(sum) => {
                run.pairs(&FieldSums { separator, by, sum }, paths, flags, |value, sum, line| {
                    line.bytes("value", value).float_total("sum", sum);
                })
            }
        }
    }
}

fn separator(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"\\t" => Ok(b'\t'),
        [byte] if *byte != b'\n' => Ok(*byte),
        _ => Err("write one character of ASCII other than a line feed, or \\t".to_owned()),
    }
}

//! `tegula top`: the largest counts, or sums, of a field.

use crate::flags::{AnswerFlags, Format, RunFlags};
use crate::run;
use crate::show::ShowFlags;
use clap::Args;
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
    pub(crate) run: RunFlags,
}

pub(crate) fn run(flags: &Flags) -> Result<()> {
    let &Flags { count, by, separator, format, ref show, .. } = flags;
    let answer = AnswerFlags { top: Some(count), order: None, format, show: show.clone() };
    match flags.sum {
        None => {
            let job = FieldCounts { separator, by };
            run::pairs(&job, &flags.paths, &answer, &flags.run, |value, count, line| {
                line.bytes("value", value).total("count", count);
            })
        }
        Some(sum) => {
            let job = FieldSums { separator, by, sum };
            run::pairs(&job, &flags.paths, &answer, &flags.run, |value, sum, line| {
                line.bytes("value", value).float_total("sum", sum);
            })
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

//! `tegula wordcount`: its own flags, and the job that they make.

use crate::devices::DeviceFlags;
use crate::flags::{AnswerFlags, RunFlags};
use crate::request::Request;
use crate::run::{self, Run};
use clap::{Args, ValueEnum};
use std::ffi::OsString;
use tegula::{Count, Job, Result};
use tegula_apps::WordCount;
#[cfg(feature = "json")]
use tegula_apps::json::{JsonPath, JsonWords};

#[derive(Args)]
pub(crate) struct Flags {
    /// Files, folders (with all below them), patterns (* ? [...] **), or - for standard input.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<OsString>,

    /// The words to count: any bytes between white space; runs of A-Z and a-z, in lower case; or words of
    /// Unicode text (UAX #29), in folded case.
    #[arg(long, value_enum, default_value_t = Words::Whitespace)]
    words: Words,

    /// Read lines of JSON, and count the words in the text of this field: keys of objects and indices of
    /// arrays, with dots between them (user.name).
    #[cfg(feature = "json")]
    #[arg(long, value_name = "FIELD", conflicts_with = "names")]
    json: Option<JsonPath>,

    #[command(flatten)]
    answer: AnswerFlags,

    #[command(flatten)]
    devices: DeviceFlags,

    #[command(flatten)]
    run: RunFlags,
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

pub(crate) fn request(flags: &Flags) -> Result<Request> {
    let request = Request::of("wordcount").choice("words", &flags.words).answer(&flags.answer);
    #[cfg(feature = "json")]
    if let Some(field) = &flags.json {
        return Ok(request.with("json", field.to_string()));
    }
    Ok(request)
}

pub(crate) fn run(flags: &Flags) -> Result<()> {
    let request = request(flags)?;
    #[cfg(feature = "json")]
    if let Some(field) = &flags.json {
        return run::command_over(&flags.run, request, &flags.paths, |run| {
            answer_json(run, field.clone(), flags.words, &flags.paths, &flags.answer)
        });
    }
    run::command_over(&flags.run, request, &flags.paths, |run| {
        run.refuse_skip_bad("any bytes are text, so no record is bad")?;
        run.use_devices(flags.devices.open()?);
        answer(run, flags.words, &flags.paths, &flags.answer)
    })
}

#[cfg(feature = "state")]
pub(crate) fn show(request: &Request, flags: &RunFlags) -> Result<()> {
    let (words, kept) = (request.chosen("words")?, request.answer_flags()?);
    #[cfg(feature = "json")]
    if request.has("json") {
        let field: JsonPath = request.option("json", |path| path.as_str()?.parse().ok())?;
        return run::command(flags, request.clone(), |run| {
            answer_json(run, field, words, &[], &kept)
        });
    }
    run::command(flags, request.clone(), |run| answer(run, words, &[], &kept))
}

fn answer(run: &mut Run<'_>, words: Words, paths: &[OsString], flags: &AnswerFlags) -> Result<()> {
    count(run, &WordCount { words: words.definition() }, paths, flags)
}

#[cfg(feature = "json")]
fn answer_json(
    run: &mut Run<'_>,
    field: JsonPath,
    words: Words,
    paths: &[OsString],
    flags: &AnswerFlags,
) -> Result<()> {
    count(run, &JsonWords { field, words: words.definition() }, paths, flags)
}

fn count(
    run: &mut Run<'_>,
    job: &impl Job<Key = [u8], Combine = Count>,
    paths: &[OsString],
    flags: &AnswerFlags,
) -> Result<()> {
    run.pairs(job, paths, flags, |word, count, line| {
        line.bytes("key", word).total("value", count);
    })
}

//! `tegula stringmatch`: the keys that lines equal, and how often; or the places of those lines.

use crate::flags::{AnswerFlags, RunFlags};
use crate::request::Request;
use crate::run::{self, Run};
use clap::Args;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use tegula::{Error, InputError, Result};
use tegula_apps::string_match::{Place, StringMatch, StringPlaces};

#[derive(Args)]
pub(crate) struct Flags {
    /// Files, folders (with all below them), patterns (* ? [...] **), or - for standard input.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<OsString>,

    /// A key, compared with whole lines. May be given many times.
    #[arg(short, long, value_name = "KEY", required_unless_present = "keys")]
    key: Vec<OsString>,

    /// More keys: the lines of FILE.
    #[arg(long, value_name = "FILE")]
    keys: Option<PathBuf>,

    /// Show the places of keys, a line for each: key, file, byte at which the line begins.
    #[arg(long)]
    places: bool,

    #[command(flatten)]
    answer: AnswerFlags,

    #[command(flatten)]
    run: RunFlags,
}

pub(crate) fn request(flags: &Flags) -> Result<Request> {
    Ok(request_of(flags, &keys(flags)?))
}

fn request_of(flags: &Flags, keys: &[Vec<u8>]) -> Request {
    let request = Request::of("stringmatch").with("places", flags.places).answer(&flags.answer);
    request.list("keys", keys.iter().map(Vec::as_slice))
}

pub(crate) fn run(flags: &Flags) -> Result<()> {
    let keys = keys(flags)?;
    let reads: Vec<_> = flags.keys.iter().map(|file| ("--keys", file.as_path())).collect();
    let named = (&flags.paths, reads.as_slice());
    run::command_reading(&flags.run, request_of(flags, &keys), named, |run| {
        run.refuse_skip_bad("any bytes are a line, so no record is bad")?;
        answer(run, &keys, flags.places, &flags.paths, &flags.answer)
    })
}

#[cfg(feature = "state")]
pub(crate) fn show(request: &Request, flags: &RunFlags) -> Result<()> {
    let (keys, kept) = (request.listed("keys")?, request.answer_flags()?);
    let places = request.option("places", serde_json::Value::as_bool)?;
    run::command(flags, request.clone(), |run| answer(run, &keys, places, &[], &kept))
}

fn answer(
    run: &mut Run<'_>,
    keys: &[Vec<u8>],
    places: bool,
    paths: &[OsString],
    flags: &AnswerFlags,
) -> Result<()> {
    if !places {
        return run.pairs(&StringMatch::new(keys), paths, flags, |key, count, line| {
            line.bytes("key", key).total("value", count);
        });
    }
    let job = StringPlaces::new(keys);
    let keys = job.keys();
    run.pairs(&job, paths, flags, |key, _, line| {
        if let Some(place) = Place::read(key) {
            line.bytes("key", keys[place.key]).bytes("file", place.path);
            line.integer("offset", place.offset);
        }
    })
}

fn keys(flags: &Flags) -> Result<Vec<Vec<u8>>> {
    let mut keys: Vec<Vec<u8>> = flags.key.iter().map(|key| key.as_bytes().to_vec()).collect();
    if keys.iter().any(|key| key.contains(&b'\n') || key.ends_with(b"\r")) {
        let cause = "holds a line's end, so that no line equals it; give the text of one line";
        return Err(Error::Option { option: "--key", cause: cause.to_owned() });
    }
    if let Some(path) = &flags.keys {
        let text = fs::read(path).map_err(|cause| InputError::from_io(path, cause))?;
        let lines = text.split_inclusive(|&byte| byte == b'\n');
        let lines = lines.map(|line| line.strip_suffix(b"\n").unwrap_or(line));
        keys.extend(lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line).to_vec()));
    }
    Ok(keys)
}

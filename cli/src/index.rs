//! `tegula index`: its own flags, the job that they make, and how places become lines: one line for each
//! word and file.

use crate::flags::{AnswerFlags, Format, RunFlags};
use crate::format::Line;
use crate::request::Request;
use crate::run::{self, Run};
use crate::show::Shows;
use crate::wordcount::Words;
use clap::Args;
use std::collections::{BTreeSet, HashSet};
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use tegula::{InputError, Result, Shown};
use tegula_apps::{Index, Place};

#[derive(Args)]
pub(crate) struct Flags {
    /// Files, folders (with all below them), patterns (* ? [...] **), or - for standard input.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<OsString>,

    /// The words to index: any bytes between white space; runs of A-Z and a-z, in lower case; or words of
    /// Unicode text (UAX #29), in folded case.
    #[arg(long, value_enum, default_value_t = Words::Whitespace)]
    words: Words,

    /// Look for this word only; may be given more than once.
    #[arg(long = "word", value_name = "WORD")]
    only: Vec<OsString>,

    /// Look only for the words of this file, which white space separates.
    #[arg(long, value_name = "FILE")]
    words_from: Option<PathBuf>,

    #[command(flatten)]
    answer: AnswerFlags,

    #[command(flatten)]
    run: RunFlags,
}

pub(crate) fn request(flags: &Flags) -> Result<Request> {
    Ok(request_of(flags, only(flags)?.as_ref()))
}

fn request_of(flags: &Flags, only: Option<&HashSet<Vec<u8>>>) -> Request {
    let request = Request::of("index").choice("words", &flags.words).answer(&flags.answer);
    let Some(only) = only else { return request };
    let sorted: BTreeSet<_> = only.iter().map(Vec::as_slice).collect();
    request.list("only", sorted.into_iter())
}

pub(crate) fn run(flags: &Flags) -> Result<()> {
    flags.answer.show.refuse_by()?;
    let only = only(flags)?;
    let request = request_of(flags, only.as_ref());
    let job = Index { words: flags.words.definition(), only };
    let words = flags.words_from.iter();
    let reads: Vec<_> = words.map(|file| ("--words-from", file.as_path())).collect();
    run::command_reading(&flags.run, request, (&flags.paths, &reads), |run| {
        run.refuse_skip_bad("any bytes are text, so no record is bad")?;
        answer(run, &job, &flags.paths, &flags.answer)
    })
}

#[cfg(feature = "state")]
pub(crate) fn show(request: &Request, flags: &RunFlags) -> Result<()> {
    let (words, kept): (Words, _) = (request.chosen("words")?, request.answer_flags()?);
    let only = if request.has("only") { Some(request.listed("only")?) } else { None };
    let only = only.map(|words| words.into_iter().collect());
    let job = Index { words: words.definition(), only };
    run::command(flags, request.clone(), |run| answer(run, &job, &[], &kept))
}

fn answer(run: &mut Run<'_>, job: &Index, paths: &[OsString], flags: &AnswerFlags) -> Result<()> {
    run.writes("--show-to", flags.show.when.show_to.as_ref())?;
    let (input, format) = (run.input(paths)?, flags.format);
    let show = |shows: &mut Shows<'_>, shown: &Shown<'_, Index>| {
        let file = |number| shown.answers().file(number);
        shows.write_lines(shown, |word, places, out| lines(format, file, word, places, out))
    };
    run.answer(job, input, flags, show, |sink, output| {
        let file = |number| output.file(number);
        sink.pairs(output, |word, places, out| lines(format, file, word, places, out))
    })
}

/// Returns the words to look for; `None` for all.
fn only(flags: &Flags) -> Result<Option<HashSet<Vec<u8>>>> {
    if flags.only.is_empty() && flags.words_from.is_none() {
        return Ok(None);
    }
    let words = flags.words.definition();
    let mut only: HashSet<_> =
        flags.only.iter().map(|word| words.folded(word.as_bytes())).collect();
    if let Some(path) = &flags.words_from {
        let read = fs::read(path).map_err(|cause| InputError::from_io(path.clone(), cause))?;
        let listed = read.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        only.extend(listed.map(|word| words.folded(word)));
    }
    Ok(Some(only))
}

/// Appends a line for each file that holds the word. Places come in the order of files.
fn lines(
    format: Format,
    path_of: impl Fn(u32) -> Option<PathBuf>,
    word: &[u8],
    mut places: impl Iterator<Item = Place>,
    out: &mut Vec<u8>,
) {
    let mut next = places.next();
    while let Some(Place { file, .. }) = next {
        let path = path_of(file).unwrap_or_default();
        let here = std::iter::from_fn(|| {
            let here = next.filter(|place| place.file == file)?;
            next = places.next();
            Some(here.offset)
        });
        let mut line = Line::begin(format, out);
        line.bytes("word", word).bytes("file", path.as_os_str().as_bytes());
        line.integers("offsets", here);
        line.end();
    }
}

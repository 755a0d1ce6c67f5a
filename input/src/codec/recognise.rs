//! Finds the compressed files of an input. Each worker examines the first bytes of some files. Then the
//! list is divided: stretches with compressed files are decompressed in order, and all other files are read
//! at any offset.

use super::Format;
use super::sniff::{FILE_BYTES_LEAST, HEAD_BYTES, Head, sniff};
use crate::error::{InputError, Result};
use crate::failure::Failure;
use crate::input::{FileList, Input, OpenFolder, PackedFiles, RangeSource, Source, read_range};
use crate::schedule::{Pool, for_each};
use rustix::fs::{Advice, fadvise};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// Files that a worker examines at a time.
const FILES_PER_STEP: usize = 128;
/// Up to this number of files, the caller examines them alone: it is done before a worker wakes up.
const FILES_ALONE: usize = 16;
/// Plain files among compressed ones are read like those, unless together they are larger than this. So an
/// input has few parts, however the two alternate.
const PLAIN_STRETCH_BYTES: u64 = 32 << 20;
/// Remote files below this size are not examined, because that costs a request.
const RANGES_BYTES_LEAST: u64 = 1 << 20;

/// Divides the input's files into compressed ones, with their neighbours, and the rest. With `plain`, no
/// file is examined.
pub fn recognise(mut input: Input, plain: bool, pool: &Pool, failure: &Failure) -> Result<Input> {
    for source in std::mem::take(&mut input.sources) {
        match source {
            Source::Stream(mut stream) => {
                stream.plain = plain;
                input.sources.push(Source::Stream(stream));
            }
            Source::Files(files) if !plain => {
                divide(None, files, pool, failure, &mut input.sources)?;
            }
            Source::Ranges(from, files) if !plain => {
                divide(Some(from), files, pool, failure, &mut input.sources)?;
            }
            other => input.sources.push(other),
        }
    }
    Ok(input)
}

/// From this file size on, only the head itself is read.
const READ_ALONE_BYTES_LEAST: u64 = 1 << 20;

type Elsewhere = Option<Arc<dyn RangeSource>>;

fn divide(
    from: Elsewhere,
    files: FileList,
    pool: &Pool,
    failure: &Failure,
    sources: &mut Vec<Source>,
) -> Result<()> {
    let formats = formats(from.as_deref(), &files, pool, failure)?;
    let plain = |from: Elsewhere, files| match from {
        Some(from) => Source::Ranges(from, files),
        None => Source::Files(files),
    };
    if formats.iter().all(|&format| format == Format::Plain) {
        sources.push(plain(from, files));
        return Ok(());
    }
    for (range, is_plain) in stretches(&formats, |file| files.bytes(file)) {
        let part = files.part(range.clone());
        sources.push(if is_plain {
            plain(from.clone(), part)
        } else {
            let formats = formats[range].to_vec();
            Source::Packed(PackedFiles { from: from.clone(), files: part, formats })
        });
    }
    Ok(())
}

/// Returns the format of each file.
fn formats(
    from: Option<&dyn RangeSource>,
    files: &FileList,
    pool: &Pool,
    failure: &Failure,
) -> Result<Vec<Format>> {
    let look = |file: usize, folder: &mut OpenFolder| match from {
        Some(from) => format_elsewhere(from, &files.path(file), files.bytes(file)),
        None => format_of_file(files, file, folder),
    };
    if files.len() <= FILES_ALONE {
        let mut folder = OpenFolder::default();
        return (0..files.len()).map(|file| Ok(look(file, &mut folder)?)).collect();
    }
    let found: Vec<AtomicU8> = (0..files.len()).map(|_| AtomicU8::new(0)).collect();
    let steps = files.len().div_ceil(FILES_PER_STEP);
    for_each(pool, failure, "the plan stage", steps, |_, step| {
        let (first, mut folder) = (step * FILES_PER_STEP, OpenFolder::default());
        for (format, file) in found[first..].iter().take(FILES_PER_STEP).zip(first..) {
            format.store(look(file, &mut folder)? as u8, Ordering::Relaxed);
        }
        Ok(())
    })?;
    Ok(found.into_iter().map(|format| Format::ALL[usize::from(format.into_inner())]).collect())
}

fn format_of_file(
    files: &FileList,
    file: usize,
    folder: &mut OpenFolder,
) -> Result<Format, InputError> {
    let (named, bytes) = (Format::of_name(files.name(file)), files.bytes(file));
    if named.is_none() && bytes < FILE_BYTES_LEAST {
        return Ok(Format::Plain);
    }
    let mut head = [0; HEAD_BYTES];
    let length = HEAD_BYTES.min(usize::try_from(bytes).unwrap_or(HEAD_BYTES));
    let have = files.open(file, folder).and_then(|file| {
        if bytes >= READ_ALONE_BYTES_LEAST {
            // Otherwise the system may read megabytes after the head into its cache.
            let _ = fadvise(&file, 0, None, Advice::Random);
        }
        read_head(&file, &mut head[..length])
    });
    let have = have.map_err(|cause| InputError::of_listed(files.path(file), cause))?;
    decide(&head[..have], named, || files.path(file))
}

fn format_elsewhere(from: &dyn RangeSource, path: &Path, bytes: u64) -> Result<Format, InputError> {
    let named = Format::of_name(path);
    if named.is_none() && bytes < RANGES_BYTES_LEAST {
        return Ok(Format::Plain);
    }
    let mut head = [0; HEAD_BYTES];
    let length = HEAD_BYTES.min(usize::try_from(bytes).unwrap_or(HEAD_BYTES));
    match read_range(from, path.to_path_buf(), 0, &mut head[..length]) {
        Ok(()) => decide(&head[..length], named, || path.to_path_buf()),
        // A length that no file has is refused by the plan, and a file that became shorter by its reader.
        Err(InputError::Read { cause, .. }) if cause.kind() == io::ErrorKind::UnexpectedEof => {
            Ok(named.unwrap_or(Format::Plain))
        }
        // After any other error, another try may succeed; the reader would take compressed bytes for plain ones.
        Err(error) => Err(error),
    }
}

fn decide(
    head: &[u8],
    named: Option<Format>,
    path: impl Fn() -> PathBuf,
) -> Result<Format, InputError> {
    sniff(&Head { bytes: head, named }).ok_or_else(|| {
        let format = named.unwrap_or(Format::Plain).name();
        InputError::Misnamed { path: path(), format }
    })
}

fn read_head(file: &File, into: &mut [u8]) -> io::Result<usize> {
    let mut have = 0;
    while have < into.len() {
        match file.read_at(&mut into[have..], have as u64) {
            Ok(0) => break,
            Ok(count) => have += count,
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
            Err(cause) => return Err(cause),
        }
    }
    Ok(have)
}

/// Returns stretches of files, and whether each is all plain. A plain stretch is the first or the last, or
/// has at least `PLAIN_STRETCH_BYTES`.
pub fn stretches(formats: &[Format], bytes: impl Fn(usize) -> u64) -> Vec<(Range<usize>, bool)> {
    let mut stretches: Vec<(Range<usize>, bool)> = Vec::new();
    for run in formats.chunk_by(|a, b| (*a == Format::Plain) == (*b == Format::Plain)) {
        let start = stretches.last().map_or(0, |(range, _)| range.end);
        let range = start..start + run.len();
        let total: u64 = range.clone().map(&bytes).sum();
        let is_plain = run[0] == Format::Plain && total >= PLAIN_STRETCH_BYTES;
        match stretches.last_mut() {
            Some((last, false)) if !is_plain => last.end = range.end,
            _ => stretches.push((range, is_plain)),
        }
    }
    stretches
}

//! The input of a round: files of random bytes and words, some of them compressed, and what can be said of a folder
//! afterwards.

use crate::random::Random;
use flate2::write::GzEncoder;
use rustix::fs::{Mode, OFlags};
use std::fs;
use std::io::Write;
use std::path::Path;
use twox_hash::XxHash3_128;

/// Words that repeat and words that do not, in lines of thirteen.
pub(crate) fn words(random: &mut Random, count: u64) -> Vec<u8> {
    let mut text = String::new();
    for number in 0..count {
        let word = match random.below(4) {
            0 => format!("{number:x}"),
            1 => format!("a-rather-long-word-that-is-not-in-a-slot-{}", random.below(1000)),
            _ => format!("w{}", random.below(500)),
        };
        text.push_str(&word);
        text.push(if number % 13 == 0 { '\n' } else { ' ' });
    }
    text.into_bytes()
}

/// Any bytes; few different ones, so that all that can end a word or a line is there; or words. Few begin as a compressed
/// file would: the first byte is a letter.
fn contents(random: &mut Random) -> Vec<u8> {
    let mut bytes = vec![b'f'];
    match random.below(3) {
        0 => bytes.extend((0..random.below(300_000)).map(|_| random.below(256) as u8)),
        1 => {
            let few = b"abAB \n\t\0\xff\xc3\xa9";
            bytes.extend((0..random.below(600_000)).map(|_| random.one_of(few)));
        }
        _ => {
            let count = random.below(100_000);
            bytes.extend(words(random, count));
        }
    }
    bytes
}

/// Makes a folder of up to four files, of which one in two is compressed if some are.
pub(crate) fn make(folder: &Path, random: &mut Random, is_packed: bool) -> Result<(), String> {
    fs::create_dir(folder).map_err(|cause| cause.to_string())?;
    for number in 0..random.below(5) {
        let bytes = contents(random);
        let (name, bytes) = match is_packed && random.below(2) == 0 {
            true => (format!("{number}.txt.gz"), gzip(&bytes, random)?),
            false => (format!("{number}.txt"), bytes),
        };
        fs::write(folder.join(name), bytes).map_err(|cause| cause.to_string())?;
    }
    Ok(())
}

/// Compresses bytes, in one member or in several.
fn gzip(bytes: &[u8], random: &mut Random) -> Result<Vec<u8>, String> {
    let member = random.one_of(&[usize::MAX, 50_000, 200_000]).min(bytes.len());
    let mut packed = Vec::new();
    for part in bytes.chunks(member) {
        let mut encoder = GzEncoder::new(packed, flate2::Compression::fast());
        encoder.write_all(part).map_err(|cause| cause.to_string())?;
        packed = encoder.finish().map_err(|cause| cause.to_string())?;
    }
    Ok(packed)
}

/// Inserts or deletes at some places of a file.
pub(crate) fn change(file: &Path, random: &mut Random) -> Result<(), String> {
    let mut text = fs::read(file).map_err(|cause| cause.to_string())?;
    for _ in 0..1 + random.below(3) {
        let at = random.below(text.len() as u64 + 1) as usize;
        if random.below(2) == 0 {
            text.splice(at..at, format!(" inserted{} ", random.below(50)).into_bytes());
        } else {
            text.drain(at..text.len().min(at + random.below(5000) as usize));
        }
    }
    fs::write(file, text).map_err(|cause| cause.to_string())
}

pub(crate) fn digest(path: &Path) -> Result<u128, String> {
    fs::read(path)
        .map(|bytes| XxHash3_128::oneshot(&bytes))
        .map_err(|cause| format!("{}: {cause}", path.display()))
}

/// Refuses files that nobody knows: in a state, and in the `folder` of a round, where `known` are expected.
pub(crate) fn check_nothing_lies_about(
    state: &Path,
    folder: &Path,
    known: &[&str],
) -> Result<(), String> {
    let storage = tegula::Disk::new(state);
    let of_state = tegula::state::files_of(&storage).map_err(|error| error.to_string())?;
    if let Some(stray) = names(state)?.into_iter().find(|name| !of_state.contains(name)) {
        return Err(format!("{stray} was left in the state"));
    }
    // Where files without a name cannot be had, a run that is killed leaves its output under a hidden one.
    let flags = OFlags::TMPFILE | OFlags::WRONLY;
    let leaves_hidden = rustix::fs::open(folder, flags, Mode::RUSR).is_err();
    let is_known = |name: &String| {
        known.contains(&name.as_str()) || leaves_hidden && name.starts_with(".output")
    };
    match names(folder)?.into_iter().find(|name| !is_known(name)) {
        Some(stray) => Err(format!("{stray} was left beside")),
        None => Ok(()),
    }
}

pub(crate) fn names(folder: &Path) -> Result<Vec<String>, String> {
    let fault = |cause| format!("{}: {cause}", folder.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(fault)? {
        names.push(entry.map_err(fault)?.file_name().to_string_lossy().into_owned());
    }
    Ok(names)
}

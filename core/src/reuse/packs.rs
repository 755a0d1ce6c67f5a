//! The last run's packs found again among files that are read whole. All files are hashed, each by
//! itself; then a pack is found wherever files of its hashes follow each other, whatever they are called
//! now. Files that are in no old pack are packed anew.

use super::index::Index;
use super::record::Remembered;
use super::{Hashing, Place, Sources};
use crate::reuse::fingerprint::PackPrint;
use std::ops::Range;

/// Files that may be compared in vain before any was passed.
const FILES_IN_VAIN: i64 = 1 << 14;
/// Packs that begin alike and are tried at one file.
const CLASSES_PER_FILE: usize = 8;

/// The facts about a file before packs are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    Hash(u128),
    /// An old pack begins with it, judging by names, lengths and times.
    Trusted(usize),
    /// In such a pack, after its first file.
    Covered,
}

/// Returns the old packs in a run of files, in order: the number of the first file of each, and the pack.
/// `known` is of the run's files.
pub(super) fn find(
    files: Range<usize>,
    known: &[Known],
    sources: &Sources<'_>,
    (remembered, index): (&Remembered, &Index),
    hashing: Hashing,
) -> Vec<(usize, usize)> {
    let mut print = PackPrint::new(hashing);
    let mut credit = FILES_IN_VAIN;
    let mut found = Vec::new();
    let mut expected: Option<usize> = None;
    let pack = |tile: usize| match &remembered.tiles()[tile].place {
        Place::Pack { files, bytes } => Some((files.len(), *bytes)),
        Place::Stretch { .. } => None,
    };
    let mut is = |tile: usize, first: usize| {
        let Some((count, bytes)) = pack(tile).filter(|(count, _)| first + count <= files.end)
        else {
            return false;
        };
        let members = first..first + count;
        if members.clone().map(|file| sources.bytes(file)).sum::<u64>() != bytes {
            return false;
        }
        for file in members {
            match known[file - files.start] {
                Known::Hash(hash) => print.add(sources.bytes(file), sources.format(file), hash),
                Known::Trusted(_) | Known::Covered => {
                    print.finish();
                    return false;
                }
            }
        }
        print.finish() == remembered.tiles()[tile].print
    };
    let mut next = files.start;
    while next < files.end {
        let here = match known[next - files.start] {
            Known::Trusted(tile) => Some(tile),
            Known::Covered => None,
            Known::Hash(hash) => {
                let classes = index.packs(hash).take(CLASSES_PER_FILE);
                let first_of = |class| index.members(class)[0] as usize;
                let expected =
                    expected.filter(|&tile| index.packs(hash).contains(&index.class_of(tile)));
                let mut tries = expected.into_iter().chain(classes.map(first_of));
                tries.find(|&tile| {
                    let tried = credit > 0 && is(tile, next);
                    let count = pack(tile).map_or(0, |(count, _)| count as i64);
                    credit += if tried { count } else { -count };
                    tried
                })
            }
        };
        match here.and_then(|tile| Some((tile, pack(tile)?.0))) {
            Some((tile, count)) => {
                found.push((next, tile));
                next += count;
                expected = (tile + 1 < remembered.tiles().len()).then_some(tile + 1);
            }
            None => {
                next += 1;
                credit += 1;
            }
        }
    }
    found
}

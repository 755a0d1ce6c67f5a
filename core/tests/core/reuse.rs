//! Whatever is done to files, their tiles cover them, are whole records, and are the same only if their
//! bytes are; and little is new where little was changed.

use proptest::prelude::*;
use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tegula_core::reuse::{
    Hashing, Place, Print, Remembered, Reuse, Sources, Stamps, Tile, TilePrint, Tiling, Trust,
};
use tegula_input::input::{ByteSet, Cut, Delimiter, Input, RangeSource};
use tegula_input::plan::{Cutting, Plan, Reads};
use tegula_machine::cancel::Cancel;
use tegula_machine::error::Error;
use tegula_machine::failure::Failure;
use tegula_machine::memory::{BlockPool, Budget};
use tegula_machine::schedule::Pool;

/// Files in memory, in order.
pub(super) type Files = Vec<(String, Vec<u8>)>;

#[derive(Debug)]
struct Shelf(HashMap<PathBuf, Vec<u8>>);

impl RangeSource for Shelf {
    fn read_at(&self, name: &Path, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let bytes = self.0.get(name).ok_or(io::ErrorKind::NotFound)?;
        let end = offset as usize + into.len();
        into.copy_from_slice(bytes.get(offset as usize..end).ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

pub(super) fn plan(files: &Files, cut: Cut) -> Plan {
    let shelf = Shelf(files.iter().map(|(name, bytes)| (name.into(), bytes.clone())).collect());
    let listed = files.iter().map(|(name, bytes)| (name, bytes.len() as u64));
    let input = Input::ranges(Arc::new(shelf), listed);
    let (tile_bytes, split_bytes, unit_bytes) = (32 << 20, 1 << 16, 1 << 16);
    let cutting =
        Cutting { tile_bytes, split_bytes, unit_bytes, reads: Reads::default(), skip_torn: false };
    Plan::new(input, cut, cutting).unwrap()
}

/// One run over some files.
struct Run<'f> {
    files: &'f Files,
    cut: Cut,
    tile_bytes: u64,
    workers: usize,
    trust: Trust,
    /// The same for all files.
    changed: Option<i64>,
}

impl<'f> Run<'f> {
    fn over(files: &'f Files, cut: Cut, tile_bytes: u64) -> Run<'f> {
        Run { files, cut, tile_bytes, workers: 2, trust: Trust::default(), changed: None }
    }

    fn tiles(&self, remembered: &Remembered) -> Tiling {
        let plan = plan(self.files, self.cut);
        let sources = Sources::of(&plan);
        let pool = Pool::new(self.workers, |_| ()).unwrap();
        let reuse = Reuse {
            sources: &sources,
            cut: &plan.cut,
            hashing: Hashing::Xxh3,
            tile_bytes: self.tile_bytes,
            trust: self.trust,
            pool: &pool,
            blocks: &BlockPool::new(Budget::new(None)),
            failure: &Failure::new(&Cancel::default()),
        };
        reuse.tiles(remembered, &self.stamps(&sources)).unwrap()
    }

    fn stamps(&self, sources: &Sources<'_>) -> Stamps {
        Stamps::new((0..sources.files()).map(|_| self.changed))
    }

    fn bytes(&self, place: &Place) -> Vec<&'f [u8]> {
        match place {
            Place::Stretch { file, bytes } => {
                vec![&self.files[*file].1[bytes.start as usize..bytes.end as usize]]
            }
            Place::Pack { files, .. } => {
                files.clone().map(|file| &self.files[file].1[..]).collect()
            }
        }
    }

    fn print(&self, place: &Place) -> Print {
        let mut print = TilePrint::new(Hashing::Xxh3);
        for piece in self.bytes(place) {
            let (one, two) = piece.split_at(piece.len() / 3);
            print.update(one);
            print.update(two);
            if matches!(place, Place::Pack { .. }) {
                print.end_file(0);
            }
        }
        print.finish()
    }

    /// Returns the record for the next run, decoded from its bytes on disk.
    fn remember(&self, tiling: &Tiling) -> Remembered {
        let plan = plan(self.files, self.cut);
        let sources = Sources::of(&plan);
        let tiles = tiling.tiles.iter().zip(100..);
        let tiles = tiles.map(|(tile, number)| (tile.clone(), self.print(&tile.place), number));
        let remembered = Remembered::of(&sources, &self.stamps(&sources), tiles);
        let bytes = remembered.encode(Hashing::Xxh3);
        assert_eq!(Remembered::decode(&bytes, Hashing::Xxh3).as_ref(), Ok(&remembered));
        remembered
    }

    /// Checks the invariants of tiles.
    fn check(&self, tiling: &Tiling, remembered: &Remembered, before: &Run<'_>) {
        let mut next = (0, 0);
        let mut total = 0;
        let behind = |file: usize, offset: u64| match offset == self.files[file].1.len() as u64 {
            true => (file + 1, 0),
            false => (file, offset),
        };
        for tile in &tiling.tiles {
            match &tile.place {
                Place::Stretch { file, bytes } => {
                    assert_eq!((*file, bytes.start), next);
                    assert!(!bytes.is_empty());
                    assert!(is_record_start(&self.files[*file].1, bytes.start as usize, &self.cut));
                    next = behind(*file, bytes.end);
                }
                Place::Pack { files, bytes } => {
                    assert_eq!((files.start, 0), next);
                    assert!(!files.is_empty());
                    let sum: usize = files.clone().map(|file| self.files[file].1.len()).sum();
                    assert_eq!(sum as u64, *bytes);
                    next = (files.end, 0);
                }
            }
            total += tile.place.bytes();
            if let Some(old) = tile.same_as {
                let old = &remembered.tiles()[old];
                assert_eq!(self.bytes(&tile.place), before.bytes(&old.place));
                assert_eq!(
                    matches!(old.place, Place::Pack { .. }),
                    matches!(tile.place, Place::Pack { .. })
                );
            }
        }
        assert_eq!(next, (self.files.len(), 0));
        assert_eq!(total, self.files.iter().map(|(_, bytes)| bytes.len() as u64).sum::<u64>());
    }
}

/// By looking at the whole file.
fn is_record_start(text: &[u8], at: usize, cut: &Cut) -> bool {
    at == 0
        || match cut {
            Cut::Fixed(record) => (at as u64).is_multiple_of(*record),
            Cut::Whole | Cut::Framed(_) => false,
            _ => cut.find_border(text, at, at + 1) == Some(at),
        }
}

/// Runs over `old`, then over `new` with the record of the first run; returns the second's tiles.
fn again(old: &Files, new: &Files, cut: Cut, tile_bytes: u64) -> Tiling {
    let first = Run::over(old, cut, tile_bytes);
    let nothing = Remembered::default();
    let tiling = first.tiles(&nothing);
    first.check(&tiling, &nothing, &first);
    assert!(tiling.tiles.iter().all(|tile| tile.same_as.is_none()));
    let remembered = first.remember(&tiling);
    let mut second = Run::over(new, cut, tile_bytes);
    let tiling = second.tiles(&remembered);
    second.check(&tiling, &remembered, &first);
    for workers in [1, 3, 4] {
        second.workers = workers;
        assert_eq!(second.tiles(&remembered).tiles, tiling.tiles);
    }
    tiling
}

fn new_tiles(tiling: &Tiling) -> usize {
    tiling.tiles.iter().filter(|tile| tile.same_as.is_none()).count()
}

/// Lines of words that are seldom the same twice.
fn text(bytes: usize, mut seed: u64) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes + 32);
    while text.len() < bytes {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let word = format!("{:x}", seed >> (20 + seed % 40));
        text.extend_from_slice(word.as_bytes());
        text.push(if seed >> 61 == 0 { b'\n' } else { b' ' });
    }
    text.truncate(bytes);
    text
}

#[derive(Clone, Debug)]
enum Edit {
    Change,
    Insert,
    Delete,
}

/// Edits a text at a place, in parts of 1000 of its length.
fn edit(text: &mut Vec<u8>, kind: &Edit, place: usize, bytes: usize) {
    let at = text.len() * place / 1000;
    let end = text.len().min(at + bytes);
    match kind {
        Edit::Change => text[at..end].iter_mut().for_each(|byte| *byte = byte.wrapping_add(1)),
        Edit::Insert => drop(text.splice(at..at, (0..bytes).map(|i| b"new \nbytes"[i % 10]))),
        Edit::Delete => drop(text.drain(at..end)),
    }
}

fn cuts() -> [Cut; 8] {
    [
        Cut::Lines,
        Cut::After(ByteSet::of(b" \n")),
        Cut::Between(|a, b| a == b' ' && b != b' '),
        Cut::Delimiter(Delimiter::new(" 1").unwrap()),
        Cut::Delimiter(Delimiter::new("\n\n").unwrap()),
        Cut::Fixed(1),
        Cut::Whole,
        Cut::Framed(|bytes| Some(1 + usize::from(bytes[0]))),
    ]
}

fn edits() -> impl Strategy<Value = Vec<(Edit, usize, usize)>> {
    let kind = prop::sample::select(vec![Edit::Change, Edit::Insert, Edit::Delete]);
    prop::collection::vec((kind, 0usize..1001, 1usize..300), 0..6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 80 }))]

    #[test]
    fn tiles_cover_all_and_are_the_same_only_if_their_bytes_are(
        lengths in prop::collection::vec(prop::sample::select(vec![0usize, 1, 40, 900, 5000, 30_000]), 0..6),
        constant: bool,
        edits in edits(),
        order in any::<prop::sample::Index>(),
        removed in prop::option::of(any::<prop::sample::Index>()),
        which in 0usize..8,
        tile_bytes in prop::sample::select(vec![1u64, 17, 600, 2048, 4096]),
    ) {
        let lengths = lengths.into_iter().map(|length| length.min(100 * tile_bytes as usize));
        let bytes = |(number, length): (usize, usize)| match constant {
            true => b"0000000\n".repeat(length / 8 + 1)[..length].to_vec(),
            false => text(length, number as u64 * 77 + 1),
        };
        let named = |(number, length)| (format!("f{number}"), bytes((number, length)));
        let old: Files = lengths.enumerate().map(named).collect();
        let mut new = old.clone();
        if !new.is_empty() {
            for (kind, place, bytes) in &edits {
                let file = (place * 7 + bytes) % new.len();
                edit(&mut new[file].1, kind, *place, *bytes);
            }
            let count = new.len();
            new.rotate_left(order.index(count));
            new[0].0 = "renamed".into();
            if let Some(removed) = removed {
                new.remove(removed.index(count));
            }
            new.push(("added".into(), text(700, 5)));
        }
        again(&old, &new, cuts()[which], tile_bytes);
    }

    #[test]
    fn few_edits_leave_few_tiles_new(edits in edits(), which in 0usize..3) {
        let old = vec![("text".into(), text(300_000, 3))];
        let mut new = old.clone();
        let mut bytes_new = 0;
        for (kind, place, bytes) in &edits {
            edit(&mut new[0].1, kind, *place, *bytes);
            bytes_new += bytes;
        }
        let tiling = again(&old, &new, cuts()[which], 8 << 10);
        let bytes_of_new = tiling.bytes - tiling.same_bytes;
        prop_assert!(bytes_of_new <= (bytes_new + edits.len() * (30 << 10)) as u64, "{}", bytes_of_new);
    }
}

#[test]
fn places_cost_about_one_tile_each() {
    let old = vec![("text".into(), text(2 << 20, 9))];
    let mut new = old.clone();
    for place in 0..20 {
        let kind = [Edit::Change, Edit::Insert, Edit::Delete][place % 3].clone();
        edit(&mut new[0].1, &kind, 7 + place * 49, 1 + place * 3);
    }
    let tiling = again(&old, &new, Cut::Lines, 8 << 10);
    assert!(new_tiles(&tiling) <= 24, "{} new", new_tiles(&tiling));
    assert!(tiling.same_bytes * 10 >= tiling.bytes * 9 - tiling.bytes / 50);
    // New bytes are read a second time to be looked through.
    assert!(tiling.read_bytes < tiling.bytes * 13 / 10, "{} read", tiling.read_bytes);
}

#[test]
fn what_is_unchanged_renamed_or_reordered_is_all_the_same() {
    let old: Files = (0..9)
        .map(|number| (format!("f{number}"), text([100, 70_000, 3000][number % 3], number as u64)))
        .collect();
    for cut in [Cut::Lines, Cut::Whole] {
        assert_eq!(new_tiles(&again(&old, &old, cut, 8 << 10)), 0);
        let mut new = old.clone();
        for (number, file) in new.iter_mut().enumerate() {
            file.0 = format!("g{}", (number * 5) % 9);
        }
        assert_eq!(new_tiles(&again(&old, &new, cut, 8 << 10)), 0);
    }
    let big: Files = old.into_iter().filter(|file| file.1.len() > 50_000).collect();
    let reversed: Files = big.iter().rev().cloned().collect();
    assert_eq!(new_tiles(&again(&big, &reversed, Cut::Lines, 8 << 10)), 0);
}

#[test]
fn small_files_touch_their_packs() {
    let old: Files =
        (0..400).map(|number| (format!("f{number}"), text(500 + number, number as u64))).collect();
    let mut new = old.clone();
    new[100].1.push(b'x');
    new.remove(200);
    new.insert(300, ("added".into(), text(400, 1234)));
    new.swap(0, 399);
    let tiling = again(&old, &new, Cut::Lines, 16 << 10);
    let all = tiling.tiles.len();
    assert!(all > 30 && new_tiles(&tiling) <= 7, "{} of {all} new", new_tiles(&tiling));
}

/// The worst case: every place looks like a tile.
#[test]
fn what_repeats_is_read_a_few_times_at_most() {
    let old = vec![("zeros".into(), b"0\n".repeat(500_000))];
    let mut new = old.clone();
    for place in [100, 300, 700] {
        edit(&mut new[0].1, &Edit::Change, place, 1);
        edit(&mut new[0].1, &Edit::Insert, place + 100, 5);
    }
    let tiling = again(&old, &new, Cut::Lines, 16 << 10);
    assert!(tiling.read_bytes < 4 * tiling.bytes, "{} read", tiling.read_bytes);
    assert!(tiling.same_bytes * 2 > tiling.bytes, "{} the same", tiling.same_bytes);
}

/// Each tile begins with a line that is found nowhere else, if there is one near.
#[test]
fn tiles_begin_with_what_is_rare() {
    let mut text = Vec::new();
    for number in 0..2000 {
        text.extend(b"all the same\n".repeat(100));
        text.extend(format!("but this, number {number}\n").bytes());
    }
    let files = vec![("text".into(), text)];
    let run = Run::over(&files, Cut::Lines, 32 << 10);
    let tiling = run.tiles(&Remembered::default());
    let starts: std::collections::HashSet<u64> =
        tiling.tiles.iter().map(|tile| run.print(&tile.place).anchor.start).collect();
    assert!(tiling.tiles.len() > 70 && starts.len() + 1 >= tiling.tiles.len());
}

/// Only a part of appended bytes is looked at; old bytes in them are found once that part has the begin of a
/// tile.
#[test]
fn old_bytes_that_are_appended_are_found_a_few_tiles_late() {
    let lines = |bytes, seed| [text(bytes, seed), b"\n".to_vec()].concat();
    let old = vec![("log".into(), lines(200_000, 1)), ("other".into(), lines(600_000, 2))];
    let mut new = old.clone();
    new[0].1.extend(lines(599_999, 8));
    let tiling = again(&old, &new, Cut::Lines, 8 << 10);
    assert_eq!(tiling.bytes - tiling.same_bytes, 600_000);
    let Tiling { read_bytes, bytes, .. } = tiling;
    assert!(read_bytes < bytes, "{read_bytes} read of {bytes}");
    let other = old[1].1.clone();
    new[0].1.extend(other);
    let tiling = again(&old, &new, Cut::Lines, 8 << 10);
    let missed = tiling.bytes - tiling.same_bytes - 600_000;
    assert!(missed < 300_000, "{missed} not found");
}

#[test]
fn appended_bytes_cost_themselves_and_a_torn_record_its_tile() {
    let old = vec![("log".into(), b"one line\n".repeat(9000))];
    let mut new = old.clone();
    new[0].1.extend(text(20_000, 8));
    let lines_new = |tiling: &Tiling| tiling.bytes - tiling.same_bytes;
    assert_eq!(lines_new(&again(&old, &new, Cut::Lines, 8 << 10)), 20_000);
    let mut torn = old.clone();
    torn[0].1.pop();
    let new_bytes = lines_new(&again(&torn, &new, Cut::Lines, 8 << 10));
    assert!((20_001..20_000 + (15 << 10)).contains(&new_bytes), "{new_bytes}");
}

#[test]
fn what_is_trusted_is_not_read() {
    let old: Files = (0..40)
        .map(|number| (format!("f{number}"), text(if number == 7 { 200_000 } else { 900 }, number)))
        .collect();
    let mut first = Run::over(&old, Cut::Lines, 8 << 10);
    first.changed = Some(5);
    let remembered = first.remember(&first.tiles(&Remembered::default()));

    let mut times = Run::over(&old, Cut::Lines, 8 << 10);
    (times.trust.times, times.changed) = (true, Some(5));
    let tiling = times.tiles(&remembered);
    times.check(&tiling, &remembered, &first);
    assert_eq!((new_tiles(&tiling), tiling.read_bytes), (0, 0));
    // Another time: all is read, and found again.
    times.changed = Some(6);
    let tiling = times.tiles(&remembered);
    assert!(new_tiles(&tiling) == 0 && tiling.read_bytes >= tiling.bytes);

    let mut grown = old.clone();
    grown[7].1.extend(text(20_000, 99));
    let mut appends = Run::over(&grown, Cut::Lines, 8 << 10);
    appends.trust.appends = true;
    let tiling = appends.tiles(&remembered);
    appends.check(&tiling, &remembered, &first);
    assert!(tiling.bytes - tiling.same_bytes < 20_000 + (15 << 10));
    assert!(tiling.read_bytes < 60_000, "{} read", tiling.read_bytes);
    // It was not only appended to: the last tile shows it, and all is looked through.
    let end = old[7].1.len();
    grown[7].1[end - 50] ^= 1;
    let mut appends = Run::over(&grown, Cut::Lines, 8 << 10);
    appends.trust.appends = true;
    let tiling = appends.tiles(&remembered);
    appends.check(&tiling, &remembered, &first);
    assert!(tiling.same_bytes > 150_000);
}

/// A deleted newline joins two records, which lie in two tiles.
#[test]
fn a_tile_is_new_if_its_first_record_began_earlier() {
    let old = vec![("text".into(), text(100_000, 4))];
    let first = Run::over(&old, Cut::Lines, 8 << 10);
    let tiling = first.tiles(&Remembered::default());
    let Place::Stretch { bytes, .. } = &tiling.tiles[5].place else { panic!("a stretch") };
    let at = bytes.start as usize;
    let mut new = old.clone();
    new[0].1[at - 1] = b' ';
    let tiling = again(&old, &new, Cut::Lines, 8 << 10);
    let is_new = |range: Range<usize>| {
        let of = |tile: &&Tile| match &tile.place {
            Place::Stretch { bytes, .. } => range.contains(&(bytes.end as usize - 1)),
            Place::Pack { .. } => false,
        };
        tiling.tiles.iter().filter(of).all(|tile| tile.same_as.is_none())
    };
    assert!(is_new(at - 1..at + 2000));
    assert!(tiling.tiles.len() >= 11 && new_tiles(&tiling) <= 3, "{} new", new_tiles(&tiling));
}

#[test]
fn a_run_that_is_cancelled_ends() {
    let old = vec![("text".into(), text(100_000, 4))];
    let plan = plan(&old, Cut::Lines);
    let sources = Sources::of(&plan);
    let cancel = Cancel::default();
    cancel.cancel();
    let reuse = Reuse {
        sources: &sources,
        cut: &plan.cut,
        hashing: Hashing::Blake3,
        tile_bytes: 4096,
        trust: Trust::default(),
        pool: &Pool::new(2, |_| ()).unwrap(),
        blocks: &BlockPool::new(Budget::new(None)),
        failure: &Failure::new(&cancel),
    };
    let stamps = Stamps::new([None]);
    assert!(matches!(reuse.tiles(&Remembered::default(), &stamps), Err(Error::Cancelled)));
}

//! Where the input of a sort is files that fit in memory, their records are not kept beside them. The output is the same,
//! and a file that is changed meanwhile is named.

use crate::sorted_records_are_those_of_a_stable_sort::{hard_texts, limited, reference, sorted};
use crate::support::{WORKERS, cases, engine, engines, folder_of};
use proptest::prelude::*;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tegula::{Disk, Error, Input, InputError, Options, Records, Sort, SortTo, Storage};

fn input(folder: &tempfile::TempDir) -> Input {
    Input::paths([folder.path()]).unwrap()
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn lines_of_any_bytes(
        files in prop::collection::vec(
            prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 1..60), 1..4),
        narrow: bool,
        start in 0u64..5,
        length in prop::option::of(1u64..30),
        (reverse, unique) in any::<(bool, bool)>(),
        split in prop::option::of(1u64..3000),
    ) {
        let few = b"ab\0\xff";
        let line = |line: &Vec<u8>| -> Vec<u8> {
            let byte = |&byte: &u8| if narrow { few[usize::from(byte % 4)] } else { byte };
            line.iter().map(byte).collect()
        };
        let texts: Vec<Vec<u8>> =
            files.iter().map(|lines| lines.iter().map(line).collect::<Vec<_>>().join(&b'\n')).collect();
        let refs: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
        let key = length.map(|length| start..start + length);
        let sort = Sort { key, reverse, unique, ..Sort::lines() };
        let expected = reference(&sort, &refs);
        let folder = folder_of(&refs);
        let options = Options { split_bytes: split, ..Options::default() };
        for engine in engines() {
            let (found, _) = sorted(engine, &sort, input(&folder), &options).unwrap();
            prop_assert!(found == expected);
        }
    }

    #[test]
    fn records_of_one_size(
        files in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..6000), 1..4),
        size in 32u64..90,
        (start, length) in (0u64..20, 1u64..12),
        (reverse, unique) in any::<(bool, bool)>(),
        split in prop::option::of(1u64..3000),
    ) {
        let mut files = files;
        for file in &mut files {
            file.truncate(file.len() / size as usize * size as usize);
            file.iter_mut().for_each(|byte| *byte %= 3);
        }
        let refs: Vec<&[u8]> = files.iter().map(Vec::as_slice).collect();
        let sort = Sort { reverse, unique, ..Sort::fixed(size, start..start + length) };
        let expected = reference(&sort, &refs);
        let folder = folder_of(&refs);
        let options = Options { split_bytes: split, ..Options::default() };
        for engine in engines() {
            let (found, _) = sorted(engine, &sort, input(&folder), &options).unwrap();
            prop_assert!(found == expected);
        }
    }
}

/// Texts of records of 40 bytes.
fn wide_texts(bytes: usize) -> Vec<(&'static str, Vec<u8>)> {
    let wide = |text: Vec<u8>| {
        text.chunks(20).flat_map(|record| [&record[..19], &[b'-'; 20], b"\n"].concat()).collect()
    };
    hard_texts(bytes / 2).into_iter().map(|(name, text)| (name, wide(text))).collect()
}

#[test]
fn hard_inputs_and_ranges_that_are_divided_again() {
    let disk: Arc<dyn Storage> = Arc::new(Disk::new(std::env::temp_dir()));
    for (name, text) in wide_texts(6_000_000) {
        let folder = folder_of(&[&text]);
        let sorts = [
            Sort { key: Some(0..10), ..Sort::lines() },
            Sort { reverse: true, ..Sort::fixed(40, 0..10) },
            Sort { unique: true, ..Sort::fixed(40, 2..10) },
        ];
        for sort in sorts {
            let expected = reference(&sort, &[&text]);
            for workers in WORKERS {
                let (found, stats) =
                    sorted(&engine(workers), &sort, input(&folder), &Options::default()).unwrap();
                assert!(found == expected, "{name}, {workers} workers, {sort:?}");
                assert_eq!((stats.pairs, stats.spilled_bytes), (text.len() as u64 / 40, 0));
            }
            // A split is one range where all keys are equal, and too large for what a range may take.
            for (workers, mib, split) in
                [(1, 3, None), (1, 24, Some(8 << 20)), (2, 30, Some(8 << 20))]
            {
                let engine = limited(workers, mib << 20, &disk);
                let options = Options { split_bytes: split, ..Options::default() };
                let (found, _) = sorted(&engine, &sort, input(&folder), &options).unwrap();
                assert!(found == expected, "{name}, {workers} workers, {mib} MiB, {sort:?}");
            }
        }
    }
}

/// The length of a line of 16 MiB or more has no room beside its place.
#[test]
fn lines_of_many_megabytes() {
    let long = |byte: u8, bytes: usize| vec![byte; bytes];
    let lines =
        [long(b'c', 17 << 20), b"b".to_vec(), long(b'a', (16 << 20) - 1), long(b'd', 20 << 20)];
    let text = lines.join(&b'\n');
    let folder = folder_of(&[&text[..], b"bb\n", b"aa"]);
    let expected = reference(&Sort::lines(), &[&text, b"bb\n", b"aa"]);
    for workers in [1, 2] {
        let (found, _) =
            sorted(&engine(workers), &Sort::lines(), input(&folder), &Options::default()).unwrap();
        assert!(found == expected);
    }
}

/// A sink that does something to a file when it is written to first.
struct Meddling<'m> {
    path: PathBuf,
    meddle: Option<&'m (dyn Fn(&Path) + Sync)>,
    out: Vec<u8>,
}

impl Write for Meddling<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(meddle) = self.meddle.take() {
            meddle(&self.path);
        }
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Sorts a file that is meddled with when all records are in their ranges.
fn meddled(
    sort: &Sort,
    text: &[u8],
    meddle: &(dyn Fn(&Path) + Sync),
) -> (PathBuf, tegula::Result<Vec<u8>>) {
    let folder = folder_of(&[text]);
    let path = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    let mut sink = Meddling { path: path.clone(), meddle: Some(meddle), out: Vec::new() };
    let to = SortTo::Writer(&mut sink, Path::new("a sink"));
    let done = engine(1).sort(sort, input(&folder), to, &Options::default());
    assert!(sink.meddle.is_none());
    (path, done.map(|_| sink.out))
}

fn sorts() -> [Sort; 2] {
    [Sort { key: Some(0..10), ..Sort::lines() }, Sort::fixed(40, 0..10)]
}

#[test]
fn a_file_that_is_cut_or_written_over_meanwhile_is_named() {
    let (_, text) = wide_texts(8_000_000).swap_remove(0);
    let open = |path: &Path| OpenOptions::new().write(true).open(path).unwrap();
    let cut = |path: &Path| open(path).set_len(100_000).unwrap();
    let empty = |path: &Path| open(path).set_len(0).unwrap();
    let turned: Vec<u8> = text.chunks(40).rev().flatten().copied().collect();
    let turn = |path: &Path| open(path).write_all_at(&turned, 0).unwrap();
    let joined: Vec<u8> =
        text.iter().map(|&byte| if byte == b'\n' { b' ' } else { byte }).collect();
    let join = |path: &Path| open(path).write_all_at(&joined, 0).unwrap();
    let shift = |path: &Path| open(path).write_all_at(&text[39..], 0).unwrap();
    let meddles: [&(dyn Fn(&Path) + Sync); 5] = [&cut, &empty, &turn, &join, &shift];
    for sort in sorts() {
        for (number, meddle) in meddles.iter().enumerate() {
            let (path, done) = meddled(&sort, &text, meddle);
            match done {
                Err(Error::Input(InputError::Shrank { path: named, planned, found })) => {
                    assert_eq!((named, planned), (path, text.len() as u64));
                    assert!(number < 2 && found < planned, "{number}");
                }
                Err(Error::Input(InputError::Changed { path: named })) => assert_eq!(named, path),
                other => panic!("{number}, {sort:?}: {other:?}"),
            }
        }
    }
}

#[test]
fn a_file_that_grows_moves_or_goes_meanwhile_is_sorted_as_it_was() {
    let (_, text) = wide_texts(8_000_000).swap_remove(0);
    let grow = |path: &Path| {
        let mut file = OpenOptions::new().append(true).open(path).unwrap();
        file.write_all(&[b'x'; 4000]).unwrap();
    };
    let remove = |path: &Path| std::fs::remove_file(path).unwrap();
    let replace = |path: &Path| {
        let other = path.with_extension("new");
        std::fs::write(&other, vec![b'y'; text.len()]).unwrap();
        std::fs::rename(other, path).unwrap();
    };
    let meddles: [&(dyn Fn(&Path) + Sync); 3] = [&grow, &remove, &replace];
    for sort in sorts() {
        let expected = reference(&sort, &[&text]);
        for (number, meddle) in meddles.iter().enumerate() {
            let (_, done) = meddled(&sort, &text, meddle);
            assert!(done.unwrap() == expected, "{number}, {sort:?}");
        }
    }
}

/// Short records are kept in memory: their places would be as large.
#[test]
fn records_of_each_size_around_the_least() {
    for size in [1_usize, 31, 32, 33, 100, 5000] {
        let mut state = 1_u64;
        let mut byte = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        };
        let text: Vec<u8> = (0..2_000_000 / size * size).map(|_| byte()).collect();
        let sort = Sort { records: Records::Fixed(size as u64), key: None, ..Sort::lines() };
        let (found, _) =
            sorted(&engine(2), &sort, input(&folder_of(&[&text])), &Options::default()).unwrap();
        assert!(found == reference(&sort, &[&text]), "{size}");
    }
}

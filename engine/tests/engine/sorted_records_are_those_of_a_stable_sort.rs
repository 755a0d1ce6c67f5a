//! For any input, number of workers and memory, the sorted output equals that of the standard library's
//! stable sort, to the byte.

use crate::support::{WORKERS, cases, engine, engines, error_saying, folder_of, limited_builder};
use proptest::prelude::*;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use tegula::output::AtomicFile;
use tegula::{Disk, Engine, Error, Input, InputError, MemoryError, Options, Records, Result, Sort};
use tegula::{SortTo, Stats, Storage, StorageError};
use tegula_testing::{Call, Fault, Faulty};

/// Returns the records of a text, each with its newline if it is a line.
fn records(sort: &Sort, text: &[u8]) -> Vec<Vec<u8>> {
    match sort.records {
        Records::Fixed(bytes) => text.chunks(bytes as usize).map(<[u8]>::to_vec).collect(),
        Records::Lines => {
            let mut text = text.to_vec();
            if !text.is_empty() && !text.ends_with(b"\n") {
                text.push(b'\n');
            }
            text.split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect()
        }
    }
}

fn key<'r>(sort: &Sort, record: &'r [u8]) -> &'r [u8] {
    let record = match sort.records {
        Records::Lines => &record[..record.len() - 1],
        Records::Fixed(_) => record,
    };
    let range = sort.key.clone().unwrap_or(0..u64::MAX);
    let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(record.len());
    &record[place(range.start)..place(range.end)]
}

/// Returns the expected output.
pub(crate) fn reference(sort: &Sort, texts: &[&[u8]]) -> Vec<u8> {
    let mut all: Vec<Vec<u8>> = texts.iter().flat_map(|text| records(sort, text)).collect();
    all.sort_by(|a, b| {
        let order = key(sort, a).cmp(key(sort, b));
        if sort.reverse { order.reverse() } else { order }
    });
    if sort.unique {
        all.dedup_by(|b, a| key(sort, a) == key(sort, b));
    }
    all.concat()
}

pub(crate) fn sorted(
    engine: &Engine,
    sort: &Sort,
    input: Input,
    options: &Options,
) -> Result<(Vec<u8>, Stats)> {
    let mut out = Vec::new();
    let to = SortTo::Writer(&mut out, Path::new("a vector"));
    let stats = engine.sort(sort, input, to, options)?;
    Ok((out, stats))
}

/// As above, into a file.
fn sorted_file(engine: &Engine, sort: &Sort, input: Input, options: &Options) -> Result<Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sorted");
    engine.sort(sort, input, SortTo::File(AtomicFile::create(&path)?), options)?;
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    Ok(std::fs::read(path).unwrap())
}

/// Returns an engine with `bytes` bytes for each job, beside what any engine holds.
pub(crate) fn limited(workers: usize, bytes: u64, storage: &Arc<dyn Storage>) -> Engine {
    let limit = (4 << 20) + workers as u64 * (512 << 10) + bytes;
    let builder = limited_builder(limit).workers(workers).storage(Arc::clone(storage));
    builder.build().unwrap()
}

fn disk() -> Arc<dyn Storage> {
    Arc::new(Disk::new(std::env::temp_dir()))
}

/// Numbers as good as random.
fn random(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed;
    move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    }
}

/// Texts that are hard in one way each, of about `bytes` bytes of records of 20.
pub(crate) fn hard_texts(bytes: usize) -> Vec<(&'static str, Vec<u8>)> {
    let count = bytes / 20;
    let line = |key: u64, i: usize| format!("{key:010}{i:09}\n").into_bytes();
    let mut random = random(7);
    let mut made = |key: &mut dyn FnMut(usize, u64) -> u64| -> Vec<u8> {
        (0..count).flat_map(|i| line(key(i, random()), i)).collect()
    };
    vec![
        ("random", made(&mut |_, random| random)),
        ("ascending", made(&mut |i, _| i as u64)),
        ("descending", made(&mut |i, _| (count - i) as u64)),
        ("all equal", made(&mut |_, _| 5)),
        ("nine in ten equal", made(&mut |_, random| if random % 10 > 0 { 77 } else { random })),
        ("few keys", made(&mut |_, random| random % 3)),
        ("a hard start", made(&mut |i, random| if i < count / 10 { i as u64 } else { random })),
        (
            "one after all others",
            made(&mut |i, random| if i == 0 { 1 << 31 } else { random % 1000 }),
        ),
    ]
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn small_inputs_of_any_bytes(
        texts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..400), 1..4),
        narrow: bool,
        fixed in prop::option::of(1u64..20),
        start in 0u64..5,
        length in prop::option::of(1u64..30),
        (reverse, unique) in any::<(bool, bool)>(),
        split in 1u64..300,
    ) {
        let mut texts = texts;
        if narrow {
            let few = b"a\0\n\xff";
            texts.iter_mut().flatten().for_each(|byte| *byte = few[usize::from(*byte % 4)]);
        }
        let records = fixed.map_or(Records::Lines, Records::Fixed);
        let end = fixed.unwrap_or(u64::MAX);
        let key = length
            .map(|length| start.min(end - 1)..start.saturating_add(length).min(end))
            .filter(|key| !key.is_empty());
        let sort = Sort { records, key, reverse, unique };
        if let Some(bytes) = fixed {
            for text in &mut texts {
                text.truncate(text.len() / bytes as usize * bytes as usize);
            }
        }
        let refs: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
        let expected = reference(&sort, &refs);
        let folder = folder_of(&refs);
        let options = Options { split_bytes: Some(split), ..Options::default() };
        for engine in engines() {
            let input = || Input::paths([folder.path()]).unwrap();
            let (found, stats) = sorted(engine, &sort, input(), &options).unwrap();
            prop_assert!(found == expected);
            prop_assert_eq!(stats.bytes, refs.iter().map(|text| text.len() as u64).sum::<u64>());
            prop_assert!(sorted_file(engine, &sort, input(), &options).unwrap() == expected);
        }
    }
}

/// Lines in one range, which is sorted by the first bytes in which they differ.
fn check_lines(lines: &[Vec<u8>], sort: &Sort) {
    let text: Vec<u8> = lines.iter().flat_map(|line| [&line[..], b"\n"].concat()).collect();
    let expected = reference(sort, &[&text]);
    let (found, _) = sorted(&engines()[0], sort, Input::bytes(text), &Options::default()).unwrap();
    assert!(found == expected, "{sort:?}");
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn lines_that_begin_alike_keep_the_order_of_a_stable_sort(
        lines in prop::collection::vec("[ab\0]{0,30}", 0..300),
        alike in "[ab\0]{0,20}",
        start in 0u64..4,
        length in 1u64..30,
        reverse: bool,
    ) {
        let key = Some(start..start + length);
        let lines: Vec<_> =
            lines.into_iter().map(|line| (alike.clone() + &line).into_bytes()).collect();
        check_lines(&lines, &Sort { key, reverse, ..Sort::lines() });
    }
}

#[test]
fn many_lines_that_begin_with_each_other_are_sorted_without_a_deep_stack() {
    for filler in [b'a', 0] {
        let lines: Vec<_> = (0..2000).map(|i| vec![filler; i * 7919 % 2000]).collect();
        check_lines(&lines, &Sort::lines());
    }
}

#[test]
fn equal_keys_keep_the_order_of_the_input_both_ways() {
    let line = |i| format!("same key, long enough {i}").into_bytes();
    let lines: Vec<Vec<u8>> = (0..1000).map(line).collect();
    for reverse in [false, true] {
        let sort = Sort { key: Some(0..21), reverse, ..Sort::lines() };
        check_lines(&lines, &sort);
    }
}

#[test]
fn hard_inputs_in_memory_and_in_little_of_it() {
    for (name, text) in hard_texts(6_000_000) {
        let sorts = [
            Sort { key: Some(0..10), ..Sort::lines() },
            Sort { reverse: true, ..Sort::fixed(20, 0..10) },
            Sort { unique: true, ..Sort::fixed(20, 2..10) },
        ];
        for sort in sorts {
            let expected = reference(&sort, &[&text]);
            for workers in WORKERS {
                let input = || Input::bytes(text.clone());
                let (found, stats) =
                    sorted(&engine(workers), &sort, input(), &Options::default()).unwrap();
                assert!(found == expected, "{name}, {workers} workers, {sort:?}");
                assert_eq!((stats.pairs, stats.spilled_bytes), (text.len() as u64 / 20, 0));
            }
            for (workers, mib) in [(1, 3), (2, 5), (3, 7)] {
                let engine = limited(workers, mib << 20, &disk());
                let input = Input::bytes(text.clone());
                let (found, stats) = sorted(&engine, &sort, input, &Options::default()).unwrap();
                assert!(found == expected, "{name}, {workers} workers, {mib} MiB, {sort:?}");
                assert!(stats.spilled_bytes > 500_000, "{}", stats.spilled_bytes);
            }
        }
    }
}

#[test]
fn lines_of_all_lengths_in_little_memory() {
    let mut random = random(3);
    let mut text = Vec::new();
    for i in 0..20_000 {
        let length = if i % 4000 == 0 { 200_000 } else { random() % 200 };
        let line = (0..length).map(|_| b"ab\0c"[random() as usize % 4]);
        text.extend(line);
        text.push(b'\n');
    }
    text.pop();
    let expected = reference(&Sort::lines(), &[&text]);
    for (workers, mib) in [(1, 4), (2, 8)] {
        let engine = limited(workers, mib << 20, &disk());
        let input = Input::bytes(text.clone());
        let (found, _) = sorted(&engine, &Sort::lines(), input, &Options::default()).unwrap();
        assert!(found == expected, "{workers} workers");
    }
}

#[test]
fn streams_are_sorted_in_memory_and_from_disk() {
    for (name, text) in hard_texts(3_000_000) {
        let sort = Sort { key: Some(0..10), ..Sort::lines() };
        let expected = reference(&sort, &[&text]);
        for engine in [engine(2), limited(2, 5 << 20, &disk())] {
            let folder = tempfile::tempdir().unwrap();
            let written = text.clone();
            let write = move |mut pipe: std::fs::File| {
                pipe.write_all(&written).unwrap();
            };
            let (input, writer) = crate::support::pipe_written_by(&folder, write);
            let (found, _) = sorted(&engine, &sort, input, &Options::default()).unwrap();
            writer.join().unwrap();
            assert!(found == expected, "{name}");
        }
    }
}

#[test]
fn a_budget_in_which_nothing_can_be_sorted_says_the_least_that_would_do() {
    let text = vec![b'\n'; 100];
    let engine = limited(2, 1 << 20, &disk());
    let refused = sorted(&engine, &Sort::lines(), Input::bytes(text.clone()), &Options::default());
    let Err(Error::Memory(MemoryError::TooSmall { least_bytes, workers: 2, .. })) = refused else {
        panic!("{refused:?}")
    };
    let engine = limited_builder(least_bytes).build().unwrap();
    let (found, _) =
        sorted(&engine, &Sort::lines(), Input::bytes(text.clone()), &Options::default()).unwrap();
    assert!(found == text);
}

#[test]
fn a_file_that_is_no_multiple_of_the_record_is_named() {
    let folder = folder_of(&[&[0; 250][..]]);
    let input = Input::paths([folder.path()]).unwrap();
    let failed = sorted(&engine(1), &Sort::terasort(), input, &Options::default());
    let Err(Error::Input(InputError::Ragged { length: 250, record: 100, .. })) = failed else {
        panic!("{failed:?}")
    };
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// The end of a file that is less than a record is skipped and counted, whether the length of the file is known before
/// (files, memory), after it was decompressed, or when a pipe ends; with records longer than what is read at a time, too.
#[test]
fn the_torn_end_of_a_file_is_skipped() {
    // Any bytes that differ from record to record.
    let mut state = 7_u64;
    let mut byte = move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    for (record, counts) in [(100, [0, 1, 40_000]), (3, [0, 100_000, 7]), (300_000, [0, 1, 9])] {
        let torn = [record - 1, 1, record / 2];
        let files: Vec<Vec<u8>> = counts
            .iter()
            .zip(torn)
            .map(|(&count, torn)| (0..count * record + torn).map(|_| byte()).collect())
            .collect();
        let whole = |file: &Vec<u8>| file[..file.len() / record * record].to_vec();
        let expected: Vec<u8> = {
            let all = files.iter().flat_map(whole).collect::<Vec<u8>>();
            let mut records: Vec<&[u8]> = all.chunks(record).collect();
            records.sort();
            records.concat()
        };
        let sort = Sort { records: Records::Fixed(record as u64), key: None, ..Sort::lines() };
        let options = Options { skip_bad: true, ..Options::default() };
        let packed: Vec<Vec<u8>> = files.iter().map(|file| gzip(file)).collect();
        for stored in [&files, &packed] {
            let stored: Vec<&[u8]> = stored.iter().map(Vec::as_slice).collect();
            let folder = folder_of(&stored);
            for workers in [1, 3] {
                let input = Input::paths([folder.path()]).unwrap();
                let (found, stats) = sorted(&engine(workers), &sort, input, &options).unwrap();
                assert!(found == expected, "records of {record} bytes, {workers} workers");
                assert_eq!(stats.bad_records, 3);
                let places: Vec<String> = stats
                    .bad_first
                    .iter()
                    .map(|bad| format!("{}: {}", bad.place, bad.cause))
                    .collect();
                for (place, (file, torn)) in places.iter().zip(files.iter().zip(torn)) {
                    let at = format!("byte {}", file.len() / record * record);
                    let cause = format!("ends after {torn} of its {record} bytes");
                    assert!(place.contains(&at) && place.contains(&cause), "{place}");
                }
            }
        }
        for file in &files {
            let input = Input::bytes(file.clone());
            let (found, stats) = sorted(&engine(2), &sort, input, &options).unwrap();
            assert!(found.len() == file.len() / record * record && stats.bad_records == 1);
        }
    }
}

#[test]
fn keys_that_cannot_be_meant_are_refused() {
    for (sort, named) in [
        (Sort::fixed(10, 5..11), "key"),
        (Sort::fixed(10, 5..5), "key"),
        (Sort { key: Some(5..5), ..Sort::lines() }, "key"),
        (Sort::fixed(0, 0..1), "record size"),
    ] {
        let failed = sorted(&engine(1), &sort, Input::bytes(""), &Options::default());
        let Err(Error::Option { option, .. }) = failed else { panic!("{failed:?}") };
        assert_eq!(option, named);
    }
}

/// Every call of storage fails once; the sort fails with an error that names the folder, or it does
/// not notice (an interrupted call), and the engine works on.
#[test]
fn storage_that_fails_is_named_and_nothing_is_left_behind() {
    let (_, text) = hard_texts(3_000_000).swap_remove(0);
    let sort = Sort { key: Some(0..10), ..Sort::lines() };
    let expected = reference(&sort, &[&text]);
    let folder = tempfile::tempdir().unwrap();
    let disk: Arc<dyn Storage> = Arc::new(Disk::new(folder.path()));
    for (call, fault) in [
        (Call::Scratch, Fault::Io),
        (Call::Scratch, Fault::Full),
        (Call::WriteAt, Fault::Io),
        (Call::WriteAt, Fault::Full),
        (Call::WriteAt, Fault::Torn),
        (Call::ReadAt, Fault::Io),
        (Call::ReadAt, Fault::Interrupted),
        (Call::WriteAt, Fault::Interrupted),
        (Call::WriteAt, Fault::Short),
        (Call::ReadAt, Fault::Short),
    ] {
        for nth in [1, 2, 7, 40] {
            let faulty = Faulty::new(Arc::clone(&disk), nth).fail_once(call, nth, fault);
            let engine = limited(2, 5 << 20, &(Arc::new(faulty.clone()) as Arc<dyn Storage>));
            let run = || sorted(&engine, &sort, Input::bytes(text.clone()), &Options::default());
            let harmless = matches!(fault, Fault::Interrupted | Fault::Short);
            match run() {
                Ok((found, _)) => {
                    assert!(harmless || faulty.calls(call) < nth, "{call:?} {nth} {fault:?}");
                    assert!(found == expected);
                }
                failed => {
                    assert!(!harmless);
                    let name = folder.path().to_str().unwrap();
                    let Err(error) = failed else { unreachable!("matched above") };
                    assert!(error.to_string().starts_with(name), "{error}");
                    let full = matches!(error, Error::Storage(StorageError::Full { .. }));
                    assert_eq!(full, fault == Fault::Full, "{error:?}");
                    // The fault was there once.
                    assert!(run().unwrap().0 == expected);
                }
            }
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        }
    }
}

#[test]
fn sinks_that_refuse_and_cancelled_sorts_end_with_their_error() {
    let (_, text) = hard_texts(3_000_000).swap_remove(0);
    let engine = engine(2);
    let mut full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let to = SortTo::Writer(&mut full, Path::new("/dev/full"));
    let failed = engine.sort(&Sort::lines(), Input::bytes(text.clone()), to, &Options::default());
    error_saying(&engine, failed, &["/dev/full: cannot be written"]);
    let options = Options::default();
    options.cancel.cancel();
    let failed = sorted(&engine, &Sort::lines(), Input::bytes(text), &options);
    assert!(matches!(failed, Err(Error::Cancelled)), "{failed:?}");
}

/// Lines that differ only after as many bytes as a sample of short keys has: they are divided as any others are.
#[test]
fn records_that_begin_alike_for_long_are_divided() {
    for alike in [3_000, 40_000, 200_000] {
        let (mut random, count) = (random(11), (24 << 20) / alike);
        let prefix = "p".repeat(alike);
        let lines = (0..count).map(|_| format!("{prefix}{:07}\n", random() % 10_000_000));
        let text = lines.collect::<String>().into_bytes();
        let folder = folder_of(&[&text]);
        for sort in [Sort::lines(), Sort { reverse: true, ..Sort::lines() }] {
            let expected = reference(&sort, &[&text]);
            let engine = limited(2, 6 << 20, &disk());
            for input in [Input::paths([folder.path()]).unwrap(), Input::bytes(text.clone())] {
                let (found, stats) = sorted(&engine, &sort, input, &Options::default()).unwrap();
                assert!(found == expected, "{alike} {sort:?}");
                let spilled = stats.spilled_bytes;
                assert!(spilled < 4 * text.len() as u64, "{alike} {sort:?}: {spilled} bytes");
            }
        }
    }
}

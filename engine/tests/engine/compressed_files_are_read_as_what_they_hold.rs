//! A compressed file gives the answer of the text it holds: in every format, of any number of members,
//! beside other files, from anywhere, for any number of workers and any size of blocks.

use crate::jobs::{Place, Words};
use crate::packing::{PACKINGS, Packing};
use crate::reference;
use crate::support::{
    cases, count_line, count_lines, engine, engines, error_saying, pipe_written_by, text_of, within,
};
use proptest::prelude::*;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tegula::{
    Collect, Cut, Emit, Engine, Error, Incremental, Input, Job, Options, Order, RangeSource,
    Result, Sort, SortTo, Split, State, StateError, WordClass,
};
use tempfile::TempDir;

const JOB: Words = Words(WordClass::Whitespace);

/// A file of a test: its text, its compression, and the length of its pieces.
#[derive(Clone, Debug)]
struct Piece {
    text: Vec<u8>,
    packing: Option<Packing>,
    piece: usize,
    /// Whether its name shows its format.
    named: bool,
}

impl Piece {
    fn write(&self, folder: &Path, number: usize) -> PathBuf {
        let ending = self.packing.filter(|_| self.named).map_or("txt", Packing::ending);
        let path = folder.join(format!("{number:03}.{ending}"));
        let bytes = match self.packing {
            Some(packing) => packing.pack_in_pieces(&self.text, self.piece),
            None => self.text.clone(),
        };
        fs::write(&path, bytes).unwrap();
        path
    }
}

fn written(files: &[Piece]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    files.iter().enumerate().for_each(|(number, file)| drop(file.write(folder.path(), number)));
    folder
}

fn expected(files: &[Piece]) -> Vec<u8> {
    let texts = files.iter().map(|file| file.text.as_slice());
    let counts = reference::count(texts, WordClass::Whitespace);
    count_lines(&reference::answer(&counts, Order::Key, None))
}

fn pieces(most: usize, bytes: usize) -> impl Strategy<Value = Vec<Piece>> {
    let text = prop::collection::vec(prop::sample::select(&b"abc  \n\r\xff"[..]), 0..bytes);
    let packing = prop::option::weighted(0.8, prop::sample::select(&PACKINGS[..]));
    let piece =
        (text, packing, 1..bytes, any::<bool>()).prop_map(|(text, packing, piece, named)| Piece {
            piece: piece.max(text.len() / 20),
            text,
            packing,
            named,
        });
    prop::collection::vec(piece, 1..most)
}

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn any_files_give_the_counts_of_their_texts(
        files in pieces(8, 30_000), tile in 1u64..40_000, split in 1u64..40_000,
    ) {
        let (folder, expected) = (written(&files), expected(&files));
        for engine in engines() {
            let options = Options {
                tile_bytes: Some(tile), split_bytes: Some(split.min(tile)), ..Options::default()
            };
            let output = engine.job(&JOB).options(&options).run(Input::paths([folder.path()]).unwrap());
            let output = output.unwrap();
            prop_assert!(text_of(&output, count_line) == expected, "{} workers", engine.workers());
            let bytes: usize = files.iter().map(|file| file.text.len()).sum();
            prop_assert_eq!(output.stats().bytes, bytes as u64);
            let packed = files.iter().filter(|file| file.packing.is_some()).count();
            let seen: u64 = output.stats().compressed.iter().map(|one| one.files).sum();
            prop_assert_eq!(seen, packed as u64);
        }
    }

    #[test]
    fn sorted_lines_are_those_of_their_texts(files in pieces(5, 20_000), split in 1u64..20_000) {
        let folder = written(&files);
        let mut lines: Vec<&[u8]> = Vec::new();
        for file in &files {
            lines.extend(file.text.split_inclusive(|&byte| byte == b'\n'));
        }
        let content = |line: &[u8]| line.strip_suffix(b"\n").unwrap_or(line).to_vec();
        lines.sort_by_key(|line| content(line));
        let expected: Vec<u8> =
            lines.iter().flat_map(|line| [&content(line)[..], b"\n"].concat()).collect();
        for engine in engines() {
            let options = Options { split_bytes: Some(split), ..Options::default() };
            let (mut sorted, name) = (Vec::new(), Path::new("a vector"));
            let input = Input::paths([folder.path()]).unwrap();
            let to = SortTo::Writer(&mut sorted, name);
            engine.sort(&Sort::lines(), input, to, &options).unwrap();
            prop_assert!(sorted == expected, "{} workers", engine.workers());
        }
    }
}

/// The lines of the input under one key, in order.
struct LinesInOrder;

impl Job for LinesInOrder {
    type Key = [u8];
    type Combine = Collect<Place>;

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        split.lines().for_each(|line| {
            emit.emit(b"line", Place { file: split.file(), offset: split.offset_of(line) });
        });
        Ok(())
    }
}

#[test]
fn values_come_in_the_order_of_the_input_over_all_kinds_of_files() {
    let text = |lines: usize| {
        (0..lines).flat_map(|line| format!("line {line}\n").into_bytes()).collect::<Vec<u8>>()
    };
    let files: Vec<Piece> = (0..40)
        .map(|number| {
            let packing = (number % 3 != 1).then(|| PACKINGS[number % PACKINGS.len()]);
            let text = text(1 + number * 37 % 2500);
            Piece { text, packing, piece: 5000, named: number % 2 == 0 }
        })
        .collect();
    let folder = written(&files);
    let mut expected = Vec::new();
    for (number, file) in (0..).zip(&files) {
        let lines = file.text.split_inclusive(|&byte| byte == b'\n');
        let offsets = lines.scan(0, |at, line| {
            let offset = *at;
            *at += line.len() as u64;
            Some(Place { file: number, offset })
        });
        expected.extend(offsets);
    }
    for engine in engines() {
        let options = Options { split_bytes: Some(5000), ..Options::default() };
        let input = Input::paths([folder.path()]).unwrap();
        let output = engine.job(&LinesInOrder).options(&options).run(input).unwrap();
        let found: Vec<Place> = output.iter().unwrap().flat_map(|(_, values)| values).collect();
        assert!(found == expected, "{} workers", engine.workers());
    }
}

/// A line of many buffers, a text without any border, and one file that is one record.
#[test]
fn long_records_are_whole() {
    struct WholeFiles;
    impl Job for WholeFiles {
        type Key = [u8];
        type Combine = Collect<u64>;

        fn cut(&self) -> Cut {
            Cut::Whole
        }

        fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
            emit.emit(b"file", split.bytes().len() as u64);
            Ok(())
        }
    }
    let mut long = vec![b'x'; 700_000];
    long.extend(b" end\n");
    long.extend(vec![b'y'; 300_000]);
    let options = Options { split_bytes: Some(10_000), ..Options::default() };
    for packing in PACKINGS {
        let file = Piece { text: long.clone(), packing: Some(packing), piece: 90_000, named: true };
        let (folder, expected) = (written(std::slice::from_ref(&file)), expected(&[file]));
        for engine in engines() {
            let input = || Input::paths([folder.path()]).unwrap();
            let output = engine.job(&JOB).options(&options).run(input()).unwrap();
            assert!(text_of(&output, count_line) == expected, "{packing:?}");
            let output = engine.job(&WholeFiles).options(&options).run(input()).unwrap();
            let lengths: Vec<u64> = output.iter().unwrap().flat_map(|(_, all)| all).collect();
            assert_eq!(lengths, [long.len() as u64]);
        }
    }
}

#[test]
fn streams_are_decompressed_too() {
    let text = "to be or not to be that is the question ".repeat(20_000).into_bytes();
    let file = Piece { text: text.clone(), packing: None, piece: 1, named: true };
    let expected = expected(&[file]);
    for packing in PACKINGS {
        let packed = packing.pack_in_pieces(&text, 99_999);
        for piece in [7, 100_000] {
            let packed = packed.clone();
            let (expected, piece) = (expected.clone(), piece.max(packed.len() / 1000));
            within(60, move || {
                let folder = tempfile::tempdir().unwrap();
                let (input, writer) = pipe_written_by(&folder, move |mut pipe| {
                    packed.chunks(piece).for_each(|piece| pipe.write_all(piece).unwrap());
                });
                let output = engine(2).job(&JOB).run(input).unwrap();
                writer.join().unwrap();
                assert!(text_of(&output, count_line) == expected, "{packing:?}");
                let seen = &output.stats().compressed[0];
                assert_eq!((seen.format, seen.bytes), (packing.format(), 800_000));
            });
        }
    }
}

#[derive(Debug)]
struct Kept(Vec<Vec<u8>>);

impl RangeSource for Kept {
    fn read_at(&self, name: &Path, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let number: usize = name.file_stem().unwrap().to_str().unwrap().parse().unwrap();
        let bytes = self.0[number].get(offset as usize..).unwrap_or(&[]);
        into.copy_from_slice(bytes.get(..into.len()).ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

#[test]
fn files_of_a_callers_source_are_decompressed_too() {
    let text = "a file that is far away ".repeat(50_000).into_bytes();
    let files = PACKINGS.map(|packing| packing.pack_in_pieces(&text, 400_000));
    let names = PACKINGS
        .iter()
        .enumerate()
        .map(|(at, packing)| (format!("{at}.{}", packing.ending()), files[at].len() as u64));
    let input = Input::ranges(Arc::new(Kept(files.to_vec())), names.collect::<Vec<_>>());
    let all = vec![Piece { text, packing: None, piece: 1, named: true }; PACKINGS.len()];
    let output = engine(2).job(&JOB).run(input).unwrap();
    assert!(text_of(&output, count_line) == expected(&all));
    assert_eq!(output.stats().compressed.len(), 4);
}

fn count(engine: &Engine, path: &Path, plain: bool) -> Result<Vec<u8>> {
    let options = Options { plain, ..Options::default() };
    let output = engine.job(&JOB).options(&options).run(Input::paths([path]).unwrap())?;
    Ok(text_of(&output, count_line))
}

#[test]
fn what_is_said_to_be_plain_is_read_as_it_is() {
    let engine = engine(2);
    let text = b"some words, some words".repeat(100);
    for packing in PACKINGS {
        let file = Piece { text: text.clone(), packing: Some(packing), piece: 1000, named: true };
        let folder = tempfile::tempdir().unwrap();
        let path = file.write(folder.path(), 0);
        let counts = reference::count([&fs::read(&path).unwrap()[..]], WordClass::Whitespace);
        let as_it_is = count_lines(&reference::answer(&counts, Order::Key, None));
        assert!(count(&engine, &path, true).unwrap() == as_it_is, "{packing:?}");
        assert!(count(&engine, &path, false).unwrap() == expected(&[file]), "{packing:?}");
    }
}

/// Headers as `gzip` writes them, padding as tapes have it, frames without data.
#[test]
fn what_the_formats_allow_around_data_is_passed_over() {
    let (engine, folder) = (engine(2), tempfile::tempdir().unwrap());
    let skippable = b"\x5a\x2a\x4d\x18\x05\0\0\0abcde".to_vec();
    let with = |packing: Packing, before: &[u8], after: &[u8]| {
        [before, &packing.pack(b"one two "), after, &packing.pack(b""), after].concat()
    };
    let padded = [with(Packing::Gzip, b"", b""), vec![0; 100_000]].concat();
    for (name, bytes) in [
        ("padded.gz", padded),
        ("skipped.zst", with(Packing::Zstd, &skippable, &skippable)),
        ("skipped.lz4", with(Packing::Lz4, &skippable, &skippable)),
        ("two.bz2", with(Packing::Bzip2, b"", b"")),
    ] {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        assert_eq!(count(&engine, &path, false).unwrap(), b"one\t1\ntwo\t1\n", "{name}");
    }
}

/// Of one large file, parts are decompressed by all workers.
#[test]
fn a_large_file_is_decompressed_side_by_side() {
    let text: Vec<u8> = (0..400_000_u32)
        .flat_map(|i| format!("{:x} ", i.wrapping_mul(0x9e37_79b9) >> 8).into_bytes())
        .collect();
    for packing in [Packing::Bgzip, Packing::Zstd, Packing::Bzip2, Packing::Lz4, Packing::Lz4Linked]
    {
        // For bzip2 the blocks of one stream, and for LZ4 the independent blocks of one frame.
        let whole = matches!(packing, Packing::Bzip2 | Packing::Lz4);
        let piece = if whole { text.len() } else { 250_000 };
        let file = Piece { text: text.clone(), packing: Some(packing), piece, named: false };
        let (folder, expected) = (written(std::slice::from_ref(&file)), expected(&[file]));
        for (engine, split) in engines().iter().zip([4096, 100_000].into_iter().cycle()) {
            let options = Options { split_bytes: Some(split), ..Options::default() };
            let input = Input::paths([folder.path()]).unwrap();
            let output = engine.job(&JOB).options(&options).run(input).unwrap();
            assert!(text_of(&output, count_line) == expected, "{packing:?} {split}");
        }
    }
}

/// Files of the systems' own programs, where these are installed.
#[test]
fn files_of_the_usual_programs_are_read() {
    let (engine, folder) = (engine(2), tempfile::tempdir().unwrap());
    let text = "words of many kinds and words ".repeat(60_000).into_bytes();
    let expected = expected(&[Piece { text: text.clone(), packing: None, piece: 1, named: false }]);
    for (program, flags) in [
        ("gzip", &["-c", "-9"][..]),
        ("bzip2", &["-c"]),
        ("zstd", &["-c", "-q", "-19"]),
        ("lz4", &["-c", "-q", "-1"]),
        ("lz4", &["-c", "-q", "-B4", "-BD"]),
        ("lz4", &["-c", "-q", "-B5", "-BX", "--no-frame-crc", "--content-size"]),
        ("lz4", &["-c", "-q", "-l"]),
    ] {
        let source = folder.path().join("text");
        fs::write(&source, &text).unwrap();
        let made = std::process::Command::new(program).args(flags).arg(&source).output();
        let Ok(made) = made else {
            eprintln!("skipped: {program} is not there");
            continue;
        };
        assert!(made.status.success(), "{program}");
        let path = folder.path().join("unnamed");
        fs::write(&path, made.stdout).unwrap();
        assert!(count(&engine, &path, false).unwrap() == expected, "{program} {flags:?}");
    }
}

#[test]
fn their_tiles_are_not_found_again() {
    let (engine, folder) = (engine(2), tempfile::tempdir().unwrap());
    let path = folder.path().join("text.gz");
    fs::write(&path, Packing::Gzip.pack(b"to be or not to be")).unwrap();
    let state = State::new(folder.path(), "words").incremental(Incremental::default());
    let options = Options { state: Some(state), ..Options::default() };
    let run = engine.job(&JOB).options(&options).run(Input::paths([&path]).unwrap());
    let error = error_saying(&engine, run, &["no tiles that could be found again", "decompress"]);
    assert!(matches!(error, Error::State(StateError::Packed)));
}

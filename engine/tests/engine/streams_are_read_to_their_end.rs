//! Pipes and other things that come in order: any pace, any size of writes, words over many blocks,
//! an end without a newline; between files, in their place.

use crate::jobs::Words;
use crate::packing::Packing;
use crate::reference;
use crate::support::{
    cases, count_line, count_lines, engine, engines, error_saying, file_in, folder_of,
    pipe_written_by, text_of, within,
};
use proptest::prelude::*;
use std::io::Write;
use std::thread;
use std::time::Duration;
use tegula::{
    Count, Cut, Emit, Engine, Error, Input, InputError, Job, Options, Result, Split, WordClass,
};

const JOB: Words = Words(WordClass::Whitespace);

fn expected(text: &[u8]) -> Vec<u8> {
    let counts = reference::count([text], WordClass::Whitespace);
    counts.iter().fold(Vec::new(), |mut lines, (word, count)| {
        count_line(word, *count, &mut lines);
        lines
    })
}

/// Counts the words of a text that comes through a pipe in pieces, with pauses.
fn count_piped(engine: &Engine, text: &[u8], piece: usize, pause: Duration, split: u64) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let written = text.to_vec();
    let (input, writer) = pipe_written_by(&folder, move |mut pipe| {
        for piece in written.chunks(piece) {
            pipe.write_all(piece).unwrap();
            thread::sleep(pause);
        }
    });
    let options = Options { split_bytes: Some(split), ..Options::default() };
    let output = engine.job(&JOB).options(&options).run(input).unwrap();
    writer.join().unwrap();
    assert_eq!(output.stats().bytes, text.len() as u64);
    text_of(&output, count_line)
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn words_in_pieces_are_whole(
        lengths in prop::collection::vec(prop_oneof![9 => 1..20_usize, 1 => 1..200_000_usize], 0..60),
        piece in prop_oneof![1..10_usize, 10..100_000_usize],
        split in prop_oneof![1..100_u64, 100..100_000_u64],
        ends_in_newline: bool,
    ) {
        let words = lengths.iter().map(|&length| vec![b'a' + (length % 26) as u8; length]);
        let mut text = words.collect::<Vec<_>>().join(&b'\n');
        text.extend(ends_in_newline.then_some(b'\n'));
        // Tiny pieces of large texts only take time.
        let piece = piece.max(text.len() / 2000);
        for engine in engines() {
            let counted = count_piped(engine, &text, piece, Duration::ZERO, split);
            prop_assert!(counted == expected(&text), "{} workers", engine.workers());
        }
    }
}

#[test]
fn a_slow_writer_is_waited_for() {
    let text = b"slowly, one by one, words come in and words go on";
    for engine in engines() {
        let counted = count_piped(engine, text, 3, Duration::from_millis(8), 16);
        assert_eq!(counted, expected(text));
    }
}

#[test]
fn a_word_of_many_blocks_is_one_word() {
    let mut text = vec![b'x'; 5_000_000];
    text.extend(b" end");
    for engine in engines() {
        let counted = count_piped(engine, &text, 60_000, Duration::ZERO, 4096);
        assert!(counted == expected(&text));
    }
}

#[test]
fn a_pipe_that_is_closed_at_once_is_empty() {
    let counted = count_piped(&engine(2), b"", 1, Duration::ZERO, 100);
    assert!(counted.is_empty());
}

#[test]
fn files_and_streams_are_read_in_their_order() {
    let folder = folder_of(&["first file ", "last file "]);
    let (_, writer) = pipe_written_by(&folder, |mut pipe| {
        pipe.write_all(b"the pipe between ").unwrap();
    });
    let pipe = folder.path().join("pipe");
    let paths = [file_in(&folder, 0), pipe, file_in(&folder, 1)];
    let output = engine(2).job(&JOB).run(Input::paths(paths).unwrap()).unwrap();
    writer.join().unwrap();
    assert_eq!(text_of(&output, count_line), expected(b"first file the pipe between last file"));
    assert_eq!(output.stats().files, 3);
}

#[test]
fn files_without_a_length_are_read_to_their_end() {
    let path = "/proc/self/mounts";
    let text = std::fs::read(path).unwrap();
    let output = engine(2).job(&JOB).run(Input::paths([path]).unwrap()).unwrap();
    assert_eq!(text_of(&output, count_line), expected(&text));
}

/// Records of eight bytes.
struct Eights;

impl Job for Eights {
    type Key = [u8];
    type Combine = Count;

    fn cut(&self) -> Cut {
        Cut::Fixed(8)
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        split.bytes().chunks(8).for_each(|record| emit.emit(record, ()));
        Ok(())
    }
}

#[test]
fn records_of_a_fixed_size_are_cut_from_streams_too() {
    within(60, || {
        let engine = engine(2);
        let folder = tempfile::tempdir().unwrap();
        let options = Options { split_bytes: Some(50), ..Options::default() };
        for torn in [false, true] {
            let (input, writer) = pipe_written_by(&folder, move |mut pipe| {
                for _ in 0..20_000 {
                    pipe.write_all(b"8 bytes.8 others").unwrap();
                }
                pipe.write_all(if torn { b"7 bytes" } else { b"" }).unwrap();
            });
            let result = engine.job(&Eights).options(&options).run(input);
            writer.join().unwrap();
            if torn {
                let says = ["pipe", "320007 bytes is no multiple of the record size 8"];
                let error = error_saying(&engine, result, &says);
                assert!(matches!(error, Error::Input(InputError::Ragged { .. })));
                continue;
            }
            let pairs = [(b"8 bytes.".to_vec(), 20_000), (b"8 others".to_vec(), 20_000)];
            assert_eq!(text_of(&result.unwrap(), count_line), count_lines(&pairs));
        }
    });
}

#[test]
fn an_error_of_the_map_names_the_place_in_the_stream() {
    within(60, || {
        let engine = engine(2);
        let folder = tempfile::tempdir().unwrap();
        let (input, writer) = pipe_written_by(&folder, |mut pipe| {
            let mut text = "good ".repeat(40_000);
            text.push_str("bad ");
            // The reader goes away once the word was found.
            let _ = pipe.write_all(text.repeat(100).as_bytes());
        });
        let job =
            crate::jobs::mapping(|split, _| match split.fields().find(|word| *word == b"bad") {
                Some(word) => split.bad(word, "a bad word"),
                None => Ok(()),
            });
        let result = engine.job(&job).run(input);
        writer.join().unwrap();
        let says = ["pipe, byte 200000: a bad word"];
        error_saying(&engine, result, &says);
    });
}

/// Blocks that wait when the reader finds a fault are earlier in the stream.
#[test]
fn an_error_of_the_map_comes_before_a_fault_after_it() {
    within(60, || {
        let engine = engine(2);
        let folder = tempfile::tempdir().unwrap();
        // Blocks have 256 KiB, or 320 with what is allotted at a time: the bad word is in the third, the fault after the next
        // border. The reader comes to it while two workers map the first two blocks.
        let text = ["good ".repeat(143_000), "bad ".to_owned(), "good ".repeat(61_000)].concat();
        let packed = Packing::Gzip.pack(text.as_bytes());
        let job = crate::jobs::mapping(|split, _| {
            thread::sleep(Duration::from_millis(20));
            match split.fields().find(|word| *word == b"bad") {
                Some(word) => split.bad(word, "a bad word"),
                None => Ok(()),
            }
        });
        for _ in 0..20 {
            let written = packed[..packed.len() - 4].to_vec();
            let (input, writer) =
                pipe_written_by(&folder, move |mut pipe| pipe.write_all(&written).unwrap());
            let options = Options { split_bytes: Some(256 << 10), ..Options::default() };
            let result = engine.job(&job).options(&options).run(input);
            writer.join().unwrap();
            error_saying(&engine, result, &["pipe, byte 715000: a bad word"]);
        }
    });
}

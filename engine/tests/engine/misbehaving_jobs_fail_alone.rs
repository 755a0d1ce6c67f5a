//! A job whose own code fails or panics, wherever it is called, fails with the place named; the
//! engine loses no worker and its next job is right.

use crate::jobs::mapping;
use crate::support::{assert_works, cases, engine, error_saying, folder_of, within};
use proptest::prelude::*;
use std::cmp::Ordering;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};
use tegula::{
    Cancel, Combine, Cut, Emit, Error, Input, Job, Options, Order, Place, Result, Split, Sum,
};

fn splits_of(bytes: u64) -> Options {
    Options { split_bytes: Some(bytes), ..Options::default() }
}

#[test]
fn an_error_of_the_map_names_the_record_and_the_earliest_one_wins() {
    let folder = folder_of(&["good good good good", "good bad good bad good", "good"]);
    let job = mapping(|split, emit| {
        for word in split.fields() {
            if word == b"bad" {
                split.bad(word, "this word is bad")?;
            }
            emit(word, 1);
        }
        Ok(())
    });
    for workers in [1, 2, 7] {
        let engine = engine(workers);
        let input = Input::paths([folder.path()]).unwrap();
        let path = folder.path().join("001.txt");
        let says = [&*format!("{}, byte 5: this word is bad", path.display())];
        // One split a file: the second bad word is not even seen.
        let error =
            error_saying(&engine, engine.job(&job).options(&splits_of(30)).run(input), &says);
        let Error::Record { place, .. } = error else { panic!("{error:?}") };
        assert_eq!(place, Place { source: path, line: None, offset: Some(5) });
    }
}

/// A map may wait for another process. What it returns when it is told says nothing of why the run failed.
#[test]
fn a_map_that_waits_is_told_that_another_one_failed() {
    let (engine, failed) = (engine(2), Cancel::new());
    let job = mapping(|split, _| {
        if split.bytes().starts_with(b"bad") {
            return split.bad(split.bytes(), "this word is bad");
        }
        let began = Instant::now();
        while !failed.is_cancelled() {
            assert!(began.elapsed() < Duration::from_secs(20), "nothing was told");
            thread::sleep(Duration::from_millis(1));
        }
        Err(Error::Cancelled)
    });
    let options = Options { failed: Some(failed.clone()), ..splits_of(5) };
    let result = engine.job(&job).options(&options).run(Input::bytes("wait bad "));
    error_saying(&engine, result, &["this word is bad"]);
}

#[test]
fn a_panic_of_the_map_names_the_split() {
    for workers in [1, 2, 7] {
        let engine = engine(workers);
        let job = mapping(|split, emit| {
            split.fields().for_each(|word| emit(word, 1));
            assert!(!split.bytes().starts_with(b"c"), "no c, please");
            Ok(())
        });
        let result = engine.job(&job).options(&splits_of(4)).run(Input::bytes("aaa bbb ccc ddd "));
        let says = ["panicked at memory, byte 8: no c, please; the job is stopped"];
        let error = error_saying(&engine, result, &says);
        let Error::Panicked { place, message } = error else { panic!("{error:?}") };
        assert_eq!((place.offset, &*message), (Some(8), "no c, please"));
    }
}

#[test]
fn a_panic_without_a_message_is_a_panic_still() {
    let engine = engine(2);
    let job = mapping(|_, _| std::panic::panic_any(7));
    let error = error_saying(&engine, engine.job(&job).run(Input::bytes("a")), &["no message"]);
    assert!(matches!(error, Error::Panicked { .. }));
}

#[test]
fn a_sum_that_overflows_fails_the_job() {
    let says = ["the sum of a key exceeds u64", "use Sum<f64> or smaller values"];
    let job = mapping(|split, emit| {
        split.fields().for_each(|word| emit(word, u64::MAX / 2));
        Ok(())
    });
    // In one split (absorb), and over two workers' tables (merge).
    for (text, workers) in [("a a a ", 1), ("a a b c d e f g h i j k a a ", 2)] {
        let engine = engine(workers);
        let result = engine.job(&job).options(&splits_of(1)).run(Input::bytes(text));
        let error = error_saying(&engine, result, &says);
        assert!(matches!(error, Error::Panicked { .. }), "{error:?}");
    }
}

/// The greatest value of a key; each part of it panics at another value.
struct Faulty;

/// A part of the combine, by the value that it does not like.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Part {
    Absorb = 13,
    Merge,
    Finish,
    Rank,
}

impl Part {
    fn check(self, value: u64) {
        assert!(value != self as u64, "{self:?} does not like {value}");
    }
}

impl Combine for Faulty {
    type Value = u64;
    type Accumulator = u64;
    type Output = u64;

    fn identity() -> u64 {
        0
    }

    fn absorb(into: &mut u64, value: u64) {
        Part::Absorb.check(value);
        *into = value.max(*into);
    }

    fn merge(into: &mut u64, other: &u64) {
        Part::Merge.check(*other);
        *into = (*other).max(*into);
    }

    fn finish(value: &u64) -> u64 {
        Part::Finish.check(*value);
        *value
    }

    fn rank(a: &u64, b: &u64) -> Ordering {
        Part::Rank.check(*a);
        a.cmp(b)
    }

    fn encode(value: &u64, out: &mut Vec<u8>) {
        Sum::<u64>::encode(value, out);
    }

    fn decode(bytes: &mut &[u8]) -> Option<u64> {
        Sum::<u64>::decode(bytes)
    }
}

/// Emits numbers as keys; beyond the first few, their value is the one that a part does not like.
struct Numbers {
    disliked: Option<Part>,
}

impl Job for Numbers {
    type Key = u64;
    type Combine = Faulty;

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        for line in split.lines() {
            let number = line.iter().fold(0, |number, digit| number * 10 + u64::from(digit - b'0'));
            let bad = self.disliked.filter(|_| number > 12).map(|part| part as u64);
            emit.emit(number, bad.unwrap_or(number % 13));
        }
        Ok(())
    }
}

fn numbers(count: u64) -> Input {
    Input::bytes((0..count).map(|i| format!("{i}\n")).collect::<String>())
}

/// Runs a job whose combine panics in a part, and looks for the name of the stage in which it should.
fn panics_in(part: Part, stage: &str, order: Order, count: u64) {
    for workers in [1, 3] {
        let engine = engine(workers);
        let options = Options { order, ..splits_of(1000) };
        // It works with values that nobody minds.
        let fine =
            engine.job(&Numbers { disliked: None }).options(&options).run(numbers(count)).unwrap();
        assert_eq!(fine.len() as u64, count);
        let failed =
            engine.job(&Numbers { disliked: Some(part) }).options(&options).run(numbers(count));
        let says = [stage, &*format!("{part:?} does not like")];
        let error = error_saying(&engine, failed, &says);
        assert!(matches!(error, Error::Panicked { .. }), "{error:?}");
    }
}

#[test]
fn a_panic_of_the_combine_names_its_stage() {
    panics_in(Part::Absorb, "memory, byte ", Order::Key, 100);
    panics_in(Part::Rank, "the reduce stage", Order::Value, 100_000);
    panics_in(Part::Rank, "the merge stage", Order::Value, 100);
    // Order::None folds all partitions, whether or not a key can be in them twice.
    panics_in(Part::Merge, "the reduce stage", Order::None, 100);
}

#[test]
fn a_panic_while_partials_are_compressed_names_the_map_stage() {
    // More pairs than the tables of any machine hold.
    panics_in(Part::Merge, "the map stage", Order::Key, 3_000_000);
}

#[test]
fn a_panic_while_the_answer_is_written_names_the_output_stage() {
    // Keys above 12 have the value that is not liked.
    let before: String = (0..=12).map(|key| format!("{key}\t{key}\n")).collect();
    for (workers, count) in [(1, 20), (3, 20), (1, 100_000), (3, 100_000)] {
        let engine = engine(workers);
        let output =
            engine.job(&Numbers { disliked: Some(Part::Finish) }).run(numbers(count)).unwrap();
        let mut sink = Vec::new();
        let written =
            output.write(&mut sink, Path::new("a vector"), &Cancel::new(), |key, value, text| {
                text.extend(format!("{key}\t{value}\n").bytes());
            });
        error_saying(&engine, written, &["the output stage", "Finish does not like"]);
        // Only text before that of the failed keys is written, in whole lines.
        let sink = String::from_utf8(sink).unwrap();
        assert!(before.starts_with(&sink), "around a hole: {sink}");
        assert!(sink.is_empty() || sink.ends_with('\n'), "a line that is cut: {sink}");
    }
}

/// A stream whose workers are gone must not be read for ever.
#[test]
fn a_panic_while_a_stream_is_read_ends_the_job() {
    within(60, || {
        for workers in [1, 2] {
            let engine = engine(workers);
            let folder = tempfile::tempdir().unwrap();
            let (pipe, writer) = crate::support::pipe_written_by(&folder, |mut pipe| {
                let text: String = (0..200_000).map(|i| format!("{i}\n")).collect();
                // Until the reader goes away.
                while std::io::Write::write_all(&mut pipe, text.as_bytes()).is_ok() {}
            });
            let failed = engine.job(&Numbers { disliked: Some(Part::Merge) }).run(pipe);
            error_saying(&engine, failed, &["the map stage", "Merge does not like"]);
            writer.join().unwrap();
        }
    });
}

#[test]
fn a_panic_of_the_cut_ends_the_job() {
    let bad_cut = || {
        let job = mapping(|split, emit| {
            emit(split.bytes(), 1);
            Ok(())
        });
        job.cut_at(Cut::Between(|before, _| {
            assert!(before != b'!', "the cut does not like !");
            before == b' '
        }))
    };
    let text = "one two three four! five six ".repeat(10_000);
    let engine = engine(2);
    let failed = engine.job(&bad_cut()).options(&splits_of(100)).run(Input::bytes(text.clone()));
    let says = ["the map stage", "the cut does not like !"];
    error_saying(&engine, failed, &says);
    within(60, move || {
        let folder = tempfile::tempdir().unwrap();
        let (pipe, writer) = crate::support::pipe_written_by(&folder, move |mut pipe| {
            // Whose every byte is disliked; the reader may go away at any time.
            let _ = std::io::Write::write_all(&mut pipe, "!".repeat(text.len()).as_bytes());
        });
        error_saying(&engine, engine.job(&bad_cut()).options(&splits_of(100)).run(pipe), &says);
        writer.join().unwrap();
    });
}

proptest! {
    #![proptest_config(cases(32))]

    #[test]
    fn whatever_word_fails_the_next_job_is_right(
        words in 1..3000_usize,
        bad in 0..3000_usize,
        panics: bool,
        split in 1..500_u64,
        workers in 1..4_usize,
    ) {
        let text: String = (0..words).map(|i| format!("{} ", i % 1000 + i / 1000 * 1000)).collect();
        let bad_word = bad.to_string();
        let job = mapping(|part, emit| {
            for word in part.fields() {
                if word == bad_word.as_bytes() {
                    assert!(!panics, "bad");
                    part.bad(word, "bad")?;
                }
                emit(word, 1);
            }
            Ok(())
        });
        let engine = engine(workers);
        let result = engine.job(&job).options(&splits_of(split)).run(Input::bytes(text.clone()));
        match result {
            Ok(output) => prop_assert!(bad >= words && output.len() == words),
            Err(Error::Panicked { .. }) => prop_assert!(panics && bad < words),
            Err(Error::Record { place, .. }) => {
                let at = place.offset.unwrap() as usize;
                let found = text[at..].split(' ').next();
                prop_assert_eq!(found, Some(&*bad_word));
            }
            Err(other) => prop_assert!(false, "{other:?}"),
        }
        assert_works(&engine);
    }
}

//! One engine, many jobs: at once, of different kinds, with one that fails among them; more workers
//! than processors; answers that outlive their engine.

use crate::jobs::{CopiedWords, Words, mapping};
use crate::reference;
use crate::support::{assert_works, count_line, count_lines, engine, text_of};
use std::path::Path;
use std::sync::Arc;
use tegula::{
    Aggregate, Cancel, Engine, Error, Input, Job, Options, Order, Progress, Stage, WordClass,
};

/// Text of a few thousand distinct words, its own for each number.
fn text(number: u64) -> Vec<u8> {
    let word = |i: u64| (i * i + number) % 5000 * (number + 1);
    (0..40_000).map(|i| format!("{} ", word(i))).collect::<String>().into_bytes()
}

fn check<J>(engine: &Engine, job: &J, number: u64, class: WordClass)
where
    J: Job<Key = [u8]>,
    J::Combine: for<'a> Aggregate<Output<'a> = u64>,
{
    let text = text(number);
    let order = if number.is_multiple_of(2) { Order::Key } else { Order::Value };
    let options = Options { order, split_bytes: Some(1000), ..Options::default() };
    let output = engine.job(job).options(&options).run(Input::bytes(text.clone())).unwrap();
    let expected = reference::answer(&reference::count([&*text], class), order, None);
    assert!(text_of(&output, count_line) == count_lines(&expected), "job {number}");
}

fn fail(engine: &Engine, number: u64) {
    let job = mapping(|split, emit| {
        assert!(split.offset() < 100_000 || number.is_multiple_of(2), "a panic among others");
        split.fields().for_each(|word| emit(word, 1));
        if split.offset() < 100_000 { Ok(()) } else { split.bad(b"", "an error") }
    });
    let options = Options { split_bytes: Some(1000), ..Options::default() };
    match engine.job(&job).options(&options).run(Input::bytes(text(number))) {
        Err(Error::Panicked { .. }) => assert!(!number.is_multiple_of(2)),
        Err(Error::Record { .. }) => assert!(number.is_multiple_of(2)),
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("this job should have failed"),
    }
}

#[test]
fn jobs_at_once_do_not_see_each_other() {
    for workers in [1, 2, 16] {
        let engine = engine(workers);
        std::thread::scope(|scope| {
            for thread in 0..8_u64 {
                let engine = &engine;
                scope.spawn(move || {
                    for round in 0..4 {
                        let number = 10 * thread + round;
                        match thread % 4 {
                            0 => check(engine, &CopiedWords, number, WordClass::Whitespace),
                            1 => check(engine, &Words(WordClass::Alpha), number, WordClass::Alpha),
                            2 => fail(engine, number),
                            _ => {
                                let class = WordClass::Whitespace;
                                check(engine, &Words(class), number, class);
                            }
                        }
                    }
                });
            }
        });
        assert_eq!(engine.workers(), workers);
        assert_works(&engine);
    }
}

#[test]
fn answers_are_written_at_once() {
    let engine = engine(3);
    let job = Words(WordClass::Whitespace);
    let outputs: Vec<_> =
        (0..4).map(|number| engine.job(&job).run(Input::bytes(text(number))).unwrap()).collect();
    let alone: Vec<_> = outputs.iter().map(|output| text_of(output, count_line)).collect();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            for (output, alone) in outputs.iter().zip(&alone) {
                scope.spawn(move || assert!(text_of(output, count_line) == *alone));
            }
        }
    });
}

#[test]
fn an_answer_outlives_its_engine_and_its_input() {
    let job = Words(WordClass::Whitespace);
    let engine = engine(2);
    let expected = text_of(&engine.job(&job).run(Input::bytes(text(1))).unwrap(), count_line);
    let (first, second) = (
        engine.job(&job).run(Input::bytes(text(1))).unwrap(),
        engine.job(&job).run(Input::bytes(text(1))).unwrap(),
    );
    // Memory that the first held serves others; the second keeps its own.
    drop(first);
    assert_works(&engine);
    drop(engine);
    let elsewhere = std::thread::spawn(move || text_of(&second, count_line));
    assert!(elsewhere.join().unwrap() == expected);
}

#[test]
fn engines_come_and_go() {
    for round in 0..50 {
        let engine = engine(1 + round % 5);
        if round % 2 == 0 {
            assert_works(&engine);
        }
    }
}

#[test]
fn progress_and_figures_tell_what_was_done() {
    let progress = Arc::new(Progress::default());
    let text = text(7);
    let options = Options {
        progress: Some(Arc::clone(&progress)),
        tile_bytes: Some(10_000),
        split_bytes: Some(1000),
        ..Options::default()
    };
    let engine = engine(2);
    let job = Words(WordClass::Whitespace);
    let output = engine.job(&job).options(&options).run(Input::bytes(text.clone())).unwrap();
    let reading = progress.read();
    let bytes = text.len() as u64;
    assert_eq!((reading.bytes_planned, reading.bytes_done), (bytes, bytes));
    assert_eq!((reading.files_planned, reading.stage), (1, Stage::Merge));
    let stats = output.stats();
    let stages: Vec<Stage> = stats.stages.iter().map(|time| time.stage).collect();
    assert_eq!(stages, [Stage::Plan, Stage::Map, Stage::Reduce, Stage::Merge]);
    assert_eq!((stats.bytes, stats.tiles), (bytes, bytes.div_ceil(10_000)));
    assert!(stats.splits >= bytes / 1000 && stats.split_bytes == 1000);
    assert_eq!((stats.pairs, stats.keys), (40_000, output.len() as u64));
    assert_eq!((stats.workers, stats.files), (2, 1));
    let key_bytes: u64 = output.iter().unwrap().map(|(key, _)| key.len() as u64 + 8).sum();
    assert_eq!(stats.key_value_bytes, key_bytes);
    assert!(stats.memory_counted_peak > 0 && stats.memory_resident_peak > 0);
    let mut nothing = Vec::new();
    output.write(&mut nothing, Path::new("-"), &Cancel::new(), |_, _, _| ()).unwrap();
    assert!(nothing.is_empty() && !engine.topology().processors.is_empty());
}

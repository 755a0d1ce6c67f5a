//! A raised flag ends a run in any stage, also one that waits for a pipe, within a second and with an error
//! of its own; the engine still works.

use crate::jobs::{Words, mapping};
use crate::support::{engine, error_saying, pipe_written_by, within};
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tegula::{Cancel, Engine, Error, Input, Options, Result, WordClass};

const JOB: Words = Words(WordClass::Whitespace);

fn cancellable(cancel: &Cancel) -> Options {
    Options { cancel: cancel.clone(), split_bytes: Some(10), ..Options::default() }
}

fn assert_cancelled<R>(engine: &Engine, result: Result<R>) {
    let error = error_saying(engine, result, &["cancelled"]);
    assert!(matches!(error, Error::Cancelled), "{error:?}");
}

#[test]
fn a_run_that_is_cancelled_beforehand_maps_nothing() {
    let (engine, cancel, mapped) = (engine(2), Cancel::new(), AtomicUsize::new(0));
    cancel.cancel();
    assert!(cancel.clone().is_cancelled());
    let job = mapping(|_, _| {
        mapped.fetch_add(1, Ordering::Relaxed);
        Ok(())
    });
    assert_cancelled(
        &engine,
        engine.job(&job).options(&cancellable(&cancel)).run(Input::bytes("a b")),
    );
    assert_cancelled(
        &engine,
        engine.job(&job).options(&cancellable(&cancel)).run(Input::bytes("")),
    );
    assert_eq!(mapped.load(Ordering::Relaxed), 0);
}

#[test]
fn a_map_can_cancel_its_own_run() {
    for workers in [1, 3] {
        let (engine, cancel, mapped) = (engine(workers), Cancel::new(), AtomicUsize::new(0));
        let job = mapping(|_, _| {
            if mapped.fetch_add(1, Ordering::Relaxed) == 20 {
                cancel.cancel();
            }
            Ok(())
        });
        let input = Input::bytes("0123456789 ".repeat(10_000));
        assert_cancelled(&engine, engine.job(&job).options(&cancellable(&cancel)).run(input));
        // Each worker finishes the split that it has in hand.
        assert!(mapped.load(Ordering::Relaxed) <= 21 + workers);
    }
}

#[test]
fn an_error_found_before_the_flag_is_raised_is_the_one_that_is_told() {
    let (engine, cancel) = (engine(2), Cancel::new());
    let job = mapping(|split, _| {
        cancel.cancel();
        split.bad(b"", "worse than cancelled")
    });
    let result = engine.job(&job).options(&cancellable(&cancel)).run(Input::bytes("a b c"));
    error_saying(&engine, result, &["worse than cancelled"]);
}

#[test]
fn a_long_run_is_cancelled_from_outside_within_a_second() {
    let (engine, cancel) = (engine(2), Cancel::new());
    let job = mapping(|_, _| {
        std::thread::sleep(Duration::from_millis(5));
        Ok(())
    });
    let input = Input::bytes("0123456789 ".repeat(100_000));
    let began = std::thread::scope(|scope| {
        let raise = scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(100));
            cancel.cancel();
            Instant::now()
        });
        assert_cancelled(&engine, engine.job(&job).options(&cancellable(&cancel)).run(input));
        raise.join().unwrap()
    });
    assert!(began.elapsed() < Duration::from_secs(1));
}

#[test]
fn pipes_that_say_nothing_are_left_within_a_second() {
    within(30, || {
        let engine = engine(2);
        let folder = tempfile::tempdir().unwrap();
        let silent = |cancel: Cancel| {
            move |mut pipe: std::fs::File| {
                pipe.write_all(b"a few words").unwrap();
                while !cancel.is_cancelled() {
                    std::thread::sleep(Duration::from_millis(5));
                }
            }
        };
        for has_writer in [false, true] {
            let cancel = Cancel::new();
            let (input, writer) = if has_writer {
                let (input, writer) = pipe_written_by(&folder, silent(cancel.clone()));
                (input, Some(writer))
            } else {
                (pipe_without_writer(folder.path()), None)
            };
            let raise = {
                let cancel = cancel.clone();
                std::thread::spawn(move || {
                    std::thread::sleep(Duration::from_millis(100));
                    cancel.cancel();
                    Instant::now()
                })
            };
            let result = engine.job(&JOB).options(&cancellable(&cancel)).run(input);
            let (ended, raised) = (Instant::now(), raise.join().unwrap());
            assert!(ended.saturating_duration_since(raised) < Duration::from_secs(1));
            assert_cancelled(&engine, result);
            if let Some(writer) = writer {
                writer.join().unwrap();
            }
        }
    });
}

fn pipe_without_writer(folder: &Path) -> Input {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let path = folder.join("silent");
    mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    Input::paths([path]).unwrap()
}

#[test]
fn writing_is_cancelled_between_blocks() {
    let (engine, cancel) = (engine(3), Cancel::new());
    let text: String = (0..100_000).map(|i| format!("{i} ")).collect();
    let output = engine.job(&JOB).run(Input::bytes(text)).unwrap();
    let (mut sink, lines) = (Vec::new(), AtomicUsize::new(0));
    let written = output.write(&mut sink, Path::new("a vector"), &cancel, |_, _, text| {
        if lines.fetch_add(1, Ordering::Relaxed) == 1000 {
            cancel.cancel();
        }
        text.push(b'\n');
    });
    assert_cancelled(&engine, written);
    assert!(sink.len() < 100_000);
    let mut sink = Vec::new();
    let none = output.write(&mut sink, Path::new("a vector"), &cancel, |_, _, _| ());
    assert!(matches!(none, Err(Error::Cancelled)) && sink.is_empty());
}

//! A raised flag ends a run in any stage, also one that waits for a pipe, within a second and with an error
//! of its own; the engine still works.

use crate::jobs::{Words, mapping};
use crate::support::{engine, error_saying, pipe_written_by, within};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
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

/// Whether what is said to take less than a second does so, at least once: the machine may be busy.
fn is_within_a_second(mut took: impl FnMut() -> Duration) -> bool {
    (0..5).any(|_| took() < Duration::from_secs(1))
}

/// Raises the flag in a while, and returns when it did.
fn raised_soon(cancel: &Cancel) -> JoinHandle<Instant> {
    let cancel = cancel.clone();
    thread::spawn(move || {
        thread::sleep(Duration::from_millis(100));
        cancel.cancel();
        Instant::now()
    })
}

#[test]
fn a_long_run_is_cancelled_from_outside_within_a_second() {
    let engine = engine(2);
    assert!(is_within_a_second(|| {
        let (cancel, begun_after) = (Cancel::new(), AtomicUsize::new(0));
        let job = mapping(|_, _| {
            begun_after.fetch_add(usize::from(cancel.is_cancelled()), Ordering::Relaxed);
            thread::sleep(Duration::from_millis(5));
            Ok(())
        });
        let input = Input::bytes("0123456789 ".repeat(100_000));
        let raise = raised_soon(&cancel);
        assert_cancelled(&engine, engine.job(&job).options(&cancellable(&cancel)).run(input));
        let ended = Instant::now();
        // A worker may look at the flag just before it is raised.
        assert!(begun_after.load(Ordering::Relaxed) <= 2);
        ended.saturating_duration_since(raise.join().unwrap())
    }));
}

/// A writer says nothing more, and closes its pipe only once the run has ended.
#[test]
fn pipes_that_say_nothing_are_left_within_a_second() {
    within(60, || {
        let engine = engine(2);
        let folder = tempfile::tempdir().unwrap();
        for has_writer in [false, true] {
            assert!(is_within_a_second(|| {
                let (cancel, (close, closed)) = (Cancel::new(), mpsc::channel::<()>());
                let (input, writer) = if has_writer {
                    let (input, writer) = pipe_written_by(&folder, move |mut pipe| {
                        pipe.write_all(b"a few words").unwrap();
                        let _ = closed.recv();
                    });
                    (input, Some(writer))
                } else {
                    (pipe_without_writer(folder.path()), None)
                };
                let raise = raised_soon(&cancel);
                let result = engine.job(&JOB).options(&cancellable(&cancel)).run(input);
                let ended = Instant::now();
                assert_cancelled(&engine, result);
                drop(close);
                if let Some(writer) = writer {
                    writer.join().unwrap();
                }
                ended.saturating_duration_since(raise.join().unwrap())
            }));
        }
    });
}

fn pipe_without_writer(folder: &Path) -> Input {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let path = folder.join("silent");
    let _ = fs::remove_file(&path);
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

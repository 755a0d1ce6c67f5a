//! A share bars workers from new work while a run lasts. It changes no byte of the answer, no change of it stops a
//! run for good, and a run whose workers are all barred waits, goes on and can be cancelled.

use crate::jobs::{Words, mapping};
use crate::reading_overlaps_mapping::Slow;
use crate::support::{
    WORKERS, assert_works, count_line, engine, engines, pipe_written_by, sample_text, text_of,
    within,
};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;
use tegula::schedule::Share;
use tegula::{Cancel, Engine, Error, Incremental, Input, Options, Pipeline, State, WordClass};

const JOB: Words = Words(WordClass::Whitespace);

/// Does `work` while another thread changes the share at random, also to nobody.
fn while_changed<R>(share: &Share, work: impl FnOnce() -> R) -> R {
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut random = 7_u64;
            while !ended.load(Ordering::Relaxed) {
                random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
                let first = (random >> 40) as usize % 8;
                share.set(first..first + (random >> 50) as usize % 3);
                thread::sleep(Duration::from_micros(random >> 54));
            }
        });
        let result = work();
        ended.store(true, Ordering::Relaxed);
        result
    })
}

fn counts(engine: &Engine, input: Input, options: &Options) -> Vec<u8> {
    text_of(&engine.job(&JOB).options(options).run(input).unwrap(), count_line)
}

#[test]
fn any_changes_of_the_share_leave_the_answer_as_it_is() {
    let text = sample_text(60_000);
    let answer = counts(&engine(1), Input::bytes(text.clone()), &Options::default());
    let folder = tempfile::tempdir().unwrap();
    let share = Arc::new(Share::new());
    let options = |pipeline, split_bytes| Options {
        share: Some(Arc::clone(&share)),
        tile_bytes: Some(20_000),
        split_bytes: Some(split_bytes),
        pipeline,
        ..Options::default()
    };
    for (engine, workers) in engines().iter().zip(WORKERS) {
        for (number, pipeline) in [Pipeline::On, Pipeline::Off].into_iter().enumerate() {
            let memory = || Input::bytes(text.clone());
            let slow = || Slow::new(vec![text.clone()], |_| Duration::from_micros(50)).input().0;
            let inputs: [&dyn Fn() -> Input; 2] = [&memory, &slow];
            for (kind, input) in inputs.into_iter().enumerate() {
                let options = options(pipeline, 2_000);
                let seen = while_changed(&share, || counts(engine, input(), &options));
                assert!(seen == answer, "{workers} workers, input {kind}");
                let id = format!("{workers}-{number}-{kind}");
                let state = State::new(folder.path(), &id).incremental(Incremental::default());
                let options = Options { state: Some(state), ..options };
                let seen = while_changed(&share, || counts(engine, input(), &options));
                assert!(seen == answer, "{workers} workers, input {kind}, incremental");
            }
        }
        let (input, writer) = pipe_written_by(&folder, {
            let text = text.clone();
            move |mut pipe| pipe.write_all(&text).unwrap()
        });
        let seen = while_changed(&share, || counts(engine, input, &options(Pipeline::On, 2_000)));
        assert!(seen == answer, "{workers} workers, a stream");
        writer.join().unwrap();
    }
}

#[test]
fn only_workers_in_the_share_map() {
    let (engine, share) = (engine(4), Arc::new(Share::new()));
    share.set([1, 3]);
    let threads = std::sync::Mutex::new(std::collections::BTreeSet::new());
    let job = mapping(|_, _| {
        threads.lock().unwrap().insert(thread::current().name().unwrap().to_owned());
        thread::sleep(Duration::from_micros(100));
        Ok(())
    });
    let options = Options {
        share: Some(Arc::clone(&share)),
        split_bytes: Some(100),
        tile_bytes: Some(1000),
        ..Options::default()
    };
    engine.job(&job).options(&options).run(Input::bytes("to be ".repeat(10_000))).unwrap();
    let threads: Vec<String> = threads.lock().unwrap().iter().cloned().collect();
    assert_eq!(threads, ["tegula-1", "tegula-3"]);
    assert_works(&engine);
}

/// Runs a job that nobody may begin, does `then`, and returns what the run gave.
fn barred(
    then: impl FnOnce(&Share, &Cancel) + Send + 'static,
    input: impl FnOnce() -> Input + Send + 'static,
) -> tegula::Result<u64> {
    within(30, move || {
        let (engine, share, cancel) = (engine(2), Arc::new(Share::new()), Cancel::new());
        share.set([]);
        let mapped = AtomicU64::new(0);
        let job = mapping(|split, _| {
            mapped.fetch_add(split.bytes().len() as u64, Ordering::Relaxed);
            Ok(())
        });
        let options = Options {
            share: Some(Arc::clone(&share)),
            cancel: cancel.clone(),
            split_bytes: Some(1000),
            ..Options::default()
        };
        let result = thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(50));
                assert_eq!(mapped.load(Ordering::Relaxed), 0);
                then(&share, &cancel);
            });
            engine.job(&job).options(&options).run(input()).map(|_| ())
        });
        assert_works(&engine);
        result.map(|()| mapped.load(Ordering::Relaxed))
    })
}

fn text() -> Vec<u8> {
    "to be ".repeat(10_000).into_bytes()
}

#[test]
fn a_run_of_nobody_goes_on_when_somebody_may() {
    let inputs: [fn() -> Input; 2] = [
        || Input::bytes(text()),
        || Slow::new(vec![text()], |_| Duration::from_micros(10)).input().0,
    ];
    for input in inputs {
        let mapped = barred(|share, _| share.set(1..2), input).unwrap();
        assert_eq!(mapped, 60_000);
    }
}

#[test]
fn a_run_of_nobody_can_be_cancelled() {
    let inputs: [fn() -> Input; 2] = [
        || Input::bytes(text()),
        || Slow::new(vec![text()], |_| Duration::from_micros(10)).input().0,
    ];
    for input in inputs {
        let result = barred(|_, cancel| cancel.cancel(), input);
        assert!(matches!(result, Err(Error::Cancelled)), "{result:?}");
    }
}

#[test]
fn an_error_ends_a_run_while_others_are_barred() {
    let result = within(30, || {
        let (engine, share) = (engine(3), Arc::new(Share::new()));
        share.set(0..1);
        let job = mapping(|split, _| split.bad(b"", "worse"));
        let options = Options { share: Some(share), split_bytes: Some(10), ..Options::default() };
        engine.job(&job).options(&options).run(Input::bytes("a b c ".repeat(1000))).map(|_| ())
    });
    assert!(result.unwrap_err().to_string().contains("worse"));
}

//! A fault of a show's function fails its job by name; a job that ends otherwise shows no more; impossible
//! shows are refused before anything is mapped.

use crate::jobs::{Words, mapping};
use crate::packing::PACKINGS;
use crate::support::{
    assert_works, engine, engines, error_saying, file_in, folder_of, pipe_written_by, sample_text,
};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;
use tegula::{Cancel, Error, Every, Input, Options, Result, Show, WordClass};

const JOB: Words = Words(WordClass::Whitespace);

#[test]
fn what_a_show_does_wrong_fails_its_job_by_name() {
    let text = sample_text(20_000);
    let options = Options { split_bytes: Some(500), ..Options::default() };
    for engine in engines() {
        for fails_at in [1, 3, u64::MAX] {
            let run = |see: &mut (dyn FnMut(u64) -> Result<()> + Send)| {
                let show = Show::new(Every::Part(0.01), |shown| {
                    let fails = shown.number == fails_at || shown.is_last;
                    if fails { see(shown.number) } else { Ok(()) }
                });
                engine.job(&JOB).options(&options).show(show).run(Input::bytes(text.clone()))
            };
            let result = run(&mut |_| panic!("no more shows"));
            let error = error_saying(engine, result, &["panicked at a show", "no more shows"]);
            assert!(matches!(error, Error::Panicked { .. }), "{error:?}");
            let refuse = || Error::Option { option: "mine", cause: "refused".to_owned() };
            let error = error_saying(engine, run(&mut |_| Err(refuse())), &["mine: refused"]);
            assert!(matches!(error, Error::Option { .. }), "{error:?}");
        }
    }
}

#[test]
fn a_show_can_cancel_its_run_and_none_follows() {
    let text = sample_text(50_000);
    for engine in engines() {
        let (cancel, mut shows) = (Cancel::new(), 0);
        let options =
            Options { split_bytes: Some(500), cancel: cancel.clone(), ..Options::default() };
        let show = Show::new(Every::Part(0.01), |_| {
            shows += 1;
            cancel.cancel();
            Ok(())
        });
        let result = engine.job(&JOB).options(&options).show(show).run(Input::bytes(text.clone()));
        let error = error_saying(engine, result, &["cancelled"]);
        assert!(matches!(error, Error::Cancelled) && shows == 1);
    }
}

#[test]
fn a_job_that_fails_shows_no_more() {
    let engine = engine(3);
    let last = AtomicBool::new(false);
    let show = Show::new(Every::Part(0.01), |shown| {
        last.fetch_or(shown.is_last, Relaxed);
        Ok(())
    });
    let job = mapping(|split, emit| {
        emit(split.bytes(), 1);
        if split.offset() > 40_000 { split.bad(b"", "a bad record") } else { Ok(()) }
    });
    let options = Options { split_bytes: Some(100), ..Options::default() };
    let text = "0123456 ".repeat(10_000);
    let result = engine.job(&job).options(&options).show(show).run(Input::bytes(text));
    error_saying(&engine, result, &["a bad record"]);
    assert!(!last.load(Relaxed));
}

#[test]
fn shows_that_cannot_be_are_refused() {
    let engine = engine(2);
    let folder = tempfile::tempdir().unwrap();
    let run = |input: Input, every: Every, in_order: bool| {
        let show = Show::new(every, |_| Ok(())).in_order(in_order);
        engine.job(&JOB).show(show).run(input)
    };
    let text = || Input::bytes("a b");
    for (every, says) in [
        (Every::Part(0.0), "more than 0"),
        (Every::Part(1.5), "at most 1"),
        (Every::Part(f64::NAN), "more than 0"),
        (Every::Bytes(0), "at least 1"),
        (Every::Time(Duration::ZERO), "no time"),
    ] {
        error_saying(&engine, run(text(), every, false), &["show", says]);
    }
    for (every, in_order, says) in [
        (Every::Part(0.1), false, "length of a stream is not known"),
        (Every::Bytes(10), true, "in the order of the input"),
    ] {
        let (input, writer) = pipe_written_by(&folder, |_| ());
        // Nobody reads it, so let the writer go.
        let result = run(input, every, in_order);
        error_saying(&engine, result, &[says]);
        let _ = std::fs::File::open(folder.path().join("pipe"));
        writer.join().unwrap();
    }
    let packed = folder_of(&[PACKINGS[0].pack(b"a b")]);
    let input = Input::paths([file_in(&packed, 0)]).unwrap();
    error_saying(&engine, run(input, Every::Bytes(1), true), &["decompress"]);
    assert_works(&engine);
}

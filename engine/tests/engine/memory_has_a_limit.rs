//! A job keeps to its memory: pairs that do not fit go to disk and come back unchanged; a record or value
//! that does not fit is refused by name, and the next job has the same memory.

use crate::jobs::{Words, mapping};
use crate::support::{
    LITTLE, count_line, engine, error_saying, has_little_address_space, limited, limited_builder,
    text_of, with_address_space,
};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tegula::storage::{Disk, Storage};
use tegula::{
    Collect, Container, Emit, Engine, Error, Input, Job, MemoryError, Options, Order, RangeSource,
    Result, Split, WordClass,
};
use tegula_testing::{Call, Fault, Faulty};

const JOB: Words = Words(WordClass::Whitespace);

fn distinct_words(count: u32) -> Vec<u8> {
    let words = (0..count).map(|i| format!("{i} {i:020} {i:040}\n"));
    words.collect::<String>().into_bytes()
}

#[test]
fn answers_that_do_not_fit_are_the_same_from_disk() {
    let text = distinct_words(150_000);
    for order in [Order::Key, Order::Value, Order::None] {
        for top in [None, Some(10_000)] {
            let options = Options { order, top, ..Options::default() };
            let run = |engine: &Engine| {
                let output =
                    engine.job(&JOB).options(&options).run(Input::bytes(text.clone())).unwrap();
                let counted = output.stats().memory_counted_peak;
                (text_of(&output, count_line), output.stats().spilled_bytes, counted)
            };
            let (expected, spilled, _) = run(&engine(2));
            assert_eq!(spilled, 0);
            let (answer, spilled, counted) = run(&limited(LITTLE));
            assert!(spilled > 0 && counted <= LITTLE, "{spilled} spilled, {counted} counted");
            assert!(answer == expected, "{order:?} {top:?}");
        }
    }
}

/// Where writing is slow, pairs are compressed on disk; keys that begin alike are many times as large in memory.
#[test]
fn answers_that_are_small_on_disk_are_sorted_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let disk: Arc<dyn Storage> = Arc::new(Disk::new(folder.path()));
    let slow = Faulty::new(disk, 0).slow(Duration::from_micros(100));
    let slow: Arc<dyn Storage> = Arc::new(slow);
    let beginning = "tegula/".repeat(400);
    // The longer ones leave almost half of a chunk unused.
    for (words, bytes) in [(60_000, 1000), (25_000, 2100)] {
        let text: String =
            (0..words).map(|i| format!("{}{i:08}\n", &beginning[..bytes - 8])).collect();
        for order in [Order::Key, Order::Value] {
            let options = Options { order, ..Options::default() };
            let run = |engine: &Engine| {
                let input = Input::bytes(text.clone());
                let output = engine.job(&JOB).options(&options).run(input).unwrap();
                (text_of(&output, count_line), output.stats().spilled_bytes)
            };
            let small = limited_builder(LITTLE).storage(Arc::clone(&slow)).build().unwrap();
            let (answer, spilled) = run(&small);
            assert!(spilled > 0 && spilled < text.len() as u64, "{spilled} of {}", text.len());
            assert!(answer == run(&engine(2)).0, "{order:?} of {bytes} bytes");
        }
    }
}

/// One split may give more pairs than memory holds.
#[test]
fn pairs_of_one_split_that_do_not_fit_are_the_same_from_disk() {
    let many = mapping(|_, emit| {
        (0..3_000_000_u32).for_each(|i| emit(format!("{i:07}").as_bytes(), u64::from(i)));
        Ok(())
    });
    let huge = mapping(|_, emit| {
        let mut key = "tegula/".repeat(10_000).into_bytes();
        key.truncate(64 << 10);
        (0..1500_u32).for_each(|i| {
            key[60_000..60_008].copy_from_slice(format!("{i:08}").as_bytes());
            emit(&key, u64::from(i));
        });
        Ok(())
    });
    for job in [&many, &huge] {
        let run = |engine: &Engine, container| {
            let options = Options { container, ..Options::default() };
            let output = engine.job(job).options(&options).run(Input::bytes("one")).unwrap();
            (text_of(&output, count_line), output.stats().spilled_bytes)
        };
        let (expected, _) = run(&engine(2), Container::Adaptive);
        for container in [Container::Adaptive, Container::Hash, Container::Append] {
            let (answer, spilled) = run(&limited(LITTLE), container);
            assert!(spilled > 0 && answer == expected, "{container:?}: {spilled} spilled");
        }
    }
}

/// Values under keys of one byte, of which a map makes many.
struct Values64K;

impl Job for Values64K {
    type Key = u8;
    type Combine = Collect<[u8]>;

    fn map<'s>(&self, _: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        let mut value = vec![b'v'; 64 << 10];
        for number in 0..1500_u32 {
            value[..4].copy_from_slice(&number.to_be_bytes());
            emit.emit_copied((number % 250) as u8, &value);
        }
        Ok(())
    }
}

/// The same of lists, also where an array has them.
#[test]
fn lists_of_one_split_that_do_not_fit_are_the_same_from_disk() {
    for container in [Container::Adaptive, Container::Hash, Container::Append, Container::Array] {
        let options = Options { container, ..Options::default() };
        let output =
            limited(LITTLE).job(&Values64K).options(&options).run(Input::bytes("one")).unwrap();
        assert!(output.stats().spilled_bytes > 0);
        let mut keys = 0;
        output
            .for_each(|key, values| {
                let firsts: Vec<u32> =
                    values.map(|value| u32::from_be_bytes(*value.first_chunk().unwrap())).collect();
                let expected = (u32::from(key)..1500).step_by(250);
                assert!(expected.eq(firsts), "{container:?} {key}");
                keys += 1;
            })
            .unwrap();
        assert_eq!(keys, 250);
    }
}

/// From nothing to enough: each limit is refused, with the least that would do, or gives the right
/// answer; and the least does.
#[test]
fn too_little_is_refused_with_the_least_that_would_do() {
    let text = distinct_words(1000);
    let run = |engine: &Engine| engine.job(&JOB).run(Input::bytes(text.clone()));
    let expected = text_of(&run(&engine(2)).unwrap(), count_line);
    for limit in [0, 1, 1 << 20] {
        let small = Engine::builder().workers(2).memory_bytes(limit).build().unwrap();
        let Err(error) = run(&small) else { panic!("{limit} bytes were enough") };
        let message = error.to_string();
        assert!(message.contains("too small") && message.contains("larger budget"), "{message}");
        let Error::Memory(MemoryError::TooSmall { limit_bytes, least_bytes, workers }) = error
        else {
            panic!("{error:?}")
        };
        assert_eq!((limit_bytes, workers), (limit, 2));
        // Other tests of this process use more memory meanwhile.
        let enough = Engine::builder().workers(2).memory_bytes(least_bytes + (64 << 20));
        let output = run(&enough.build().unwrap()).unwrap();
        assert!(text_of(&output, count_line) == expected);
    }
}

#[test]
fn an_answer_on_disk_cannot_be_had_at_once() {
    let output = limited(LITTLE).job(&JOB).run(Input::bytes(distinct_words(150_000))).unwrap();
    let Err(error) = output.iter().map(Iterator::count) else { panic!("it is on disk") };
    assert!(error.to_string().contains("450000 pairs are on disk"), "{error}");
}

#[test]
fn one_record_beyond_the_limit_is_refused() {
    let engine = limited(LITTLE);
    let text = vec![b'x'; 80 << 20];
    let refused = engine.job(&JOB).run(Input::bytes(text));
    let says = ["memory budget", "a record must fit in memory", "give a larger budget"];
    let error = error_saying(&engine, refused, &says);
    assert!(matches!(error, Error::Memory(MemoryError::Budget { .. })), "{error:?}");
}

/// The list of the input's files is memory, too, and pairs make room for it.
#[test]
fn a_list_of_files_beyond_the_limit_is_refused() {
    #[derive(Debug)]
    struct Spaces;
    impl RangeSource for Spaces {
        fn read_at(&self, _: &Path, _: u64, into: &mut [u8]) -> std::io::Result<()> {
            into.fill(b' ');
            Ok(())
        }
    }
    let input =
        |files: u32| Input::ranges(Arc::new(Spaces), (0..files).map(|file| (file.to_string(), 1)));
    let engine = limited(LITTLE);
    engine.job(&JOB).run(input(1000)).unwrap();
    let refused = engine.job(&JOB).run(input(2_000_000));
    let error = error_saying(&engine, refused, &["is too small", "at least", "larger budget"]);
    let Error::Memory(MemoryError::TooSmall { limit_bytes, least_bytes, .. }) = error else {
        panic!("{error:?}")
    };
    // The need of the list and of any job.
    let needed = least_bytes - (limit_bytes - LITTLE);
    let list = 2_000_000 * 12..2_000_000 * 128;
    assert!(list.contains(&needed), "{needed} of {least_bytes}");
}

/// What a map holds beside the engine is memory, too, and is given back with the run.
#[test]
fn memory_beside_the_engine_is_counted() {
    let engine = limited(LITTLE);
    let run = |beside_bytes| {
        let options = Options { beside_bytes, ..Options::default() };
        engine.job(&JOB).options(&options).run(Input::bytes(distinct_words(1000)))
    };
    for _ in 0..3 {
        run(LITTLE as usize / 8).unwrap();
    }
    // Less than the limit, of which it leaves too little.
    let refused = run(LITTLE as usize - (1 << 20));
    let error = error_saying(&engine, refused, &["is too small", "at least", "larger budget"]);
    assert!(matches!(error, Error::Memory(MemoryError::TooSmall { .. })), "{error:?}");
}

#[test]
fn a_disk_that_fails_is_an_error_and_leaves_an_engine_that_works() {
    let folder = tempfile::tempdir().unwrap();
    let disk: Arc<dyn Storage> = Arc::new(Disk::new(folder.path()));
    let text = distinct_words(150_000);
    for (call, nth, fault, says) in [
        (Call::Scratch, 1, Fault::Io, "cannot make a scratch file"),
        (Call::WriteAt, 9, Fault::Full, "no room on its disk"),
        (Call::WriteAt, 400, Fault::Torn, "cannot be written"),
        (Call::ReadAt, 300, Fault::Io, "cannot be read"),
    ] {
        let faulty = Faulty::new(Arc::clone(&disk), nth).fail_once(call, nth, fault);
        let engine = limited_builder(LITTLE).storage(Arc::new(faulty)).build().unwrap();
        let result = engine.job(&JOB).run(Input::bytes(text.clone()));
        let error = error_saying(&engine, result, &[says]);
        assert!(matches!(error, Error::Storage(_)), "{error:?}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "something was left");
    }
}

/// The largest sizes that can be asked for are those of an input: no memory is taken beyond it.
#[test]
fn tiles_and_splits_beyond_all_memory_take_none() {
    let engine = engine(1);
    for bytes in [1 << 47, u64::MAX] {
        let (tile_bytes, split_bytes) = (Some(bytes), Some(bytes));
        let options = Options { tile_bytes, split_bytes, ..Options::default() };
        let inputs = [Input::bytes("a b"), Input::paths(["/proc/version"]).unwrap()];
        for input in inputs {
            let output = engine.job(&JOB).options(&options).run(input).unwrap();
            assert!(!output.is_empty() && output.stats().memory_counted_peak < 100 << 20);
        }
    }
}

#[test]
fn memory_that_the_system_does_not_have_is_an_error() {
    with_address_space("memory_has_a_limit::memory_beyond_the_systems", 500_000);
}

/// The other process's part; without its limit it asserts nothing.
#[test]
fn memory_beyond_the_systems() {
    if has_little_address_space() {
        let engine = engine(1);
        let result = engine.job(&JOB).run(Input::bytes(vec![b'x'; 200 << 20]));
        let says = ["the operating system gave no memory for a piece of input", "close other"];
        let error = error_saying(&engine, result, &says);
        assert!(matches!(error, Error::Memory(MemoryError::System { .. })), "{error:?}");
    }
}

/// What an engine keeps for its next job can be had back, once; the next job takes memory anew.
#[test]
fn memory_that_is_kept_is_given_back() {
    let engine = engine(2);
    let text = distinct_words(20_000);
    let run = || text_of(&engine.job(&JOB).run(Input::bytes(text.clone())).unwrap(), count_line);
    let expected = run();
    for _ in 0..2 {
        assert!(engine.release_memory() >= 1 << 20);
        assert_eq!(engine.release_memory(), 0);
        assert!(run() == expected);
    }
}

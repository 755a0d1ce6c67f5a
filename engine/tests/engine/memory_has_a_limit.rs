//! A job that needs more memory than it may have is refused by name, wherever it needs it, and the
//! next job has what was there before.

use crate::jobs::Words;
use crate::support::{
    assert_works, count_line, engine, error_saying, has_little_address_space, text_of,
    with_address_space,
};
use tegula::{Engine, Error, Input, MemoryError, Options, Order, Result, WordClass};

const JOB: Words = Words(WordClass::Whitespace);

fn distinct_words(count: u32) -> Vec<u8> {
    let words = (0..count).map(|i| format!("{i} {i:020} {i:040}\n"));
    words.collect::<String>().into_bytes()
}

fn limited(bytes: u64) -> Engine {
    Engine::builder().workers(2).memory_bytes(bytes).build().unwrap()
}

fn refusal<R>(result: Result<R>) -> (&'static str, u64, u64) {
    let Err(error) = result else { panic!("the budget was passed") };
    let message = error.to_string();
    let says = ["memory budget", "needs spill to disk", "give a larger --memory"];
    assert!(says.iter().all(|word| message.contains(word)), "{message}");
    let Error::Memory(MemoryError::Budget { purpose, needed_bytes, limit_bytes }) = error else {
        panic!("{error:?}")
    };
    assert!(needed_bytes > limit_bytes && message.contains(purpose));
    (purpose, needed_bytes, limit_bytes)
}

/// From far too little to enough: each limit gives the refusal or the right answer, and leaves an
/// engine that can do a small job afterwards.
#[test]
fn at_every_limit_a_job_is_refused_or_right() {
    let text = distinct_words(40_000);
    let unlimited = engine(2).run(&JOB, Input::bytes(text.clone())).unwrap();
    let expected = text_of(&unlimited, count_line);
    let mut purposes = Vec::new();
    let mut answered = 0;
    for limit in [0, 1, 100_000, 1 << 20].into_iter().chain((2..80).step_by(3).map(|mib| mib << 20))
    {
        let engine = limited(limit);
        for order in [Order::Key, Order::Value, Order::None] {
            let options = Options { order, ..Options::default() };
            match engine.run_with(&JOB, Input::bytes(text.clone()), &options) {
                Ok(output) => {
                    assert!(output.stats().memory_counted_peak <= limit);
                    let text = text_of(&output, count_line);
                    assert!(order != Order::Key || text == expected);
                    answered += 1;
                }
                failed => purposes.push(refusal(failed).0),
            }
        }
        if limit >= 16 << 20 {
            assert_works(&engine);
        }
    }
    purposes.sort_unstable();
    purposes.dedup();
    assert!(answered > 0 && purposes.len() > 1, "{answered} answers; refused: {purposes:?}");
}

#[test]
fn one_record_beyond_the_limit_is_refused() {
    let engine = limited(16 << 20);
    let text = vec![b'x'; 40 << 20];
    let (purpose, _, limit) = refusal(engine.run(&JOB, Input::bytes(text)));
    assert_eq!(limit, 16 << 20);
    assert!(purpose.contains("a record must fit in memory"), "{purpose}");
    assert_works(&engine);
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
            let output = engine.run_with(&JOB, input, &options).unwrap();
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
        let result = engine.run(&JOB, Input::bytes(vec![b'x'; 200 << 20]));
        let says = ["the operating system gave no memory for a piece of input", "close other"];
        let error = error_saying(&engine, result, &says);
        assert!(matches!(error, Error::Memory(MemoryError::System { .. })), "{error:?}");
    }
}

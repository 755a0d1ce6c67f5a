//! A job gives the same bytes whichever container its workers use, and says so when a container or a
//! key cannot be meant.

use crate::support::{Answer, assert_works, cases, engine, engines, error_saying, text_of};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::ops::RangeInclusive;
use tegula::Container::{Adaptive, Append, Array, Hash};
use tegula::{
    Container, Count, Cut, Emit, Engine, Input, Job, Key, Mean, Options, Order, Result, Split,
};

#[expect(clippy::needless_pass_by_value, reason = "outputs are written so")]
fn line<J: Job>(key: <J::Key as Key>::Borrowed<'_>, answer: Answer<'_, J>, text: &mut Vec<u8>)
where
    for<'s> <J::Key as Key>::Borrowed<'s>: Debug,
    for<'a> Answer<'a, J>: Debug,
{
    text.extend_from_slice(format!("{key:?}\t{answer:?}\n").as_bytes());
}

fn text_in<J: Job>(
    container: Container,
    engine: &Engine,
    job: &J,
    input: &[u8],
    options: &Options,
) -> String
where
    for<'s> <J::Key as Key>::Borrowed<'s>: Debug,
    for<'a> Answer<'a, J>: Debug,
{
    let options = Options { container, ..options.clone() };
    let output = engine.job(job).options(&options).run(Input::bytes(input)).unwrap();
    String::from_utf8(text_of(&output, line::<J>)).unwrap()
}

/// Checks that a job has the same answer in these containers as in `Hash`.
fn check_in<J: Job>(containers: &[Container], job: &J, input: &[u8], options: &Options)
where
    for<'s> <J::Key as Key>::Borrowed<'s>: Debug,
    for<'a> Answer<'a, J>: Debug,
{
    let expected = text_in(Hash, &engines()[0], job, input, options);
    for engine in engines() {
        for container in containers {
            assert_eq!(text_in(*container, engine, job, input, options), expected);
        }
    }
}

/// Counts words in all ways to emit them: as they lie in the split, as copies, and as totals. The way
/// follows from the word alone, so that cuts do not matter.
struct WordsInEachWay;

impl Job for WordsInEachWay {
    type Key = [u8];
    type Combine = Count;

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        for word in split.fields() {
            match word.len() % 3 {
                0 => {
                    emit.emit(word, ());
                    emit.emit_total(word, 5);
                }
                1 => {
                    let made = word.to_vec();
                    emit.emit_copied(&made, ());
                }
                _ => emit.emit(word, ()),
            }
        }
        Ok(())
    }
}

/// The mean of the second byte of each pair of bytes, by a key made of the first.
struct Pairs<K: Key> {
    key: KeyOf<K>,
    range: Option<RangeInclusive<K::Borrowed<'static>>>,
}

type KeyOf<K> = fn(u8) -> <K as Key>::Borrowed<'static>;

impl<K, T> Job for Pairs<K>
where
    K: for<'s> Key<Borrowed<'s> = T>,
    T: Copy + Sync,
{
    type Key = K;
    type Combine = Mean<f64>;

    fn cut(&self) -> Cut {
        Cut::Fixed(2)
    }

    fn key_range(&self) -> Option<RangeInclusive<T>> {
        self.range.clone()
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        for [key, value] in split.bytes().as_chunks().0 {
            emit.emit((self.key)(*key), f64::from(*value));
        }
        Ok(())
    }
}

fn pairs<K: Key>(key: KeyOf<K>, range: Option<RangeInclusive<K::Borrowed<'static>>>) -> Pairs<K> {
    Pairs { key, range }
}

proptest! {
    #![proptest_config(cases(12))]

    #[test]
    fn every_container_gives_the_same_bytes(
        text in prop::collection::vec(prop::sample::select(&b"abcdefgh   "[..]), 0..6000),
        even in prop::collection::vec(any::<[u8; 2]>(), 0..2000),
        split in 1..3000_u64,
        order in prop::sample::select(vec![Order::Key, Order::Value, Order::None]),
        top in prop::sample::select(vec![None, None, Some(3)]),
    ) {
        let options = Options { order, top, split_bytes: Some(split), ..Options::default() };
        check_in(&[Hash, Append, Adaptive], &WordsInEachWay, &text, &options);
        let bytes = even.concat();
        let job = pairs::<i32>(|key| i32::from(key) * 3 - 300, Some(-300..=465));
        check_in(&[Hash, Array, Append, Adaptive], &job, &bytes, &options);
        // Keys of other widths and signs are another thing to an array alone.
        check_in(&[Array], &pairs::<i8>(u8::cast_signed, None), &bytes, &options);
        check_in(&[Array], &pairs::<u16>(|key| u16::from(key) * 257, None), &bytes, &options);
        let range = u64::MAX - 255..=u64::MAX;
        let job = pairs::<u64>(|key| u64::MAX - u64::from(key), Some(range));
        check_in(&[Array], &job, &bytes, &options);
    }
}

/// Enough keys that the tables of all containers overflow, and that the adaptive one changes its mind.
#[test]
fn keys_that_hardly_repeat_and_then_do_are_counted_by_every_container() {
    let first = (0..400_000_u32).map(|i| format!("{:x} ", i.wrapping_mul(0x9e37_79b1)));
    let then = (0..300_000_u32).map(|i| format!("{:x} ", i % 1000));
    let text: String = first.chain(then).collect();
    let options = Options::default();
    check_in(&[Append, Adaptive], &WordsInEachWay, text.as_bytes(), &options);
}

fn within(container: Container) -> Options {
    Options { container, ..Options::default() }
}

#[test]
fn a_key_outside_the_declared_range_fails_the_job_and_is_named() {
    let engine = engine(2);
    let job = pairs::<i32>(|key| i32::from(key) - 10, Some(-10..=100));
    let words = ["memory, byte 0", "key 190", "keys are -10 to 100", "key_range"];
    let input = || Input::bytes(vec![1, 1, 200, 1, 2, 2]);
    error_saying(&engine, engine.job(&job).options(&within(Array)).run(input()), &words);
    error_saying(&engine, engine.job(&job).options(&within(Hash)).run(input()), &words);
    error_saying(&engine, engine.job(&job).options(&within(Adaptive)).run(input()), &words);
}

#[test]
fn ranges_and_arrays_that_cannot_be_meant_are_refused() {
    let engine = engine(1);
    let (options, input) = (Options::default(), || Input::bytes(vec![1, 1]));
    let job = pairs::<u64>(u64::from, None);
    let words = ["Container::Array", "key_range"];
    error_saying(&engine, engine.job(&job).options(&within(Array)).run(input()), &words);
    error_saying(&engine, engine.job(&WordsInEachWay).options(&within(Array)).run(input()), &words);
    let backwards = pairs::<u64>(u64::from, Some(RangeInclusive::new(9, 3)));
    error_saying(
        &engine,
        engine.job(&backwards).options(&options).run(input()),
        &["key_range", "least"],
    );
    // Too large for any memory.
    let huge = pairs::<u64>(u64::from, Some(0..=u64::MAX));
    error_saying(&engine, engine.job(&huge).options(&within(Array)).run(input()), &["array"]);
    assert_works(&engine);
}

/// Counts bytes, which an array has room for, some of them as totals of five.
struct BytesByTotals;

impl Job for BytesByTotals {
    type Key = u8;
    type Combine = Count;

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        for &byte in split.bytes() {
            emit.emit(byte, ());
            emit.emit_total(byte, 5);
        }
        Ok(())
    }
}

#[test]
fn totals_count_as_the_values_that_they_were_made_of() {
    // Words of every size class.
    let word = |number: usize| "abcdefg".repeat(1 + number % 7)[number % 3..].to_owned();
    let text = (0..3000).map(|line| format!("{} {} x\n", word(line), word(line / 2)));
    let text: String = text.collect();
    let mut expected = BTreeMap::<Vec<u8>, u64>::new();
    for word in text.split_ascii_whitespace() {
        *expected.entry(word.into()).or_default() += if word.len() % 3 == 0 { 6 } else { 1 };
    }
    let expected: Vec<(Vec<u8>, u64)> = expected.into_iter().collect();
    let engine = engine(2);
    let options = Options { split_bytes: Some(100), ..Options::default() };
    let counts = |container| -> Vec<(Vec<u8>, u64)> {
        let options = Options { container, ..options.clone() };
        let output =
            engine.job(&WordsInEachWay).options(&options).run(Input::bytes(&*text)).unwrap();
        output.iter().unwrap().map(|(key, count)| (key.to_vec(), count)).collect()
    };
    assert_eq!(counts(Hash), expected);
    assert_eq!(counts(Append), expected);
    assert_eq!(counts(Adaptive), expected);
    let bytes = |container| -> Vec<(u8, u64)> {
        let input = Input::bytes(&*text);
        let output = engine.job(&BytesByTotals).options(&within(container)).run(input).unwrap();
        output.iter().unwrap().collect()
    };
    let expected = (0..=u8::MAX).filter_map(|byte| {
        let count = text.bytes().filter(|&one| one == byte).count() as u64;
        (count > 0).then_some((byte, 6 * count))
    });
    let expected: Vec<(u8, u64)> = expected.collect();
    assert_eq!(bytes(Array), expected);
    assert_eq!(bytes(Hash), expected);
    assert_eq!(bytes(Adaptive), expected);
}

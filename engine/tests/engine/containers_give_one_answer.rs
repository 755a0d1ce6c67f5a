//! A job gives the same bytes whichever container its workers use, and says so when a container or a
//! key cannot be meant.

use crate::jobs::{CopiedWords, Words};
use crate::support::{Answer, assert_works, cases, engine, engines, error_saying, text_of};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::marker::PhantomData;
use std::ops::RangeInclusive;
use tegula::Container::{Adaptive, Append, Array, Hash, HashTree};
use tegula::{
    Container, Count, Cut, Emit, Engine, Input, Job, Key, Mean, Options, Order, Result, Split,
    WordClass,
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
    let output = engine.run_with(job, Input::bytes(input), &options).unwrap();
    String::from_utf8(text_of(&output, line::<J>)).unwrap()
}

/// Checks that a job of byte keys has one answer.
fn check_bytes<J: Job<Key = [u8]>>(job: &J, input: &[u8], options: &Options)
where
    for<'a> Answer<'a, J>: Debug,
{
    let expected = text_in(Hash, &engines()[0], job, input, options);
    for engine in engines() {
        assert_eq!(text_in(Hash, engine, job, input, options), expected);
        assert_eq!(text_in(Append, engine, job, input, options), expected);
        assert_eq!(text_in(HashTree, engine, job, input, options), expected);
        assert_eq!(text_in(Adaptive, engine, job, input, options), expected);
    }
}

/// The mean of the second byte of each pair of bytes, by a key made of the first.
struct Pairs<K, F, T> {
    key: F,
    range: Option<RangeInclusive<T>>,
    kind: PhantomData<fn(K)>,
}

impl<K, F, T> Job for Pairs<K, F, T>
where
    K: for<'s> Key<Borrowed<'s> = T>,
    F: Fn(u8) -> T + Sync,
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

fn pairs<K, F, T>(key: F, range: Option<RangeInclusive<T>>) -> Pairs<K, F, T> {
    Pairs { key, range, kind: PhantomData }
}

/// Checks that a job of integer keys of a known range has one answer.
fn check_integers<J: Job>(job: &J, input: &[u8], options: &Options)
where
    for<'s> <J::Key as Key>::Borrowed<'s>: Debug,
    for<'a> Answer<'a, J>: Debug,
{
    let expected = text_in(Hash, &engines()[0], job, input, options);
    for engine in engines() {
        assert_eq!(text_in(Array, engine, job, input, options), expected);
        assert_eq!(text_in(Append, engine, job, input, options), expected);
        assert_eq!(text_in(HashTree, engine, job, input, options), expected);
        assert_eq!(text_in(Adaptive, engine, job, input, options), expected);
    }
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
        check_bytes(&Words(WordClass::Whitespace), &text, &options);
        check_bytes(&CopiedWords, &text, &options);
        let bytes = even.concat();
        check_integers(&pairs::<u8, _, _>(|key| key, None), &bytes, &options);
        check_integers(&pairs::<i8, _, _>(u8::cast_signed, None), &bytes, &options);
        check_integers(&pairs::<u16, _, _>(|key| u16::from(key) * 257, None), &bytes, &options);
        let i32_key = |key| i32::from(key) * 3 - 300;
        check_integers(&pairs::<i32, _, _>(i32_key, Some(-300..=465)), &bytes, &options);
        let u64_key = |key| u64::MAX - u64::from(key);
        check_integers(&pairs::<u64, _, _>(u64_key, Some(u64::MAX - 255..=u64::MAX)), &bytes, &options);
    }
}

/// Enough keys that the tables of all containers overflow, and that the adaptive one changes its mind.
#[test]
fn keys_that_hardly_repeat_and_then_do_are_counted_by_every_container() {
    let first = (0..400_000_u32).map(|i| format!("{:x} ", i.wrapping_mul(0x9e37_79b1)));
    let then = (0..300_000_u32).map(|i| format!("{:x} ", i % 1000));
    let text: String = first.chain(then).collect();
    check_bytes(&Words(WordClass::Whitespace), text.as_bytes(), &Options::default());
}

fn within(container: Container) -> Options {
    Options { container, ..Options::default() }
}

#[test]
fn a_key_outside_the_declared_range_fails_the_job_and_is_named() {
    let engine = engine(2);
    let job = pairs::<i32, _, _>(|key| i32::from(key) - 10, Some(-10..=100));
    let words = ["memory, byte 0", "key 190", "keys are -10 to 100", "key_range"];
    let input = || Input::bytes(vec![1, 1, 200, 1, 2, 2]);
    error_saying(&engine, engine.run_with(&job, input(), &within(Array)), &words);
    error_saying(&engine, engine.run_with(&job, input(), &within(Hash)), &words);
    error_saying(&engine, engine.run_with(&job, input(), &within(Adaptive)), &words);
}

#[test]
fn ranges_and_arrays_that_cannot_be_meant_are_refused() {
    let engine = engine(1);
    let (options, input) = (Options::default(), || Input::bytes(vec![1, 1]));
    let job = pairs::<u32, _, _>(u32::from, None);
    let words = ["Container::Array", "key_range"];
    error_saying(&engine, engine.run_with(&job, input(), &within(Array)), &words);
    let words_job = Words(WordClass::Whitespace);
    error_saying(&engine, engine.run_with(&words_job, input(), &within(Array)), &words);
    let backwards = pairs::<u32, _, _>(u32::from, Some(RangeInclusive::new(9, 3)));
    error_saying(&engine, engine.run_with(&backwards, input(), &options), &["key_range", "least"]);
    // Too large for any memory.
    let huge = pairs::<u64, _, _>(u64::from, Some(0..=u64::MAX));
    error_saying(&engine, engine.run_with(&huge, input(), &within(Array)), &["array"]);
    assert_works(&engine);
}

/// Counts words, some of them as totals of several.
struct ByTotals;

impl Job for ByTotals {
    type Key = [u8];
    type Combine = Count;

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        for (number, word) in split.fields().enumerate() {
            match number % 3 {
                0 => emit.emit_total(word, 5),
                _ => emit.emit(word, ()),
            }
        }
        Ok(())
    }
}

/// The same of bytes, which an array has room for.
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
    // Words of every size class, in lines, so that each split begins one.
    let word = |number: usize| "abcdefg".repeat(1 + number % 7)[number % 3..].to_owned();
    let text = (0..3000).map(|line| format!("{} {} x\n", word(line), word(line / 2)));
    let text: String = text.collect();
    let mut expected = BTreeMap::<Vec<u8>, u64>::new();
    for line in text.lines() {
        for (number, word) in line.split(' ').enumerate() {
            *expected.entry(word.into()).or_default() += if number == 0 { 5 } else { 1 };
        }
    }
    let expected: Vec<(Vec<u8>, u64)> = expected.into_iter().collect();
    let engine = engine(2);
    let options = Options { split_bytes: Some(100), ..Options::default() };
    let counts = |container| -> Vec<(Vec<u8>, u64)> {
        let options = Options { container, ..options.clone() };
        let output = engine.run_with(&ByTotals, Input::bytes(&*text), &options).unwrap();
        output.iter().unwrap().map(|(key, count)| (key.to_vec(), count)).collect()
    };
    assert_eq!(counts(Hash), expected);
    assert_eq!(counts(HashTree), expected);
    assert_eq!(counts(Append), expected);
    assert_eq!(counts(Adaptive), expected);
    let bytes = |container| -> Vec<(u8, u64)> {
        let input = Input::bytes(&*text);
        let output = engine.run_with(&BytesByTotals, input, &within(container)).unwrap();
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

//! Any bytes in any files give the naive count, to the byte, however the input is cut and however
//! many workers there are.

use crate::jobs::{CopiedWords, Words};
use crate::reference;
use crate::support::{cases, count_line, count_lines, engines, folder_of, text_of};
use proptest::prelude::*;
use tegula::{Engine, Input, Job, Options, Order, WordClass};

/// Bytes of one file: anything; few letters, so that words repeat; or words whose lengths lie
/// about the borders between the engine's size classes of keys, and beyond a chunk of its arenas.
fn file() -> impl Strategy<Value = Vec<u8>> {
    let any_bytes = prop::collection::vec(any::<u8>(), 0..3000);
    let letters = prop::sample::select(&b"abAB \n\t\0\xff\xc3\xa9"[..]);
    let few_letters = prop::collection::vec(letters, 0..3000);
    let length = prop::sample::select(vec![
        1, 2, 7, 8, 14, 15, 16, 17, 30, 31, 32, 33, 100, 1023, 1024, 1025, 16_383, 16_384, 16_385,
        20_000,
    ]);
    let byte = prop::sample::select(&b"ab\0\xff"[..]);
    let word = (length, byte, prop::bool::weighted(0.9)).prop_map(|(length, byte, ends)| {
        let mut word = vec![byte; length];
        word.extend(ends.then_some(b' '));
        word
    });
    let long_words = prop::collection::vec(word, 0..12).prop_map(|words| words.concat());
    prop_oneof![any_bytes, few_letters, long_words]
}

/// Sizes of tiles and splits: tiny, about a file's, and far beyond.
fn size() -> impl Strategy<Value = u64> {
    prop_oneof![1..64_u64, 64..6000_u64, Just(1 << 40), Just(u64::MAX)]
}

fn text<J: Job<Key = [u8]>>(engine: &Engine, job: &J, input: Input, options: &Options) -> Vec<u8>
where
    J::Combine: for<'a> tegula::Aggregate<Output<'a> = u64>,
{
    text_of(&engine.job(job).options(options).run(input).unwrap(), count_line)
}

fn sorted_lines(text: &[u8]) -> Vec<&[u8]> {
    let mut lines: Vec<_> = text.split(|&byte| byte == b'\n').collect();
    lines.sort_unstable();
    lines
}

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn counts_of_files_equal_the_naive_ones(
        files in prop::collection::vec(file(), 0..5),
        tile in size(),
        split in size(),
        alpha: bool,
        order in prop::sample::select(vec![Order::Key, Order::Value]),
        top in prop::sample::select(vec![None, None, Some(0), Some(1), Some(7), Some(usize::MAX)]),
    ) {
        let class = if alpha { WordClass::Alpha } else { WordClass::Whitespace };
        let counts = reference::count(files.iter().map(Vec::as_slice), class);
        let expected = count_lines(&reference::answer(&counts, order, top));
        let folder = folder_of(&files);
        let (tile_bytes, split_bytes) = (Some(tile), Some(split));
        let options = Options { order, top, tile_bytes, split_bytes, ..Options::default() };
        for engine in engines() {
            let input = Input::paths([folder.path()]).unwrap();
            let output = engine.job(&Words(class)).options(&options).run(input).unwrap();
            prop_assert!(text_of(&output, count_line) == expected, "{} workers", engine.workers());
            let stats = output.stats();
            prop_assert_eq!(stats.bytes, files.iter().map(|file| file.len() as u64).sum::<u64>());
            prop_assert_eq!(stats.files, files.len() as u64);
            prop_assert_eq!(stats.keys, counts.len() as u64);
            prop_assert_eq!(stats.pairs, counts.values().sum::<u64>());
        }
    }

    #[test]
    fn answers_without_order_come_in_one_order(
        text in file(),
        shapes in prop::collection::vec((size(), size()), 2),
        top in prop::sample::select(vec![None, Some(0), Some(1), Some(20), Some(usize::MAX)]),
    ) {
        let counts = reference::count([&*text], WordClass::Whitespace);
        let expected = count_lines(&reference::answer(&counts, Order::None, top));
        let mut first: Option<Vec<u8>> = None;
        for (engine, (tile, split)) in engines().iter().flat_map(|engine| {
            shapes.iter().map(move |shape| (engine, *shape))
        }) {
            let (tile_bytes, split_bytes) = (Some(tile), Some(split));
            let order = Order::None;
            let options = Options { order, top, tile_bytes, split_bytes, ..Options::default() };
            let input = Input::bytes(text.clone());
            let answer = self::text(engine, &Words(WordClass::Whitespace), input, &options);
            prop_assert!(sorted_lines(&answer) == sorted_lines(&expected));
            let first = first.get_or_insert_with(|| answer.clone());
            prop_assert!(*first == answer, "{} workers, {tile}, {split}", engine.workers());
        }
    }

    #[test]
    fn keys_that_the_map_copies_count_as_borrowed_ones(text in file(), split in size()) {
        let counts = reference::count([&*text], WordClass::Whitespace);
        let expected = count_lines(&reference::answer(&counts, Order::Key, None));
        let options = Options { split_bytes: Some(split), ..Options::default() };
        for engine in engines() {
            let input = Input::bytes(text.clone());
            prop_assert!(self::text(engine, &CopiedWords, input, &options) == expected);
        }
    }
}

/// Enough keys that tables of many sizes fold them: a cheap canonical order would show here. It must not show
/// in which order words came either, nor in how many segments.
#[test]
fn many_keys_without_order_come_in_one_order() {
    // Keys of all size classes.
    let word = |i: usize| format!("{i:0width$}\n", width = [1, 20, 40][i % 3]);
    let words: Vec<String> = (0..60_000).map(|i| word(i % 40_000)).collect();
    let (forward, backward) = (words.concat(), words.iter().rev().cloned().collect::<String>());
    for top in [None, Some(1000)] {
        let mut answers = Vec::new();
        for (engine, split) in engines().iter().zip([500, 4000, 1 << 20, 70_000]) {
            for text in [&forward, &backward] {
                let (order, split_bytes) = (Order::None, Some(split));
                let options = Options { order, top, split_bytes, ..Options::default() };
                let input = Input::bytes(text.clone());
                answers.push(self::text(engine, &Words(WordClass::Whitespace), input, &options));
            }
        }
        assert!(answers.iter().all(|answer| *answer == answers[0]), "top {top:?}");
    }
}

#[test]
fn no_input_and_empty_input_give_empty_answers() {
    let folder = folder_of(&["", ""]);
    for engine in engines() {
        for order in [Order::Key, Order::Value, Order::None] {
            let options = Options { order, ..Options::default() };
            let none: [&str; 0] = [];
            let inputs = [
                Input::paths(none).unwrap(),
                Input::paths([folder.path()]).unwrap(),
                Input::bytes(""),
                Input::bytes(" \n "),
            ];
            for input in inputs {
                let job = Words(WordClass::Whitespace);
                assert!(text(engine, &job, input, &options).is_empty());
            }
        }
    }
}

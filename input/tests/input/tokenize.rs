//! Every level finds the words and records that a byte-by-byte walk finds, in any text. Texts are boxed to their
//! length, so that Miri sees a read past the end. Under Miri windows are small, so few cases reach all paths.

use proptest::prelude::*;
use tegula_input::tokenize::{Records, Simd, Tokens, WordClass};

/// The bytes that are searched at once.
const WINDOW: usize = if cfg!(miri) { 128 } else { 2048 };

const CLASSES: [WordClass; 3] = [WordClass::Whitespace, WordClass::Alpha, WordClass::Name];
const CASES: u32 = if cfg!(miri) { 4 } else { 100 };
const LENGTH: usize = if cfg!(miri) { 300 } else { 10_000 };

/// Returns the words by the definition alone.
fn naive(class: WordClass, text: &[u8]) -> Vec<&[u8]> {
    text.split(|byte| !class.contains(*byte)).filter(|word| !word.is_empty()).collect()
}

/// Checks both ways of iterating, at every level.
fn check(text: &[u8]) {
    let text: Box<[u8]> = text.into();
    for class in CLASSES {
        let expected = naive(class, &text);
        for simd in Simd::available() {
            let mut words = Vec::new();
            let mut tokens = Tokens::with(simd, class, &text);
            for word in tokens.by_ref() {
                words.push(word);
            }
            assert!(words == expected, "{} {class:?} by next", simd.name());
            assert!(tokens.next().is_none(), "no word after the last");

            let mut tokens = Tokens::with(simd, class, &text);
            let mut words: Vec<_> = tokens.by_ref().take(3).collect();
            tokens.for_each(|word| words.push(word));
            assert!(words == expected, "{} {class:?} by fold", simd.name());
        }
    }
}

/// Draws bytes with a bias that makes words of a given usual length out of a small alphabet.
fn text() -> impl Strategy<Value = Vec<u8>> {
    let byte = |separators: u32| {
        prop_oneof![
            separators => prop::sample::select(b" \t\n\x0b\x0c\r".to_vec()),
            20 => prop::sample::select(b"aZ09_".to_vec()),
            1 => any::<u8>(),
        ]
    };
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..LENGTH),
        prop::collection::vec(byte(20), 0..LENGTH),
        prop::collection::vec(byte(3), 0..LENGTH),
        runs(),
    ]
}

/// Draws runs of one byte each, up to several windows long.
fn runs() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop::sample::select(b"a \0\xff\n~".to_vec());
    let near = |bytes: usize| bytes - 2..bytes + 3;
    let length = prop_oneof![1..5_usize, near(64), near(WINDOW), near(2 * WINDOW), 1..4 * WINDOW];
    prop::collection::vec((byte, length), 0..if cfg!(miri) { 3 } else { 8 }).prop_map(|runs| {
        let run = |(byte, length)| std::iter::repeat_n(byte, length);
        runs.into_iter().flat_map(run).collect()
    })
}

/// Returns the records by the definition alone.
fn naive_records<const N: usize>(separator: u8, text: &[u8]) -> Vec<Result<[&[u8]; N], &[u8]>> {
    let lines = text.split_inclusive(|byte| *byte == b'\n');
    let lines = lines.map(|line| line.strip_suffix(b"\n").unwrap_or(line));
    let fields =
        lines.map(|line| (line, line.split(|byte| *byte == separator).collect::<Vec<_>>()));
    fields.map(|(line, fields)| fields.try_into().map_err(|_| line)).collect()
}

fn check_records<const N: usize>(text: &[u8]) {
    let text: Box<[u8]> = text.into();
    let expected = naive_records::<N>(b';', &text);
    for simd in Simd::available() {
        let mut records = Records::<N>::with(simd, b';', &text);
        let found: Vec<_> = records.by_ref().collect();
        assert!(found == expected, "{} {N} fields of {text:?}", simd.name());
        assert!(records.next().is_none(), "no record after the last");
    }
}

/// Draws lines that mostly have two fields, some of them longer than a window.
fn lines() -> impl Strategy<Value = Vec<u8>> {
    let length = prop_oneof![20 => 0..9_usize, 1 => 0..2 * WINDOW];
    let field = (length, any::<u8>()).prop_map(|(length, byte)| {
        let byte = if byte == b';' || byte == b'\n' { b'x' } else { byte };
        vec![byte; length]
    });
    let count = prop_oneof![9 => Just(2), 1 => 0..5_usize];
    let line = count.prop_flat_map(move |count| prop::collection::vec(field.clone(), count));
    let ends = prop_oneof![Just(&b""[..]), Just(&b"\n"[..])];
    let most = if cfg!(miri) { 20 } else { 600 };
    (prop::collection::vec(line, 0..most), ends).prop_map(|(lines, end)| {
        let lines: Vec<_> = lines.iter().map(|fields| fields.join(&b';')).collect();
        [&lines.join(&b'\n')[..], end].concat()
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: CASES,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_level_finds_the_words_of_a_naive_split(text in text()) {
        check(&text);
    }

    #[test]
    fn a_text_may_begin_and_end_anywhere_in_memory(
        text in text(),
        cut in (any::<prop::sample::Index>(), any::<prop::sample::Index>()),
    ) {
        let (a, b) = (cut.0.index(text.len() + 1), cut.1.index(text.len() + 1));
        let slice = &text[a.min(b)..a.max(b)];
        for class in CLASSES {
            for simd in Simd::available() {
                let words: Vec<_> = Tokens::with(simd, class, slice).collect();
                prop_assert!(words == naive(class, slice), "{}", simd.name());
            }
        }
    }

    #[test]
    fn every_level_finds_the_records_of_a_naive_split(lines in lines(), text in text()) {
        check_records::<1>(&lines);
        check_records::<2>(&lines);
        check_records::<3>(&lines);
        check_records::<2>(&text);
    }
}

/// Tests all lengths around blocks and windows of all-word, all-separator and alternating text.
#[test]
fn plain_texts_of_every_length() {
    let step = if cfg!(miri) { 61 } else { 1 };
    let near_windows = (1..4).flat_map(|n| n * WINDOW - 3..n * WINDOW + 4);
    for length in (0..200).chain(near_windows).step_by(step) {
        for pattern in ["a", " ", "a ", " a", "aa ", "\0\u{80}\t", "a\u{e9} \n", "_/9:@[`{"] {
            let text: Vec<u8> = pattern.bytes().cycle().take(length).collect();
            check(&text);
        }
    }
}

/// Tests a word that crosses one, two or three windows, with words on both sides, at every offset of a
/// block.
#[test]
fn words_longer_than_windows() {
    let starts = if cfg!(miri) { 31..33 } else { 20..90 };
    for start in starts {
        for windows in 1..=3 {
            let mut text = b"x ".repeat(start);
            text.extend(b"y".repeat(windows * WINDOW + start / 2));
            text.extend(b" z");
            check(&text);
        }
    }
}

#[test]
fn each_byte_is_classed_alike_at_every_level() {
    for class in CLASSES {
        for simd in Simd::available() {
            for byte in (0..=u8::MAX).step_by(if cfg!(miri) { 7 } else { 1 }) {
                let is_word = Tokens::with(simd, class, &[byte]).next().is_some();
                assert_eq!(is_word, class.contains(byte), "{} {byte}", simd.name());
            }
        }
    }
}

#[test]
fn the_detected_level_is_one_of_the_machine() {
    assert!(Simd::available().contains(&Simd::detect()));
    assert_eq!(Simd::available().last(), Some(&Simd::Portable));
}

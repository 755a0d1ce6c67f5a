//! A pattern matches within lines, as if each were searched alone, whatever bytes they are of.

use super::*;
use proptest::prelude::*;
use regex::bytes::RegexBuilder;
use std::collections::BTreeMap;
use tegula_apps::grep::{Counted, Grep, Meaning};

const REGEX: Meaning = Meaning { ignores_case: false, is_fixed: false };

/// Returns the three counts, line by line.
fn plain(pattern: &str, meaning: Meaning, text: &[u8]) -> [Vec<(Vec<u8>, u64)>; 3] {
    let regex = RegexBuilder::new(pattern).case_insensitive(meaning.ignores_case).build().unwrap();
    let (mut lines, mut matches, mut texts) = (0, 0, BTreeMap::new());
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        lines += u64::from(regex.is_match(line));
        for found in regex.find_iter(line).filter(|found| !found.is_empty()) {
            matches += 1;
            *texts.entry(found.as_bytes().to_vec()).or_default() += 1;
        }
    }
    let by_file = |count| if count > 0 { vec![(b"memory".to_vec(), count)] } else { Vec::new() };
    [by_file(matches), by_file(lines), texts.into_iter().collect()]
}

fn check(pattern: &str, meaning: Meaning, text: &[u8], split: u64) {
    let counts = [Counted::Matches, Counted::Lines, Counted::Texts];
    for (count, expected) in counts.into_iter().zip(plain(pattern, meaning, text)) {
        let job = Grep::new(pattern, meaning, count).unwrap();
        let found = pairs(&job, text, split, &Options::default());
        assert_eq!(found, expected, "{count:?} of {pattern:?} in {text:?}");
    }
}

proptest! {
    #![proptest_config(cases(6))]

    #[test]
    fn in_any_text(
        text in prop::collection::vec(
            prop::sample::select(b"aabbccAB  \n\n\r\t\0\xff\xc3\xa9".to_vec()), 0..400,
        ),
        split in 1_u64..300,
    ) {
        for pattern in [
            "a", "ab|b+", "^a", "b$", "^$", "a*", "\\s", "[^a]", "a\\s*b", "\\bb", "(?-u:\\xff)",
            "é", ".", "(?s).+", "\\n", "a\\nb", "^", "c(?:\\s|\\S)", "[a-c]+b", "\\w+b\\s",
        ] {
            for ignores_case in [false, true] {
                check(pattern, Meaning { ignores_case, ..REGEX }, &text, split);
            }
        }
    }
}

/// More lines than are searched at a time, some of them longer than that by themselves.
#[test]
fn in_long_text() {
    let line = |number: usize| {
        let length = if number % 50 == 7 { 9000 + number } else { number % 90 };
        let letters = b"ab c\xffAcb ".iter().copied().cycle().skip(number).take(length);
        letters.chain([b'\n'; 2].into_iter().take(1 + usize::from(number % 11 == 3)))
    };
    let mut text: Vec<u8> = (0..800).flat_map(line).collect();
    for end in [text.len(), text.len() - 1] {
        text.truncate(end);
        for pattern in
            ["ab|b+", "^a", "b$", "^$", "a*", "\\bb", "c(?:\\s|\\S)", "(?s)b.*c", "a\\nb"]
        {
            for split in [5000, 1 << 20] {
                check(pattern, REGEX, &text, split);
            }
        }
    }
}

#[test]
fn a_fixed_pattern_is_no_expression() {
    let job = Grep::new("a.b", Meaning { is_fixed: true, ..REGEX }, Counted::Texts).unwrap();
    let found = pairs(&job, b"a.b axb a.b\nA.B", 3, &Options::default());
    assert_eq!(found, [(b"a.b".to_vec(), 2)]);
}

#[test]
fn a_pattern_that_is_none_is_refused() {
    for (pattern, part) in [
        ("(", "unclosed group"),
        ("a{2,1}", "invalid repetition"),
        ("\\Aa", "write ^ and $"),
        ("a\\z", "write ^ and $"),
        ("(?-m)^a", "write ^ and $"),
        ("(\\w{100}){1000}", "size"),
    ] {
        let error = Grep::new(pattern, REGEX, Counted::Lines).unwrap_err().to_string();
        assert!(error.contains(part) && !error.contains('\n'), "{pattern}: {error}");
    }
}

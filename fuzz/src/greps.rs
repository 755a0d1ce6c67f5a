//! Matches by their text, of patterns that are chosen and of ones that are the input's own, beside a search in each line.

use crate::{choice, pairs};
use regex::bytes::RegexBuilder;
use std::collections::BTreeMap;
use tegula::Input;
use tegula_apps::grep::{Counted, Grep, Meaning};

const PATTERNS: [&str; 6] = ["a", "[a-c]+", "^b.*c$", r"\bab?\b", "(?i)x|yz", r"\w+\s"];

pub(crate) fn run(bytes: &[u8]) {
    let Some((shape, rest)) = choice(bytes) else { return };
    let Some((which, rest)) = choice(rest) else { return };
    let (pattern, text) = match PATTERNS.get(usize::from(which % 8)) {
        Some(pattern) => (*pattern, rest),
        None => {
            let (pattern, text) = rest.split_at(rest.len().min(usize::from(which >> 3)));
            let Ok(pattern) = std::str::from_utf8(pattern) else { return };
            (pattern, text)
        }
    };
    let meaning = Meaning { ignores_case: which & 8 != 0, is_fixed: which & 16 != 0 };
    let Ok(grep) = Grep::new(pattern, meaning, Counted::Texts) else { return };
    let escaped = if meaning.is_fixed { regex::escape(pattern) } else { pattern.to_owned() };
    let regex = RegexBuilder::new(&escaped)
        .multi_line(true)
        .case_insensitive(meaning.ignores_case)
        .build()
        .unwrap();
    let mut expected: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
    for line in text.split(|&byte| byte == b'\n') {
        for found in regex.find_iter(line).filter(|found| !found.is_empty()) {
            *expected.entry(found.as_bytes().to_vec()).or_default() += 1;
        }
    }
    let found = pairs(&grep, Input::bytes(text), shape).unwrap();
    assert_eq!(found, expected, "{pattern:?}");
}

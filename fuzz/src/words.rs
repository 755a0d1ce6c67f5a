//! Words of any bytes beside the definitions: bytes between white space, runs of letters, and the words of the crate that
//! follows Unicode's rules.

use crate::{choice, pairs};
use std::collections::BTreeMap;
use tegula::Input;
use tegula_apps::{WordCount, Words};
use unicode_segmentation::UnicodeSegmentation;

pub(crate) fn run(bytes: &[u8]) {
    let Some((shape, rest)) = choice(bytes) else { return };
    let Some((which, text)) = choice(rest) else { return };
    let mut expected: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
    let mut add = |word: Vec<u8>| *expected.entry(word).or_default() += 1;
    let words = match which % 3 {
        0 => {
            let is_space = |byte: &u8| matches!(byte, b' ' | b'\t'..=b'\r');
            let words = text.split(is_space).filter(|word| !word.is_empty());
            words.for_each(|word| add(word.to_vec()));
            Words::Whitespace
        }
        1 => {
            let words = text.split(|byte| !byte.is_ascii_alphabetic());
            words.filter(|word| !word.is_empty()).for_each(|word| add(word.to_ascii_lowercase()));
            Words::Alpha
        }
        _ => {
            // What is no UTF-8 is not said to be of any word.
            let Ok(text) = std::str::from_utf8(text) else {
                let _ = pairs(&WordCount { words: Words::Unicode }, Input::bytes(text), shape);
                return;
            };
            text.unicode_words().for_each(|word| add(Words::Unicode.folded(word.as_bytes())));
            Words::Unicode
        }
    };
    let found = pairs(&WordCount { words }, Input::bytes(text), shape).unwrap();
    assert_eq!(found, expected);
}

//! The texts that the ladder is measured on, drawn by a seed: the same bytes on every machine. Each is
//! made when it is first asked for, and written to cargo's folder for such files, where the engine
//! reads it from the page cache.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Size of a text: many times any cache of one core.
pub(crate) const BYTES: usize = 64 << 20;
const WORDS_PER_LINE: u64 = 11;
const SEED: u64 = 0x7465_6775_6c61;

/// Which words a text has.
#[derive(Clone, Copy)]
pub(crate) enum Text {
    /// A thousand words, the k-th with a frequency of 1/k: tables stay in the first caches.
    Few,
    /// A million words, the k-th with a frequency of 1/k: tables are larger than the caches.
    Many,
    /// Nearly every word is new: tables never stop growing.
    New,
}

impl Text {
    pub(crate) const ALL: [Text; 3] = [Text::Few, Text::Many, Text::New];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Text::Few => "few keys",
            Text::Many => "many keys",
            Text::New => "new keys",
        }
    }

    /// Returns the text's file.
    pub(crate) fn path(self) -> &'static Path {
        static PATHS: [OnceLock<PathBuf>; 3] = [const { OnceLock::new() }; 3];
        PATHS[self as usize].get_or_init(|| {
            let name = format!("{}.txt", self.name().replace(' ', "-"));
            let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
            fs::write(&path, self.bytes()).unwrap();
            path
        })
    }

    pub(crate) fn bytes(self) -> Vec<u8> {
        let mut random = Random(SEED);
        match self {
            Text::Few => zipf(&mut random, 1_000),
            Text::Many => zipf(&mut random, 1_000_000),
            Text::New => {
                let mut word = Vec::new();
                fill(|random, text| {
                    draw(random, &mut word, 8, 11);
                    text.extend_from_slice(&word);
                })(&mut random)
            }
        }
    }
}

/// Returns a text of `words` words, the k-th with a frequency of 1/k.
fn zipf(random: &mut Random, words: u64) -> Vec<u8> {
    let vocabulary: Vec<Vec<u8>> = (0..words)
        .map(|_| {
            let mut word = Vec::new();
            draw(random, &mut word, 3, 12);
            word
        })
        .collect();
    // Integer weights, so that every machine draws the same.
    let mut height = 0;
    let heights: Vec<u64> = (1..=words)
        .map(|rank| {
            height += (1 << 40) / rank;
            height
        })
        .collect();
    fill(|random, text| {
        let drawn = random.below(height);
        text.extend_from_slice(&vocabulary[heights.partition_point(|&height| height <= drawn)]);
    })(random)
}

/// Returns a function that fills a text with words and separators.
fn fill(mut word: impl FnMut(&mut Random, &mut Vec<u8>)) -> impl FnMut(&mut Random) -> Vec<u8> {
    move |random| {
        let mut text = Vec::with_capacity(BYTES + 64);
        while text.len() < BYTES {
            word(random, &mut text);
            text.push(if random.below(WORDS_PER_LINE) == 0 { b'\n' } else { b' ' });
        }
        text.truncate(BYTES);
        text
    }
}

/// Replaces `word` by one of `least` to `most` random letters.
fn draw(random: &mut Random, word: &mut Vec<u8>, least: u64, most: u64) {
    word.clear();
    let len = least + random.below(most - least + 1);
    word.extend((0..len).map(|_| b'a' + random.below(26) as u8));
}

/// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
struct Random(u64);

impl Random {
    /// Returns a number below `end`, as good as evenly spread.
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u128::from(bits ^ (bits >> 31)) * u128::from(end)) >> 64) as u64
    }
}

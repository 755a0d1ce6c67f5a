//! Word count on a device: `words.c`, and its twin in Rust for the emulated device. Takes a piece of text;
//! hands on a table of words, by their bytes, with their counts.

use super::WordCount;
use crate::fault;
use tegula::device::{Kernel, Launch, Offload, Shape};
use tegula::{Emit, Result, WordClass};

/// The most words of a table: 32 MiB, for about half a million words of text.
const TABLE_WORDS: usize = 4 << 20;
/// Words of the table before its slots.
const HEAD: usize = 4;
const SHORT_WORDS: usize = 4;
const LONG_WORDS: usize = 32;
const BYTES_PER_WORD: usize = 7;
const SHORT_BYTES: usize = (SHORT_WORDS - 1) * BYTES_PER_WORD;
const LONG_BYTES: usize = (LONG_WORDS - 1) * BYTES_PER_WORD;
const PROBES: usize = 64;
/// The mark of a slot's last word of bytes.
const IS_LAST: u8 = 0x80;

/// Returns a device's work: for words of letters, or for those between white space.
pub(super) fn offload(is_alpha: bool) -> Offload {
    let kernel = Kernel {
        entry: "words_counted".into(),
        file: "words.c".into(),
        source: include_str!("words.c").into(),
        defines: vec![("ALPHA".into(), is_alpha.into())],
        emulated: Some(emulated),
    };
    let (partial, broadcast) = (Shape::Table(TABLE_WORDS), Vec::new());
    Offload { kernel, partial, broadcast, residence: None }
}

/// Returns the slots of either kind in a table of `words` words, and the words of each slot.
fn regions(words: usize) -> [(std::ops::Range<usize>, usize); 2] {
    let short = words.saturating_sub(HEAD) / 4 * 3 / SHORT_WORDS * SHORT_WORDS;
    let from = HEAD + short;
    let long = words.saturating_sub(from) / LONG_WORDS * LONG_WORDS;
    [(HEAD..from, SHORT_WORDS), (from..from + long, LONG_WORDS)]
}

/// Emits the words of a table.
pub(super) fn unload(table: &[u64], emit: &mut dyn Emit<'_, WordCount>) -> Result<()> {
    for (region, slot_words) in regions(table.len()) {
        let slots = table.get(region).unwrap_or_default();
        for slot in slots.chunks_exact(slot_words).filter(|slot| slot[0] != 0) {
            let (bytes, count) = (&slot[..slot_words - 1], slot[slot_words - 1]);
            let mut word = [0; LONG_BYTES];
            let Some(length) = unpacked(bytes, &mut word).filter(|_| count > 0) else {
                return Err(fault("a device's table of words", "has an entry that is not a word"));
            };
            emit.emit_total(&word[..length], count);
        }
    }
    Ok(())
}

/// Unpacks a word's bytes; `None` if it has no end.
fn unpacked(packed: &[u64], word: &mut [u8; LONG_BYTES]) -> Option<usize> {
    let mut length = 0;
    for packed in packed {
        let [bytes @ .., mark] = packed.to_le_bytes();
        let count = usize::from(mark & !IS_LAST);
        word.get_mut(length..length + count)?.copy_from_slice(bytes.get(..count)?);
        length += count;
        if mark & IS_LAST != 0 {
            return Some(length);
        }
    }
    None
}

fn emulated(launch: &Launch<'_>, table: &mut [u64]) {
    if table.first().is_none_or(|&full| full != 0) {
        return;
    }
    let class = if launch.arguments[0] == 1 { WordClass::Alpha } else { WordClass::Whitespace };
    let [short, long] = regions(table.len());
    let words = launch.bytes.split(|&byte| !class.contains(byte));
    for word in words.filter(|word| !word.is_empty()) {
        let mut word = word.to_vec();
        if class == WordClass::Alpha {
            word.make_ascii_lowercase();
        }
        let (region, slot_words) =
            if word.len() <= SHORT_BYTES { short.clone() } else { long.clone() };
        if word.len() > LONG_BYTES || !counted(&word, &mut table[region], slot_words) {
            table[0] = 1;
            return;
        }
    }
}

/// Counts a word; returns whether there was room.
fn counted(word: &[u8], table: &mut [u64], slot_words: usize) -> bool {
    let slots = table.len() / slot_words;
    if slots == 0 {
        return false;
    }
    let packed: Vec<u64> = word
        .chunks(BYTES_PER_WORD)
        .enumerate()
        .map(|(number, part)| {
            let mut bytes = [0; 8];
            bytes[..part.len()].copy_from_slice(part);
            let is_last = (number + 1) * BYTES_PER_WORD >= word.len();
            bytes[7] = part.len() as u8 | if is_last { IS_LAST } else { 0 };
            u64::from_le_bytes(bytes)
        })
        .collect();
    let mix = |hash: u64, part: &u64| (hash ^ part).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let hash = packed.iter().fold(0, mix) >> 16;
    let mut place = hash as usize % slots;
    for _ in 0..PROBES {
        let slot = &mut table[place * slot_words..][..slot_words];
        if slot[0] == 0 {
            slot[..packed.len()].copy_from_slice(&packed);
        }
        if slot[..packed.len()] == packed {
            slot[slot_words - 1] += 1;
            return true;
        }
        place = (place + 1) % slots;
    }
    false
}

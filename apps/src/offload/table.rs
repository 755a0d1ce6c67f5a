//! A kernel's partial as a table: keys, which are bytes or numbers, each with a word. `combine.h` has the
//! same layout. Takes the words of a table; hands on its pairs, or adds pairs for twins of kernels in Rust.

use super::{By, Keys, Spec};
use crate::extreme::word;

/// Words before the slots.
pub(super) const HEAD: usize = 8;
const BYTES_PER_WORD: usize = 7;
/// The mark of a key's last word.
const IS_LAST: u8 = 0x80;

/// A table on the emulated device, for the twin of a kernel: `Table::of(&spec, partial)`.
#[derive(Debug)]
pub struct Table<'t> {
    words: &'t mut [u64],
    longest: usize,
    is_sum: bool,
}

impl Spec {
    /// Returns the number of words of a key.
    pub(super) fn key_words(&self) -> usize {
        (self.key_bytes() as usize).div_ceil(BYTES_PER_WORD).max(1)
    }

    /// Returns the bytes of the longest key.
    pub(super) fn key_bytes(&self) -> u64 {
        match self.keys {
            Some(Keys::U64 | Keys::I64) => 8,
            Some(Keys::Bytes) | None => self.longest_key,
        }
    }
}

impl Table<'_> {
    /// Creates the table that a device keeps for a kernel of this spec.
    pub fn of<'t>(spec: &Spec, words: &'t mut [u64]) -> Table<'t> {
        Table { words, longest: spec.key_bytes() as usize, is_sum: spec.combine == By::Sum }
    }

    /// Does the same as `COMBINE_KEY`. `word` is the value for a sum, and its [`rank`](Spec::rank) for a
    /// least or greatest.
    pub fn combine_key(&mut self, key: u64, word: u64) {
        self.combine_bytes(&key.to_le_bytes(), word);
    }

    /// Does the same as `COMBINE_BYTES`. Constant time per byte of the key, plus the occupied slots that it
    /// passes.
    pub fn combine_bytes(&mut self, key: &[u8], word: u64) {
        let key_words = self.longest.div_ceil(BYTES_PER_WORD).max(1);
        let (head, slots) = self.words.split_at_mut(HEAD);
        if head[0] != 0 {
            return;
        }
        if key.len() > self.longest {
            head[1] += 1;
            return;
        }
        let own = packed(key);
        let hash = own.iter().fold(0, |hash: u64, word| {
            (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
        });
        let count = slots.len() / (key_words + 1);
        for probe in 0..count {
            let place = (hash as usize % count + probe) % count;
            let slot = &mut slots[place * (key_words + 1)..][..=key_words];
            if slot[0] == 0 {
                slot[..own.len()].copy_from_slice(&own);
            }
            if slot[..own.len()] == own {
                let value = &mut slot[key_words];
                *value = if self.is_sum { value.wrapping_add(word) } else { word.max(*value) };
                return;
            }
        }
        head[0] = 1;
    }
}

/// Returns a key's bytes packed, seven per word.
fn packed(key: &[u8]) -> Vec<u64> {
    let count = key.len().div_ceil(BYTES_PER_WORD).max(1);
    let word = |number| {
        let part = &key[number * BYTES_PER_WORD..key.len().min((number + 1) * BYTES_PER_WORD)];
        let mut bytes = [0; 8];
        bytes[..part.len()].copy_from_slice(part);
        bytes[7] = part.len() as u8 | if number + 1 == count { IS_LAST } else { 0 };
        u64::from_le_bytes(bytes)
    };
    (0..count).map(word).collect()
}

/// Unpacks a key's bytes; `None` if they have no end or are malformed.
fn unpacked(words: &[u64], key: &mut Vec<u8>) -> Option<()> {
    key.clear();
    for word in words {
        let [bytes @ .., mark] = word.to_le_bytes();
        key.extend_from_slice(bytes.get(..usize::from(mark & !IS_LAST))?);
        if mark & IS_LAST != 0 {
            return Some(());
        }
    }
    None
}

/// Replaces the bytes of a number by ones that are in the order of numbers; `None` if it is malformed.
fn put_in_order(keys: Keys, key: &mut [u8]) -> Option<()> {
    let bytes: &mut [u8; 8] = key.try_into().ok()?;
    let number = u64::from_le_bytes(*bytes);
    let word = if keys == Keys::I64 { word::of_int(number.cast_signed()) } else { number };
    *bytes = word.to_be_bytes();
    Some(())
}

/// Passes the pairs of a table to `see`, with `None` for a malformed key. Numbers are in the order of their bytes.
pub(super) fn each(spec: &Spec, table: &[u64], mut see: impl FnMut(Option<&[u8]>, u64)) {
    let (key_words, mut key) = (spec.key_words(), Vec::new());
    let slots = table.get(HEAD..).unwrap_or_default();
    for slot in slots.chunks_exact(key_words + 1).filter(|slot| slot[0] != 0) {
        let unpacked = unpacked(&slot[..key_words], &mut key);
        let is_key = match spec.keys {
            Some(keys @ (Keys::U64 | Keys::I64)) => {
                unpacked.and_then(|()| put_in_order(keys, &mut key))
            }
            Some(Keys::Bytes) | None => unpacked,
        }
        .is_some();
        see(is_key.then_some(&key), slot[key_words]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_every_length_come_back() {
        let spec = Spec { keys: Some(Keys::Bytes), longest_key: 30, ..Spec::default() };
        let mut words = vec![0; HEAD + 40 * (spec.key_words() + 1)];
        let keys: Vec<Vec<u8>> = (0..=30).map(|length| vec![0; length]).collect();
        for _ in 0..2 {
            let mut table = Table::of(&spec, &mut words);
            keys.iter().for_each(|key| table.combine_bytes(key, key.len() as u64 + 1));
        }
        let mut found = Vec::new();
        each(&spec, &words, |key, word| found.push((key.unwrap().to_vec(), word)));
        found.sort();
        let expected = keys.into_iter().map(|key| (key.clone(), 2 * (key.len() as u64 + 1)));
        assert_eq!(found, expected.collect::<Vec<_>>());
        assert_eq!(words[..2], [0, 0]);
        Table::of(&spec, &mut words).combine_bytes(&[0; 31], 1);
        assert_eq!(words[..2], [0, 1]);
        // No correct kernel writes this.
        words[HEAD] = 0xff << 56;
        let mut broken = 0;
        each(&spec, &words, |key, _| broken += u32::from(key.is_none()));
        assert_eq!(broken, 1);
    }
}

//! The oracle: the same counts, made one word after the other with the standard library only.

use std::collections::{BTreeMap, HashMap};
use tegula::{Order, WordClass};

pub(crate) type Counts = BTreeMap<Vec<u8>, u64>;

/// Returns the words of a text, found byte by byte.
pub(crate) fn words(text: &[u8], class: WordClass) -> impl Iterator<Item = &[u8]> {
    let separates = move |byte: &u8| match class {
        WordClass::Whitespace => b" \t\n\x0b\x0c\r".contains(byte),
        WordClass::Alpha => !byte.is_ascii_alphabetic(),
        WordClass::Name => !(byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80),
    };
    text.split(separates).filter(|word| !word.is_empty())
}

/// Returns the count of each word in the texts; no word continues in the next text.
pub(crate) fn count<'t>(texts: impl IntoIterator<Item = &'t [u8]>, class: WordClass) -> Counts {
    let mut counts: HashMap<Vec<u8>, u64> = HashMap::new();
    for text in texts {
        let folded = match class {
            WordClass::Whitespace | WordClass::Name => text.to_vec(),
            WordClass::Alpha => text.to_ascii_lowercase(),
        };
        for word in words(&folded, class) {
            match counts.get_mut(word) {
                Some(count) => *count += 1,
                None => drop(counts.insert(word.to_vec(), 1)),
            }
        }
    }
    counts.into_iter().collect()
}

/// Returns the answer for counts: ordered, and cut off after the `top` largest. `Order::None` comes by key.
pub(crate) fn answer(counts: &Counts, order: Order, top: Option<usize>) -> Vec<(Vec<u8>, u64)> {
    let mut pairs: Vec<_> = counts.iter().map(|(key, count)| (key.clone(), *count)).collect();
    let by_value = |pair: &(Vec<u8>, u64)| std::cmp::Reverse(pair.1);
    if let Some(most) = top {
        pairs.sort_by_key(by_value);
        pairs.truncate(most);
        pairs.sort();
    }
    if order == Order::Value {
        pairs.sort_by_key(by_value);
    }
    pairs
}

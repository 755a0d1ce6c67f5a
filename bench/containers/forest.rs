//! The hash+tree container of Metis (section 3.3), to compare with: a fixed hash table with an ordered tree
//! (`BTreeMap`) in each of its 256 entries. The engine reads and cuts the input. The map puts words into the
//! trees of its thread and emits nothing; at the end trees of one entry are merged, and all words sorted.
//!
//! A word costs O(log(k / 256)) comparisons for k distinct words, each of which waits for the one before it,
//! where a batch of probes of an open table overlaps its misses.

use crate::Figures;
use std::collections::BTreeMap;
use tegula::{Count, Cut, Emit, Engine, Input, Job, Result, Split, WordClass};
use tegula_machine::sync::Mutex;
use twox_hash::XxHash3_64;

const TREES: usize = 256;
/// Bytes of a word that fit in a number of 16 bytes with their length.
const SHORT: usize = 15;

/// The words of one entry. A short word is a number: its bytes, zeros, and its length in the last byte. The
/// numbers order as the words do.
#[derive(Default)]
struct Tree {
    short: BTreeMap<u128, u64>,
    long: BTreeMap<Box<[u8]>, u64>,
}

type Forest = Vec<Tree>;

/// Counts words between white space in forests, of which each map takes one that is free.
#[derive(Default)]
struct Forests {
    free: Mutex<Vec<Forest>>,
}

impl Job for Forests {
    type Key = [u8];
    type Combine = Count;

    fn cut(&self) -> Cut {
        Cut::around(WordClass::Whitespace)
    }

    fn map<'s>(&self, split: Split<'s>, _: &mut impl Emit<'s, Self>) -> Result<()> {
        let free = || self.free.lock();
        let forest = free().pop();
        let mut forest = forest.unwrap_or_else(|| (0..TREES).map(|_| Tree::default()).collect());
        for word in split.fields() {
            forest[(XxHash3_64::oneshot(word) >> 56) as usize].count(word);
        }
        free().push(forest);
        Ok(())
    }
}

impl Tree {
    fn count(&mut self, word: &[u8]) {
        if word.len() <= SHORT {
            let mut bytes = [0; SHORT + 1];
            bytes[..word.len()].copy_from_slice(word);
            bytes[SHORT] = word.len() as u8;
            *self.short.entry(u128::from_be_bytes(bytes)).or_default() += 1;
        } else if let Some(count) = self.long.get_mut(word) {
            *count += 1;
        } else {
            self.long.insert(word.into(), 1);
        }
    }

    fn merge(&mut self, other: Tree) {
        other.short.into_iter().for_each(|(word, n)| *self.short.entry(word).or_default() += n);
        other.long.into_iter().for_each(|(word, n)| *self.long.entry(word).or_default() += n);
    }
}

/// Counts the words of a file.
pub(crate) fn count(engine: &Engine, path: &str) -> Result<Figures> {
    let forests = Forests::default();
    engine.job(&forests).run(Input::paths([path])?)?;
    let forests = forests.free.into_inner();
    let merged = forests.into_iter().reduce(|mut all: Forest, other| {
        all.iter_mut().zip(other).for_each(|(tree, other)| tree.merge(other));
        all
    });
    let (mut short, mut long) = (Vec::new(), Vec::new());
    for tree in merged.unwrap_or_default() {
        short.extend(tree.short);
        long.extend(tree.long);
    }
    // Both are rows of sorted stretches, which this sort merges.
    short.sort();
    long.sort();
    let (mut figures, mut long) = (Figures::default(), long.into_iter().peekable());
    for (word, count) in short {
        let bytes = word.to_be_bytes();
        let word = &bytes[..usize::from(bytes[SHORT])];
        while let Some((before, count)) = long.next_if(|(long, _)| **long < *word) {
            figures.add(&before, count);
        }
        figures.add(word, count);
    }
    long.for_each(|(word, count)| figures.add(&word, count));
    Ok(figures)
}

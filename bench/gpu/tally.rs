//! The sums of a kernel's partials, to be compared with the cores' result over the same bytes.

use std::collections::HashMap;
use tegula::{Emit, Offloadable};
use tegula_apps::WordCount;

#[derive(Debug, PartialEq)]
pub(crate) enum Tally {
    /// Words of a dense partial, of which the first `sums` are sums and the others maxima.
    Dense { words: Vec<u64>, sums: usize },
    /// The count of each word.
    Words(HashMap<Vec<u8>, u64>),
}

impl Tally {
    /// Returns one of the same kind with nothing in it.
    pub(crate) fn empty(&self) -> Tally {
        match self {
            Tally::Dense { words, sums } => {
                Tally::Dense { words: vec![0; words.len()], sums: *sums }
            }
            Tally::Words(_) => Tally::Words(HashMap::new()),
        }
    }

    /// Returns the tally of the same bytes repeated `times` times.
    pub(crate) fn times(mut self, times: u64) -> Tally {
        match &mut self {
            Tally::Dense { words, sums } => {
                words[..*sums].iter_mut().for_each(|word| *word = word.wrapping_mul(times));
            }
            Tally::Words(counts) => counts.values_mut().for_each(|count| *count *= times),
        }
        self
    }

    /// Takes in a partial.
    pub(crate) fn add(&mut self, partial: &[u64]) -> tegula::Result<()> {
        match self {
            Tally::Dense { words, sums } => {
                let (sums, maxima) = words.split_at_mut(*sums);
                for (sum, word) in sums.iter_mut().zip(partial) {
                    *sum = sum.wrapping_add(*word);
                }
                for (most, word) in maxima.iter_mut().zip(&partial[sums.len()..]) {
                    *most = (*most).max(*word);
                }
                Ok(())
            }
            Tally::Words(counts) => WordCount::default().unload(partial, &mut Counts(counts)),
        }
    }
}

/// Counts a word `times` times.
pub(crate) fn count(counts: &mut HashMap<Vec<u8>, u64>, word: &[u8], times: u64) {
    match counts.get_mut(word) {
        Some(count) => *count += times,
        None => drop(counts.insert(word.to_vec(), times)),
    }
}

/// Where word counts go.
struct Counts<'t>(&'t mut HashMap<Vec<u8>, u64>);

impl<'s> Emit<'s, WordCount> for Counts<'_> {
    fn emit(&mut self, word: &'s [u8], (): ()) {
        self.emit_total(word, 1);
    }

    fn emit_each(&mut self, words: impl Iterator<Item = &'s [u8]>, (): ()) {
        words.for_each(|word| self.emit_total(word, 1));
    }

    fn emit_copied(&mut self, word: &[u8], (): ()) {
        self.emit_total(word, 1);
    }

    fn emit_total(&mut self, word: &[u8], total: u64) {
        count(self.0, word, total);
    }
}

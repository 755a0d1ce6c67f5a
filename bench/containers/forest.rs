//! The hash+tree container of Metis (sections 3.3 and 3.4), to compare with: a hash table with a B+tree in each of
//! its entries, one table for each map thread, all of one size and with one hash function. The size is 256, or one
//! (a tree alone), or a tenth of the keys that are predicted for a thread from the first 7 % of the input. The
//! engine reads and cuts the input; the map puts words into the table of its thread and emits nothing. Then threads
//! merge the same ranges of entries of all tables, all words are sorted by regular sampling (PSRS), and threads reduce
//! the values of their words.

use crate::Figures;
use crate::btree::{Held, Tree, Word};
use std::fs::File;
use std::io::Read;
use std::thread;
use std::time::{Duration, Instant};
use tegula::{Count, Cut, Emit, Engine, Input, InputError, Job, Result, Split, WordClass};
use tegula_machine::sync::Mutex;
use twox_hash::XxHash3_64;

/// The number of entries in each thread's table.
#[derive(Clone, Copy)]
pub(crate) enum Entries {
    Fixed(usize),
    Predicted,
}

/// The part of the input by which keys are predicted, and keys for each entry.
const SAMPLED: f64 = 0.07;
const KEYS_PER_ENTRY: f64 = 10.0;
/// Entries of the tables that the sample is mapped into.
const SAMPLE_ENTRIES: usize = 256;

/// What was predicted, and what came.
#[derive(Default)]
pub(crate) struct Prediction {
    pub(crate) predicted_keys: u64,
    /// The keys of the thread that met most.
    pub(crate) most_keys: u64,
    pub(crate) took: Duration,
}

/// A map thread's table.
struct Forest<V> {
    trees: Vec<Tree<V>>,
}

impl<V: Held> Forest<V> {
    fn new(entries: usize) -> Forest<V> {
        Forest { trees: (0..entries).map(|_| Tree::default()).collect() }
    }

    fn tree(&mut self, word: &[u8]) -> &mut Tree<V> {
        let hash = u128::from(XxHash3_64::oneshot(word));
        let entries = self.trees.len() as u128;
        &mut self.trees[((hash * entries) >> 64) as usize]
    }

    /// Returns the same words in a table of another size.
    fn resized(self, entries: usize) -> Forest<V> {
        let mut resized = Forest::new(entries);
        for tree in self.trees {
            tree.into_ordered(&mut |word, value| {
                let bytes = word.bytes();
                resized.tree(&bytes).put(&bytes, value);
            });
        }
        resized
    }

    fn count_keys(&self) -> u64 {
        self.trees.iter().map(Tree::len).sum()
    }
}

/// Puts words between white space into tables, of which each map takes one that is free. Words that begin before
/// `from` were mapped already.
struct Forests<V> {
    free: Mutex<Vec<Forest<V>>>,
    entries: usize,
    from: u64,
}

impl<V: Held + Send + 'static> Job for Forests<V> {
    type Key = [u8];
    type Combine = Count;

    fn cut(&self) -> Cut {
        Cut::around(WordClass::Whitespace)
    }

    fn map<'s>(&self, split: Split<'s>, _: &mut impl Emit<'s, Self>) -> Result<()> {
        let free = || self.free.lock();
        let forest = free().pop();
        let mut forest = forest.unwrap_or_else(|| Forest::new(self.entries));
        if split.offset() + split.bytes().len() as u64 > self.from {
            split.fields().for_each(|word| {
                let place = split.offset_of(word);
                if place >= self.from {
                    forest.tree(word).add(word, place);
                }
            });
        }
        free().push(forest);
        Ok(())
    }
}

/// Puts the words of a file into tables, merges and sorts them, and adds them up.
pub(crate) fn run<V: Held + Send + Into<(u64, u64)> + 'static>(
    engine: &Engine,
    path: &str,
    entries: Entries,
) -> Result<(Figures, Prediction)> {
    let mut prediction = Prediction::default();
    let (free, entries, from) = match entries {
        Entries::Fixed(entries) => (Vec::new(), entries, 0),
        Entries::Predicted => {
            let began = Instant::now();
            let (forests, from) = sampled::<V>(engine, path)?;
            let keys = forests.iter().map(Forest::count_keys).sum::<u64>() as f64;
            let predicted = keys / forests.len().max(1) as f64 / SAMPLED;
            let entries = ((predicted / KEYS_PER_ENTRY) as usize).max(1);
            prediction.predicted_keys = predicted as u64;
            prediction.took = began.elapsed();
            (forests.into_iter().map(|forest| forest.resized(entries)).collect(), entries, from)
        }
    };
    let forests = Forests { free: Mutex::new(free), entries, from };
    engine.job(&forests).run(Input::paths([path])?)?;
    let forests = forests.free.into_inner();
    prediction.most_keys = forests.iter().map(Forest::count_keys).max().unwrap_or(0);
    let sorted = psrs(merged(forests, engine.workers()));
    let reduced = in_threads(sorted, |part| {
        part.into_iter().map(|(word, value)| (word, value.into())).collect::<Vec<_>>()
    });
    let mut figures = Figures::default();
    for (word, (count, places)) in reduced.into_iter().flatten() {
        figures.add(&word.bytes(), count, places);
    }
    Ok((figures, prediction))
}

/// Maps the first part of a file, up to a newline. Returns the tables, and the place where it ended.
fn sampled<V: Held + Send + 'static>(engine: &Engine, path: &str) -> Result<(Vec<Forest<V>>, u64)> {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let most = (file.metadata()?.len() as f64 * SAMPLED) as usize;
        let mut bytes = vec![0; most];
        file.read_exact(&mut bytes)?;
        let end = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
        bytes.truncate(end);
        Ok(bytes)
    };
    let bytes = read().map_err(|cause| InputError::from_io(path, cause))?;
    let end = bytes.len() as u64;
    let forests = Forests { free: Mutex::default(), entries: SAMPLE_ENTRIES, from: 0 };
    engine.job(&forests).run(Input::bytes(bytes))?;
    Ok((forests.free.into_inner(), end))
}

/// Merges tables of one size, each thread a range of their entries. Returns the words of each range, sorted.
fn merged<V: Held + Send>(forests: Vec<Forest<V>>, threads: usize) -> Vec<Vec<(Word, V)>> {
    let entries = forests.first().map_or(0, |forest| forest.trees.len());
    let each = entries.div_ceil(threads).max(1);
    let mut ranges: Vec<Vec<Vec<Tree<V>>>> = Vec::new();
    ranges.resize_with(entries.div_ceil(each), Vec::new);
    for forest in forests {
        let mut trees = forest.trees.into_iter();
        ranges.iter_mut().for_each(|range| range.push(trees.by_ref().take(each).collect()));
    }
    in_threads(ranges, |range| {
        let all = range.into_iter().reduce(|mut all, other| {
            all.iter_mut().zip(other).for_each(|(tree, other)| tree.join(other));
            all
        });
        let mut words = Vec::new();
        for tree in all.unwrap_or_default() {
            tree.into_ordered(&mut |word, value| words.push((word, value)));
        }
        words.sort_by(|(one, _), (other, _)| one.cmp(other));
        words
    })
}

/// Parallel sorting by regular sampling: sorted lists are cut at borders from regular samples of them, and each
/// thread sorts the parts between two borders. Returns lists that follow each other.
fn psrs<V: Send>(lists: Vec<Vec<(Word, V)>>) -> Vec<Vec<(Word, V)>> {
    let count = lists.len();
    let mut samples = Vec::new();
    for list in &lists {
        samples.extend(
            (1..count)
                .filter_map(|n| list.get(list.len() * n / count))
                .map(|(word, _)| word.clone()),
        );
    }
    samples.sort();
    let borders: Vec<Word> =
        (1..count).filter_map(|n| samples.get(samples.len() * n / count).cloned()).collect();
    let mut parts: Vec<Vec<(Word, V)>> = Vec::new();
    parts.resize_with(borders.len() + 1, Vec::new);
    for mut list in lists {
        for (number, border) in borders.iter().enumerate().rev() {
            let at = list.partition_point(|(word, _)| word < border);
            parts[number + 1].extend(list.drain(at..));
        }
        parts[0].append(&mut list);
    }
    in_threads(parts, |mut part| {
        part.sort_by(|(one, _), (other, _)| one.cmp(other));
        part
    })
}

/// Does something with each of a few things, each in a thread of its own.
fn in_threads<T: Send, R: Send>(things: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    thread::scope(|scope| {
        let threads: Vec<_> = things.into_iter().map(|thing| scope.spawn(|| work(thing))).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    })
}

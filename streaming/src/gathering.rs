//! Where the pairs of map tasks are gathered: in the engine's lists, a list of values for each key, or in a sort of
//! pairs. Lists cost less where keys repeat, and are kept in a state; a sort costs less where most keys are distinct.
//! The first task with enough pairs decides from these, and all others follow. The answer is the same to the byte.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::OnceLock;
use tegula::{PairSort, Putting, Result, SortedPairs, Split};

/// Bytes of pairs from which a task decides.
const SAMPLE_BYTES: usize = 128 << 10;
/// With this number of pairs for a distinct key, lists cost less.
const PAIRS_PER_KEY: usize = 3;

/// The pairs of all tasks.
pub(crate) struct Gathering<'r> {
    /// `None` if lists are wanted in any case.
    sort: Option<PairSort<'r>>,
    is_sorted: OnceLock<bool>,
}

/// The pairs of a split's tasks on their way.
pub(crate) struct Gatherer<'g, 'r> {
    gathering: &'g Gathering<'r>,
    emit: &'g mut dyn FnMut(&[u8], &[u8]),
    way: Way<'g, 'r>,
    /// A key of the lists, while it is made.
    key: Vec<u8>,
}

enum Way<'g, 'r> {
    /// It is not decided. The pairs: where each key and each value is.
    Waiting(Vec<u8>, Vec<(Range<usize>, Range<usize>)>, Putting<'g, 'r>),
    Lists,
    Sorted(Putting<'g, 'r>),
}

impl<'r> Gathering<'r> {
    pub(crate) fn new(sort: Option<PairSort<'r>>) -> Gathering<'r> {
        Gathering { sort, is_sorted: OnceLock::new() }
    }

    /// Begins to take the pairs of a split. `emit` puts one into the lists.
    pub(crate) fn begin<'g>(
        &'g self,
        split: &Split<'_>,
        emit: &'g mut dyn FnMut(&[u8], &[u8]),
    ) -> Gatherer<'g, 'r> {
        let way = match (&self.sort, self.is_sorted.get()) {
            (None, _) | (_, Some(false)) => Way::Lists,
            (Some(sort), decided) => {
                let putting = sort.begin(split.number(), split.bytes().len() as u64);
                match decided {
                    Some(_) => Way::Sorted(putting),
                    None => Way::Waiting(Vec::new(), Vec::new(), putting),
                }
            }
        };
        Gatherer { gathering: self, emit, way, key: Vec::new() }
    }

    /// Returns the pairs if they were sorted, when all tasks have ended.
    pub(crate) fn sorted(self) -> Result<Option<SortedPairs<'r>>> {
        match (self.sort, self.is_sorted.into_inner()) {
            (Some(sort), Some(true)) => Ok(Some(sort.sorted()?)),
            _ => Ok(None),
        }
    }
}

impl Gatherer<'_, '_> {
    /// Takes a pair, whose key `add_key` appends to what it is given.
    #[inline]
    pub(crate) fn put(&mut self, value: &[u8], add_key: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        match &mut self.way {
            Way::Sorted(putting) => putting.put_with(value, add_key),
            Way::Lists => {
                self.key.clear();
                add_key(&mut self.key);
                (self.emit)(&self.key, value);
                Ok(())
            }
            Way::Waiting(bytes, pairs, _) => {
                let begin = bytes.len();
                add_key(bytes);
                let middle = bytes.len();
                bytes.extend_from_slice(value);
                pairs.push((begin..middle, middle..bytes.len()));
                if bytes.len() < SAMPLE_BYTES { Ok(()) } else { self.decide() }
            }
        }
    }

    /// Puts what a task has counted into the lists.
    pub(crate) fn count(&mut self, key: &[u8], amount: &[u8]) {
        (self.emit)(key, amount);
    }

    /// Ends the split.
    pub(crate) fn end(mut self) -> Result<()> {
        if matches!(&self.way, Way::Waiting(_, pairs, _) if !pairs.is_empty()) {
            self.decide()?;
        }
        match self.way {
            Way::Sorted(putting) => putting.end(),
            Way::Lists | Way::Waiting(..) => Ok(()),
        }
    }

    fn decide(&mut self) -> Result<()> {
        let Way::Waiting(bytes, pairs, putting) = std::mem::replace(&mut self.way, Way::Lists)
        else {
            return Ok(());
        };
        let is_sorted = *self.gathering.is_sorted.get_or_init(|| {
            let distinct: HashSet<&[u8]> =
                pairs.iter().map(|(key, _)| &bytes[key.clone()]).collect();
            pairs.len() < PAIRS_PER_KEY * distinct.len()
        });
        if is_sorted {
            self.way = Way::Sorted(putting);
        }
        pairs.into_iter().try_for_each(|(key, value)| {
            self.put(&bytes[value], |to| to.extend_from_slice(&bytes[key]))
        })
    }
}

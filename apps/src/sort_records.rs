//! A sort as a job: the records of each key, in the order of the input. The engine's own sort (`tegula::Sort`) is faster
//! and keeps nothing; this one has all that jobs have: states, groups of processors, a pipeline of tiles, nodes.

use std::cmp::Ordering;
use std::ops::Range;
use tegula::aggregate::Values;
use tegula::{
    Collect, Cut, Emit, Identity, Job, Order, Pair, Records, Result, Resumable, Sees, Sort, Split,
};

/// Collects records by their keys.
#[derive(Clone, Debug)]
pub struct SortRecords {
    sort: Sort,
    /// The bytes of a record that are its key; `None` for all of them.
    key: Option<Range<usize>>,
}

impl SortRecords {
    /// Creates the job of a sort.
    ///
    /// # Errors
    /// Those of [`Sort::check`].
    pub fn new(sort: Sort) -> Result<SortRecords> {
        sort.check()?;
        let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        let key = sort.key.as_ref().map(|key| size(key.start)..size(key.end));
        Ok(SortRecords { sort, key })
    }

    /// Returns the order of the answer.
    pub fn order(&self) -> Order {
        if self.sort.reverse { Order::Value } else { Order::Key }
    }

    /// Appends the records of a key as the sort writes them: the first one if keys are unique, or all.
    pub fn write(&self, key: &[u8], records: Values<'_, [u8]>, text: &mut Vec<u8>) {
        let most = if self.sort.unique { 1 } else { usize::MAX };
        let end: &[u8] = match self.sort.records {
            Records::Lines => b"\n",
            Records::Fixed(_) => b"",
        };
        for record in records.take(most) {
            text.extend_from_slice(if self.key.is_none() { key } else { record });
            text.extend_from_slice(end);
        }
    }

    /// A record that is all key has nothing else to be kept.
    fn emit<'s>(&self, record: &'s [u8], emit: &mut impl Emit<'s, SortRecords>) {
        match &self.key {
            None => emit.emit(record, &[]),
            Some(key) => {
                let len = record.len();
                emit.emit(&record[key.start.min(len)..key.end.min(len)], record);
            }
        }
    }
}

impl Job for SortRecords {
    type Key = [u8];
    type Combine = Collect<[u8]>;

    fn cut(&self) -> Cut {
        match self.sort.records {
            Records::Lines => Cut::Lines,
            Records::Fixed(bytes) => Cut::Fixed(bytes),
        }
    }

    /// From the last key to the first: the order of a reversed sort.
    fn compare(&self, a: Pair<'_, Self>, b: Pair<'_, Self>) -> Ordering {
        b.key().cmp(a.key())
    }

    fn state(&self) -> Option<&dyn Resumable> {
        Some(self)
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        match self.sort.records {
            Records::Lines => split.lines().for_each(|line| self.emit(line, emit)),
            Records::Fixed(bytes) => {
                let records = split.bytes().chunks_exact(bytes as usize);
                records.for_each(|record| self.emit(record, emit));
            }
        }
        Ok(())
    }
}

impl Resumable for SortRecords {
    fn identity(&self) -> Identity {
        let identity = Identity::new("sort", 1).with("records", format!("{:?}", self.sort.records));
        identity
            .with("key", self.sort.key.as_ref().map_or("all".to_owned(), |key| format!("{key:?}")))
    }

    fn sees(&self) -> Sees {
        Sees::Records
    }
}

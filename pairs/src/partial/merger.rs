//! Merging the runs of a partition: pairs with equal keys become one as they are read, so a partition
//! of any size is folded in the memory of one block per run. Where there are more runs than blocks
//! may be held, the newest are joined to a longer one first.

use super::fold::is_gone;
use super::form::{Accumulators, Form};
use super::runs::{Run, RunReader, RunWriter};
use super::taker::{Batch, Receiver};
use crate::aggregate::Aggregate;
use crate::error::Result;
use crate::memory::{ChunkPool, ValueStore};
use crate::sizing::Shares;
use crate::slots::{ClassKey, Entry, MediumKey, PairRef, ShortKey};
use crate::storage::Scratch;
use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

/// A worker's way of merging runs; its buffers serve one partition after the other.
pub struct Merger<C: Aggregate> {
    scratch: Arc<Scratch>,
    chunks: Arc<ChunkPool>,
    block_bytes: usize,
    /// The most runs that are read at once.
    fan_in: usize,
    readers: Vec<RunReader<Accumulators<C>>>,
    /// The writer of longer runs.
    writer: Option<RunWriter<Accumulators<C>>>,
    /// A binary heap, the run with the least pair first.
    heads: Vec<Head>,
    /// The key that is being folded, and the store of its value.
    key: Vec<u8>,
    store: ValueStore,
    folded: Folded<C::Accumulator>,
}

/// A run, and the place in the order of its present pair.
#[derive(Clone, Copy)]
struct Head {
    place: RunOrder,
    reader: usize,
}

/// The order of runs, but for the keys of equal hash.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct RunOrder {
    class: u8,
    hash: u64,
}

impl RunOrder {
    fn of(key: &[u8]) -> RunOrder {
        let (class, hash) = ClassKey::of(key).class_and_hash();
        RunOrder { class, hash }
    }
}

impl<C: Aggregate> Merger<C> {
    pub fn new(scratch: &Arc<Scratch>, chunks: &Arc<ChunkPool>, shares: &Shares) -> Self {
        Merger {
            scratch: Arc::clone(scratch),
            chunks: Arc::clone(chunks),
            block_bytes: shares.block_bytes,
            fan_in: (shares.merge_bytes / (2 * shares.block_bytes)).max(2),
            readers: Vec::new(),
            writer: None,
            heads: Vec::new(),
            key: Vec::new(),
            store: ValueStore::new(chunks),
            folded: Folded { short: Vec::new(), medium: Vec::new() },
        }
    }

    pub(super) fn fan_in(&self) -> usize {
        self.fan_in
    }

    /// Hands the pairs of all runs of a partition to `receiver`, one per key, in the order of runs. The runs
    /// stay, except that the newest, which are the shortest, are joined if there are more than can be read at
    /// once.
    pub fn merge(
        &mut self,
        runs: &mut Vec<Run>,
        receiver: &mut dyn Receiver<C::Accumulator>,
    ) -> Result<()> {
        while runs.len() > self.fan_in {
            let joined = (runs.len() - self.fan_in + 1).min(self.fan_in);
            let first = runs.len() - joined;
            let joined = self.join(&runs[first..])?;
            runs.truncate(first);
            runs.push(joined);
        }
        self.merge_some(runs, receiver)
    }

    /// Returns one run of the pairs of some runs of a partition, whose space is free then.
    pub(super) fn join(&mut self, runs: &[Run]) -> Result<Run> {
        let mut writer = match self.writer.take() {
            Some(writer) => writer,
            None => RunWriter::new(&self.scratch, &self.chunks, self.block_bytes)?,
        };
        writer.begin(runs.first().map_or(0, |run| run.number));
        self.merge_some(runs, &mut writer)?;
        let mut joined = writer.finish()?;
        joined.level = runs.iter().map(|run| run.level + 1).max().unwrap_or_default();
        self.writer = Some(writer);
        runs.iter().try_for_each(|run| self.scratch.free(&run.extents))?;
        Ok(joined)
    }

    // Both callers share one copy.
    #[inline(never)]
    fn merge_some(
        &mut self,
        runs: &[Run],
        receiver: &mut dyn Receiver<C::Accumulator>,
    ) -> Result<()> {
        while self.readers.len() < runs.len() {
            self.readers.push(RunReader::new(&self.scratch, &self.chunks, self.block_bytes)?);
        }
        self.heads.clear();
        self.folded.clear();
        for (number, run) in runs.iter().enumerate() {
            self.readers[number].begin(run.number, &run.extents);
            if self.readers[number].advance()? {
                self.heads.push(Head { place: self.place(number), reader: number });
            }
        }
        (0..self.heads.len() / 2).rev().for_each(|at| self.sift_down(at));
        while let Some(&Head { place, reader }) = self.heads.first() {
            let Some(first) = self.readers[reader].pair() else { break };
            self.key.clear();
            self.key.extend_from_slice(first.key);
            let mut total = C::identity();
            C::copy_in(&mut total, first.value, &mut self.store);
            self.advance_first()?;
            while let Some(next) = self.first_if_same(place) {
                C::copy_in(&mut total, &next, &mut self.store);
                self.advance_first()?;
            }
            self.store.check()?;
            if !is_gone::<C>(&total) {
                self.folded.give(place, &self.key, total, receiver)?;
            }
            if C::KEEPS_VALUES {
                self.folded.flush(receiver)?;
            }
            self.store.reset();
        }
        self.folded.flush(receiver)
    }

    /// Returns the value of the least pair, if its key is the one being folded.
    fn first_if_same(&self, place: RunOrder) -> Option<C::Accumulator> {
        let head = self.heads.first().filter(|head| head.place == place)?;
        let pair = self.readers[head.reader].pair()?;
        (pair.key == self.key).then_some(*pair.value)
    }

    fn place(&self, reader: usize) -> RunOrder {
        RunOrder::of(self.readers[reader].pair().map_or(&[], |pair| pair.key))
    }

    fn advance_first(&mut self) -> Result<()> {
        let reader = self.heads[0].reader;
        if self.readers[reader].advance()? {
            self.heads[0].place = self.place(reader);
        } else {
            self.heads.swap_remove(0);
        }
        self.sift_down(0);
        Ok(())
    }

    fn sift_down(&mut self, mut at: usize) {
        loop {
            let (left, right) = (2 * at + 1, 2 * at + 2);
            let mut least = at;
            if left < self.heads.len() && self.is_before(left, least) {
                least = left;
            }
            if right < self.heads.len() && self.is_before(right, least) {
                least = right;
            }
            if least == at {
                return;
            }
            self.heads.swap(at, least);
            at = least;
        }
    }

    fn is_before(&self, a: usize, b: usize) -> bool {
        let (a, b) = (self.heads[a], self.heads[b]);
        let key = |head: Head| self.readers[head.reader].pair().map(|pair| pair.key);
        match a.place.cmp(&b.place) {
            // Of equal keys the earlier run's comes first: a list has the values of one split in order.
            Ordering::Equal => (key(a), a.reader) < (key(b), b.reader),
            order => order == Ordering::Less,
        }
    }
}

/// Pairs are handed over this many at a time.
const BATCH: usize = 32;

/// Folded pairs that were not handed over yet, in the order of runs. Receivers are called through a table: with a
/// batch for each call, that costs little.
struct Folded<V> {
    short: Vec<Entry<ShortKey, V>>,
    medium: Vec<Entry<MediumKey, V>>,
}

impl<V> Folded<V> {
    /// Adds a pair, and hands full batches over. The bytes of a long key are on loan for this call.
    fn give(
        &mut self,
        place: RunOrder,
        key: &[u8],
        value: V,
        receiver: &mut dyn Receiver<V>,
    ) -> Result<()> {
        match ClassKey::hashed(key, |_| place.hash) {
            ClassKey::Short(key) => self.short.push(Entry { key, value }),
            ClassKey::Medium(key) => {
                if self.medium.is_empty() {
                    self.flush(receiver)?;
                }
                self.medium.push(Entry { key, value });
            }
            ClassKey::Long(key) => {
                self.flush(receiver)?;
                return receiver.receive(Batch::Long(&[Entry { key, value }]));
            }
        }
        if self.short.len() >= BATCH || self.medium.len() >= BATCH {
            self.flush(receiver)?;
        }
        Ok(())
    }

    /// Drops pairs that a failed merge has left.
    fn clear(&mut self) {
        self.short.clear();
        self.medium.clear();
    }

    /// Hands all over. The short ones are before the medium ones in the order of runs.
    fn flush(&mut self, receiver: &mut dyn Receiver<V>) -> Result<()> {
        if !self.short.is_empty() {
            receiver.receive(Batch::Short(&self.short))?;
            self.short.clear();
        }
        if !self.medium.is_empty() {
            receiver.receive(Batch::Medium(&self.medium))?;
            self.medium.clear();
        }
        Ok(())
    }
}

/// Shows the pairs of a run (or of a part of it) in its order.
pub fn read_run<F: Form>(
    reader: &mut RunReader<F>,
    number: usize,
    extents: &[Range<u64>],
    mut see: impl FnMut(PairRef<'_, F::Value>) -> Result<()>,
) -> Result<()> {
    reader.begin(number, extents);
    while reader.advance()? {
        if let Some(pair) = reader.pair() {
            see(pair)?;
        }
    }
    Ok(())
}

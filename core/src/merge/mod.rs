//! The merge stage: each range of the answer is sorted by one worker, all ranges side by side. What
//! is sorted are numbers of pairs; the pairs stay where they are. A range on disk is brought into
//! memory for it, and goes back in order.

#[cfg(test)]
mod tests;

use crate::aggregate::Aggregate;
use crate::error::{MemoryError, Result};
use crate::failure::Failure;
use crate::memory::{Access, Block, ChunkList, ChunkPool};
use crate::options::Order;
use crate::partial::{Answers, Pairs, Run, RunReader, RunWriter, Spill};
use crate::reduce::{Range, Ranking};
use crate::schedule::{PerWorker, Pool, for_each};
use crate::slots::{Entry, SlotKey};
use crate::sync::Mutex;
use std::sync::Arc;

/// Pairs in the order in which the answer shows them.
pub(crate) enum Piece<V: Copy> {
    /// In memory.
    Held(Box<Held<V>>),
    /// On disk.
    Stored(Run),
}

/// Pairs in memory and the order in which the answer shows them.
pub(crate) struct Held<V: Copy> {
    pub(crate) pairs: Pairs<V>,
    /// Numbers of pairs; `None`: as they stand.
    order: Option<ChunkList<u32>>,
}

impl<V: Copy> Held<V> {
    /// The pair at a place of the answer.
    pub(crate) fn number_at(&self, place: usize) -> usize {
        self.order.as_ref().map_or(place, |order| *order.get(place) as usize)
    }
}

impl<V: Copy> Piece<V> {
    /// Number of pairs.
    pub(crate) fn pairs(&self) -> u64 {
        match self {
            Piece::Held(held) => held.pairs.len() as u64,
            Piece::Stored(run) => run.pairs,
        }
    }
}

/// What the merge stage needs to know of its run.
pub(crate) struct MergeStage<'r, C: Aggregate> {
    pub(crate) ranking: Ranking<'r, C>,
    pub(crate) pool: &'r Pool,
    pub(crate) chunks: &'r Arc<ChunkPool>,
    pub(crate) failure: &'r Failure,
    pub(crate) order: Order,
    pub(crate) spill: Option<&'r Spill>,
}

impl<C: Aggregate> MergeStage<'_, C> {
    /// Sorts the ranges.
    pub(crate) fn run(&self, ranges: Vec<Range<C::Reduced>>) -> Result<Vec<Piece<C::Reduced>>> {
        let pieces: Vec<_> = ranges.iter().map(|_| Mutex::new(None)).collect();
        let ranges: Vec<_> = ranges.into_iter().map(|range| Mutex::new(Some(range))).collect();
        let sorters = PerWorker::new(self.pool.workers());
        for_each(self.pool, self.failure, "the merge stage", ranges.len(), |index, number| {
            let range = ranges[number].lock().take();
            let Some(range) = range else { return Ok(()) };
            let make = || Ok(Sorter { stage: self, keys: None, disk: None });
            let piece = sorters.with(index, make, |sorter| sorter.sort(range))?;
            *pieces[number].lock() = Some(piece);
            Ok(())
        })?;
        let pieces = pieces.into_iter();
        Ok(pieces.filter_map(Mutex::into_inner).collect())
    }
}

/// What a worker sorts with.
struct Sorter<'r, C: Aggregate> {
    stage: &'r MergeStage<'r, C>,
    /// Memory for sort keys.
    keys: Option<Block>,
    disk: Option<Disk<C>>,
}

/// A sort key is 12 bytes of the pair's key above the pair's number.
const NUMBER_BITS: u32 = 32;
const HEAD_BYTES: usize = 12;
/// So few pairs that are alike in 12 bytes are compared as a whole.
const TIES_COMPARED: usize = 8;
/// So far into keys, pairs that are still alike are compared as a whole: sort keys would win little,
/// and the nesting must end.
const SKIP_MOST: usize = 1024;

/// What a worker brings ranges from disk and back with.
type Disk<C> = (RunReader<Answers<C>>, RunWriter<Answers<C>>);

impl<C: Aggregate> Sorter<'_, C> {
    fn sort(&mut self, range: Range<C::Reduced>) -> Result<Piece<C::Reduced>> {
        match (range, self.stage.spill) {
            (Range::Held { pairs, shared_prefix }, _) => {
                Ok(Piece::Held(Box::new(self.sort_held(*pairs, shared_prefix)?)))
            }
            (Range::Stored(run), Some(spill)) if self.stage.order != Order::None => {
                Ok(Piece::Stored(self.sort_stored(&run, spill)?))
            }
            (Range::Stored(run), _) => Ok(Piece::Stored(run)),
        }
    }

    fn sort_stored(&mut self, run: &Run, spill: &Spill) -> Result<Run> {
        let chunks = self.stage.chunks;
        let (mut reader, mut writer) = match self.disk.take() {
            Some(disk) => disk,
            None => {
                let block_bytes = spill.shares().block_bytes;
                let reader = RunReader::new(spill.scratch(), chunks, block_bytes)?;
                (reader, spill.writer(chunks)?)
            }
        };
        let mut pairs = Pairs::new(chunks);
        reader.begin(run.number, &run.extents);
        while reader.advance_keeping()? {
            if let Some(pair) = reader.pair() {
                pairs.push(pair.key, *pair.value)?;
            }
        }
        spill.scratch().free(&run.extents)?;
        let held = self.sort_held(pairs, 0)?;
        writer.begin(run.number);
        let places = 0..held.pairs.len();
        places
            .map(|place| held.number_at(place))
            .try_for_each(|number| writer.push(held.pairs.get(number)))?;
        let sorted = writer.finish()?;
        spill.note(&sorted, std::slice::from_ref(run))?;
        reader.begin(0, &[]);
        self.disk = Some((reader, writer));
        Ok(sorted)
    }

    fn sort_held(
        &mut self,
        pairs: Pairs<C::Reduced>,
        shared_prefix: usize,
    ) -> Result<Held<C::Reduced>, MemoryError> {
        let stage = self.stage;
        if stage.order == Order::None || pairs.len() < 2 {
            return Ok(Held { pairs, order: None });
        }
        assert!(pairs.len() <= u32::MAX as usize, "a range of the answer holds at most 2^32 pairs");
        let keys = self.keys(pairs.len())?;
        fill(keys, &pairs, shared_prefix);
        sort(keys, &pairs, shared_prefix);
        if stage.order == Order::Value {
            // Stable: pairs of equal value stay in the order of their keys.
            let (ranking, pair) = (stage.ranking, |key: &u128| pairs.get(number(*key)));
            keys.sort_by(|a, b| ranking.by_value(pair(a), pair(b)));
        }
        let mut numbers = ChunkList::new(stage.chunks);
        keys.iter().try_for_each(|&key| numbers.push(number(key) as u32))?;
        Ok(Held { pairs, order: Some(numbers) })
    }

    fn keys(&mut self, count: usize) -> Result<&mut [u128], MemoryError> {
        let bytes = count * size_of::<u128>();
        if self.keys.as_ref().is_none_or(|block| block.bytes() < bytes) {
            // The old one makes room first.
            self.keys = None;
            let blocks = self.stage.chunks.blocks();
            self.keys = Some(blocks.take(bytes, Access::Streamed, "sorting the answer")?);
        }
        Ok(self.keys.as_mut().map_or(&mut [], |block| block.words(count)))
    }
}

fn sort_key(head: u128, number: usize) -> u128 {
    head >> NUMBER_BITS << NUMBER_BITS | number as u128
}

fn number(key: u128) -> usize {
    key as u32 as usize
}

fn fill<V: Copy>(keys: &mut [u128], pairs: &Pairs<V>, skip: usize) {
    fn heads<'a, K: SlotKey + 'a, V: 'a>(
        entries: impl Iterator<Item = &'a Entry<K, V>>,
        skip: usize,
    ) -> impl Iterator<Item = u128> {
        entries.map(move |entry| entry.key.head(skip))
    }
    let short = heads(pairs.short.iter(), skip);
    let medium = heads(pairs.medium.iter(), skip);
    let all = short.chain(medium).chain(heads(pairs.long.iter(), skip));
    for ((key, head), number) in keys.iter_mut().zip(all).zip(0..) {
        *key = sort_key(head, number);
    }
}

/// Sorts pairs whose sort keys hold their bytes from `skip` on; those that are alike there by the
/// bytes that follow.
fn sort<V: Copy>(keys: &mut [u128], pairs: &Pairs<V>, skip: usize) {
    keys.sort_unstable();
    let next = skip + HEAD_BYTES;
    for tied in keys.chunk_by_mut(|a, b| a >> NUMBER_BITS == b >> NUMBER_BITS) {
        if tied.len() <= TIES_COMPARED || next > SKIP_MOST {
            let key = |sort_key: &u128| pairs.get(number(*sort_key)).key;
            tied.sort_unstable_by(|a, b| key(a).cmp(key(b)));
        } else {
            let head = |sort_key: u128| pairs.head(number(sort_key), next);
            tied.iter_mut().for_each(|key| *key = sort_key(head(*key), number(*key)));
            sort(tied, pairs, next);
        }
    }
}

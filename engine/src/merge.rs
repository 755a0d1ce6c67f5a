//! The merge stage: each range of the answer is sorted by one worker, all ranges side by side. What
//! is sorted are numbers of pairs; the pairs stay where they are.

use crate::combine::Combine;
use crate::container::{Entry, SlotKey};
use crate::error::{MemoryError, Result};
use crate::failure::Failure;
use crate::memory::{Access, Block, ChunkList, ChunkPool};
use crate::options::Order;
use crate::partial::Pairs;
use crate::reduce::{Range, for_each};
use crate::schedule::{PerWorker, Pool};
use std::sync::{Arc, Mutex, PoisonError};

/// Pairs and the order in which the answer shows them.
pub(crate) struct Piece<V: Copy> {
    pub(crate) pairs: Pairs<V>,
    /// Numbers of pairs; `None`: as they stand.
    order: Option<ChunkList<u32>>,
}

impl<V: Copy> Piece<V> {
    /// The pair at a place of the answer.
    pub(crate) fn number_at(&self, place: usize) -> usize {
        self.order.as_ref().map_or(place, |order| *order.get(place) as usize)
    }
}

/// Sorts the ranges.
pub(crate) fn run<C: Combine>(
    pool: &Pool,
    chunks: &Arc<ChunkPool>,
    failure: &Failure,
    ranges: Vec<Range<C::Accumulator>>,
    order: Order,
) -> Result<Vec<Piece<C::Accumulator>>> {
    let pieces: Vec<Mutex<Option<Piece<C::Accumulator>>>> =
        ranges.iter().map(|_| Mutex::new(None)).collect();
    let ranges: Vec<_> = ranges.into_iter().map(|range| Mutex::new(Some(range))).collect();
    let sorters = PerWorker::new(pool.workers());
    for_each(pool, failure, "the merge stage", ranges.len(), |index, number| {
        let range = ranges[number].lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(range) = range else { return Ok(()) };
        let make = || Ok(Sorter { chunks: Arc::clone(chunks), keys: None });
        let piece = sorters.with(index, make, |sorter| Ok(sorter.sort::<C>(range, order)?))?;
        *pieces[number].lock().unwrap_or_else(PoisonError::into_inner) = Some(piece);
        Ok(())
    })?;
    let pieces = pieces.into_iter();
    Ok(pieces
        .filter_map(|piece| piece.into_inner().unwrap_or_else(PoisonError::into_inner))
        .collect())
}

/// A worker's memory for sort keys.
struct Sorter {
    chunks: Arc<ChunkPool>,
    keys: Option<Block>,
}

/// A sort key is 12 bytes of the pair's key above the pair's number.
const NUMBER_BITS: u32 = 32;
const HEAD_BYTES: usize = 12;
/// So few pairs that are alike in 12 bytes are compared as a whole.
const TIES_COMPARED: usize = 8;
/// So far into keys, pairs that are still alike are compared as a whole: sort keys would win little,
/// and the nesting must end.
const SKIP_MOST: usize = 1024;

impl Sorter {
    fn sort<C: Combine>(
        &mut self,
        range: Range<C::Accumulator>,
        order: Order,
    ) -> Result<Piece<C::Accumulator>, MemoryError> {
        let pairs = range.pairs;
        if order == Order::None || pairs.len() < 2 {
            return Ok(Piece { pairs, order: None });
        }
        assert!(pairs.len() <= u32::MAX as usize, "a range of the answer holds at most 2^32 pairs");
        let chunks = Arc::clone(&self.chunks);
        let keys = self.keys(pairs.len())?;
        fill(keys, &pairs, range.shared_prefix);
        sort(keys, &pairs, range.shared_prefix);
        if order == Order::Value {
            // Stable: pairs of equal value stay in the order of their keys.
            let value = |key: &u128| pairs.get(number(*key)).value;
            keys.sort_by(|a, b| C::rank(value(b), value(a)));
        }
        let mut numbers = ChunkList::new(&chunks);
        keys.iter().try_for_each(|&key| numbers.push(number(key) as u32))?;
        Ok(Piece { pairs, order: Some(numbers) })
    }

    fn keys(&mut self, count: usize) -> Result<&mut [u128], MemoryError> {
        let bytes = count * size_of::<u128>();
        if self.keys.as_ref().is_none_or(|block| block.bytes() < bytes) {
            let block = self.chunks.blocks().take(bytes, Access::Streamed, "sorting the answer")?;
            self.keys = Some(block);
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

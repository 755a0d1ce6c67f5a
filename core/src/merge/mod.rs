//! The merge stage: each range of the answer is sorted by one worker, all ranges in parallel. It sorts
//! numbers of pairs; the pairs stay in place. A range on disk is brought into memory for it, and goes back in
//! order.

use crate::aggregate::Aggregate;
use crate::error::{MemoryError, Result};
use crate::failure::Failure;
use crate::heads::{Keyed, Sorter, sort_numbers};
use crate::memory::{Access, Block, ChunkList, ChunkPool, Entries};
use crate::options::Order;
use crate::partial::{Answers, PairRefs, Pairs, Run, RunReader, RunWriter, Spill};
use crate::reduce::{Range, Ranking};
use crate::schedule::{PerWorker, Pool, for_each};
use crate::slots::PairRef;
use crate::sync::Mutex;
use std::sync::Arc;

/// Pairs in the order in which the answer shows them.
pub enum Piece<V: Copy> {
    /// In memory.
    Held(Box<Held<V>>),
    /// On disk.
    Stored(Run),
}

/// Pairs in memory and the order in which the answer shows them.
pub struct Held<V: Copy> {
    pub pairs: Pairs<V>,
    /// Numbers of pairs; `None`: in their present order.
    order: Option<ChunkList<u32>>,
}

impl<V: Copy> Held<V> {
    /// Returns the pair at a place of the answer.
    pub fn number_at(&self, place: usize) -> usize {
        self.order.as_ref().map_or(place, |order| *order.get(place) as usize)
    }

    /// Returns the pairs in the order of the answer. Pairs in their present order are not looked up one by one.
    pub fn iter(&self) -> HeldPairs<'_, V> {
        match &self.order {
            Some(order) => HeldPairs::Ordered { pairs: &self.pairs, numbers: order.iter() },
            None => HeldPairs::Plain(self.pairs.iter()),
        }
    }
}

/// Pairs in memory in the order of the answer. A type of its own, as [`PairRefs`] is.
pub enum HeldPairs<'h, V: Copy> {
    Ordered { pairs: &'h Pairs<V>, numbers: Entries<'h, u32> },
    Plain(PairRefs<'h, V>),
}

impl<'h, V: Copy> Iterator for HeldPairs<'h, V> {
    type Item = PairRef<'h, V>;

    #[inline]
    fn next(&mut self) -> Option<PairRef<'h, V>> {
        match self {
            HeldPairs::Ordered { pairs, numbers } => {
                numbers.next().map(|&number| pairs.get(number as usize))
            }
            HeldPairs::Plain(pairs) => pairs.next(),
        }
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        match self {
            HeldPairs::Ordered { numbers, .. } => numbers.size_hint(),
            HeldPairs::Plain(pairs) => pairs.size_hint(),
        }
    }

    /// Without a look at the order for each pair.
    #[inline]
    fn fold<A, F: FnMut(A, PairRef<'h, V>) -> A>(self, start: A, mut add: F) -> A {
        match self {
            HeldPairs::Ordered { pairs, numbers } => {
                numbers.fold(start, |sum, &number| add(sum, pairs.get(number as usize)))
            }
            HeldPairs::Plain(pairs) => pairs.fold(start, add),
        }
    }
}

impl<V: Copy> Piece<V> {
    /// Number of pairs.
    pub fn pairs(&self) -> u64 {
        match self {
            Piece::Held(held) => held.pairs.len() as u64,
            Piece::Stored(run) => run.pairs,
        }
    }
}

/// The parts of a run that the merge stage needs.
pub struct MergeStage<'r, C: Aggregate> {
    pub ranking: Ranking<'r, C>,
    pub pool: &'r Pool,
    pub chunks: &'r Arc<ChunkPool>,
    pub failure: &'r Failure,
    pub order: Order,
    pub spill: Option<&'r Spill>,
}

impl<C: Aggregate> MergeStage<'_, C> {
    /// Sorts the ranges.
    pub fn run(&self, ranges: Vec<Range<C::Reduced>>) -> Result<Vec<Piece<C::Reduced>>> {
        let pieces: Vec<_> = ranges.iter().map(|_| Mutex::new(None)).collect();
        let ranges: Vec<_> = ranges.into_iter().map(|range| Mutex::new(Some(range))).collect();
        let sorters = PerWorker::new(self.pool.workers());
        for_each(self.pool, self.failure, "the merge stage", ranges.len(), |index, number| {
            let range = ranges[number].lock().take();
            let Some(range) = range else { return Ok(()) };
            let make = || Ok(RangeSorter { stage: self, places: None, disk: None });
            let piece = sorters.with(index, make, |sorter| sorter.sort(range))?;
            *pieces[number].lock() = Some(piece);
            Ok(())
        })?;
        let pieces = pieces.into_iter();
        Ok(pieces.filter_map(Mutex::into_inner).collect())
    }
}

/// A worker's tools for sorting.
struct RangeSorter<'r, C: Aggregate> {
    stage: &'r MergeStage<'r, C>,
    /// Memory for the places of pairs.
    places: Option<Block>,
    disk: Option<Disk<C>>,
}

/// A worker's reader and writer for ranges on disk.
type Disk<C> = (RunReader<Answers<C>>, RunWriter<Answers<C>>);

impl<C: Aggregate> RangeSorter<'_, C> {
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
        let (places, spare) = self.places(pairs.len())?;
        let sorter = Sorter::new(&pairs, pairs.len());
        sorter.sort(places, spare, shared_prefix);
        if stage.order == Order::Value {
            // Stable: pairs of equal value stay in the order of their keys.
            let (ranking, pair) = (stage.ranking, |number| pairs.get(sorter.place(number)));
            sort_numbers(places, &|a, b| ranking.by_value(pair(a), pair(b)));
        }
        let mut numbers = ChunkList::new(stage.chunks);
        places.iter().try_for_each(|&number| numbers.push(sorter.place(number) as u32))?;
        Ok(Held { pairs, order: Some(numbers) })
    }

    /// Returns room to sort `count` pairs by their places.
    fn places(&mut self, count: usize) -> Result<(&mut [u64], &mut [u64]), MemoryError> {
        let bytes = 2 * count * size_of::<u64>();
        if self.places.as_ref().is_none_or(|block| block.bytes() < bytes) {
            // The old one makes room first.
            self.places = None;
            let blocks = self.stage.chunks.blocks();
            self.places = Some(blocks.take(bytes, Access::Streamed, "sorting the answer")?);
        }
        let block = self.places.as_mut().map_or(&mut [][..], Block::as_mut_slice);
        let words: &mut [u64] = bytemuck::cast_slice_mut(&mut block[..bytes]);
        Ok(words.split_at_mut(count))
    }
}

impl<V: Copy> Keyed for Pairs<V> {
    #[inline]
    fn key(&self, place: usize) -> &[u8] {
        self.get(place).key
    }

    #[inline]
    fn head(&self, place: usize, skip: usize) -> u64 {
        (Pairs::head(self, place, skip) >> 64) as u64
    }

    fn is_reversed(&self) -> bool {
        false
    }
}

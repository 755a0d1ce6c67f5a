//! The answer of a job, put together from the answers of its partitions that other machines have made. Pairs go from
//! their blocks to the engine's scratch storage one at a time, so memory holds some blocks of each machine.

use super::beside::damaged;
use crate::aggregate::Aggregate;
use crate::context::RunContext;
use crate::error::Result;
use crate::heads::sort_numbers;
use crate::memory::ValueStore;
use crate::merge::Piece;
use crate::options::{Options, Order};
use crate::output::PointedAt;
use crate::partial::{Answers, BlockReader, Form, Pairs, RunWriter, front_block};
use crate::reduce::{Range, Ranking, ReduceTotals};
use crate::room::Room;
use crate::run::{Answer, sort};
use crate::slots::PairRef;
use std::cmp::Ordering;
use std::ops;

/// Returns the next whole blocks of an answer that another machine has made; `None` at its end.
pub type Pull<'p> = dyn FnMut() -> Result<Option<Vec<u8>>> + 'p;

/// A run on disk is one portion for those who format answers side by side.
const RUN_PAIRS: u64 = 32 << 10;

/// Puts the answers of machines together. `totals` is the sum of theirs.
pub(super) fn collect<C: Aggregate>(
    context: &RunContext<'_>,
    ranking: Ranking<'_, C>,
    room: &Room,
    from: &mut [Box<Pull<'_>>],
    totals: ReduceTotals,
) -> Result<Answer<C>> {
    let Options { order, top, .. } = *context.options;
    let mut streams = Vec::new();
    for pull in from {
        streams.push(Stream::<C>::new(context, room, &mut **pull)?);
    }
    if let Some(most) = top {
        return best(context, ranking, room, streams, most, totals);
    }
    let mut pieces = Pieces::<C> {
        writer: RunWriter::new(&room.scratch, &room.chunks, room.shares.block_bytes)?,
        pieces: Vec::new(),
        pairs: 0,
    };
    match order {
        Order::None => in_turn(streams, &mut pieces)?,
        Order::Key => merged(streams, &|a, b| a.key.cmp(b.key), &mut pieces)?,
        Order::Value => merged(streams, &|a, b| ranking.compare(a, b), &mut pieces)?,
    }
    pieces.end_run()?;
    context.progress.set_keys(totals.keys);
    let pointed_at = PointedAt { _long_keys: Vec::new(), _values: Vec::new() };
    Ok(Answer { pieces: pieces.pieces, pointed_at, totals })
}

type Compare<'c, V> = dyn Fn(PairRef<'_, V>, PairRef<'_, V>) -> Ordering + 'c;

fn in_turn<C: Aggregate>(streams: Vec<Stream<'_, C>>, pieces: &mut Pieces<C>) -> Result<()> {
    for mut stream in streams {
        while stream.advance()? {
            stream.pair().map_or(Ok(()), |pair| pieces.push(pair))?;
        }
    }
    Ok(())
}

/// Merges streams, each of which is in order.
fn merged<C: Aggregate>(
    mut streams: Vec<Stream<'_, C>>,
    compare: &Compare<'_, C::Reduced>,
    pieces: &mut Pieces<C>,
) -> Result<()> {
    // Those that go on, the one with the least pair last.
    let mut live: Vec<usize> = Vec::new();
    for at in 0..streams.len() {
        advance(&mut streams, at, &mut live, compare)?;
    }
    while let Some(at) = live.pop() {
        streams[at].pair().map_or(Ok(()), |pair| pieces.push(pair))?;
        advance(&mut streams, at, &mut live, compare)?;
    }
    Ok(())
}

/// Puts a stream among those that go on by its next pair, if it has one.
fn advance<C: Aggregate>(
    streams: &mut [Stream<'_, C>],
    at: usize,
    live: &mut Vec<usize>,
    compare: &Compare<'_, C::Reduced>,
) -> Result<()> {
    if streams[at].advance()? {
        let is_later = |&other: &usize| match (streams[other].pair(), streams[at].pair()) {
            (Some(other), Some(this)) => compare(other, this).is_gt(),
            _ => false,
        };
        let place = live.partition_point(is_later);
        live.insert(place, at);
    }
    Ok(())
}

/// Returns the best of the pairs that machines found best, in the order of the answer.
fn best<C: Aggregate>(
    context: &RunContext<'_>,
    ranking: Ranking<'_, C>,
    room: &Room,
    streams: Vec<Stream<'_, C>>,
    most: usize,
    totals: ReduceTotals,
) -> Result<Answer<C>> {
    let (mut all, mut values) = (Pairs::new(&room.chunks), Vec::new());
    for mut stream in streams {
        while stream.advance_keeping()? {
            stream.pair().map_or(Ok(()), |pair| all.push(pair.key, *pair.value))?;
        }
        values.extend(stream.store.seal());
    }
    let mut numbers: Vec<u64> = (0..all.len() as u64).collect();
    let pair = |number: u64| all.get(number as usize);
    sort_numbers(&mut numbers, &|a, b| ranking.compare(pair(a), pair(b)));
    let mut pairs = Pairs::new(&room.chunks);
    let mut kept = numbers.into_iter().take(most).map(pair);
    kept.try_for_each(|pair| pairs.push(pair.key, *pair.value))?;
    let ranges = vec![Range::Held { pairs: Box::new(pairs), shared_prefix: 0 }];
    let pieces = sort(context, ranking, &room.chunks, None, ranges)?;
    context.progress.set_keys(totals.keys);
    let pointed_at = PointedAt { _long_keys: Vec::new(), _values: values };
    Ok(Answer { pieces, pointed_at, totals })
}

/// The answer of a machine, pair by pair.
struct Stream<'p, C: Aggregate> {
    pull: &'p mut (dyn FnMut() -> Result<Option<Vec<u8>>> + 'p),
    blocks: Vec<u8>,
    /// The end of the open block.
    at: usize,
    reader: BlockReader,
    key: ops::Range<usize>,
    value: Option<C::Reduced>,
    store: ValueStore,
}

impl<'p, C: Aggregate> Stream<'p, C> {
    fn new(
        context: &RunContext<'_>,
        room: &Room,
        pull: &'p mut (dyn FnMut() -> Result<Option<Vec<u8>>> + 'p),
    ) -> Result<Stream<'p, C>> {
        Ok(Stream {
            pull,
            blocks: Vec::new(),
            at: 0,
            reader: BlockReader::new(context.core.blocks(), room.shares.block_bytes)?,
            key: 0..0,
            value: None,
            store: ValueStore::new(&room.chunks),
        })
    }

    /// Advances to the next pair; returns whether there is one. The value before it is of no use then.
    fn advance(&mut self) -> Result<bool> {
        if Answers::<C>::POINTS {
            self.store.reset();
        }
        self.advance_keeping()
    }

    /// As `advance`, but the values so far stay.
    fn advance_keeping(&mut self) -> Result<bool> {
        loop {
            match self.reader.next::<Answers<C>>(&mut self.store) {
                Ok(Some(pair)) => {
                    self.store.check()?;
                    (self.key, self.value) = (pair.key, Some(pair.value));
                    return Ok(true);
                }
                Ok(None) if !self.open_next()? => {
                    self.value = None;
                    return Ok(false);
                }
                Ok(None) => {}
                Err(cause) => return Err(damaged(self.at as u64, cause).into()),
            }
        }
    }

    fn open_next(&mut self) -> Result<bool> {
        if self.at == self.blocks.len() {
            let Some(blocks) = (self.pull)()? else { return Ok(false) };
            (self.blocks, self.at) = (blocks, 0);
        }
        let rest = &self.blocks[self.at..];
        let (_, length) = front_block(rest)
            .ok_or_else(|| damaged(self.at as u64, "no whole block of pairs begins there"))?;
        let mut read = |from: u64, into: &mut [u8]| {
            into.copy_from_slice(&rest[from as usize..from as usize + into.len()]);
            Ok(())
        };
        let opened = self.reader.open(0, length as u64, &mut read)?;
        opened.map_err(|cause| damaged(self.at as u64, cause))?;
        self.at += length;
        Ok(true)
    }

    fn pair(&self) -> Option<PairRef<'_, C::Reduced>> {
        let value = self.value.as_ref()?;
        Some(PairRef { key: &self.reader.bytes()[self.key.clone()], value })
    }
}

/// Pairs in order, on their way to the disk.
struct Pieces<C: Aggregate> {
    writer: RunWriter<Answers<C>>,
    pieces: Vec<Piece<C::Reduced>>,
    /// Pairs of the present run.
    pairs: u64,
}

impl<C: Aggregate> Pieces<C> {
    fn push(&mut self, pair: PairRef<'_, C::Reduced>) -> Result<()> {
        self.writer.push(pair)?;
        self.pairs += 1;
        if self.pairs == RUN_PAIRS { self.end_run() } else { Ok(()) }
    }

    fn end_run(&mut self) -> Result<()> {
        if self.pairs > 0 {
            self.pieces.push(Piece::Stored(self.writer.finish()?));
            self.pairs = 0;
        }
        Ok(())
    }
}

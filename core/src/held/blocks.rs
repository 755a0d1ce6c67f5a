//! Pairs on their way from one holding to another: blocks of the partial's byte form, each of one partition. Workers
//! fold and seal partitions side by side, and take blocks in side by side.

use super::beside::damaged;
use crate::aggregate::Aggregate;
use crate::context::RunContext;
use crate::error::{Error, Place, Result};
use crate::failure::guard;
use crate::memory::{ByteArena, ValueStore};
use crate::partial::{
    Accumulators, BlockReader, Folder, OpenBlock, PARTITIONS, Partial, Sealer, Spiller, Taker,
    Upkeep, front_block,
};
use crate::room::Room;
use crate::schedule::{PerWorker, for_each};
use crate::slots::{Entry, PairRef, SlotKey};
use crate::sync::Mutex;
use std::marker::PhantomData;
use std::ops::Range;
use std::time::Instant;

const GIVING: &str = "giving pairs to another machine";
const TAKING: &str = "taking pairs of another machine in";

/// Puts a block where blocks go, from one worker at a time.
type Put<'s> = dyn Fn(&[u8]) -> Result<()> + Sync + 's;

/// A worker's tools for giving.
struct Giver<'s, C: Aggregate> {
    folder: Folder<C>,
    spiller: Option<Spiller<C>>,
    sealing: Sealing<'s, C>,
}

/// Puts pairs into blocks, and hands full blocks on.
struct Sealing<'s, C> {
    block: OpenBlock,
    sealer: Sealer,
    number: usize,
    put: &'s Put<'s>,
    aggregate: PhantomData<fn() -> C>,
}

/// Gives `sink` all pairs of some partitions, one per key. They stay.
pub(super) fn give<C: Aggregate>(
    context: &RunContext<'_>,
    partial: &Partial<C::Accumulator>,
    room: &Room,
    partitions: Range<usize>,
    sink: &mut (dyn FnMut(&[u8]) -> Result<()> + Send),
) -> Result<()> {
    let (pool, blocks) = (context.core.pool(), context.core.blocks());
    let spill = partial.spill().filter(|spill| spill.began());
    let sink = Mutex::new(sink);
    let put = |block: &[u8]| sink.lock()(block);
    let workers = PerWorker::new(pool.workers());
    for_each(pool, &context.failure, GIVING, partitions.len(), |worker, at| {
        let make = || {
            let block_bytes = room.shares.block_bytes;
            Ok(Giver::<C> {
                folder: Folder::new(&room.chunks)?,
                spiller: spill.map(|spill| spill.spiller(&room.chunks)).transpose()?,
                sealing: Sealing {
                    block: OpenBlock::new(blocks, block_bytes)?,
                    sealer: Sealer::new(blocks, block_bytes)?,
                    number: 0,
                    put: &put,
                    aggregate: PhantomData,
                },
            })
        };
        workers.with(worker, make, |Giver { folder, spiller, sealing }| {
            let number = partitions.start + at;
            sealing.number = number;
            match (spill, spiller) {
                (Some(spill), Some(spiller)) => {
                    spill.spill(number, partial, folder, spiller)?;
                    let mut partition = partial.partition(number);
                    spiller.merge(partition.runs.runs_mut(), sealing)?;
                }
                _ => folder.show(&mut partial.partition(number), sealing)?,
            }
            sealing.seal()
        })
    })
}

impl<C: Aggregate> Sealing<'_, C> {
    fn seal(&mut self) -> Result<()> {
        if self.block.is_empty() {
            return Ok(());
        }
        let sealed = self.sealer.seal(&mut self.block, self.number)?;
        let began = Instant::now();
        (self.put)(sealed)?;
        self.sealer.wrote(began.elapsed());
        Ok(())
    }
}

impl<C: Aggregate> Taker<C::Accumulator> for Sealing<'_, C> {
    fn take<K: SlotKey>(&mut self, entry: &Entry<K, C::Accumulator>) -> Result<()> {
        if self.block.push::<Accumulators<C>>(PairRef::of(entry))? { self.seal() } else { Ok(()) }
    }

    /// Drops the arena, because sealed keys are copies.
    fn keep(&mut self, arena: ByteArena) {
        drop(arena);
    }
}

/// Puts the pairs of blocks into a partial.
pub(super) fn take_in<C: Aggregate>(
    context: &RunContext<'_>,
    partial: &Partial<C::Accumulator>,
    room: &Room,
    bytes: &[u8],
) -> Result<()> {
    let mut found: Vec<(usize, Range<usize>)> = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let (number, length) = front_block(&bytes[at..])
            .ok_or_else(|| damaged(at as u64, "no whole block of pairs begins there"))?;
        found.push((number, at..at + length));
        at += length;
    }
    let pool = context.core.pool();
    let workers = PerWorker::new(pool.workers());
    for_each(pool, &context.failure, TAKING, found.len(), |worker, at| {
        let make = || {
            let reader = BlockReader::new(context.core.blocks(), room.shares.block_bytes)?;
            let values = ValueStore::new(&room.chunks);
            Ok((reader, values, Upkeep::<C>::new(&room.chunks)))
        };
        workers.with(worker, make, |(reader, values, upkeep)| {
            let (number, place) = &found[at];
            let taking = Taking { partial, block: &bytes[place.clone()], number: *number };
            taking.take_in::<C>(reader, values, place.start as u64)?;
            upkeep.relieve(partial)
        })
    })
}

struct Taking<'b, V: Copy> {
    partial: &'b Partial<V>,
    block: &'b [u8],
    number: usize,
}

impl<V: Copy + Send + Sync + 'static> Taking<'_, V> {
    fn take_in<C: Aggregate<Accumulator = V>>(
        &self,
        reader: &mut BlockReader,
        values: &mut ValueStore,
        offset: u64,
    ) -> Result<()> {
        let Taking { partial, block, number } = *self;
        let mut read = |from: u64, into: &mut [u8]| {
            into.copy_from_slice(&block[from as usize..from as usize + into.len()]);
            Ok(())
        };
        reader
            .open(number, block.len() as u64, &mut read)?
            .map_err(|cause| damaged(offset, cause))?;
        let mut restoring = partial.restore(false);
        loop {
            match reader.next::<Accumulators<C>>(values) {
                Ok(Some(pair)) => {
                    values.check()?;
                    restoring.put(&reader.bytes()[pair.key.clone()], pair.value)?;
                }
                Ok(None) => break,
                Err(cause) => return Err(damaged(offset, cause).into()),
            }
        }
        drop(restoring);
        partial.keep_values(values);
        Ok(())
    }
}

/// Folds the partitions that have doubled since they were last folded, and spills.
pub(super) fn fold<C: Aggregate>(
    context: &RunContext<'_>,
    partial: &Partial<C::Accumulator>,
    room: &Room,
) -> Result<()> {
    let is_due = |&number: &usize| partial.partition(number).fold_is_due();
    let due: Vec<usize> = (0..PARTITIONS).filter(is_due).collect();
    let pool = context.core.pool();
    let folders = PerWorker::new(pool.workers());
    if !due.is_empty() {
        for_each(pool, &context.failure, TAKING, due.len(), |worker, at| {
            let make = || Ok::<_, Error>(Folder::<C>::new(&room.chunks)?);
            folders.with(worker, make, |folder| folder.compress(&mut partial.partition(due[at])))
        })?;
    }
    guard(|| Place::stage(TAKING), || Upkeep::<C>::new(&room.chunks).relieve(partial))
}

/// Leaves a partial without the pairs of some partitions.
pub(super) fn drop_pairs<V: Copy>(
    partial: &Partial<V>,
    partitions: impl Iterator<Item = usize>,
) -> Result<()> {
    for number in partitions {
        let mut partition = partial.partition(number);
        partition.pairs.clear();
        let runs = std::mem::take(partition.runs.runs_mut());
        if let Some(spill) = partial.spill() {
            runs.iter().try_for_each(|run| spill.scratch().free(&run.extents))?;
            runs.iter().for_each(|run| spill.forget(run));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::combine::Combine;
    use crate::core::Core;
    use crate::memory::{BlockPool, Budget};
    use crate::options::Options;
    use crate::schedule::{Placement, Pool};
    use crate::sizing::Shares;
    use crate::storage::Disk;
    use crate::topology::Topology;
    use std::sync::Arc;

    /// A combine that no two values get through.
    struct Fussy;

    impl Combine for Fussy {
        type Value = u64;
        type Accumulator = u64;
        type Output = u64;

        fn identity() -> u64 {
            0
        }

        fn absorb(into: &mut u64, value: u64) {
            *into = value;
        }

        fn merge(into: &mut u64, other: &u64) {
            assert_eq!(*into, 0, "a second value");
            *into = *other;
        }

        fn finish(value: &u64) -> u64 {
            *value
        }

        fn rank(a: &u64, b: &u64) -> std::cmp::Ordering {
            a.cmp(b)
        }

        fn encode(value: &u64, out: &mut Vec<u8>) {
            out.extend_from_slice(&value.to_le_bytes());
        }

        fn decode(bytes: &mut &[u8]) -> Option<u64> {
            let (own, rest) = bytes.split_first_chunk()?;
            *bytes = rest;
            Some(u64::from_le_bytes(*own))
        }
    }

    #[test]
    fn a_panic_of_the_jobs_code_while_pairs_are_spilled_is_an_error() {
        let topology = Topology::detect();
        let shares = Shares { partial_bytes: 0, ..Shares::new(&topology, 64 << 20, 1) };
        let core = Core {
            pool: Pool::new(1, |_| ()).unwrap(),
            placement: Placement::new(&topology, 1),
            blocks: BlockPool::new(Budget::new(None)),
            topology,
            is_here: true,
            limit_bytes: Some(64 << 20),
            beside_bytes: 0,
            storage: Arc::new(Disk::new(std::env::temp_dir())),
        };
        let options = Options::default();
        let context = RunContext::open(&core, &options).unwrap();
        let room = Room::new(&core, shares);
        let partial = room.partial();
        (1..=2).for_each(|value| partial.restore(false).put(b"key", value).unwrap());
        let spilled = fold::<Fussy>(&context, &partial, &room);
        assert!(matches!(spilled, Err(Error::Panicked { .. })), "{spilled:?}");
    }
}

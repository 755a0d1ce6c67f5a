//! Runs: pairs on disk, in consecutive blocks. A partition has a run for each time that it was spilled; an
//! answer that does not fit in memory is runs, too. Runs of a partition hold their pairs in the order of size
//! class, hash, key, so they merge as they are read, in little memory whatever their length.

use super::form::{BlockReader, Contents, Form, OpenBlock, Sealer};
use super::taker::Taker;
use crate::error::{MemoryError, Result};
use crate::memory::{ByteArena, ChunkPool, ValueStore};
use crate::slots::{Entry, PairRef, SlotKey};
use crate::storage::{Region, Scratch};
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

/// Where the blocks of a run lie, in the order of their pairs; neighbours are joined.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// The partition (or range) of all its blocks.
    pub number: usize,
    pub extents: Vec<Range<u64>>,
    pub pairs: u64,
    /// Bytes of its keys and values in memory, but for the entries of pairs. On disk they may be compressed.
    pub held_bytes: u64,
    /// The number of merges of its pairs since they were spilled.
    pub level: u32,
}

impl Run {
    pub fn new(number: usize) -> Run {
        Run { number, ..Run::default() }
    }

    /// Memory that it takes to know where the run lies, in bytes.
    pub fn index_bytes(&self) -> usize {
        // Lists grow by doubling: half as much again on average. A run's is an allocation of its own.
        const ALLOCATION_BYTES: usize = 32;
        (size_of::<Run>() + self.extents.len() * size_of::<Range<u64>>()) * 3 / 2 + ALLOCATION_BYTES
    }

    /// Adds a block, which lies at `place` and has these pairs.
    pub fn add(&mut self, place: Range<u64>, pairs: Contents) {
        self.pairs += pairs.count;
        self.held_bytes += pairs.held_bytes;
        match self.extents.last_mut() {
            Some(last) if last.end == place.start => last.end = place.end,
            _ => self.extents.push(place),
        }
    }
}

/// Seals a block and writes it where `place(bytes, pairs)` says; the bytes are those on disk.
pub fn store(
    scratch: &Scratch,
    sealer: &mut Sealer,
    block: &mut OpenBlock,
    number: usize,
    place: impl FnOnce(u64, Contents) -> Range<u64>,
) -> Result<()> {
    let pairs = block.contents();
    let sealed = sealer.seal(block, number)?;
    let place = place(sealed.len() as u64, pairs);
    let began = Instant::now();
    scratch.write(sealed, place.start)?;
    sealer.wrote(began.elapsed());
    Ok(())
}

/// Writes pairs into a run, in the order in which it takes them.
pub struct RunWriter<F> {
    scratch: Arc<Scratch>,
    block: OpenBlock,
    sealer: Sealer,
    run: Run,
    region: Region,
    form: PhantomData<fn() -> F>,
}

impl<F: Form> RunWriter<F> {
    pub fn new(
        scratch: &Arc<Scratch>,
        chunks: &Arc<ChunkPool>,
        block_bytes: usize,
    ) -> Result<RunWriter<F>, MemoryError> {
        Ok(RunWriter {
            scratch: Arc::clone(scratch),
            block: OpenBlock::new(chunks.blocks(), block_bytes)?,
            sealer: Sealer::new(chunks.blocks(), block_bytes)?,
            run: Run::default(),
            region: Region::default(),
            form: PhantomData,
        })
    }

    /// Begins a run of a partition (or range).
    pub fn begin(&mut self, number: usize) {
        self.run.number = number;
    }

    pub fn push(&mut self, pair: PairRef<'_, F::Value>) -> Result<()> {
        if self.block.push::<F>(pair)? { self.store() } else { Ok(()) }
    }

    /// Returns the run, all of it on disk.
    pub fn finish(&mut self) -> Result<Run> {
        if !self.block.is_empty() {
            self.store()?;
        }
        let next = Run::new(self.run.number);
        Ok(std::mem::replace(&mut self.run, next))
    }

    fn store(&mut self) -> Result<()> {
        let (scratch, run, region) = (&self.scratch, &mut self.run, &mut self.region);
        store(scratch, &mut self.sealer, &mut self.block, run.number, |bytes, pairs| {
            let place = region.take(scratch, bytes);
            run.add(place.clone(), pairs);
            place
        })
    }
}

impl<F: Form> Taker<F::Value> for RunWriter<F> {
    fn take<K: SlotKey>(&mut self, entry: &Entry<K, F::Value>) -> Result<()> {
        self.push(PairRef::of(entry))
    }

    /// Drops the arena, because written keys are copies.
    fn keep(&mut self, arena: ByteArena) {
        drop(arena);
    }
}

/// Reads the pairs of a run, one after the other.
pub struct RunReader<F: Form> {
    scratch: Arc<Scratch>,
    number: usize,
    /// The extents that are still to be read, the next last.
    extents: Vec<Range<u64>>,
    /// The begin of the open block.
    block: u64,
    reader: BlockReader,
    key: Range<usize>,
    value: Option<F::Value>,
    /// The store of the value.
    store: ValueStore,
}

impl<F: Form> RunReader<F> {
    pub fn new(
        scratch: &Arc<Scratch>,
        chunks: &Arc<ChunkPool>,
        block_bytes: usize,
    ) -> Result<RunReader<F>, MemoryError> {
        Ok(RunReader {
            scratch: Arc::clone(scratch),
            number: 0,
            extents: Vec::new(),
            block: 0,
            reader: BlockReader::new(chunks.blocks(), block_bytes)?,
            key: 0..0,
            value: None,
            store: ValueStore::new(chunks),
        })
    }

    /// Begins to read blocks of a partition (or range); [`advance`](RunReader::advance) finds the first pair.
    pub fn begin(&mut self, number: usize, extents: &[Range<u64>]) {
        self.number = number;
        self.extents.clear();
        self.extents.extend(extents.iter().rev().cloned());
        self.reader.clear();
        self.value = None;
        self.store.reset();
    }

    /// Advances to the next pair; returns whether there is one. The store of the last value is reset.
    pub fn advance(&mut self) -> Result<bool> {
        if F::POINTS {
            self.store.reset();
        }
        self.advance_keeping()
    }

    /// As `advance`, but the stores of the values so far stay until `begin`.
    pub fn advance_keeping(&mut self) -> Result<bool> {
        loop {
            match self.reader.next::<F>(&mut self.store) {
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
                Err(damage) => return Err(self.scratch.damaged(self.block, damage).into()),
            }
        }
    }

    fn open_next(&mut self) -> Result<bool> {
        let Some(extent) = self.extents.last_mut() else { return Ok(false) };
        let (start, room) = (extent.start, extent.end - extent.start);
        self.block = start;
        let scratch = &self.scratch;
        let mut read =
            |from: u64, into: &mut [u8]| -> Result<()> { Ok(scratch.read(start + from, into)?) };
        match self.reader.open(self.number, room, &mut read)? {
            Ok(bytes) => extent.start += bytes,
            Err(damage) => return Err(scratch.damaged(start, damage).into()),
        }
        if extent.is_empty() {
            self.extents.pop();
        }
        Ok(true)
    }

    pub fn pair(&self) -> Option<PairRef<'_, F::Value>> {
        let value = self.value.as_ref()?;
        Some(PairRef { key: &self.reader.bytes()[self.key.clone()], value })
    }
}

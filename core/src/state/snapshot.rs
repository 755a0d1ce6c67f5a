//! Snapshots: files of blocks in the byte form of a partial. A worker writes its own, as it hands pairs over;
//! a run that resumes reads them in parallel, one worker to a file.

use super::folds::Taking;
use super::manifest::{Piece, Snapshot, snapshot_name};
use super::saver::Saver;
use crate::aggregate::Aggregate;
use crate::encoding::Digest;
use crate::error::{Error, MemoryError, Result, StorageError};
use crate::memory::{ByteArena, ChunkPool, ValueStore};
use crate::partial::{
    Accumulators, BlockReader, HEADER_BYTES, MIXED, OpenBlock, Pairs, Partial, Partition, Sealer,
    Taker, Witness, hash_of, partition_of,
};
use crate::relocation::Relocation;
use crate::slots::{Entry, PairRef, SlotKey};
use crate::storage::{Storage, StoredFile};
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Instant;

/// Its first bytes; the last one is the version.
const MAGIC: [u8; 4] = *b"TgS\x01";
/// Bytes before the first block: the magic, four zeros, the digest of the job's identity, the number.
pub(super) const HEAD_BYTES: usize = 32;
/// Bytes at which a snapshot ends and the next one begins, so that many workers can read them.
const MOST_BYTES: u64 = 64 << 20;
/// Bytes that are copied at a time.
const COPIED_BYTES: usize = 1 << 20;

pub(super) fn head(identity: u128, number: u64) -> [u8; HEAD_BYTES] {
    let mut head = [0; HEAD_BYTES];
    head[..4].copy_from_slice(&MAGIC);
    head[8..24].copy_from_slice(&identity.to_le_bytes());
    head[24..].copy_from_slice(&number.to_le_bytes());
    head
}

/// Writes the pairs that one worker hands over.
pub(crate) struct SnapshotWriter<C> {
    saver: Arc<Saver>,
    block: OpenBlock,
    sealer: Sealer,
    open: Option<Growing>,
    /// The full files since the last save.
    full: Vec<Written>,
    keeps: Keeps,
    /// The error of seeing a pair.
    fault: Option<Error>,
    sight: Sight,
    aggregate: PhantomData<fn() -> C>,
}

/// Whether pairs are written as they pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sight {
    NotYet,
    Open,
    Ended,
}

/// Whether each piece lies in one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keeps {
    Together,
    /// A piece may lie in several files; the last of them holds its coverage.
    Apart,
    /// As `Apart`, and all files are parts of a fold.
    Fold(u64),
}

/// A snapshot that is being written.
struct Growing {
    file: Box<dyn StoredFile>,
    number: u64,
    at: u64,
    digest: Digest,
    pieces: Vec<Piece>,
    /// Where the piece begins that is being written, and its pairs.
    piece_at: u64,
    piece_pairs: u64,
}

/// A snapshot that is written and not synced.
pub(super) struct Written {
    pub(super) file: Arc<dyn StoredFile>,
    pub(super) snapshot: Snapshot,
}

impl<C: Aggregate> SnapshotWriter<C> {
    pub(super) fn new(
        saver: &Arc<Saver>,
        chunks: &Arc<ChunkPool>,
        block_bytes: usize,
        keeps: Keeps,
    ) -> Result<SnapshotWriter<C>, MemoryError> {
        Ok(SnapshotWriter {
            saver: Arc::clone(saver),
            block: OpenBlock::new(chunks.blocks(), block_bytes)?,
            sealer: Sealer::new(chunks.blocks(), block_bytes)?,
            open: None,
            full: Vec::new(),
            keeps,
            fault: None,
            sight: Sight::Open,
            aggregate: PhantomData,
        })
    }

    /// Lets pairs pass without being written, until [`begin`](SnapshotWriter::begin).
    pub(super) fn beginning_late(mut self) -> SnapshotWriter<C> {
        self.sight = Sight::NotYet;
        self
    }

    /// Begins to write if it does not yet, after all pairs were handed over. Returns whether it began.
    pub(super) fn begin(&mut self) -> bool {
        let begins = self.sight == Sight::NotYet;
        if begins {
            self.sight = Sight::Open;
        }
        begins
    }

    /// Adds a pair.
    pub(crate) fn push(&mut self, pair: PairRef<'_, C::Accumulator>) -> Result<()> {
        if self.block.push::<Accumulators<C>>(pair)? { self.store() } else { Ok(()) }
    }

    /// Adds pairs.
    pub(super) fn push_all(&mut self, pairs: &Pairs<C::Accumulator>) -> Result<()> {
        for pair in pairs.iter() {
            self.push(pair)?;
        }
        Ok(())
    }

    /// Ends a piece: the pairs handed over since the last piece. `piece` describes it, except for its blocks
    /// and pairs.
    pub(super) fn end_piece(&mut self, piece: Piece) -> Result<()> {
        self.check()?;
        if !self.block.is_empty() {
            self.store()?;
        }
        let mut open = self.take_open()?;
        open.end_piece(Piece { fold: self.fold().or(piece.fold), ..piece });
        self.open = Some(open);
        Ok(())
    }

    /// Copies a piece of another snapshot.
    pub(super) fn copy(&mut self, from: &dyn StoredFile, piece: &Piece) -> Result<()> {
        let mut open = self.take_open()?;
        let mut bytes = vec![0; COPIED_BYTES];
        let mut at = piece.blocks.start;
        while at < piece.blocks.end {
            let part = &mut bytes[..((piece.blocks.end - at) as usize).min(COPIED_BYTES)];
            from.read_exact_at(part, at)?;
            open.digest.add(part);
            open.file.write_all_at(part, open.at)?;
            (at, open.at) = (at + part.len() as u64, open.at + part.len() as u64);
        }
        open.piece_pairs = piece.pairs;
        open.end_piece(piece.clone());
        self.open = Some(open);
        if self.is_full() {
            self.end();
        }
        Ok(())
    }

    /// Returns the fold that all is a part of.
    fn fold(&self) -> Option<u64> {
        match self.keeps {
            Keeps::Fold(number) => Some(number),
            Keeps::Together | Keeps::Apart => None,
        }
    }

    /// Ends the file, after a piece, and returns the written files.
    pub(super) fn take_written(&mut self) -> Vec<Written> {
        self.end();
        std::mem::take(&mut self.full)
    }

    /// Returns whether the file has reached its maximum length.
    pub(super) fn is_full(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.at >= MOST_BYTES)
    }

    /// Stops writing; unfinished files are dropped.
    pub(super) fn stop(&mut self) -> Result<(), StorageError> {
        self.sight = Sight::Ended;
        self.end();
        let dropped = std::mem::take(&mut self.full);
        dropped.into_iter().try_for_each(|written| {
            self.saver.storage().remove(&snapshot_name(written.snapshot.number))
        })
    }

    /// Returns the first error since the last call.
    pub(super) fn check(&mut self) -> Result<()> {
        self.fault.take().map_or(Ok(()), Err)
    }

    /// Returns the file that is being written, or else a new one.
    fn take_open(&mut self) -> Result<Growing> {
        if let Some(open) = self.open.take() {
            return Ok(open);
        }
        let (storage, number) = (self.saver.storage(), self.saver.next_number());
        let file = storage.create(&snapshot_name(number))?;
        let head = head(self.saver.identity_digest(), number);
        file.write_all_at(&head, 0)?;
        let mut digest = Digest::default();
        digest.add(&head);
        let at = HEAD_BYTES as u64;
        let pieces = Vec::new();
        Ok(Growing { file, number, at, digest, pieces, piece_at: at, piece_pairs: 0 })
    }

    /// Seals the block and writes it after the last.
    fn store(&mut self) -> Result<()> {
        let mut open = self.take_open()?;
        open.piece_pairs += self.block.pairs();
        let sealed = self.sealer.seal(&mut self.block, MIXED)?;
        open.digest.add(sealed);
        let began = Instant::now();
        open.file.write_all_at(sealed, open.at)?;
        open.at += sealed.len() as u64;
        self.sealer.wrote(began.elapsed());
        let goes_on = self.keeps != Keeps::Together && open.at >= MOST_BYTES;
        if goes_on {
            // The coverage comes with the piece in the next file.
            open.end_piece(Piece { fold: self.fold(), ..Piece::default() });
        }
        self.open = Some(open);
        if goes_on {
            self.end();
        }
        Ok(())
    }

    fn end(&mut self) {
        if let Some(Growing { file, number, at, digest, pieces, .. }) = self.open.take() {
            let snapshot = Snapshot { number, bytes: at, digest: digest.sum(), pieces };
            self.full.push(Written { file: Arc::from(file), snapshot });
        }
    }
}

impl Growing {
    fn end_piece(&mut self, piece: Piece) {
        let blocks = std::mem::replace(&mut self.piece_at, self.at)..self.at;
        let pairs = std::mem::take(&mut self.piece_pairs);
        self.pieces.push(Piece { blocks, pairs, ..piece });
    }
}

impl<C: Aggregate> Taker<C::Accumulator> for SnapshotWriter<C> {
    fn take<K: SlotKey>(&mut self, entry: &Entry<K, C::Accumulator>) -> Result<()> {
        self.push(PairRef::of(entry))
    }

    /// Drops the arena, because written keys are copies.
    fn keep(&mut self, arena: ByteArena) {
        drop(arena);
    }
}

impl<C: Aggregate> Witness<C::Accumulator> for SnapshotWriter<C> {
    fn see(&mut self, key: &[u8], value: &C::Accumulator) {
        if self.sight != Sight::Open || self.fault.is_some() {
            return;
        }
        if let Err(fault) = self.push(PairRef { key, value }) {
            self.fault = Some(fault);
        }
    }
}

impl<C> Drop for SnapshotWriter<C> {
    /// Removes the files that no manifest will name, as far as possible.
    fn drop(&mut self) {
        let open = self.open.take().map(|open| open.number);
        let full = std::mem::take(&mut self.full).into_iter().map(|full| full.snapshot.number);
        full.chain(open).for_each(|number| {
            let _ = self.saver.storage().remove(&snapshot_name(number));
        });
    }
}

/// Reads a snapshot, block by block.
pub(crate) struct SnapshotReader {
    file: Box<dyn StoredFile>,
    snapshot: Snapshot,
    is_taken_out: bool,
    is_folded: bool,
    /// Of each of its pieces.
    relocations: Vec<Relocation>,
    reader: BlockReader,
    /// The piece that is read, where in it, and its pairs so far.
    piece: usize,
    at: u64,
    pairs: u64,
    /// Of all bytes, if all of them count.
    digest: Option<Digest>,
}

impl SnapshotReader {
    pub(super) fn open(
        storage: &dyn Storage,
        taking: &Taking,
        identity: u128,
        chunks: &Arc<ChunkPool>,
        block_bytes: usize,
    ) -> Result<SnapshotReader> {
        let Taking { snapshot, is_taken_out, is_folded, relocations } = taking;
        let file = storage.open(&snapshot_name(snapshot.number))?;
        let mut reader = SnapshotReader {
            file,
            snapshot: snapshot.clone(),
            is_taken_out: *is_taken_out,
            is_folded: *is_folded,
            relocations: relocations.clone(),
            reader: BlockReader::new(chunks.blocks(), block_bytes)?,
            piece: 0,
            at: HEAD_BYTES as u64,
            pairs: 0,
            digest: snapshot.is_whole().then(Digest::default),
        };
        let found = reader.file.bytes()?;
        if found != snapshot.bytes {
            return Err(reader.damaged("it has another length than the manifest says").into());
        }
        let mut first = [0; HEAD_BYTES];
        reader.file.read_exact_at(&mut first, 0)?;
        reader.digest.iter_mut().for_each(|digest| digest.add(&first));
        if first != head(identity, snapshot.number) {
            return Err(reader.damaged("it is not the snapshot that the manifest names").into());
        }
        Ok(reader)
    }

    /// Gives `see` each pair of the next block; returns how many, `None` at the end.
    fn block<C: Aggregate>(
        &mut self,
        store: &mut ValueStore,
        mut see: impl FnMut(&[u8], C::Accumulator) -> Result<(), MemoryError>,
    ) -> Result<Option<u64>> {
        let room = loop {
            let Some(piece) = self.snapshot.pieces.get(self.piece) else {
                return self.end().map(|()| None);
            };
            // Some pieces may not count any more.
            self.at = self.at.max(piece.blocks.start);
            if self.at < piece.blocks.end {
                break piece.blocks.end - self.at;
            }
            if self.pairs != piece.pairs {
                return Err(self.damaged("it holds other pairs than the manifest says").into());
            }
            (self.piece, self.pairs) = (self.piece + 1, 0);
        };
        let (file, digest, at) = (&self.file, &mut self.digest, self.at);
        let mut read = |from: u64, into: &mut [u8]| -> Result<()> {
            file.read_exact_at(into, at + from)?;
            digest.iter_mut().for_each(|digest| digest.add(into));
            Ok(())
        };
        let bytes = match self.reader.open(MIXED, room, &mut read)? {
            Ok(bytes) => bytes,
            Err(damage) => return Err(self.damaged(damage).into()),
        };
        debug_assert!(bytes >= HEADER_BYTES as u64);
        store.set_relocation(self.relocations[self.piece]);
        let mut pairs = 0;
        loop {
            match self.reader.next::<Accumulators<C>>(store) {
                Ok(Some(pair)) => {
                    store.check()?;
                    see(&self.reader.bytes()[pair.key.clone()], pair.value)?;
                    pairs += 1;
                }
                Ok(None) => break,
                Err(damage) => return Err(self.damaged(damage).into()),
            }
        }
        self.at += bytes;
        self.pairs += pairs;
        Ok(Some(pairs))
    }

    /// Puts all pairs into a partial, or takes them out of it if this is to be taken out and the combine can;
    /// calls `after` for each block, with the number of its pairs.
    pub(crate) fn restore<C: Aggregate>(
        &mut self,
        partial: &Partial<C::Accumulator>,
        chunks: &Arc<ChunkPool>,
        after: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<()> {
        let mut values = ValueStore::new(chunks);
        let inverse = C::INVERSE.filter(|_| self.is_taken_out);
        loop {
            let mut restoring = partial.restore(self.is_folded);
            let put = |key: &[u8], value| {
                let value = inverse.as_ref().map_or(value, |inverse| (inverse.of)(&value));
                restoring.put(key, value)
            };
            let Some(pairs) = self.block::<C>(&mut values, put)? else { return Ok(()) };
            drop(restoring);
            partial.keep_values(&mut values);
            after(pairs)?;
        }
    }

    /// Puts all pairs into the caller's partitions: as many as a partial has, or one.
    pub(super) fn restore_into<C: Aggregate>(
        &mut self,
        partitions: &mut [Partition<C::Accumulator>],
        chunks: &Arc<ChunkPool>,
    ) -> Result<()> {
        debug_assert!(!C::KEEPS_VALUES && !self.is_taken_out);
        let mut values = ValueStore::new(chunks);
        let count = partitions.len();
        let mut put = |key: &[u8], value| {
            let number = if count == 1 { 0 } else { partition_of(hash_of(key)) };
            partitions[number].pairs.push(key, value)
        };
        while self.block::<C>(&mut values, &mut put)?.is_some() {}
        Ok(())
    }

    /// All was read that counts.
    fn end(&self) -> Result<()> {
        match &self.digest {
            Some(digest) if digest.sum() != self.snapshot.digest => {
                Err(self.damaged("its checksum is another").into())
            }
            _ => Ok(()),
        }
    }

    fn damaged(&self, cause: &'static str) -> StorageError {
        StorageError::Damaged { path: self.file.path().to_path_buf(), offset: self.at, cause }
    }
}

//! Pairs of an answer, borrowed from an `Output`, which is complete, or from a show, which has the pairs so
//! far.

use super::{Stored, Value, show};
use crate::aggregate::Aggregate;
use crate::error::{MemoryError, Result};
use crate::job::Job;
use crate::key::Key;
use crate::merge::Piece;
use crate::partial::{self, RunReader, read_run};
use crate::plan::{FileNames, Plan};
use crate::slots::PairRef;
use std::fmt;
use std::marker::PhantomData;
use std::path::PathBuf;

/// Answers of a job, in order, as far as a show has them.
pub struct Answers<'a, J: Job> {
    seen: Seen<'a, J::Combine>,
    key: PhantomData<fn(&J::Key)>,
}

impl<J: Job> fmt::Debug for Answers<'_, J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answers").field("len", &self.len()).finish_non_exhaustive()
    }
}

/// Answers as the stages see them: keys are bytes.
pub(crate) struct Seen<'a, C: Aggregate> {
    pieces: &'a [Piece<C::Reduced>],
    stored: &'a Stored,
    names: &'a dyn Names,
    len: u64,
}

impl<C: Aggregate> Clone for Seen<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C: Aggregate> Copy for Seen<'_, C> {}

/// The paths of input files by their numbers.
pub(crate) trait Names: Sync {
    fn path_of(&self, file: u32) -> Option<PathBuf>;
}

impl Names for FileNames {
    fn path_of(&self, file: u32) -> Option<PathBuf> {
        self.get(file)
    }
}

impl Names for Plan {
    fn path_of(&self, file: u32) -> Option<PathBuf> {
        self.name(file)
    }
}

impl<'a, C: Aggregate> Seen<'a, C> {
    pub(crate) fn new(
        pieces: &'a [Piece<C::Reduced>],
        stored: &'a Stored,
        names: &'a dyn Names,
    ) -> Seen<'a, C> {
        let len = pieces.iter().map(Piece::pairs).sum();
        Seen { pieces, stored, names, len }
    }

    /// Returns the bytes of the first keys, at most `most` of them.
    pub(crate) fn first_keys(&self, most: usize) -> Result<Vec<Box<[u8]>>> {
        let mut keys: Vec<Box<[u8]>> = Vec::new();
        for piece in self.pieces {
            match piece {
                Piece::Held(held) => {
                    let more = most - keys.len();
                    keys.extend(held.iter().take(more).map(|pair| pair.key.into()));
                }
                Piece::Stored(run) => {
                    let mut reader = None;
                    let reader = self.stored.reader::<C>(&mut reader)?;
                    reader.begin(run.number, &run.extents);
                    while keys.len() < most && reader.advance()? {
                        keys.extend(reader.pair().map(|pair| pair.key.into()));
                    }
                }
            }
            if keys.len() == most {
                break;
            }
        }
        Ok(keys)
    }

    /// Shows the pairs in order until `see` fails.
    pub(crate) fn for_each(
        &self,
        see: &mut dyn FnMut(PairRef<'_, C::Reduced>) -> Result<()>,
    ) -> Result<()> {
        let mut reader = None;
        for piece in self.pieces {
            match piece {
                Piece::Held(held) => {
                    for pair in held.iter() {
                        see(pair)?;
                    }
                }
                Piece::Stored(run) => {
                    let reader = self.stored.reader::<C>(&mut reader)?;
                    read_run(reader, run.number, &run.extents, &mut *see)?;
                }
            }
        }
        Ok(())
    }
}

impl<'a, J: Job> Answers<'a, J> {
    pub(crate) fn of(seen: Seen<'a, J::Combine>) -> Answers<'a, J> {
        Answers { seen, key: PhantomData }
    }

    /// Number of pairs.
    pub fn len(&self) -> usize {
        usize::try_from(self.seen.len).unwrap_or(usize::MAX)
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.seen.len == 0
    }

    /// Returns the path of an input file by its number, as [`Output::file`](crate::Output::file) has it.
    pub fn file(&self, number: u32) -> Option<PathBuf> {
        self.seen.names.path_of(number)
    }

    /// Returns the pairs, in order, if they are in memory: always so without a limit on memory.
    ///
    /// # Errors
    /// [`MemoryError::OnDisk`] if they did not fit; see [`for_each`](Answers::for_each).
    pub fn iter(
        &self,
    ) -> Result<
        impl Iterator<Item = (<J::Key as Key>::Borrowed<'a>, Value<'a, J>)> + use<'a, J>,
        MemoryError,
    > {
        let Seen { pieces, len, .. } = self.seen;
        let held = pieces.iter().map(|piece| match piece {
            Piece::Held(held) => Ok(held),
            Piece::Stored(_) => Err(MemoryError::OnDisk { pairs: len }),
        });
        let held: Vec<_> = held.collect::<Result<_, _>>()?;
        Ok(held.into_iter().flat_map(|held| held.iter().map(show::<J>)))
    }

    /// Shows the pairs in order, whether they are in memory or on disk, until `see` fails.
    ///
    /// # Errors
    /// [`StorageError`](crate::error::StorageError) if the disk fails, and those of `see`.
    pub fn for_each(
        &self,
        mut see: impl FnMut(<J::Key as Key>::Borrowed<'_>, Value<'_, J>) -> Result<()>,
    ) -> Result<()> {
        self.seen.for_each(&mut |pair| {
            let (key, value) = show::<J>(pair);
            see(key, value)
        })
    }
}

impl Stored {
    /// Returns the reader of pieces on disk, made when it is first needed.
    pub(super) fn reader<'r, C: Aggregate>(
        &self,
        reader: &'r mut Option<RunReader<partial::Answers<C>>>,
    ) -> Result<&'r mut RunReader<partial::Answers<C>>> {
        match reader {
            Some(reader) => Ok(reader),
            none => Ok(none.insert(RunReader::new(&self.scratch, &self.chunks, self.block_bytes)?)),
        }
    }
}

//! Pairs of an answer, borrowed from whoever holds them: from an `Output`, which is complete, or from a
//! show, which has what was seen so far.

use super::{Answer, Stored, Value, show};
use crate::error::{MemoryError, Result};
use crate::job::Job;
use crate::key::Key;
use crate::merge::Piece;
use crate::partial::{self, RunReader, read_run};
use crate::plan::{FileNames, Plan};
use std::path::PathBuf;

/// Answers of a job, in order: what a show has of them so far.
pub struct Answers<'a, J: Job> {
    pieces: &'a [Piece<Value<J>>],
    stored: &'a Stored,
    names: &'a dyn Names,
    len: u64,
}

/// Who knows the paths of input files by their numbers.
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

impl<'a, J: Job> Answers<'a, J> {
    pub(crate) fn new(
        pieces: &'a [Piece<Value<J>>],
        stored: &'a Stored,
        names: &'a dyn Names,
    ) -> Answers<'a, J> {
        let len = pieces.iter().map(Piece::pairs).sum();
        Answers { pieces, stored, names, len }
    }

    /// Number of pairs.
    pub fn len(&self) -> usize {
        usize::try_from(self.len).unwrap_or(usize::MAX)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The path of an input file by its number, as [`Output::file`](crate::Output::file) has it.
    pub fn file(&self, number: u32) -> Option<PathBuf> {
        self.names.path_of(number)
    }

    /// The pairs, in order, if they are in memory: always so without a limit on memory.
    ///
    /// # Errors
    /// [`MemoryError::OnDisk`] if they did not fit; see [`for_each`](Answers::for_each).
    pub fn iter(
        &self,
    ) -> Result<
        impl Iterator<Item = (<J::Key as Key>::Borrowed<'a>, Answer<'a, J>)> + use<'a, J>,
        MemoryError,
    > {
        let held = self.pieces.iter().map(|piece| match piece {
            Piece::Held(held) => Ok(held),
            Piece::Stored(_) => Err(MemoryError::OnDisk { pairs: self.len }),
        });
        let held: Vec<_> = held.collect::<Result<_, _>>()?;
        Ok(held.into_iter().flat_map(|held| {
            (0..held.pairs.len()).map(|place| show::<J>(held.pairs.get(held.number_at(place))))
        }))
    }

    /// The bytes of the first keys, at most so many.
    pub(crate) fn first_keys(&self, most: usize) -> Result<Vec<Box<[u8]>>> {
        let mut keys: Vec<Box<[u8]>> = Vec::new();
        for piece in self.pieces {
            match piece {
                Piece::Held(held) => {
                    let places = 0..held.pairs.len().min(most - keys.len());
                    let key = |place| held.pairs.get(held.number_at(place)).key.into();
                    keys.extend(places.map(key));
                }
                Piece::Stored(run) => {
                    let mut reader = None;
                    let reader = self.stored.reader::<J>(&mut reader)?;
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

    /// Shows the pairs in order, whether they are in memory or on disk, until `see` fails.
    ///
    /// # Errors
    /// [`StorageError`](crate::StorageError) if the disk fails, and those of `see`.
    pub fn for_each(
        &self,
        mut see: impl FnMut(<J::Key as Key>::Borrowed<'_>, Answer<'_, J>) -> Result<()>,
    ) -> Result<()> {
        let mut reader = None;
        for piece in self.pieces {
            match piece {
                Piece::Held(held) => (0..held.pairs.len()).try_for_each(|place| {
                    let (key, answer) = show::<J>(held.pairs.get(held.number_at(place)));
                    see(key, answer)
                })?,
                Piece::Stored(run) => {
                    let reader = self.stored.reader::<J>(&mut reader)?;
                    read_run(reader, run.number, &run.extents, |pair| {
                        let (key, answer) = show::<J>(pair);
                        see(key, answer)
                    })?;
                }
            }
        }
        Ok(())
    }
}

impl Stored {
    /// The reader of pieces on disk, made when it is first needed.
    pub(super) fn reader<'r, J: Job>(
        &self,
        reader: &'r mut Option<RunReader<partial::Answers<J::Combine>>>,
    ) -> Result<&'r mut RunReader<partial::Answers<J::Combine>>> {
        match reader {
            Some(reader) => Ok(reader),
            none => Ok(none.insert(RunReader::new(&self.scratch, &self.chunks, self.block_bytes)?)),
        }
    }
}

//! The answer of a job: pairs in order, held until they are written, looked at or dropped. What memory
//! had no room for is on disk, and streams.

mod answers;
mod file;
mod turns;
mod write;

pub use answers::Answers;
pub use file::AtomicFile;
pub(crate) use turns::{Turn, Turns};

use crate::aggregate::Aggregate;
use crate::engine::Core;
use crate::error::{MemoryError, Result};
use crate::job::Job;
use crate::key::Key;
use crate::memory::{ByteArena, ChunkPool, KeptValues};
use crate::merge::Piece;
use crate::partial::{self, PairRef, RunReader};
use crate::plan::FileNames;
use crate::stats::Stats;
use crate::storage::Scratch;
use crate::timeline::Timeline;
use std::path::PathBuf;
use std::sync::Arc;

type Value<J> = <<J as Job>::Combine as Aggregate>::Reduced;
type Answer<'a, J> = <<J as Job>::Combine as Aggregate>::Output<'a>;

/// The answer of a job, in the order that was asked for.
pub struct Output<J: Job> {
    pieces: Vec<Piece<Value<J>>>,
    /// Bytes of keys and values that the pieces point at.
    _pointed_at: PointedAt,
    files: FileNames,
    stored: Stored,
    len: u64,
    stats: Stats,
    /// Where writing is recorded.
    timeline: Option<Timeline>,
    /// Dropped last, when the memory of the fields above has gone back to it.
    core: TrimmedCore,
}

/// Where pieces are that are not in memory.
pub(crate) struct Stored {
    pub(crate) scratch: Arc<Scratch>,
    pub(crate) chunks: Arc<ChunkPool>,
    pub(crate) block_bytes: usize,
}

/// Bytes of keys and values that pieces in memory point at.
pub(crate) struct PointedAt {
    pub(crate) _long_keys: Vec<ByteArena>,
    pub(crate) _values: Vec<KeptValues>,
}

/// The engine's core, which gives memory back to the system when an answer lets go of it.
struct TrimmedCore(Arc<Core>);

impl Drop for TrimmedCore {
    fn drop(&mut self) {
        self.0.trim();
    }
}

impl<J: Job> Output<J> {
    pub(crate) fn new(
        core: Arc<Core>,
        pieces: Vec<Piece<Value<J>>>,
        pointed_at: PointedAt,
        stored: Stored,
        files: FileNames,
        stats: Stats,
        timeline: Option<Timeline>,
    ) -> Self {
        let len = pieces.iter().map(Piece::pairs).sum();
        let core = TrimmedCore(core);
        Output { pieces, _pointed_at: pointed_at, files, stored, len, stats, timeline, core }
    }

    /// The path of an input file by its number ([`Split::file`](crate::Split::file)): as given, or
    /// below the folder as given; or `standard input`, or `memory`. `None` if there is no such file.
    pub fn file(&self, number: u32) -> Option<PathBuf> {
        self.files.get(number)
    }

    /// Number of pairs.
    pub fn len(&self) -> usize {
        usize::try_from(self.len).unwrap_or(usize::MAX)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// What the run did.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// The pairs, in order, of an answer that is in memory: always so without a limit on memory.
    ///
    /// # Errors
    /// [`MemoryError::OnDisk`] if the answer did not fit in memory; see
    /// [`for_each`](Output::for_each).
    pub fn iter(
        &self,
    ) -> Result<impl Iterator<Item = (<J::Key as Key>::Borrowed<'_>, Answer<'_, J>)>, MemoryError>
    {
        self.answers().iter()
    }

    /// Shows the pairs in order, whether they are in memory or on disk.
    ///
    /// # Errors
    /// [`StorageError`](crate::StorageError) if the disk fails.
    pub fn for_each(
        &self,
        mut see: impl FnMut(<J::Key as Key>::Borrowed<'_>, Answer<'_, J>),
    ) -> Result<()> {
        self.answers().for_each(|key, answer| {
            see(key, answer);
            Ok(())
        })
    }

    fn answers(&self) -> Answers<'_, J> {
        Answers::new(&self.pieces, &self.stored, &self.files)
    }

    /// The reader of pieces on disk, made when it is first needed.
    fn reader<'r>(
        &self,
        reader: &'r mut Option<RunReader<partial::Answers<J::Combine>>>,
    ) -> Result<&'r mut RunReader<partial::Answers<J::Combine>>> {
        self.stored.reader::<J>(reader)
    }
}

fn show<J: Job>(pair: PairRef<'_, Value<J>>) -> (<J::Key as Key>::Borrowed<'_>, Answer<'_, J>) {
    (J::Key::view(pair.key), J::Combine::finish(pair.value))
}

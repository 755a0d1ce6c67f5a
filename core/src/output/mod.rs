//! The answer of a job: pairs in order, held until they are written, looked at or dropped. Pairs that exceed
//! memory are on disk and are streamed.

mod answers;
mod portions;
mod turns;
mod write;

pub use crate::storage::AtomicFile;
pub use answers::Answers;
pub(crate) use answers::{Names, Seen};
pub use portions::Portion;
pub(crate) use turns::{Turn, Turns};

use crate::aggregate::Aggregate;
use crate::cancel::Cancel;
use crate::core::Core;
use crate::error::{MemoryError, Result};
use crate::job::Job;
use crate::key::Key;
use crate::memory::{ByteArena, ChunkPool, KeptValues};
use crate::merge::Piece;
use crate::plan::FileNames;
use crate::schedule::{Pool, Share};
use crate::slots::PairRef;
use crate::stats::Stats;
use crate::storage::Scratch;
use crate::timeline::Timeline;
use std::fmt;
use std::io::Write;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use write::Format;

type Value<'a, J> = <<J as Job>::Combine as Aggregate>::Output<'a>;

/// The answer of a job, in the order that was asked for.
pub struct Output<J: Job> {
    written: Finished<J::Combine>,
    key: PhantomData<fn(&J::Key)>,
}

impl<J: Job> fmt::Debug for Output<J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Output");
        out.field("len", &self.len()).field("stats", self.stats()).finish_non_exhaustive()
    }
}

/// The answer of a job as the stages see it: keys are bytes, and the job is gone. It is compiled once for
/// all jobs with the same aggregate.
pub(crate) struct Finished<C: Aggregate> {
    pieces: Vec<Piece<C::Reduced>>,
    /// Bytes of keys and values that the pieces point at.
    _pointed_at: PointedAt,
    files: FileNames,
    stored: Stored,
    len: u64,
    stats: Stats,
    /// Where writing is recorded.
    timeline: Option<Timeline>,
    /// [`Finished::write_all`], compiled with the stages.
    write: WriteAll<C>,
    /// The workers that write.
    pool: Pool,
    /// Dropped last, when the memory of the fields above has gone back to it.
    _core: TrimmedCore,
}

/// Writes an answer.
type WriteAll<C> = fn(
    &Finished<C>,
    &mut (dyn Write + Send),
    &Path,
    &Cancel,
    &Format<'_, <C as Aggregate>::Reduced>,
) -> Result<()>;

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

impl<C: Aggregate> Finished<C> {
    pub(crate) fn new(
        core: Arc<Core>,
        pieces: Vec<Piece<C::Reduced>>,
        pointed_at: PointedAt,
        stored: Stored,
        files: FileNames,
        stats: Stats,
        timeline: Option<Timeline>,
    ) -> Finished<C> {
        let len = pieces.iter().map(Piece::pairs).sum();
        let pool = core.pool().clone();
        let write = Finished::write_all;
        Finished {
            pieces,
            _pointed_at: pointed_at,
            files,
            stored,
            len,
            stats,
            timeline,
            write,
            pool,
            _core: TrimmedCore(core),
        }
    }

    /// Writes with the workers of a share.
    pub(crate) fn within(self, share: Option<Arc<Share>>) -> Finished<C> {
        Finished { pool: self.pool.within(share), ..self }
    }

    fn answers(&self) -> Seen<'_, C> {
        Seen::new(&self.pieces, &self.stored, &self.files)
    }
}

impl<J: Job> Output<J> {
    pub(crate) fn of(written: Finished<J::Combine>) -> Output<J> {
        Output { written, key: PhantomData }
    }

    /// Returns the path of an input file by its number ([`Split::file`](crate::split::Split::file)): as
    /// given, or below the folder as given; or `standard input`, or `memory`. `None` if there is no such
    /// file.
    pub fn file(&self, number: u32) -> Option<PathBuf> {
        self.written.files.get(number)
    }

    /// Number of pairs.
    pub fn len(&self) -> usize {
        usize::try_from(self.written.len).unwrap_or(usize::MAX)
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.written.len == 0
    }

    /// Returns the statistics of the run.
    pub fn stats(&self) -> &Stats {
        &self.written.stats
    }

    /// Returns the pairs, in order, of an answer that is in memory: always so without a limit on memory.
    ///
    /// # Errors
    /// [`MemoryError::OnDisk`] if the answer did not fit in memory; see
    /// [`for_each`](Output::for_each).
    pub fn iter(
        &self,
    ) -> Result<impl Iterator<Item = (<J::Key as Key>::Borrowed<'_>, Value<'_, J>)>, MemoryError>
    {
        self.answers().iter()
    }

    /// Shows the pairs in order, whether they are in memory or on disk.
    ///
    /// # Errors
    /// [`StorageError`](crate::error::StorageError) if the disk fails.
    pub fn for_each(
        &self,
        mut see: impl FnMut(<J::Key as Key>::Borrowed<'_>, Value<'_, J>),
    ) -> Result<()> {
        self.answers().for_each(|key, answer| {
            see(key, answer);
            Ok(())
        })
    }

    /// Cuts the answer into portions of some thousand pairs, in the order of the answer, which several threads may
    /// look at side by side with [`for_each_in`](Output::for_each_in).
    pub fn portions(&self) -> Vec<Portion> {
        self.written.portions()
    }

    /// Shows the pairs of one of this answer's [`portions`](Output::portions), in order, until `see` fails.
    ///
    /// # Errors
    /// [`StorageError`](crate::error::StorageError) if the disk fails, and those of `see`.
    ///
    /// # Panics
    /// May panic if the portion is of another answer.
    pub fn for_each_in(
        &self,
        portion: Portion,
        mut see: impl FnMut(<J::Key as Key>::Borrowed<'_>, Value<'_, J>) -> Result<()>,
    ) -> Result<()> {
        self.written.for_each_in(portion, &mut None, |pair| {
            let (key, value) = show::<J>(pair);
            see(key, value)
        })
    }

    /// Writes the pairs in order. `format` appends a pair's text; it is called side by side on many
    /// threads. `name` is the sink's in messages.
    ///
    /// # Errors
    /// [`OutputError`](crate::error::OutputError) if the sink refuses, [`Error::Cancelled`](crate::error::Error::Cancelled)
    /// if `cancel` is raised.
    pub fn write(
        &self,
        sink: &mut (dyn Write + Send),
        name: &Path,
        cancel: &Cancel,
        format: impl Fn(<J::Key as Key>::Borrowed<'_>, Value<'_, J>, &mut Vec<u8>) + Sync,
    ) -> Result<()> {
        (self.written.write)(&self.written, sink, name, cancel, &|pair, text| {
            let (key, value) = show::<J>(pair);
            format(key, value, text);
        })
    }

    fn answers(&self) -> Answers<'_, J> {
        Answers::of(self.written.answers())
    }
}

fn show<J: Job>(
    pair: PairRef<'_, <J::Combine as Aggregate>::Reduced>,
) -> (<J::Key as Key>::Borrowed<'_>, Value<'_, J>) {
    (J::Key::view(pair.key), J::Combine::finish(pair.value))
}

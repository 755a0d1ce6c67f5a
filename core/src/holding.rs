//! A holding: what one of several machines has of a job. It maps ranges of the job's tiles, holds their pairs,
//! gives pairs away and takes others in as blocks of the partial's byte form, and makes the answer of what it
//! holds. It knows no other machine: who maps what, and how blocks travel, is decided above.
//!
//! All machines plan the same input, so a tile has the same number, and its splits the same numbers, on each. So
//! lists of values are in the order of the input, and places of bad records are right, whoever mapped what.
//!
//! The pairs of a map are beside the holding until they are committed: a map counts once or not at all.

pub use crate::partial::PARTITIONS;

use crate::cancel::Cancel;
use crate::compiled::Compiled;
use crate::core::Core;
use crate::error::Result;
use crate::facts::JobFacts;
use crate::held::{Beside, Hold, HoldingJob, damaged};
use crate::input::Input;
use crate::job::{Job, comparison};
use crate::map::JobMappers;
use crate::options::Options;
use crate::output::Output;
use crate::stats::StageTime;
use std::fmt;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

/// The part of a job that one of several machines holds. [`Engine::hold`](crate::Engine::hold) makes an empty one.
///
/// ```
/// # use tegula::{Count, Emit, Job, Result, Split};
/// # struct Words;
/// # impl Job for Words {
/// #     type Key = [u8];
/// #     type Combine = Count;
/// #     fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
/// #         emit.emit_each(split.fields(), ());
/// #         Ok(())
/// #     }
/// # }
/// # fn main() -> Result<()> {
/// use tegula::holding::PARTITIONS;
/// use tegula::{Cancel, Engine, Input, Options};
///
/// let engine = Engine::new()?;
/// let options = Options { tile_bytes: Some(7), ..Options::default() };
/// let hold = || engine.hold(&Words, Input::bytes("to be\nor not\nto be\n"), &options);
/// let (mut here, mut there) = (hold()?, hold()?);
/// assert_eq!(here.tile_sizes(), [7, 7, 5]);
///
/// let mapped = here.map(0..1, &Cancel::new())?;
/// here.commit(mapped)?;
/// let mapped = there.map(1..3, &Cancel::new())?;
/// there.commit(mapped)?;
///
/// let mut sent = Vec::new();
/// there.blocks(0..PARTITIONS, &mut |block| {
///     sent.extend_from_slice(block);
///     Ok(())
/// })?;
/// let mut received = here.beside();
/// here.take_in(&mut received, &sent)?;
/// received.note(&there.counts())?;
/// here.commit(received)?;
/// let output = here.answer(0..PARTITIONS)?;
/// assert_eq!(output.iter()?.collect::<Vec<_>>(), [(&b"be"[..], 2), (b"not", 1), (b"or", 1), (b"to", 2)]);
/// # Ok(())
/// # }
/// ```
pub struct Holding<'e, J: Job> {
    held: Box<dyn Hold<J::Combine> + 'e>,
}

/// Pairs beside a holding: of tiles that were mapped, or of blocks that came from another one. When it is dropped,
/// they are gone.
pub struct Mapped<J: Job> {
    beside: Beside<J::Combine>,
}

/// Returns the names and lengths of the files of a [`listing`](Holding::listing).
///
/// # Errors
/// [`StorageError::Damaged`](crate::error::StorageError::Damaged) if it is no listing.
pub fn listed(listing: &[u8]) -> Result<Vec<(PathBuf, u64)>> {
    crate::state::listed(listing).ok_or_else(|| damaged(0, "its list of files is cut short").into())
}

impl<'e, J: Job> Holding<'e, J> {
    pub(crate) fn new(
        core: &'e Arc<Core>,
        job: &'e J,
        input: Input,
        options: &Options,
    ) -> Result<Holding<'e, J>> {
        let facts = JobFacts::of(job)?;
        options.container.check(facts.key_range)?;
        let has_order = !facts.is_largest_first;
        let job = HoldingJob {
            facts,
            mappers: Box::new(JobMappers(job)),
            compare: has_order.then(|| Box::new(comparison(job)) as Box<_>),
        };
        Ok(Holding { held: (Compiled::get().hold)(core, job, input, options)? })
    }

    /// Returns the bytes of each tile, in the order of the input. A compressed file is one tile.
    pub fn tile_sizes(&self) -> &[u64] {
        self.held.tile_sizes()
    }

    /// Returns a digest of all that decides which pairs a tile has: the job's identity, the names, lengths and times
    /// of change of the files, and the sizes of tiles. Holdings with the same digest may exchange pairs.
    pub fn digest(&self) -> u128 {
        self.held.digest()
    }

    /// Returns the digest of a holding of the same files that reads them through a
    /// [`RangeSource`](crate::input::RangeSource), which tells no times of change.
    ///
    /// # Errors
    /// Those of the input.
    pub fn digest_of_names(&self) -> Result<u128> {
        self.held.digest_of_names()
    }

    /// Returns the names, lengths and times of change of the input's files, for [`difference`](Holding::difference)
    /// on another machine.
    ///
    /// # Errors
    /// Those of the input.
    pub fn listing(&self) -> Result<Vec<u8>> {
        self.held.listing()
    }

    /// Returns the first difference of this input from that of another machine's listing, in words; `None` if the
    /// files are the same, so that the job or its options differ.
    ///
    /// # Errors
    /// Those of the input.
    pub fn difference(&self, listing: &[u8]) -> Result<Option<String>> {
        self.held.difference(listing)
    }

    /// Maps tiles on all workers. Time and memory are those of a run over these tiles.
    ///
    /// # Errors
    /// Those of [`JobRun::run`](crate::JobRun::run); `cancel` ends it with
    /// [`Error::Cancelled`](crate::error::Error::Cancelled). The holding stays as it was.
    pub fn map(&self, tiles: Range<u32>, cancel: &Cancel) -> Result<Mapped<J>> {
        Ok(Mapped { beside: self.held.map(tiles, cancel)? })
    }

    /// Returns an empty place beside the holding, for blocks of another one.
    pub fn beside(&self) -> Mapped<J> {
        Mapped { beside: self.held.beside() }
    }

    /// Takes in blocks of another holding of the same job: any number of whole blocks.
    ///
    /// # Errors
    /// [`StorageError::Damaged`](crate::error::StorageError::Damaged) if bytes are no such blocks, those of memory and
    /// of the disk. `into` is of no use then.
    pub fn take_in(&self, into: &mut Mapped<J>, blocks: &[u8]) -> Result<()> {
        self.held.take_in(&mut into.beside, blocks)
    }

    /// Makes pairs a part of the holding.
    ///
    /// # Errors
    /// Those of memory and of the disk. The holding is of no use then.
    pub fn commit(&mut self, mapped: Mapped<J>) -> Result<()> {
        self.held.commit(mapped.beside)
    }

    /// Gives `sink` the pairs of some partitions, one per key, in blocks of the partial's byte form. They stay. The
    /// order of blocks is not the same each time. `sink` runs on the engine's own workers, one at a time, so it must
    /// not wait for work of the same engine.
    ///
    /// # Errors
    /// Those of `sink`, of memory and of the disk.
    pub fn blocks(
        &self,
        partitions: Range<usize>,
        sink: &mut (dyn FnMut(&[u8]) -> Result<()> + Send),
    ) -> Result<()> {
        self.held.blocks(partitions, sink)
    }

    /// Returns the counts of all that was committed, for [`Mapped::note`].
    pub fn counts(&self) -> Vec<u8> {
        self.held.counts()
    }

    /// Drops all pairs and counts.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn clear(&mut self) -> Result<()> {
        self.held.clear()
    }

    /// Opens the state of the options, as the machine that names what is saved in it. Takes the saved pairs in, and
    /// returns the tiles that are complete with them.
    ///
    /// # Errors
    /// Those of a run with a state.
    pub fn open_state(&mut self) -> Result<Vec<Range<u32>>> {
        self.held.open_state()
    }

    /// Returns which part of the input the opened state covers, for [`leave_out`](Holding::leave_out), and the first
    /// number that other machines may use for their saves; `None` without a state.
    pub fn covered(&self) -> Option<(Vec<u8>, u64)> {
        self.held.covered()
    }

    /// Leaves a part of the input out of all maps from now on.
    ///
    /// # Errors
    /// [`StorageError::Damaged`](crate::error::StorageError::Damaged) if the bytes are not of
    /// [`covered`](Holding::covered).
    pub fn leave_out(&mut self, covered: &[u8]) -> Result<()> {
        self.held.leave_out(covered)
    }

    /// Saves the pairs of a map in the state that another machine has opened, in files numbered from `first` on; a save
    /// of less than 64 GiB takes at most 1024 numbers. Returns what that machine needs to [`name`](Holding::name) them.
    ///
    /// # Errors
    /// Those of the disk and of memory.
    pub fn save(&self, mapped: &Mapped<J>, first: u64) -> Result<Vec<u8>> {
        self.held.save(&mapped.beside, first)
    }

    /// Names files that another machine has saved in the opened state: from then on they count, also for a run that
    /// goes on after this one was killed.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn name(&self, saved: &[u8]) -> Result<()> {
        self.held.name(saved)
    }

    /// Returns the pairs of named files, of a machine that was lost.
    ///
    /// # Errors
    /// Those of the disk and of memory.
    pub fn take_saved(&self, saved: &[u8]) -> Result<Mapped<J>> {
        Ok(Mapped { beside: self.held.take_saved(saved)? })
    }

    /// Adds the time of work that was done for the holding outside of it.
    pub fn spent(&mut self, time: StageTime) {
        self.held.spent(time);
    }

    /// Makes the answer of some partitions: that of the job if the holding has all its pairs and these are all
    /// partitions. The answers of ranges of partitions in turn are that of all in
    /// [`Order::None`](crate::Order::None).
    ///
    /// # Errors
    /// Those of [`JobRun::run`](crate::JobRun::run).
    pub fn answer(self, partitions: Range<usize>) -> Result<Output<J>> {
        Ok(Output::of(self.held.answer(partitions)?))
    }
}

impl<J: Job> Mapped<J> {
    /// Returns the bytes of input that were mapped for it, as files hold them.
    pub fn bytes(&self) -> u64 {
        self.beside.counts.figures.bytes
    }

    /// Adds the counts of another holding, whose blocks these are.
    ///
    /// # Errors
    /// [`StorageError::Damaged`](crate::error::StorageError::Damaged) if the bytes are no counts.
    pub fn note(&mut self, counts: &[u8]) -> Result<()> {
        self.beside.note(counts)
    }
}

impl<J: Job> fmt::Debug for Holding<'_, J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Holding");
        out.field("tiles", &self.tile_sizes().len()).finish_non_exhaustive()
    }
}

impl<J: Job> fmt::Debug for Mapped<J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mapped").field("bytes", &self.bytes()).finish_non_exhaustive()
    }
}

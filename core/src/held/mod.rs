//! A holding as the stages see it: keys are bytes and the job is gone, so it is compiled once for all jobs with the
//! same aggregate.

mod beside;
mod blocks;
mod collect;
mod noting;
mod part;
mod spool;

pub use beside::Mapped;
pub(crate) use beside::damaged;
pub use collect::Pull;
pub use part::PartAnswer;
pub use spool::Spool;

use crate::aggregate::Aggregate;
use crate::bad::BadRecords;
use crate::cancel::Cancel;
use crate::context::RunContext;
use crate::core::{Core, FILE_LIST};
use crate::coverage::{ALL_FILES, Coverage};
use crate::encoding::{Digest, Reading, put_number};
use crate::error::{InputError, Result, StateError};
use crate::facts::JobFacts;
use crate::input::Input;
use crate::map::{Attendance, MapStage, MapTotals, Mappers, Tiling};
use crate::memory::Reserved;
use crate::options::Options;
use crate::output::Finished;
use crate::partial::{PARTITIONS, Partial};
use crate::plan::{Part, Plan};
use crate::progress::{Stage, TileState};
use crate::reduce::{Compare, Ranking, ReduceTotals};
use crate::room::Room;
use crate::run::{self, merge, reduce, stats};
use crate::sizing::{self, TableLimits};
use crate::slots::PairRef;
use crate::state::{Figures, Fingerprint, FoundState, Saving, SharedState, Terms};
use crate::stats::{StageTime, Stats};
use beside::Counts;
use noting::Noting;
use part::Part as AnswerPart;
use std::cmp::Ordering;
use std::iter;
use std::ops::Range;
use std::sync::Arc;

/// A job of which a holding is: its facts, its map, and its order by value.
pub(crate) struct HoldingJob<'e, C: Aggregate> {
    pub(crate) facts: JobFacts,
    pub(crate) mappers: Box<dyn Mappers<C> + Send + 'e>,
    pub(crate) compare: Option<Box<Comparing<'e, C>>>,
}

type Comparing<'e, C> = dyn Fn(Pair<'_, C>, Pair<'_, C>) -> Ordering + Send + Sync + 'e;
type Pair<'a, C> = PairRef<'a, <C as Aggregate>::Reduced>;

impl<C: Aggregate> HoldingJob<'_, C> {
    fn ranking(&self) -> Ranking<'_, C> {
        Ranking::new(self.compare.as_deref().map(|compare| compare as &Compare<'_, _>))
    }
}

/// A holding of a job that is not named. Code that moves pairs between machines is compiled once for all jobs.
pub trait Hold: Send + Sync {
    /// Returns the bytes of each tile, in the order of the input. A compressed file is one tile.
    fn tile_sizes(&self) -> &[u64];

    /// Returns a digest of all that decides which pairs a tile has: the job's identity, the names, lengths and times
    /// of change of the files, and the sizes of tiles. Holdings with the same digest may exchange pairs.
    fn digest(&self) -> u128;

    /// Returns the digest of a holding of the same files that reads them through a
    /// [`RangeSource`](crate::input::RangeSource), which tells no times of change.
    ///
    /// # Errors
    /// Those of the input.
    fn digest_of_names(&self) -> Result<u128>;

    /// Returns the names, lengths and times of change of the input's files, for [`difference`](Hold::difference)
    /// on another machine.
    ///
    /// # Errors
    /// Those of the input.
    fn listing(&self) -> Result<Vec<u8>>;

    /// Returns the first difference of this input from that of another machine's listing, in words; `None` if the
    /// files are the same, so that the job or its options differ.
    ///
    /// # Errors
    /// Those of the input.
    fn difference(&self, listing: &[u8]) -> Result<Option<String>>;

    /// Maps tiles on all workers. Time and memory are those of a run over these tiles.
    ///
    /// # Errors
    /// Those of [`JobRun::run`](crate::JobRun::run); `cancel` ends it with
    /// [`Error::Cancelled`](crate::error::Error::Cancelled). The holding stays as it was.
    fn map(&self, tiles: Range<u32>, cancel: &Cancel) -> Result<Mapped>;

    /// Returns an empty place beside the holding, for blocks of another one.
    fn beside(&self) -> Mapped;

    /// Takes in blocks of another holding of the same job: any number of whole blocks.
    ///
    /// # Errors
    /// [`StorageError::Damaged`](crate::error::StorageError::Damaged) if bytes are no such blocks, those of memory and
    /// of the disk. `into` is of no use then.
    fn take_in(&self, into: &mut Mapped, blocks: &[u8]) -> Result<()>;

    /// Makes pairs a part of the holding.
    ///
    /// # Errors
    /// Those of memory and of the disk. The holding is of no use then.
    fn commit(&mut self, mapped: Mapped) -> Result<()>;

    /// Gives `sink` the pairs of some partitions, one per key, in blocks of the partial's byte form. They stay. The
    /// order of blocks is not the same each time. `sink` runs on the engine's own workers, one at a time, so it must
    /// not wait for work of the same engine.
    ///
    /// # Errors
    /// Those of `sink`, of memory and of the disk.
    fn blocks(
        &self,
        partitions: Range<usize>,
        sink: &mut (dyn FnMut(&[u8]) -> Result<()> + Send),
    ) -> Result<()>;

    /// Returns the counts of all that was committed, for [`Mapped::note`].
    fn counts(&self) -> Vec<u8>;

    /// Drops all pairs and counts.
    ///
    /// # Errors
    /// Those of the disk.
    fn clear(&mut self) -> Result<()>;

    /// Folds all pairs by key and puts them outside of the holding, which is empty then.
    ///
    /// # Errors
    /// Those of memory and of the disk.
    fn fold_out(&mut self) -> Result<Spool>;

    /// Makes the answer of partitions of which all pairs are beside the holding, which stays as it was.
    ///
    /// # Errors
    /// Those of [`JobRun::run`](crate::JobRun::run).
    fn answer_part(&self, mapped: Mapped) -> Result<Box<dyn PartAnswer>>;

    /// Makes the job's answer of those that other machines have made of its partitions, in the order of the
    /// partitions. `totals` is the sum of theirs. The pairs are on disk then, whatever the limit on memory.
    ///
    /// # Errors
    /// [`StorageError::Damaged`](crate::error::StorageError::Damaged) if bytes are no blocks of an answer, those of
    /// `from`, of memory and of the disk. The holding stays as it was.
    fn collect(&mut self, from: &mut [Box<Pull<'_>>], totals: ReduceTotals) -> Result<()>;

    /// Opens the state of the options, as the machine that names what is saved in it. Takes the saved pairs in, and
    /// returns the tiles that are complete with them.
    ///
    /// # Errors
    /// Those of a run with a state.
    fn open_state(&mut self) -> Result<Vec<Range<u32>>>;

    /// Returns which part of the input the opened state covers, for [`leave_out`](Hold::leave_out), and the first
    /// number that other machines may use for their saves; `None` without a state.
    fn covered(&self) -> Option<(Vec<u8>, u64)>;

    /// Leaves a part of the input out of all maps from now on.
    ///
    /// # Errors
    /// [`StorageError::Damaged`](crate::error::StorageError::Damaged) if the bytes are not of
    /// [`covered`](Hold::covered).
    fn leave_out(&mut self, covered: &[u8]) -> Result<()>;

    /// Saves the pairs of a map in the state that another machine has opened, in files numbered from `first` on; a save
    /// of less than 64 GiB takes at most 1024 numbers. Returns what that machine needs to [`name`](Hold::name) them.
    ///
    /// # Errors
    /// Those of the disk and of memory.
    fn save(&self, mapped: &Mapped, first: u64) -> Result<Vec<u8>>;

    /// Names files that another machine has saved in the opened state: from then on they count, also for a run that
    /// goes on after this one was killed.
    ///
    /// # Errors
    /// Those of the disk.
    fn name(&self, saved: &[u8]) -> Result<()>;

    /// Returns the pairs of named files, of a machine that was lost.
    ///
    /// # Errors
    /// Those of the disk and of memory.
    fn take_saved(&self, saved: &[u8]) -> Result<Mapped>;

    /// Tells the grid of the options, if there is one, that tiles are in a state.
    fn show(&self, tiles: Range<u32>, state: TileState);

    /// Adds the time of work that was done for the holding outside of it.
    fn spent(&mut self, time: StageTime);
}

/// A holding of a job with this aggregate.
pub(crate) trait Answer<C: Aggregate>: Hold {
    /// Makes the answer of all pairs, or of those that were collected.
    fn answer(self: Box<Self>) -> Result<Finished<C>>;
}

struct Held<'e, C: Aggregate> {
    core: &'e Arc<Core>,
    job: HoldingJob<'e, C>,
    options: Options,
    plan: Plan,
    tile_sizes: Vec<u64>,
    digest: u128,
    partial: Partial<C::Accumulator>,
    counts: Counts,
    /// The answer, if other machines have made it.
    collected: Option<run::Answer<C>>,
    /// Set on the machine that has opened the state.
    saving: Option<Saving<C>>,
    /// What earlier runs have mapped.
    done: Coverage,
    /// The grid of the options.
    tiling: Option<Arc<Tiling>>,
    /// The times of stages.
    stats: Stats,
    list: Reserved,
    _beside: Reserved,
    room: Room,
}

/// Plans a job of which a part is held here.
pub(crate) fn hold<'e, C: Aggregate>(
    core: &'e Arc<Core>,
    job: HoldingJob<'e, C>,
    input: Input,
    options: &Options,
) -> Result<Box<dyn Answer<C> + 'e>> {
    let options = options.clone();
    let context = RunContext::open(core, &options)?;
    let threads = core.pool().workers();
    let unit_bytes = sizing::unit_bytes(core.topology());
    let least = core.least_bytes::<C>(options.split_bytes.unwrap_or(unit_bytes), threads);
    let list = core.count(input.list_bytes(), FILE_LIST, least)?;
    let beside = core.count(options.beside_bytes, "what the map holds beside the engine", least)?;
    let plan =
        context.plan(input, job.facts.cut, options.cutting(sizing::SPLIT_BYTES, unit_bytes))?;
    let tile_sizes = plan.tile_sizes().map_err(|name| {
        let cause = "a stream can be read by one machine alone".to_owned();
        let advice = "give files, or run the job on one machine".to_owned();
        InputError::Refused { path: name.to_path_buf(), cause, advice }
    })?;
    options.device_terms(&job.facts).check(&job.facts, &plan)?;
    let held_bytes = list.bytes() + beside.bytes();
    let room = Room::new(core, core.shares::<C>(plan.unit_bytes, held_bytes, threads)?);
    let digest = digest_of(&job.facts, &plan, &options, &Fingerprint::of(&plan)?);
    let tiling = context.tiling(&plan);
    let stats = context.close();
    Ok(Box::new(Held {
        core,
        job,
        plan,
        tile_sizes,
        digest,
        partial: room.partial(),
        counts: Counts::default(),
        collected: None,
        saving: None,
        done: Coverage::default(),
        tiling,
        stats,
        list,
        _beside: beside,
        room,
        options,
    }))
}

/// Returns the tiles of which all splits are covered. How many bytes a compressed file has is not known before it was
/// read, so those are none.
fn complete_tiles(plan: &Plan, done: &Coverage) -> Vec<Range<u32>> {
    let (mut complete, mut number) = (Vec::new(), 0);
    for (at, part) in plan.parts.iter().enumerate() {
        if let (Part::Ranged(ranged), Some(done)) = (part, done.of(at, ALL_FILES)) {
            let mut first = 0;
            for (tile, end) in (number..).zip(ranged.layout.tile_ends()) {
                if done.first_gap(first..end).is_none() {
                    complete.push(tile..tile + 1);
                }
                first = end;
            }
        }
        number += part.tiles() as u32;
    }
    complete
}

fn terms(options: &Options) -> Terms {
    let Options { skip_bad, plain, ref devices, .. } = *options;
    Terms { skip_bad, plain, devices: devices.len() }
}

fn digest_of(facts: &JobFacts, plan: &Plan, options: &Options, input: &Fingerprint) -> u128 {
    let Fingerprint { files, digest } = *input;
    let mut bytes = digest.to_le_bytes().to_vec();
    let flags = [options.skip_bad, options.plain].map(u64::from);
    let numbers = [files, plan.tile_bytes, plan.split_bytes].into_iter().chain(flags);
    numbers.for_each(|number| put_number(number, &mut bytes));
    facts.identity.iter().for_each(|identity| identity.encode(&mut bytes));
    Digest::of(&bytes)
}

impl<C: Aggregate> Hold for Held<'_, C> {
    fn tile_sizes(&self) -> &[u64] {
        &self.tile_sizes
    }

    fn digest(&self) -> u128 {
        self.digest
    }

    fn digest_of_names(&self) -> Result<u128> {
        let input = Fingerprint::of_names(&self.plan)?;
        Ok(digest_of(&self.job.facts, &self.plan, &self.options, &input))
    }

    fn listing(&self) -> Result<Vec<u8>> {
        Fingerprint::listing(&self.plan)
    }

    fn difference(&self, listing: &[u8]) -> Result<Option<String>> {
        if Fingerprint::listing(&self.plan)? == listing {
            return Ok(None);
        }
        let difference = Fingerprint::difference_from(&self.plan, listing)?;
        Ok(Some(difference.unwrap_or_else(|| "files at its end are missing".to_owned())))
    }

    fn map(&self, tiles: Range<u32>, cancel: &Cancel) -> Result<Mapped> {
        let Held { core, job, plan, room, .. } = self;
        let options = Options { cancel: cancel.clone(), ..self.options.clone() };
        let context = RunContext::open(core, &options)?;
        let (partial, bad) =
            (room.partial(), BadRecords::new(options.skip_bad, plan.cut.is_lines()));
        let noting = Noting::default();
        let attended_by: &[&dyn Attendance<C>] =
            if options.state.is_some() { &[&noting] } else { &[] };
        let (totals, _) = context.time(Stage::Map, || {
            MapStage {
                facts: &job.facts,
                mappers: &*job.mappers,
                plan,
                pool: core.pool(),
                placement: core.placement(),
                chunks: &room.chunks,
                partial: &partial,
                failure: &context.failure,
                bad: &bad,
                progress: &context.progress,
                table_limits: TableLimits { standing: 0, ..room.shares.tables },
                container: options.container,
                unit_is_given: options.split_bytes.is_some(),
                terms: options.device_terms(&job.facts),
                done: (!self.done.is_empty()).then_some(&self.done),
                leased: Some(tiles),
                attended_by,
                bytes_between: None,
                share: options.share.as_deref(),
            }
            .run()
        })?;
        let MapTotals { bytes, splits, pairs: emitted, .. } = totals;
        let figures = Figures { bytes, splits, emitted };
        let counts = Counts { figures, bad: bad.take() };
        Ok(Mapped::of::<C>(partial, counts, noting.into_coverage()))
    }

    fn beside(&self) -> Mapped {
        let (counts, coverage) = Default::default();
        Mapped::of::<C>(self.room.partial(), counts, coverage)
    }

    fn take_in(&self, into: &mut Mapped, blocks: &[u8]) -> Result<()> {
        let (context, partial) =
            (RunContext::open(self.core, &self.options)?, into.partial::<C>()?);
        blocks::take_in::<C>(&context, partial, &self.room, blocks)?;
        blocks::fold::<C>(&context, partial, &self.room)
    }

    fn commit(&mut self, mapped: Mapped) -> Result<()> {
        self.partial.take_in(mapped.partial::<C>()?)?;
        self.counts.add(&mapped.counts);
        self.saving.iter().for_each(|saving| saving.cover(&mapped.coverage));
        let context = RunContext::open(self.core, &self.options)?;
        blocks::fold::<C>(&context, &self.partial, &self.room)
    }

    fn blocks(
        &self,
        partitions: Range<usize>,
        sink: &mut (dyn FnMut(&[u8]) -> Result<()> + Send),
    ) -> Result<()> {
        let context = RunContext::open(self.core, &self.options)?;
        blocks::give::<C>(&context, &self.partial, &self.room, partitions, sink)
    }

    fn counts(&self) -> Vec<u8> {
        self.counts.encode()
    }

    fn clear(&mut self) -> Result<()> {
        blocks::drop_pairs(&self.partial, 0..PARTITIONS)?;
        self.partial = self.room.partial();
        self.counts = Counts::default();
        Ok(())
    }

    fn fold_out(&mut self) -> Result<Spool> {
        let mut spool = Spool::new(&self.room.scratch, self.counts.encode());
        self.blocks(0..PARTITIONS, &mut |block| spool.put(block))?;
        self.clear()?;
        Ok(spool)
    }

    fn answer_part(&self, mapped: Mapped) -> Result<Box<dyn PartAnswer>> {
        let Held { core, options, room, job, .. } = self;
        let context = RunContext::open(core, options)?;
        let (ranking, partial) = (job.ranking(), mapped.into_partial::<C>()?);
        let reduced = reduce(&context, ranking, &partial, room)?;
        let answer = merge(&context, ranking, partial, room, reduced)?;
        let run::Answer { pieces, pointed_at, totals } = answer;
        let stored = room.stored_beside_pairs();
        Ok(Box::new(AnswerPart::<C> { pieces, _pointed_at: pointed_at, stored, totals }))
    }

    fn collect(&mut self, from: &mut [Box<Pull<'_>>], totals: ReduceTotals) -> Result<()> {
        let context = RunContext::open(self.core, &self.options)?;
        let ranking = self.job.ranking();
        let collect = || collect::collect(&context, ranking, &self.room, from, totals);
        self.collected = Some(context.time(Stage::Merge, collect)?);
        let times = context.close();
        times.stages.iter().for_each(|time| self.stats.add_time(*time));
        Ok(())
    }

    fn open_state(&mut self) -> Result<Vec<Range<u32>>> {
        let Held { core, job, options, plan, room, partial, .. } = self;
        let Some(state) = &options.state else { return Ok(Vec::new()) };
        let context = RunContext::open(core, options)?;
        let into = (&*partial, &room.chunks);
        let parts = context.parts();
        let terms = terms(options);
        let saving: Saving<C> =
            Saving::open(state, &job.facts, plan, terms, into.1, room.shares.block_bytes, parts)?;
        saving.restore(into, &context.progress, context.parts())?;
        let found = saving.found();
        let FoundState { coverage, figures, bad, .. } = found;
        self.counts.add(&Counts { figures: *figures, bad: bad.clone() });
        context.progress.add_bytes(found.unread_bytes());
        self.done = coverage.clone();
        let complete = match saving.was_done() {
            true => iter::once(0..self.tile_sizes.len() as u32).collect(),
            false => complete_tiles(plan, &self.done),
        };
        self.saving = Some(saving);
        Ok(complete)
    }

    fn covered(&self) -> Option<(Vec<u8>, u64)> {
        let saving = self.saving.as_ref()?;
        let mut covered = Vec::new();
        self.done.encode(&mut covered);
        Some((covered, saving.first_free()))
    }

    fn leave_out(&mut self, covered: &[u8]) -> Result<()> {
        let done = Coverage::decode(&mut Reading::new(covered));
        self.done = done.ok_or_else(|| damaged(0, "its list of splits is cut short"))?;
        Ok(())
    }

    fn save(&self, mapped: &Mapped, first: u64) -> Result<Vec<u8>> {
        let Held { job, options, plan, room, .. } = self;
        let Some(state) = &options.state else { return Err(StateError::NoIdentity.into()) };
        let shared = SharedState::find(state, &job.facts, plan, terms(options))?;
        let covered = (&mapped.coverage, mapped.counts.figures, &mapped.counts.bad);
        let (chunks, block_bytes) = (&room.chunks, room.shares.block_bytes);
        shared.save::<C>(first, mapped.partial::<C>()?, covered, chunks, block_bytes)
    }

    fn name(&self, saved: &[u8]) -> Result<()> {
        self.saving.as_ref().map_or(Ok(()), |saving| saving.name(saved))
    }

    fn take_saved(&self, saved: &[u8]) -> Result<Mapped> {
        let mut beside = self.beside();
        if let Some(saving) = &self.saving {
            let context = RunContext::open(self.core, &self.options)?;
            let into = (beside.partial::<C>()?, &self.room.chunks);
            let (figures, bad) =
                saving.take_kept(saved, into, &context.progress, context.parts())?;
            beside.counts = Counts { figures, bad };
        }
        Ok(beside)
    }

    fn show(&self, tiles: Range<u32>, state: TileState) {
        self.tiling.iter().for_each(|tiling| tiling.set(&self.plan, tiles.clone(), state));
    }

    fn spent(&mut self, time: StageTime) {
        self.stats.add_time(time);
    }
}

impl<C: Aggregate> Answer<C> for Held<'_, C> {
    fn answer(self: Box<Self>) -> Result<Finished<C>> {
        let Held {
            core,
            job,
            options,
            plan,
            partial,
            counts,
            room,
            list,
            stats: times,
            saving,
            collected,
            ..
        } = *self;
        if let Some(saving) = &saving {
            let context = RunContext::open(core, &options)?;
            let ended = (counts.figures, counts.bad.clone());
            saving.finish(&partial, &room.chunks, &plan, context.parts(), ended)?;
        }
        let (context, ranking) = (RunContext::open(core, &options)?, job.ranking());
        let answer = match collected {
            Some(answer) => answer,
            None => {
                let reduced = reduce(&context, ranking, &partial, &room)?;
                merge(&context, ranking, partial, &room, reduced)?
            }
        };
        let Counts { figures: Figures { bytes, splits, emitted: pairs }, bad } = counts;
        let mapped = MapTotals { bytes, splits, pairs, ..MapTotals::default() };
        let mut stats = stats(context.close_planned(&plan), mapped, Default::default());
        stats.add_earlier(&times.stages);
        saving.iter().for_each(|saving| saving.count_in(&mut stats));
        let found = BadRecords::new(options.skip_bad, plan.cut.is_lines());
        found.add(&bad);
        (stats.bad_records, stats.bad_first) = plan.bad_records(&found);
        Ok(answer.finish(core, room, plan.into_names(list), stats, &options))
    }
}

//! One run of one job, all of it: plan, map (with ingest, combine and compress inside), reduce, merge;
//! each stage timed. The holder of the answer writes the output later.

use crate::aggregate::Aggregate;
use crate::bad::BadRecords;
use crate::context::RunContext;
use crate::core::{Core, FILE_LIST};
use crate::error::Result;
use crate::facts::JobFacts;
use crate::input::Input;
use crate::map::{Attendance, DeviceTerms, MapStage, MapTotals, Mappers, Spread, Tiling};
use crate::memory::ChunkPool;
use crate::merge::{MergeStage, Piece};
use crate::options::Options;
use crate::output::{Finished, PointedAt};
use crate::partial::{Partial, Spill};
use crate::plan::{FileNames, Plan};
use crate::progress::Stage;
use crate::reduce::{Range, Ranking, ReduceStage, ReduceTotals, Reduced};
use crate::room::Room;
use crate::schedule::Placement;
use crate::show::{Epochs, LastShow, ShowStage, Showing};
use crate::sizing::{self, TableLimits};
use crate::state::{Asked, Figures, FoundAnswer, FoundState, Opening, Saving, State, Terms};
use crate::stats::Stats;
use std::sync::Arc;

/// A job whose type is gone: its facts, its map, and its order by value.
pub(crate) struct ErasedJob<'j, C: Aggregate> {
    pub(crate) facts: &'j JobFacts,
    pub(crate) mappers: &'j dyn Mappers<C>,
    pub(crate) ranking: Ranking<'j, C>,
}

impl<C: Aggregate> Clone for ErasedJob<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C: Aggregate> Copy for ErasedJob<'_, C> {}

/// The end of a run.
pub(crate) enum Ended<C: Aggregate> {
    /// The answer, and the digest of the state that it is of.
    Answer(Box<Finished<C>>, Option<u128>),
    /// The answer of the last run stands where it was asked for.
    Stands(Box<Stats>),
}

/// Runs a job on an engine. A state may say that an answer stands that is asked for; then there is nothing to do.
pub(crate) fn run<C: Aggregate>(
    core: &Arc<Core>,
    job: ErasedJob<'_, C>,
    input: Input,
    options: &Options,
    show: Option<Showing<'_, C>>,
    asked: Option<Asked<'_>>,
) -> Result<Ended<C>> {
    let context = RunContext::open(core, options)?;
    // The thread that makes shows holds pairs as a worker does.
    let threads = core.pool().workers() + usize::from(show.is_some());
    let unit_bytes = sizing::unit_bytes(core.topology());
    let least = core.least_bytes::<C>(options.split_bytes.unwrap_or(unit_bytes), threads);
    let list = core.count(input.list_bytes(), FILE_LIST, least)?;
    let beside = core.count(options.beside_bytes, "what the map holds beside the engine", least)?;

    let mut plan =
        context.plan(input, job.facts.cut, options.cutting(sizing::SPLIT_BYTES, unit_bytes))?;
    let held_bytes = list.bytes() + beside.bytes();
    let room = Room::new(core, core.shares::<C>(plan.unit_bytes, held_bytes, threads)?);
    context.progress.count_spills(room.scratch.count());
    let (partial, bad) = (room.partial(), BadRecords::new(options.skip_bad, plan.cut.is_lines()));
    let is_incremental = options.state.as_ref().is_some_and(State::is_incremental);
    show.iter().try_for_each(|show| show.wanted.check(&plan, is_incremental))?;
    let terms = DeviceTerms {
        in_order: show.as_ref().is_some_and(|show| show.wanted.is_in_order()),
        tiles_apart: is_incremental,
        ..options.device_terms(job.facts)
    };
    // A run that is refused leaves its state as it is.
    terms.check(job.facts, &plan)?;
    let open = |state| {
        let state = (state, asked);
        context.time(Stage::Plan, || open_state(state, job, &mut plan, &room, &context))
    };
    let saving = match options.state.as_ref().map(open).transpose()? {
        Some(Opening::Open(saving)) => Some(saving),
        Some(Opening::Stands(answer)) => {
            return Ok(Ended::Stands(Box::new(stats_of_standing(context, &plan, &bad, answer))));
        }
        None => None,
    };
    let tiling = context.tiling(&plan);
    let epochs = show.as_ref().map(|show| {
        let hands = (core.pool().workers(), options.devices.len());
        let done = saving.as_ref().map(|saving| &saving.found().coverage);
        Epochs::new(show.wanted, &plan, done, hands, || room.partial())
    });

    let (mapped, spread, last_show) = context.time(Stage::Map, || {
        Mapping {
            context: &context,
            job,
            terms,
            plan: &plan,
            room: &room,
            partial: &partial,
            bad: &bad,
            saving: saving.as_ref(),
            epochs: epochs.as_ref(),
            tiling: tiling.as_ref(),
        }
        .run(show)
    })?;
    let reducing = reducing(&context, job.ranking, &partial, &room.chunks);
    let reduced = context.time(Stage::Reduce, || {
        let (reduced, stored) = (reducing.run()?, room.stored_beside_pairs());
        last_show.map_or(Ok(()), |last| last.show(&reducing, &reduced, &stored, &plan))?;
        Ok(reduced)
    })?;
    let answer = merge(&context, job.ranking, partial, &room, reduced)?;

    drop(epochs);
    let mut stats = stats(context.close_planned(&plan), mapped, spread);
    (stats.bad_records, stats.bad_first) = plan.bad_records(&bad);
    saving.iter().for_each(|saving| saving.count_in(&mut stats));
    let of_state = asked.and(saving).and_then(|saving| saving.digest());
    let answer = answer.finish(core, room, plan.into_names(list), stats, options);
    Ok(Ended::Answer(Box::new(answer), of_state))
}

/// Returns the figures of a run that has found its answer in place.
fn stats_of_standing(
    context: RunContext<'_>,
    plan: &Plan,
    bad: &BadRecords,
    answer: FoundAnswer,
) -> Stats {
    let FoundAnswer { figures, bad: found, tiles, keys, key_value_bytes } = answer;
    let Figures { bytes, splits, emitted: pairs } = figures;
    bad.add(&found);
    context.progress.add_bytes(bytes);
    context.progress.set_keys(keys);
    let (bad_records, bad_first) = plan.bad_records(bad);
    let planned = context.close_planned(plan);
    let tiles = tiles.unwrap_or(planned.tiles);
    Stats {
        bytes,
        splits,
        pairs,
        tiles,
        keys,
        key_value_bytes,
        restored_bytes: bytes,
        bad_records,
        bad_first,
        ..planned
    }
}

/// Opens the state of a run; where tiles are found again, the plan is cut into those.
fn open_state<C: Aggregate>(
    state: (&State, Option<Asked<'_>>),
    job: ErasedJob<'_, C>,
    plan: &mut Plan,
    room: &Room,
    context: &RunContext<'_>,
) -> Result<Opening<Saving<C>>> {
    let Options { skip_bad, plain, ref devices, .. } = *context.options;
    let terms = Terms { skip_bad, plain, devices: devices.len() };
    let (chunks, block_bytes) = (&room.chunks, room.shares.block_bytes);
    Saving::open_unless(state, job.facts, plan, terms, chunks, block_bytes, context.parts())
}

/// The map stage of a run, with the thread that makes shows, and with saving.
struct Mapping<'r, C: Aggregate> {
    context: &'r RunContext<'r>,
    job: ErasedJob<'r, C>,
    terms: DeviceTerms<'r>,
    plan: &'r Plan,
    room: &'r Room,
    partial: &'r Partial<C::Accumulator>,
    bad: &'r BadRecords,
    saving: Option<&'r Saving<C>>,
    epochs: Option<&'r Epochs<'r, C::Accumulator>>,
    tiling: Option<&'r Arc<Tiling>>,
}

impl<C: Aggregate> Mapping<'_, C> {
    /// Maps the whole input into the partial, makes shows meanwhile, and saves the rest. The last show may be left for
    /// the answer.
    fn run<'s>(
        &self,
        show: Option<Showing<'s, C>>,
    ) -> Result<(MapTotals, Spread, Option<LastShow<'s, C>>)> {
        let ((totals, spread), last_show) = match (show, self.epochs) {
            (Some(show), Some(epochs)) => {
                let mut mapped = Default::default();
                let last_show = self.shows(epochs).during(show, &mut || {
                    mapped = self.map()?;
                    Ok(())
                })?;
                (mapped, last_show)
            }
            _ => (self.map()?, None),
        };
        if let Some(saving) = self.saving {
            let MapTotals { bytes, splits, pairs: emitted, .. } = totals;
            let figures = (Figures { bytes, splits, emitted }, self.bad.so_far());
            let parts = self.context.parts();
            saving.finish(self.partial, &self.room.chunks, self.plan, parts, figures)?;
            self.tiling.iter().for_each(|tiling| tiling.saved_all());
        }
        Ok((totals, spread, last_show))
    }

    fn map(&self) -> Result<(MapTotals, Spread)> {
        let Mapping { context, job, terms, room, saving, epochs, tiling, .. } = *self;
        let RunContext { core, options, ref progress, .. } = *context;
        let found = saving.map(Saving::found);
        self.restore()?;
        // A tile that is saved by itself is one worker's, whichever group it is in.
        let alone = terms.tiles_apart.then(|| Placement::alone(core.pool().workers()));
        let mut attended_by: Vec<&dyn Attendance<C>> = Vec::new();
        attended_by.extend(saving.map(|saving| saving as &dyn Attendance<C>));
        attended_by.extend(epochs.map(|epochs| epochs as &dyn Attendance<C>));
        attended_by.extend(tiling.map(|tiling| &**tiling as &dyn Attendance<C>));
        // Shows look at all that a worker has, and take samples of it.
        let stands = saving.is_some() && epochs.is_none();
        let standing = if stands { room.shares.tables.standing } else { 0 };
        let (mut totals, spread) = MapStage {
            facts: job.facts,
            mappers: job.mappers,
            plan: self.plan,
            pool: core.pool(),
            placement: alone.as_ref().unwrap_or(core.placement()),
            chunks: &room.chunks,
            partial: self.partial,
            failure: &context.failure,
            bad: self.bad,
            progress,
            table_limits: TableLimits { standing, ..room.shares.tables },
            container: options.container,
            unit_is_given: options.split_bytes.is_some(),
            terms,
            done: found.map(|found| &found.coverage),
            leased: None,
            attended_by: &attended_by,
            bytes_between: saving.and_then(Saving::bytes_between),
            share: options.share.as_deref(),
        }
        .run()?;
        let Figures { bytes, splits, emitted } =
            found.map(|found| found.figures).unwrap_or_default();
        totals.bytes += bytes;
        totals.splits += splits;
        totals.pairs += emitted;
        Ok((totals, spread))
    }

    /// Takes in the saved pairs of an earlier run.
    fn restore(&self) -> Result<()> {
        let Some(saving) = self.saving else { return Ok(()) };
        let RunContext { ref progress, .. } = *self.context;
        saving.restore((self.partial, &self.room.chunks), progress, self.context.parts())?;
        let found = saving.found();
        let FoundState { coverage, bad, .. } = found;
        if let Some(tiling) = self.tiling {
            tiling.found(coverage);
            saving.tell(tiling);
        }
        self.bad.add(bad);
        progress.add_bytes(found.unread_bytes());
        self.epochs.iter().for_each(|epochs| epochs.restored(found.unread_bytes()));
        Ok(())
    }

    fn shows<'s>(&'s self, epochs: &'s Epochs<'s, C::Accumulator>) -> ShowStage<'s, C> {
        let Mapping { context, job, plan, room, partial, .. } = *self;
        let (ranking, chunks, stored) = (job.ranking, &room.chunks, room.stored_beside_pairs());
        ShowStage { ranking, context, plan, chunks, partial, epochs, stored }
    }
}

/// Reduces a partial that holds all pairs, to one pair per key.
pub(crate) fn reduce<C: Aggregate>(
    context: &RunContext<'_>,
    ranking: Ranking<'_, C>,
    partial: &Partial<C::Accumulator>,
    room: &Room,
) -> Result<Reduced<C::Reduced>> {
    let stage = reducing(context, ranking, partial, &room.chunks);
    context.time(Stage::Reduce, || stage.run())
}

/// Returns the reduce stage of a partial that holds all pairs.
fn reducing<'r, C: Aggregate>(
    context: &'r RunContext<'_>,
    ranking: Ranking<'r, C>,
    partial: &'r Partial<C::Accumulator>,
    chunks: &'r Arc<ChunkPool>,
) -> ReduceStage<'r, C> {
    let RunContext { options: &Options { order, top, .. }, ref pool, ref failure, .. } = *context;
    ReduceStage { ranking, pool, chunks, partial, failure, order, top, keeps: false }
}

/// Sorts the reduced pairs of a partial.
pub(crate) fn merge<C: Aggregate>(
    context: &RunContext<'_>,
    ranking: Ranking<'_, C>,
    partial: Partial<C::Accumulator>,
    Room { chunks, .. }: &Room,
    Reduced { ranges, long_keys, totals }: Reduced<C::Reduced>,
) -> Result<Answer<C>> {
    let pieces =
        context.time(Stage::Merge, || sort(context, ranking, chunks, partial.spill(), ranges))?;
    context.progress.set_keys(totals.keys);
    let pointed_at = PointedAt { _long_keys: long_keys, _values: partial.take_values() };
    // The answer's pairs are copies: what they were made from is free for the output.
    drop(partial);
    Ok(Answer { pieces, pointed_at, totals })
}

/// Sorts ranges of reduced pairs, each by itself.
pub(crate) fn sort<C: Aggregate>(
    context: &RunContext<'_>,
    ranking: Ranking<'_, C>,
    chunks: &Arc<ChunkPool>,
    spill: Option<&Spill>,
    ranges: Vec<Range<C::Reduced>>,
) -> Result<Vec<Piece<C::Reduced>>> {
    let RunContext { options: &Options { order, .. }, ref pool, ref failure, .. } = *context;
    MergeStage { ranking, pool, chunks, failure, order, spill }.run(ranges)
}

/// The pairs of an answer, in its order.
pub(crate) struct Answer<C: Aggregate> {
    pub(crate) pieces: Vec<Piece<C::Reduced>>,
    pub(crate) pointed_at: PointedAt,
    pub(crate) totals: ReduceTotals,
}

impl<C: Aggregate> Answer<C> {
    /// Ends the run, of which the answer remains. Adds the answer's figures to `stats`.
    pub(crate) fn finish(
        self,
        core: &Arc<Core>,
        room: Room,
        names: FileNames,
        stats: Stats,
        options: &Options,
    ) -> Finished<C> {
        let Answer { pieces, pointed_at, totals: ReduceTotals { keys, key_bytes } } = self;
        let stats = Stats {
            keys,
            key_value_bytes: key_bytes + keys * size_of::<C::Reduced>() as u64,
            spilled_bytes: room.scratch.bytes(),
            ..stats
        };
        let (core, timeline) = (Arc::clone(core), options.timeline.clone());
        let finished =
            Finished::new(core, pieces, pointed_at, room.stored(), names, stats, timeline);
        finished.within(options.share.clone())
    }
}

/// Adds the counts of the map stage to the figures of a run over a plan.
pub(crate) fn stats(planned: Stats, mapped: MapTotals, spread: Spread) -> Stats {
    Stats {
        ingest_busy: mapped.ingest,
        readers: mapped.ahead.readers,
        read_ahead_bytes: mapped.ahead.bytes,
        read_ahead_busy: mapped.ahead.busy,
        hand_over_busy: mapped.hand_over,
        compress_busy: mapped.compress,
        bytes: mapped.bytes,
        tiles: planned.tiles + mapped.stream_tiles,
        splits: mapped.splits,
        unit_bytes: mapped.unit_bytes,
        pairs: mapped.pairs,
        pairs_handed_over: mapped.pairs_handed_over,
        groups: spread.groups,
        map_idle: spread.idle,
        devices: spread.devices,
        ..planned
    }
}

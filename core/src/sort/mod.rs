//! Sort: records of any input into the order of their keys, in memory as long as it lasts and over a
//! scratch file beyond that.
//!
//! It is a sample sort: splitters from a sample divide the order into ranges that fit a cache; one
//! pass over the input puts each record into its range; then each range is sorted by one worker and
//! written where it belongs. A record is moved three times (to its range, back into the cache, to the
//! output) and its whole key is compared only where 8 bytes do not decide.
//!
//! Equal keys always keep the order of the input: a record's place in the input is the last part of the
//! comparison. So the output is the same bytes for any number of workers, any size of splits, and any amount
//! of memory.
//!
//! Where the input is files that fit in memory, their records stay there, mapped (`originals.rs`), and a range has their
//! places: a record is then moved twice, from its file into the cache and to the output.

mod located;
mod originals;
mod pairs;
mod partition;
mod ranges;
mod records;
mod sample;
mod saving;
mod segments;
mod sizes;
mod source;
mod splitters;
mod store;

pub use pairs::{PairSort, Putting, SortedPairs};
pub use records::{Records, Sort};

use crate::context::RunContext;
use crate::core::{Core, FILE_LIST};
use crate::error::Result;
use crate::ingest::{AheadTotals, Means, Reader};
use crate::input::Input;
use crate::map::spread::Spread;
use crate::memory::usable_bytes;
use crate::options::{Options, Pipeline};
use crate::output::{AtomicFile, Turns};
use crate::plan::{Cutting, Plan};
use crate::progress::Stage;
use crate::sizing::{Units, part};
use crate::stats::Stats;
use crate::storage::Scratch;
use crate::sync::Mutex;
use originals::Originals;
use partition::PartitionPass;
use ranges::{Out, RangePass};
use records::Form;
use saving::Saving;
use sizes::{Known, Sizes};
use source::Source;
use splitters::Splitters;
use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use store::RangeRows;

/// Sampled records per range. The largest of many ranges is then rarely twice the average.
const OVERSAMPLING: usize = 16;
/// The bytes of a split of a sort that is saved: what the smallest worker can read at a time.
const SAVED_SPLIT_BYTES: u64 = 64 << 10;
/// The bytes of a record, on average, from which on piles keep places.
const PLACED_BYTES_LEAST: u64 = 32;
/// The sample that the first guess at the number of ranges is made from.
const SAMPLE_LEAST: usize = 256;

/// Where sorted records go.
pub enum SortTo<'w> {
    /// A file, which is committed when all is written: ranges are written side by side at their places.
    File(AtomicFile),
    /// A writer, in order, and its name in messages.
    Writer(&'w mut (dyn Write + Send), &'w Path),
}

impl fmt::Debug for SortTo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SortTo::File(file) => f.debug_tuple("File").field(file).finish(),
            SortTo::Writer(_, name) => f.debug_tuple("Writer").field(name).finish_non_exhaustive(),
        }
    }
}

/// Runs a sort: plan, partition, and the ranges; each timed.
pub(crate) fn run(
    core: &Core,
    sort: &Sort,
    input: Input,
    to: SortTo<'_>,
    options: &Options,
) -> Result<Stats> {
    let context = RunContext::open(core, options)?;
    sort.cut().check()?;
    let form = &sort.form()?;
    let _counted = core.count(input.list_bytes(), FILE_LIST, Resources::least_bytes(core))?;
    let resources = Resources::of(core, options)?;

    let (split_bytes, unit_bytes) = resources.split_and_unit_bytes(options);
    let cutting =
        Cutting { skip_torn: options.skip_bad, ..options.cutting(split_bytes, unit_bytes) };
    let plan = &context.plan(input, sort.cut(), cutting)?;
    let saving = Saving::open(sort, plan, options)?;
    let saving = saving.as_ref();
    let scratch = &Scratch::new(core.storage());
    context.progress.count_spills(scratch.count());
    let passes = Passes { context: &context, sort, form, resources, plan, scratch, saving };
    let mut partitioned = context.time(Stage::Map, || passes.partition())?;
    let mut to = to;
    let written = context.time(Stage::Merge, || passes.write(&mut partitioned, &mut to))?;
    let stands = to.commit()?;
    match saving.map_or(Ok(()), Saving::finish) {
        // A state that cannot let the records go has them for a next run.
        Err(error) if stands => {
            tracing::debug!(target: "tegula::state", %error, "the records are not let go");
        }
        finished => finished?,
    }

    let Partitioned { records, bytes, splits, ahead, unit_bytes, spread, .. } = partitioned;
    let (bad_records, bad_first) = plan.torn.finish(plan);
    Ok(Stats {
        bad_records,
        bad_first,
        bytes,
        splits,
        unit_bytes,
        groups: spread.groups,
        map_idle: spread.idle,
        readers: ahead.readers,
        read_ahead_bytes: ahead.bytes,
        read_ahead_busy: ahead.busy,
        pairs: records,
        pairs_handed_over: records,
        keys: written,
        key_value_bytes: bytes,
        spilled_bytes: scratch.bytes(),
        restored_bytes: saving.map_or(0, |saving| saving.figures().bytes),
        saved_bytes: saving.map_or(0, Saving::saved_bytes),
        ..context.close_planned(plan)
    })
}

/// The two passes of a sort over its plan.
struct Passes<'r> {
    context: &'r RunContext<'r>,
    sort: &'r Sort,
    form: &'r Form,
    resources: Resources,
    plan: &'r Plan,
    scratch: &'r Arc<Scratch>,
    saving: Option<&'r Saving>,
}

impl Passes<'_> {
    /// Puts each record of the input into its range.
    fn partition(&self) -> Result<Partitioned> {
        let Passes { context, form, ref resources, plan, scratch, saving, .. } = *self;
        let RunContext { core, options, ref failure, ref progress, .. } = *context;
        let spooled = resources.usable_bytes / part::SORT_SPOOLED;
        let source = &Source::open(core, plan, scratch, failure, (spooled, saving))?;
        let means = source.means(core, failure);
        let division = resources.divide(means, source, form, scratch, saving)?;
        let Division { splitters, sizes, originals } = division;
        let found = saving.map_or(0, |saving| saving.figures().bytes);
        progress.add_bytes(found);
        let (pile_size, ahead_bytes) = (sizes.pile, sizes.ahead_bytes);
        let units = &match options.split_bytes {
            Some(_) => Units::fixed(plan.split_bytes),
            None => resources.units(plan),
        };
        let overlaps = options.pipeline == Pipeline::On;
        let pass = PartitionPass {
            core,
            form,
            source,
            splitters: &splitters,
            scratch,
            pile_size,
            plan,
            saving,
            originals: originals.as_ref(),
            units,
            overlaps,
            ahead_bytes,
            failure,
            progress,
        };
        let (ranges, ahead, spread) = pass.run()?;
        Ok(Partitioned {
            ahead,
            records: ranges.iter().map(|range| range.records).sum(),
            ranges: ranges.into_iter().map(Mutex::new).collect(),
            sizes,
            originals,
            bytes: source.bytes(),
            splits: source.splits(),
            unit_bytes: units.best_bytes(),
            spread,
        })
    }

    /// Sorts each range and writes it. Returns the number of records written.
    fn write(&self, partitioned: &mut Partitioned, to: &mut SortTo<'_>) -> Result<u64> {
        let name = to.name();
        let out = to.out(&name, self.sort.unique);
        let core = self.context.core;
        if let Some(originals) = &partitioned.originals {
            originals.touch(core.pool(), &self.context.failure)?;
        }
        let pass = RangePass {
            pool: core.pool(),
            blocks: core.blocks(),
            form: self.form,
            unique: self.sort.unique,
            scratch: self.scratch,
            sizes: partitioned.sizes,
            rows: self.resources.rows as usize,
            originals: partitioned.originals.as_ref(),
            failure: &self.context.failure,
            last: Mutex::default(),
            written: AtomicU64::new(0),
        };
        let written = pass.run(&partitioned.ranges, &out)?;
        let originals = partitioned.originals.take();
        originals.map_or(Ok(()), |originals| originals.check(self.form))?;
        out.finish()?;
        Ok(written)
    }
}

/// The ranges of a sort, and what piles keep of records.
struct Division {
    splitters: Splitters,
    sizes: Sizes,
    /// Set if they keep places.
    originals: Option<Originals>,
}

/// The results of the partition pass.
struct Partitioned {
    ahead: AheadTotals,
    ranges: Vec<Mutex<RangeRows>>,
    records: u64,
    sizes: Sizes,
    originals: Option<Originals>,
    bytes: u64,
    splits: u64,
    unit_bytes: u64,
    spread: Spread,
}

/// The resources that a sort may use.
struct Resources {
    workers: u64,
    /// Rows of a range that are read side by side: one of each worker, and those of tiles that groups steal and of pieces
    /// of a state.
    rows: u64,
    usable_bytes: u64,
    l2_bytes: u64,
}

impl Resources {
    fn of(core: &Core, options: &Options) -> Result<Resources> {
        let usable_bytes = usable_bytes(core.blocks());
        let workers = core.pool().workers() as u64;
        let least = Resources::least_bytes(core);
        if usable_bytes < least {
            return Err(core.too_small(least).into());
        }
        let groups = core.placement().groups() as u64;
        let has_others = groups > 1 || options.state.is_some();
        let rows = if has_others { workers + 2 * groups } else { workers };
        Ok(Resources { workers, rows, usable_bytes, l2_bytes: core.topology().l2_bytes() })
    }

    fn least_bytes(core: &Core) -> u64 {
        core.pool().workers() as u64 * sizes::WORKER_BYTES_LEAST
    }

    /// Returns the bytes of a split, and those that a worker reads at a time at first, which are some splits.
    fn split_and_unit_bytes(&self, options: &Options) -> (u64, u64) {
        let unit = sizes::unit_bytes(self.workers, self.usable_bytes, self.l2_bytes);
        match options.state {
            // A run may resume on another machine, with other memory.
            Some(_) => (SAVED_SPLIT_BYTES, unit.max(SAVED_SPLIT_BYTES)),
            None => ((unit / sizes::SPLITS_PER_UNIT).max(sizes::SPLIT_BYTES_LEAST), unit),
        }
    }

    /// Returns a search for the bytes that a worker reads at a time.
    fn units(&self, plan: &Plan) -> Units {
        // What is read should still be in the cache when its records are looked at.
        let most = sizes::unit_bytes_most(self.workers, self.usable_bytes).min(self.l2_bytes);
        let budget = most * self.workers * part::UNIT;
        Units::searched(plan.split_bytes, plan.unit_bytes, budget, self.workers as usize)
    }

    /// Chooses ranges by two samples: a small one to learn how many there should be, and one that is
    /// large enough for those.
    fn divide(
        &self,
        means: Means<'_>,
        source: &Source<'_>,
        form: &Form,
        scratch: &Scratch,
        saving: Option<&Saving>,
    ) -> Result<Division> {
        let mut reader = Reader::new(means.blocks, source.unit_bytes())?;
        let (first, record_bytes) = source.sample(SAMPLE_LEAST, form, &mut reader, scratch)?;
        // There is no sample of compressed files that were found.
        let record_bytes = saving.and_then(Saving::record_bytes).unwrap_or(record_bytes);
        // A state keeps records.
        let originals = if saving.is_none() && record_bytes >= PLACED_BYTES_LEAST {
            Originals::of(source, means, self.usable_bytes / part::SORT_MAPPED)?
        } else {
            None
        };
        let mapped_bytes = originals.as_ref().map_or(0, |_| source.bytes());
        let known = Known {
            bytes: source.bytes(),
            record_bytes,
            workers: self.workers,
            rows: self.rows,
            // Streams in memory use a part of it, and so do files.
            usable_bytes: self.usable_bytes.saturating_sub(source.kept_bytes() + mapped_bytes),
            l2_bytes: self.l2_bytes,
            are_placed: originals.is_some(),
        };
        let sizes = Sizes::new(known, form);
        let wanted = sizes.ranges * OVERSAMPLING;
        let sample = if wanted <= SAMPLE_LEAST {
            first
        } else {
            source.sample(wanted, form, &mut reader, scratch)?.0
        };
        let choose = || Splitters::choose(sample, sizes.ranges, form.reverse);
        let Some(saving) = saving else {
            return Ok(Division { splitters: choose(), sizes, originals });
        };
        let splitters = saving.splitters(choose)?;
        let sizes = sizes.with_ranges(splitters.ranges());
        Ok(Division { splitters, sizes, originals })
    }
}

impl SortTo<'_> {
    fn name(&self) -> PathBuf {
        match self {
            SortTo::File(file) => file.path().to_path_buf(),
            SortTo::Writer(_, name) => name.to_path_buf(),
        }
    }

    /// Of `unique` records nobody knows beforehand how many there are before a range.
    fn out<'o>(&'o mut self, name: &'o Path, unique: bool) -> Out<'o> {
        match self {
            SortTo::File(file) => match file.is_regular() && !unique {
                true => Out::File(file),
                false => Out::InTurn(Turns::new(file, name)),
            },
            SortTo::Writer(sink, _) => Out::InTurn(Turns::new(&mut **sink, name)),
        }
    }

    /// Gives a file its name. Returns whether it has one, so that the answer stands whatever follows.
    fn commit(self) -> Result<bool> {
        match self {
            SortTo::File(file) => Ok(file.commit().map(|()| true)?),
            SortTo::Writer(..) => Ok(false),
        }
    }
}

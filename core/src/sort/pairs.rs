//! Pairs that tasks make side by side, sorted by key: the sort of `mod.rs` for records that are in no input.
//!
//! A task puts its pairs into a buffer. The first ones wait there, until a sample of them is large enough to
//! choose splitters from; later ones go to their ranges at once, as the records of a sort do. Where what comes
//! later is unlike the sample, a range grows too large for the caches and is divided again.
//!
//! The order is divided into sections, each of which begins at a key that the caller names, and which are read side
//! by side. Equal keys keep the order of the tasks' numbers, and within a task that in which they were put.

use super::partition::Scatter;
use super::ranges::{RangePass, Target, Worker};
use super::records::{Form, PAIR_HEADER_BYTES, pair};
use super::sample::KeySample;
use super::sizes::{Known, Sizes};
use super::splitters::Splitters;
use super::store::{Pile, RangeRows};
use super::{OVERSAMPLING, Resources};
use crate::core::Core;
use crate::error::{Error, Place, Result};
use crate::failure::Failure;
use crate::heads::RANGES_MOST;
use crate::memory::{BlockPool, Budget, usable_bytes};
use crate::options::Options;
use crate::schedule::{Pool, for_each};
use crate::storage::Scratch;
use crate::sync::Mutex;
use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, ThreadId};

const STAGE: &str = "the sort of pairs";
/// Of four parts of the usable memory, those that a sort takes; the rest is for the tasks.
const MEMORY_QUARTERS: u64 = 3;
/// The part of a sort's memory for pairs that wait, whose buffers may be twice as large as what is in them.
const EARLY_PART: u64 = 16;
/// More would not make a better sample.
const EARLY_BYTES_MOST: u64 = 64 << 20;
/// How often a task with pairs that wait looks whether they still must.
const LOOK_BYTES: usize = 256 << 10;
/// Pairs that go to their ranges together stay in the nearest cache.
const BUFFER_BYTES: usize = 16 << 10;

/// Sorts pairs of bytes that tasks make side by side, by key: [`Engine::pair_sort`](crate::Engine::pair_sort)
/// makes it, [`begin`](PairSort::begin) takes a task's pairs, and [`sorted`](PairSort::sorted) gives their order.
pub struct PairSort<'e> {
    core: &'e Core,
    /// The workers of the run's share.
    pool: Pool,
    form: Form,
    failure: Failure,
    blocks: Arc<BlockPool>,
    scratch: Arc<Scratch>,
    memory_bytes: u64,
    /// The keys at which sections begin, ascending; the first section begins before all keys.
    sections: Vec<Box<[u8]>>,
    /// Of all tasks, and of those that have begun.
    input_bytes: u64,
    begun_bytes: AtomicU64,
    early: Mutex<Vec<Early>>,
    early_bytes: AtomicU64,
    division: OnceLock<Division>,
    /// Piles, each of the worker that fills it, with the number of the task that it took last.
    piles: Mutex<Vec<(ThreadId, u32, Pile)>>,
    /// Whether a pile was lost with a task that did not end.
    lacks: AtomicBool,
}

/// Pairs of a task that ended before it was known where they go.
struct Early {
    worker: ThreadId,
    task: u32,
    pairs: Vec<u8>,
    count: usize,
}

/// Where pairs go.
struct Division {
    splitters: Splitters,
    sizes: Sizes,
    /// For each section that is read by itself, the sections of the caller in it, and its ranges.
    sections: Vec<(Range<usize>, Range<usize>)>,
}

/// Takes the pairs of one task. Pairs of one that is dropped before [`end`](Putting::end) are lost; if some of them were
/// among those of earlier tasks already, [`sorted`](PairSort::sorted) fails.
pub struct Putting<'p, 'e> {
    sort: &'p PairSort<'e>,
    task: u32,
    buffer: Vec<u8>,
    /// Pairs in the buffer while they wait, and those of its bytes that are counted.
    count: usize,
    counted: usize,
    /// The bytes of the buffer at which it is looked after.
    full: usize,
    scatter: Option<Scatter<'p>>,
}

/// Pairs in order, section by section. Each can be read once.
pub struct SortedPairs<'e> {
    sort: PairSort<'e>,
    ranges: Vec<Mutex<RangeRows>>,
}

impl<'e> PairSort<'e> {
    pub(crate) fn new(
        core: &'e Core,
        sections: Vec<Box<[u8]>>,
        input_bytes: u64,
        options: &Options,
    ) -> Result<PairSort<'e>> {
        let memory_bytes = usable_bytes(core.blocks()) / 4 * MEMORY_QUARTERS;
        let waiting = 2 * (memory_bytes / EARLY_PART).min(EARLY_BYTES_MOST);
        let least = Resources::least_bytes(core);
        if memory_bytes - waiting < least {
            let least = least * EARLY_PART / (EARLY_PART - 2) * 4 / MEMORY_QUARTERS;
            return Err(core.too_small(least).into());
        }
        let blocks = BlockPool::new(Budget::new(Some(memory_bytes - waiting)));
        Ok(PairSort {
            core,
            pool: core.pool().within(options.share.clone()),
            form: Form::pairs(),
            failure: Failure::new(&options.cancel),
            blocks,
            scratch: Scratch::new(core.storage()),
            memory_bytes,
            sections,
            input_bytes,
            begun_bytes: AtomicU64::new(0),
            early: Mutex::default(),
            early_bytes: AtomicU64::new(0),
            division: OnceLock::new(),
            piles: Mutex::default(),
            lacks: AtomicBool::new(false),
        })
    }

    /// Begins to take the pairs of a task, which has `input_bytes` of the input. Of equal keys, those of the task
    /// with the least number are first. Costs a search among the ranges for each pair that is put.
    ///
    /// Pairs are put by the thread that began; a thread has one task at a time, and may go on with a number.
    pub fn begin(&self, task: u32, input_bytes: u64) -> Putting<'_, 'e> {
        self.begun_bytes.fetch_add(input_bytes, Ordering::Relaxed);
        let buffer = Vec::with_capacity(2 * BUFFER_BYTES);
        Putting {
            sort: self,
            task,
            buffer,
            count: 0,
            counted: 0,
            full: BUFFER_BYTES,
            scatter: None,
        }
    }

    /// Ends the taking of pairs, when all tasks have ended.
    ///
    /// # Errors
    /// Those of memory and storage, [`Error::Cancelled`], and [`Error::Record`] if pairs of ended tasks were lost with one
    /// that did not end.
    pub fn sorted(self) -> Result<SortedPairs<'e>> {
        if self.lacks.load(Ordering::Relaxed) {
            let cause = "a task of the same thread was dropped before its end";
            return Err(Error::Record { place: Place::stage(STAGE), cause: cause.into() });
        }
        self.divide(None, true);
        let mut by_worker: Vec<Vec<Early>> = Vec::new();
        for early in std::mem::take(&mut *self.early.lock()) {
            match by_worker.iter_mut().find(|list| list[0].worker == early.worker) {
                Some(list) => list.push(early),
                None => by_worker.push(vec![early]),
            }
        }
        let waiting: Vec<_> = by_worker.into_iter().map(Mutex::new).collect();
        for_each(&self.pool, &self.failure, STAGE, waiting.len(), |_, list| {
            self.take_early(std::mem::take(&mut *waiting[list].lock()))
        })?;
        let mut ranges = Vec::new();
        ranges.resize_with(self.division().splitters.ranges(), RangeRows::default);
        for (_, _, pile) in std::mem::take(&mut *self.piles.lock()) {
            pile.close(&mut ranges);
        }
        Ok(SortedPairs { sort: self, ranges: ranges.into_iter().map(Mutex::new).collect() })
    }

    /// Rows of a range that are read side by side: two more than there are piles, so that of more, which piles have
    /// where tasks did not ascend, some can be merged.
    fn rows(&self) -> usize {
        self.pool.workers() + 2
    }

    fn division(&self) -> &Division {
        self.division.get_or_init(|| self.choose(&[], 0))
    }

    /// Chooses splitters, unless that is done. `own` are the number and pairs of a task that goes on.
    fn divide(&self, own: Option<(u32, &[u8], usize)>, is_all: bool) {
        let early = self.early.lock();
        let mut waiting: Vec<_> =
            early.iter().map(|early| (early.task, &early.pairs[..], early.count)).collect();
        waiting.extend(own);
        let bytes: u64 = waiting.iter().map(|(_, pairs, _)| pairs.len() as u64).sum();
        let begun = self.begun_bytes.load(Ordering::Relaxed).max(1);
        let of_input = (self.input_bytes.max(begun) as f64 / begun as f64).max(1.0);
        // Tasks that have begun have more pairs to come.
        let expected = self.early_bytes.load(Ordering::Relaxed).max(bytes) as f64 * of_input;
        let expected = if is_all { bytes } else { expected as u64 };
        self.division.get_or_init(|| self.choose(&waiting, expected));
    }

    fn choose(&self, waiting: &[(u32, &[u8], usize)], bytes: u64) -> Division {
        let count: usize = waiting.iter().map(|(_, _, count)| count).sum();
        let there: usize = waiting.iter().map(|(_, pairs, _)| pairs.len()).sum();
        let known = Known {
            bytes,
            record_bytes: (there / count.max(1)).max(1) as u64,
            workers: self.pool.workers() as u64,
            rows: self.rows() as u64,
            usable_bytes: usable_bytes(&self.blocks),
            l2_bytes: self.core.topology().l2_bytes(),
            are_placed: false,
        };
        let mut sizes = Sizes::new(known, &self.form);
        // A pile has a chunk for each range at least, and one more.
        let most = (sizes.pile.chunks / 2).clamp(1, RANGES_MOST);
        let together = self.sections.len().div_ceil((most / 2).max(1)).max(1);
        let firsts: Vec<usize> = (0..self.sections.len()).step_by(together).collect();
        sizes.ranges = (sizes.ranges + firsts.len()).min(most);
        let mut sample = KeySample::new(&self.form, sizes.ranges * OVERSAMPLING);
        while sample.begin() {
            let every = (count / sample.count()).max(1);
            for (task, pairs, _) in waiting {
                let mut pairs = *pairs;
                for number in 0.. {
                    if pairs.is_empty() {
                        break;
                    }
                    let record = self.form.first(pairs);
                    pairs = &pairs[record.len()..];
                    if number % every == 0 {
                        sample.add_record(record, *task);
                    }
                }
            }
        }
        let borders = firsts.iter().skip(1).map(|&first| self.sections[first].clone());
        let borders: Vec<_> = borders.collect();
        let (splitters, begins) = Splitters::with_borders(sample.keys, sizes.ranges, &borders);
        let ends = begins.iter().copied().skip(1).chain([splitters.ranges()]);
        let ranges = begins.iter().copied().zip(ends).map(|(begin, end)| begin..end);
        let last = self.sections.len();
        let of_caller = firsts.iter().map(|&first| first..(first + together).min(last));
        let sections = of_caller.zip(ranges).collect();
        Division { splitters, sizes, sections }
    }

    /// Takes pairs of one worker that wait to their ranges.
    fn take_early(&self, mut waiting: Vec<Early>) -> Result<()> {
        waiting.sort_by_key(|early| early.task);
        let Some(first) = waiting.first() else { return Ok(()) };
        let mut scatter = self.scatter(first.worker, first.task);
        let (worker, mut last) = (first.worker, first.task);
        for early in waiting {
            last = early.task;
            scatter.view.turn_to(last);
            scatter.add(last, &early.pairs)?;
        }
        self.piles.lock().push((worker, last, scatter.pile));
        Ok(())
    }

    /// Opens a worker's way to the ranges, from this task on.
    fn scatter(&self, worker: ThreadId, task: u32) -> Scatter<'_> {
        let Division { splitters, sizes, .. } = self.division();
        let mut piles = self.piles.lock();
        let own = piles.iter().position(|(of, _, _)| *of == worker);
        let pile = match own.map(|own| piles.swap_remove(own)) {
            Some((_, last, mut pile)) => {
                if task < last {
                    pile.begin_run();
                }
                pile
            }
            None => Pile::new(&self.blocks, &self.scratch, splitters.ranges(), sizes.pile),
        };
        Scatter {
            form: &self.form,
            view: splitters.view(task, false),
            pile,
            stretch: task,
            taken: 0,
            keeper: None,
        }
    }
}

impl Putting<'_, '_> {
    /// Takes a pair.
    ///
    /// # Errors
    /// Those of memory and storage; [`Error::Record`] for a key or a value of 4 GiB or more.
    #[inline]
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.put_with(value, |buffer| buffer.extend_from_slice(key))
    }

    /// Takes a pair whose key `add_key` appends to what it is given, so that a key that is made of pieces is not
    /// gathered elsewhere first.
    ///
    /// # Errors
    /// As [`put`](Putting::put).
    #[inline]
    pub fn put_with(&mut self, value: &[u8], add_key: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        let begin = self.buffer.len();
        self.buffer.extend_from_slice(&[0; PAIR_HEADER_BYTES]);
        add_key(&mut self.buffer);
        let key_bytes = self.buffer.len() - begin - PAIR_HEADER_BYTES;
        let (Ok(key_bytes), Ok(value_bytes)) =
            (u32::try_from(key_bytes), u32::try_from(value.len()))
        else {
            self.buffer.truncate(begin);
            let cause = "a key or a value of a pair has less than 4 GiB";
            return Err(Error::Record { place: Place::stage(STAGE), cause: cause.into() });
        };
        let header = u64::from(value_bytes) << 32 | u64::from(key_bytes);
        self.buffer[begin..begin + PAIR_HEADER_BYTES].copy_from_slice(&header.to_le_bytes());
        self.buffer.extend_from_slice(value);
        self.count += 1;
        if self.buffer.len() < self.full { Ok(()) } else { self.make_room() }
    }

    /// Ends the task.
    ///
    /// # Errors
    /// As [`put`](Putting::put).
    pub fn end(mut self) -> Result<()> {
        let worker = thread::current().id();
        if self.scatter.is_none() && self.sort.division.get().is_none() {
            self.count_waiting();
            let Putting { sort, task, count, .. } = self;
            if count > 0 {
                let pairs = std::mem::take(&mut self.buffer);
                sort.early.lock().push(Early { worker, task, pairs, count });
            }
            return Ok(());
        }
        self.flush()?;
        if let Some(scatter) = self.scatter.take() {
            self.sort.piles.lock().push((worker, self.task, scatter.pile));
        }
        Ok(())
    }

    #[cold]
    fn make_room(&mut self) -> Result<()> {
        let sort = self.sort;
        if self.scatter.is_none() && sort.division.get().is_none() {
            let most = (sort.memory_bytes / EARLY_PART).min(EARLY_BYTES_MOST);
            if self.count_waiting() < most {
                self.full = self.buffer.len() + LOOK_BYTES;
                return Ok(());
            }
            sort.divide(Some((self.task, &self.buffer, self.count)), false);
        }
        self.flush()
    }

    /// Counts the pairs that wait, and returns the bytes of all that do.
    fn count_waiting(&mut self) -> u64 {
        let grown = (self.buffer.len() - self.counted) as u64;
        self.counted = self.buffer.len();
        self.sort.early_bytes.fetch_add(grown, Ordering::Relaxed) + grown
    }

    /// Takes the buffer's pairs to their ranges, after those of this worker's earlier tasks.
    fn flush(&mut self) -> Result<()> {
        let sort = self.sort;
        let scatter = match &mut self.scatter {
            Some(scatter) => scatter,
            none => {
                let worker = thread::current().id();
                let mut early = sort.early.lock();
                let own = early.extract_if(.., |early| early.worker == worker).collect();
                drop(early);
                sort.take_early(own)?;
                none.insert(sort.scatter(worker, self.task))
            }
        };
        scatter.add(self.task, &self.buffer)?;
        if self.buffer.capacity() > 4 * BUFFER_BYTES {
            self.buffer = Vec::with_capacity(2 * BUFFER_BYTES);
        }
        self.buffer.clear();
        self.full = BUFFER_BYTES;
        Ok(())
    }
}

impl Drop for Putting<'_, '_> {
    /// The thread's pairs of earlier tasks go with this one's.
    fn drop(&mut self) {
        if self.scatter.is_some() {
            self.sort.lacks.store(true, Ordering::Relaxed);
        }
    }
}

impl SortedPairs<'_> {
    /// Returns the sections that can be read: each as the range of those that the sort was begun with, several where
    /// memory is too small for all of them.
    pub fn sections(&self) -> impl ExactSizeIterator<Item = Range<usize>> {
        self.sort.division().sections.iter().map(|(sections, _)| sections.clone())
    }

    /// Returns the bytes that went to the scratch storage.
    pub fn spilled_bytes(&self) -> u64 {
        self.sort.scratch.bytes()
    }

    /// Shows the keys and values of a section in order, and gives their memory back: a second look finds nothing. As
    /// many sections may be read at once as there are workers.
    ///
    /// # Errors
    /// Those of memory, storage and of `see`; [`Error::Cancelled`].
    pub fn each(
        &self,
        section: usize,
        mut see: impl FnMut(&[u8], &[u8]) -> Result<()>,
    ) -> Result<()> {
        let PairSort { pool, form, failure, blocks, scratch, .. } = &self.sort;
        let Division { sizes, sections, .. } = self.sort.division();
        let pass = RangePass {
            pool,
            blocks,
            form,
            unique: false,
            scratch,
            sizes: *sizes,
            rows: self.sort.rows(),
            originals: None,
            failure,
            last: Mutex::default(),
            written: AtomicU64::new(0),
        };
        let mut worker = Worker::new(&pass)?;
        let mut shown = |record: &[u8]| {
            let (key, value) = pair(record);
            see(key, value)
        };
        for range in sections[section].1.clone() {
            let rows = std::mem::take(&mut *self.ranges[range].lock());
            worker.run(rows, sizes, &mut Target::shown(&mut shown))?;
            if failure.stops() {
                return Err(Error::Cancelled);
            }
        }
        Ok(())
    }
}

impl fmt::Debug for PairSort<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("PairSort");
        out.field("memory_bytes", &self.memory_bytes).finish_non_exhaustive()
    }
}

impl fmt::Debug for Putting<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Putting").field("task", &self.task).finish_non_exhaustive()
    }
}

impl fmt::Debug for SortedPairs<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SortedPairs").field("ranges", &self.ranges.len()).finish_non_exhaustive()
    }
}

//! The last pass: each range is read back into a worker's cache, sorted, and written, at its place in
//! the output or in turn. A range too large for that is partitioned again.

use super::located::{ByKey, Fixed, Lines, Located};
use super::originals::{Originals, PLACE_BYTES, place_in};
use super::partition::Scatter;
use super::records::{Form, Kind};
use super::sample::{ALIKE_BYTES_MOST, KeySample};
use super::segments::{Means, Segments};
use super::sizes::Sizes;
use super::splitters::{Sampled, Splitters};
use super::store::{HEADER_BYTES, Pile, RangeRows};
use crate::error::{Error, Place, Result};
use crate::failure::Failure;
use crate::heads::Sorter;
use crate::memory::{Access, Block, BlockPool};
use crate::output::{AtomicFile, Turn, Turns};
use crate::schedule::{Cursor, PerWorker, Pool, Step};
use crate::storage::Scratch;
use crate::sync::Mutex;
use crate::timeline;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Records sampled per range that a range is divided into again.
const SAMPLED_PER_RANGE: usize = 16;
/// Of these, the records of one chunk that count; more are taken where there are more.
const TAKEN_PER_CHUNK: usize = 4;
/// Splits that a range is seen as when it is divided again, per range that comes out: equal keys are
/// divided between those.
const SPLITS_PER_RANGE: u64 = 16;

/// Memory that served ranges already read and is not given back to the system at once.
const IDLE_BYTES_PER_WORKER: usize = 4 << 20;

/// Where sorted ranges go.
pub(super) enum Out<'w> {
    /// Each to its place, side by side.
    File(&'w AtomicFile),
    /// One after the other.
    InTurn(Turns<'w>),
}

impl Out<'_> {
    /// Ends the writing, when all ranges are written.
    pub(super) fn finish(self) -> Result<()> {
        match self {
            Out::File(_) => Ok(()),
            Out::InTurn(turns) => turns.finish(),
        }
    }
}

pub(super) struct RangePass<'r> {
    pub(super) pool: &'r Pool,
    pub(super) blocks: &'r Arc<BlockPool>,
    pub(super) form: &'r Form,
    pub(super) unique: bool,
    pub(super) scratch: &'r Arc<Scratch>,
    pub(super) sizes: Sizes,
    /// Rows of a range that are read side by side, at most.
    pub(super) rows: usize,
    /// Set if rows have the places of records.
    pub(super) originals: Option<&'r Originals>,
    pub(super) failure: &'r Failure,
    /// With `unique`, the key written last.
    pub(super) last: Mutex<Option<Vec<u8>>>,
    pub(super) written: AtomicU64,
}

/// A worker's memory for sorting.
pub(super) struct Worker<'r> {
    pass: &'r RangePass<'r>,
    data: Room,
    numbers: Room,
    starts: Room,
    out: Block,
}

/// Where the records of a range go.
pub(super) struct Target<'t, 'w> {
    to: To<'t, 'w>,
    offset: u64,
}

enum To<'t, 'w> {
    File(&'t AtomicFile),
    Turn(Turn<'t, 'w>),
    /// Each record by itself.
    Shown(&'t mut dyn FnMut(&[u8]) -> Result<()>),
}

impl<'r> RangePass<'r> {
    /// Sorts and writes all ranges. Returns how many records were written.
    pub(super) fn run(&'r self, ranges: &[Mutex<RangeRows>], out: &Out<'_>) -> Result<u64> {
        let mut order: Vec<usize> = (0..ranges.len()).collect();
        if self.form.reverse {
            order.reverse();
        }
        let offsets = offsets(ranges, &order);
        if let Out::File(file) = out {
            // Found out now rather than after all ranges, and cheaper than block by block.
            file.reserve(ranges.iter().map(|range| range.lock().bytes).sum())?;
        }
        let (cursor, failure) = (Cursor::new(ranges.len() as u64), self.failure);
        let workers = PerWorker::new(self.pool.workers());
        let step = |index| {
            let Some(number) = (!failure.stops()).then(|| cursor.take()).flatten() else {
                return Step::Done;
            };
            let to = match out {
                Out::File(file) => To::File(file),
                // Dropped last: the next range must see a failure of this one.
                Out::InTurn(turns) => To::Turn(turns.get(number)),
            };
            let mut target = Target { to, offset: offsets[number as usize] };
            let done = failure.attempt(number, "the merge stage", || {
                workers.with(
                    index,
                    || Worker::new(self),
                    |worker: &mut Worker<'r>| {
                        let range = std::mem::take(&mut *ranges[order[number as usize]].lock());
                        worker.run(range, &self.sizes, &mut target)
                    },
                )
            });
            if done.is_some() { Step::More } else { Step::Done }
        };
        self.pool.run(step, || ());
        failure.check()?;
        Ok(self.written.load(Ordering::Relaxed))
    }
}

/// Where each range begins in the output.
fn offsets(ranges: &[Mutex<RangeRows>], order: &[usize]) -> Vec<u64> {
    let mut end = 0;
    let begin = |&range: &usize| {
        let begin = end;
        end += ranges[range].lock().bytes;
        begin
    };
    order.iter().map(begin).collect()
}

impl<'t> Target<'t, '_> {
    /// Shows each record to `see`.
    pub(super) fn shown(see: &'t mut dyn FnMut(&[u8]) -> Result<()>) -> Target<'t, 't> {
        Target { to: To::Shown(see), offset: 0 }
    }
}

impl<'r> Worker<'r> {
    pub(super) fn new(pass: &'r RangePass<'r>) -> Result<Worker<'r>> {
        let blocks = pass.blocks;
        let room = || Room { block: None, blocks: Arc::clone(blocks) };
        let out = blocks.take(pass.sizes.out_bytes, Access::Streamed, "sorted records")?;
        Ok(Worker { pass, data: room(), numbers: room(), starts: room(), out })
    }

    /// Sorts a range and writes it.
    pub(super) fn run(
        &mut self,
        range: RangeRows,
        sizes: &Sizes,
        target: &mut Target<'_, '_>,
    ) -> Result<()> {
        let RangeRows { bytes, records, .. } = range;
        let form = self.pass.form;
        let need = bytes + records * form.upkeep_bytes();
        let too_large = need > sizes.work_bytes || bytes > u64::from(u32::MAX);
        if let Some(again) = (records > 1 && too_large).then(|| sizes.again(need)).flatten() {
            return self.divide(range, &again, target);
        }
        if bytes > u64::from(u32::MAX) {
            return Err(undivided(bytes, records));
        }
        let (bytes, records) = (bytes as usize, records as usize);
        let starts_bytes = if form.has_one_size() { 0 } else { 4 * (records + 1) };
        self.make_room([bytes, 2 * 8 * records, starts_bytes], sizes);
        let Worker { pass, data, numbers, starts, out } = self;
        let data = data.bytes(bytes)?;
        let numbers: &mut [u64] = bytemuck::cast_slice_mut(numbers.bytes(2 * 8 * records)?);
        let starts: &mut [u32] = match starts_bytes {
            0 => &mut [],
            bytes => bytemuck::cast_slice_mut(starts.bytes(bytes)?),
        };
        let means = pass.means();
        let segments = Segments::new(range, &means)?;
        match pass.originals {
            Some(originals) => {
                let places = &mut numbers[..records];
                segments.fill(&means, bytemuck::cast_slice_mut(places))?;
                match starts.split_first_mut() {
                    Some((first, ends)) => {
                        *first = 0;
                        let end_at = |number: usize, end: usize| ends[number] = end as u32;
                        originals.copy(places, form, data, end_at)?;
                    }
                    None => originals.copy(places, form, data, |_, _| ())?,
                }
            }
            None => {
                segments.fill(&means, data)?;
                form.find_ends(data, starts);
            }
        }
        pass.blocks.release(pass.pool.workers() * IDLE_BYTES_PER_WORKER);
        if let Kind::Fixed(size) = form.kind {
            return pass.sort(&Fixed { bytes: data, size }, numbers, out, target);
        }
        pass.sort(&Lines { bytes: data, starts }, numbers, out, target)
    }

    /// Gives memory back that earlier ranges needed, if it is too much beside what this range needs: one had few
    /// long records, say, and this one has many short ones.
    fn make_room(&mut self, needs: [usize; 3], sizes: &Sizes) {
        let rooms = [&mut self.data, &mut self.numbers, &mut self.starts];
        let held = |room: &Room| room.block.as_ref().map_or(0, Block::bytes);
        let all: usize = rooms.iter().zip(needs).map(|(room, need)| held(room).max(need)).sum();
        if all as u64 > sizes.rooms_bytes() {
            rooms.into_iter().for_each(|room| room.block = None);
        }
    }

    /// Partitions a range again, alone, and sorts the resulting ranges.
    fn divide(
        &mut self,
        range: RangeRows,
        sizes: &Sizes,
        target: &mut Target<'_, '_>,
    ) -> Result<()> {
        for room in [&mut self.data, &mut self.numbers, &mut self.starts] {
            room.block = None;
        }
        let RangePass { form, scratch, blocks, failure, .. } = self.pass;
        let means = self.pass.means();
        let originals = self.pass.originals;
        let bytes = originals.map_or(range.bytes, |_| range.records * PLACE_BYTES as u64);
        let step = bytes.div_ceil(SPLITS_PER_RANGE * sizes.ranges as u64).max(1);
        let splits = bytes / step;
        let count = SAMPLED_PER_RANGE * sizes.ranges;
        let room = (&means, sizes.work_bytes);
        let sample = sample((form, originals), &range, count, splits, room)?;
        let splitters = Splitters::choose(sample, sizes.ranges, form.reverse);
        let mut out = Scatter {
            form,
            view: splitters.view(0, form.reverse),
            pile: Pile::new(blocks, scratch, splitters.ranges(), sizes.pile),
            stretch: 0,
            taken: 0,
            keeper: None,
        };
        let (mut at, mut split) = (0_u64, 0);
        Segments::new(range, &means)?.each(&means, |_, segment| {
            let now = (at / step) as u32;
            if now != split {
                out.view.turn_to(now);
                split = now;
            }
            at += segment.len() as u64;
            match originals {
                Some(originals) => out.add_placed(split, segment, originals),
                None => out.add(split, segment),
            }
        })?;
        if sizes.is_spilled {
            out.pile.spill()?;
        }
        let mut ranges = Vec::new();
        ranges.resize_with(splitters.ranges(), RangeRows::default);
        out.pile.close(&mut ranges);
        if form.reverse {
            ranges.reverse();
        }
        for range in ranges {
            if failure.stops() {
                break;
            }
            self.run(range, sizes, target)?;
        }
        Ok(())
    }
}

impl RangePass<'_> {
    fn means(&self) -> Means<'_> {
        Means { scratch: self.scratch, blocks: self.blocks, rows: self.rows }
    }

    /// Sorts records and writes them. `numbers` is room for two numbers each.
    fn sort(
        &self,
        records: &impl Located,
        numbers: &mut [u64],
        out: &mut Block,
        target: &mut Target<'_, '_>,
    ) -> Result<()> {
        let (numbers, spare) = numbers.split_at_mut(numbers.len() / 2);
        let keys = ByKey { form: self.form, records };
        let sorter = Sorter::new(&keys, numbers.len());
        sorter.sort(numbers, spare, 0);
        let mut in_order = numbers.iter().map(|&number| records.record(sorter.place(number)));
        if let To::Shown(see) = &mut target.to {
            return in_order.try_for_each(see);
        }
        if self.unique {
            target.wait();
        }
        let offset = target.offset;
        let mut filling =
            Filling { out: out.as_mut_slice(), filled: 0, target, failure: self.failure };
        let written = if self.unique {
            self.write_unique(in_order, &mut filling)?
        } else {
            for record in in_order {
                filling.push(record)?;
            }
            numbers.len() as u64
        };
        self.written.fetch_add(written, Ordering::Relaxed);
        filling.flush()?;
        if let (Some(originals), Some(&first), Some(&last)) =
            (self.originals, numbers.first(), numbers.last())
        {
            let key = |number| self.form.key(records.record(sorter.place(number)));
            originals.written(offset, key(first), key(last));
        }
        Ok(())
    }

    /// Writes the first record of each key. Equal keys may be in several ranges.
    fn write_unique<'d>(
        &self,
        records: impl Iterator<Item = &'d [u8]>,
        filling: &mut Filling<'_, '_, '_>,
    ) -> Result<u64> {
        // Only the range whose turn it is comes here.
        let mut last = self.last.lock();
        let mut written = 0;
        for record in records {
            let key = self.form.key(record);
            if last.as_deref() == Some(key) {
                continue;
            }
            let last = last.get_or_insert_default();
            last.clear();
            last.extend_from_slice(key);
            filling.push(record)?;
            written += 1;
        }
        Ok(written)
    }
}

/// Gathers sorted records into pieces that are worth a write.
struct Filling<'f, 't, 'w> {
    out: &'f mut [u8],
    filled: usize,
    target: &'f mut Target<'t, 'w>,
    failure: &'f Failure,
}

impl Filling<'_, '_, '_> {
    #[inline(always)]
    fn push(&mut self, record: &[u8]) -> Result<()> {
        let end = self.filled + record.len();
        match self.out.get_mut(self.filled..end) {
            Some(place) => {
                place.copy_from_slice(record);
                self.filled = end;
                Ok(())
            }
            None => self.push_behind_full(record),
        }
    }

    #[inline(never)]
    fn push_behind_full(&mut self, record: &[u8]) -> Result<()> {
        self.flush()?;
        match self.out.get_mut(..record.len()) {
            Some(place) => {
                place.copy_from_slice(record);
                self.filled = record.len();
                Ok(())
            }
            None => self.target.write(record, self.failure),
        }
    }

    fn flush(&mut self) -> Result<()> {
        let filled = std::mem::take(&mut self.filled);
        self.target.write(&self.out[..filled], self.failure)
    }
}

impl Target<'_, '_> {
    fn write(&mut self, bytes: &[u8], failure: &Failure) -> Result<()> {
        match &self.to {
            To::File(file) => {
                let _writing = timeline::begin(timeline::Kind::Write);
                file.write_all_at(bytes, self.offset)?;
            }
            To::Turn(turn) => turn.write(bytes, failure)?,
            To::Shown(_) => unreachable!("records are shown one by one"),
        }
        self.offset += bytes.len() as u64;
        Ok(())
    }

    fn wait(&self) {
        if let To::Turn(turn) = &self.to {
            turn.come();
        }
    }
}

/// Memory that grows with the ranges it serves.
struct Room {
    block: Option<Block>,
    blocks: Arc<BlockPool>,
}

impl Room {
    fn bytes(&mut self, bytes: usize) -> Result<&mut [u8]> {
        let block = match self.block.take() {
            Some(block) if block.bytes() >= bytes => block,
            smaller => {
                // First, for both may be more than there is.
                drop(smaller);
                self.blocks.take(bytes, Access::Random, "a range that is sorted")?
            }
        };
        Ok(&mut self.block.insert(block).as_mut_slice()[..bytes])
    }
}

/// Returns the error of a range that is too large to be sorted, and of whose records a sample shows no difference.
fn undivided(bytes: u64, records: u64) -> Error {
    let place = Place::stage("a range that is sorted");
    let cause = format!(
        "{records} records whose keys begin alike have {bytes} bytes; those that begin with the same {ALIKE_BYTES_MOST} \
         bytes or more are less than 4 GiB together"
    );
    Error::Record { place, cause: cause.into() }
}

/// Returns keys of records from all over a range, numbered as `splits` splits. What is read takes `memory_bytes` at a
/// time at most, but for places.
fn sample(
    (form, originals): (&Form, Option<&Originals>),
    range: &RangeRows,
    count: usize,
    splits: u64,
    (means, memory_bytes): (&Means<'_>, u64),
) -> Result<Vec<Sampled>> {
    let mut sample = KeySample::new(form, count);
    let chunks: usize = range.rows.iter().map(Vec::len).sum();
    while sample.begin() {
        let window = HEADER_BYTES + sample.window_bytes().min(memory_bytes) as usize;
        // A few records of each chunk that is looked at.
        let looked_at = (sample.count() / sample.per_place().min(TAKEN_PER_CHUNK)).max(1);
        let every = chunks.div_ceil(looked_at).max(1);
        for row in &range.rows {
            for (number, held) in row.iter().enumerate().step_by(every) {
                let split = (number as u64 * splits / row.len() as u64) as u32;
                if let Some(chunk) = held.in_memory() {
                    add_first_segment(&mut sample, (form, originals), chunk, split);
                    continue;
                }
                // Places of records must be right.
                let whole = held.used();
                let len = if originals.is_some() { whole } else { window.min(whole) };
                let mut block = means.blocks.take(len, Access::Streamed, "a sample of records")?;
                let bytes = block.as_mut_slice();
                match len == whole {
                    true => held.read(means.scratch, bytes)?,
                    false => held.peek(means.scratch, &mut bytes[..len])?,
                }
                add_first_segment(&mut sample, (form, originals), &bytes[..len], split);
            }
        }
    }
    Ok(sample.keys)
}

/// Adds records of the first segment of a chunk, of which only a first part may be in memory.
fn add_first_segment(
    sample: &mut KeySample<'_>,
    (form, originals): (&Form, Option<&Originals>),
    chunk: &[u8],
    split: u32,
) {
    let length = u32::from_le_bytes([chunk[4], chunk[5], chunk[6], chunk[7]]) as usize;
    let there = chunk.len().min(HEADER_BYTES + length);
    let records = &chunk[HEADER_BYTES..there];
    let Some(originals) = originals else {
        return sample.add(records, split, there == HEADER_BYTES + length);
    };
    let mut record = Vec::new();
    for place in records.chunks_exact(PLACE_BYTES).take(sample.per_place()) {
        originals.read(place_in(place), form, &mut record);
        sample.add_record(&record, split);
    }
}

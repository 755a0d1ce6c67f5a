//! The input of a sort: the plan's files, and streams, which are spooled first, because records that are
//! still to come cannot be sampled. All of it is numbered in splits, in the order of the input.

use super::records::Form;
use super::splitters::Sampled;
use crate::core::Core;
use crate::error::Result;
use crate::failure::Failure;
use crate::ingest::{Intake, Means, Reader};
use crate::memory::{BlockPool, InputBuffer};
use crate::plan::{Extent, Part, Plan, Ranged};
use crate::storage::Scratch;
use crate::sync::Mutex;
use crate::unit::Unit;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Read at each place of a sample: a page, in which most records begin and end.
const SAMPLE_BYTES: u64 = 4 << 10;
/// Records taken at one place: more would say little, where neighbours are alike.
const SAMPLED_PER_PLACE: usize = 16;
/// The bytes of all keys in a sample. Longer keys are cut short: a splitter need not be a whole key.
const SAMPLE_KEY_BYTES: usize = 4 << 20;
const KEY_BYTES_LEAST: usize = 32;

/// The numbered splits of a sort.
pub(super) struct Source<'p> {
    /// Each with the number of its first split.
    parts: Vec<(u64, Section<'p>)>,
    splits: u64,
    bytes: u64,
    plan: &'p Plan,
}

/// Splits that are kept in one way.
pub(super) enum Section<'p> {
    /// Where they were.
    Ranged(&'p Ranged),
    /// Read and put away.
    Spool(Vec<Mutex<Spooled>>),
}

/// A block of a stream or of a compressed file.
pub(super) struct Spooled {
    /// Ascends with the input.
    number: u64,
    len: usize,
    kept: Kept,
}

enum Kept {
    Memory(InputBuffer),
    Scratch(u64),
    /// Given out; it is read once.
    Gone,
}

impl<'p> Source<'p> {
    /// Takes up the plan's parts; streams are read to their ends, up to `memory_bytes` of them into
    /// memory and the rest to disk.
    pub(super) fn open(
        core: &Core,
        plan: &'p Plan,
        scratch: &Scratch,
        failure: &Failure,
        memory_bytes: u64,
    ) -> Result<Source<'p>> {
        let mut source = Source { parts: Vec::new(), splits: 0, bytes: plan_bytes(plan), plan };
        let means = source.means(core, failure);
        let room = AtomicU64::new(memory_bytes);
        let spooling = Spooling { blocks: core.blocks(), scratch, room };
        for part in &plan.parts {
            let spool = match part {
                Part::Ranged(_) => Vec::new(),
                Part::Packed(packed) => {
                    spooling.run(&Intake::packed(means, packed, 0..packed.files()))?
                }
                Part::Stream(stream) => spooling.run(&Intake::stream(means, stream)?)?,
            };
            source.bytes += spool.iter().map(|block| block.len as u64).sum::<u64>();
            let (splits, section) = match part {
                Part::Ranged(ranged) => (ranged.layout.splits(), Section::Ranged(ranged)),
                Part::Packed(_) | Part::Stream(_) => {
                    let spool: Vec<_> = spool.into_iter().map(Mutex::new).collect();
                    (spool.len() as u64, Section::Spool(spool))
                }
            };
            source.parts.push((source.splits, section));
            source.splits += splits;
        }
        Ok(source)
    }

    /// Returns what a worker reads at a time at first.
    pub(super) fn unit_bytes(&self) -> u64 {
        self.plan.unit_bytes
    }

    pub(super) fn splits(&self) -> u64 {
        self.splits
    }

    /// Returns the sections, each with the number of its first split.
    pub(super) fn sections(&self) -> impl Iterator<Item = (u64, &Section<'p>)> {
        self.parts.iter().map(|(first, section)| (*first, section))
    }

    /// Returns the means of reading the plan's parts.
    pub(super) fn means(&self, core: &'p Core, failure: &'p Failure) -> Means<'p> {
        Means { plan: self.plan, blocks: core.blocks(), pool: core.pool(), failure, share: None }
    }

    /// Returns all of the input.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Memory that holds blocks of streams.
    pub(super) fn kept_bytes(&self) -> u64 {
        let spools = self.parts.iter().filter_map(|(_, section)| match section {
            Section::Spool(blocks) => Some(blocks),
            Section::Ranged(_) => None,
        });
        let kept = |block: &Mutex<Spooled>| match &block.lock().kept {
            Kept::Memory(buffer) => buffer.capacity() as u64,
            Kept::Scratch(_) | Kept::Gone => 0,
        };
        spools.flatten().map(kept).sum()
    }

    /// Keys of about `count` records from all over the input, and how long a record is on average.
    pub(super) fn sample(
        &self,
        count: usize,
        form: &Form,
        reader: &mut Reader,
        scratch: &Scratch,
    ) -> Result<(Vec<Sampled>, u64)> {
        let mut sample = KeySample::new(form, count);
        let places = if self.splits > 0 { (count / SAMPLED_PER_PLACE).max(1) as u64 } else { 0 };
        for number in 0..places {
            // Somewhere in its part of the input, so that no rhythm of the input is met.
            let within =
                (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11) as f64 / (1u64 << 53) as f64;
            let at = (number as f64 + within) / places as f64 * self.splits as f64;
            let split = (at as u64).min(self.splits - 1);
            self.sample_split(split, at.fract(), reader, scratch, &mut sample)?;
        }
        let record_bytes = sample.bytes / (sample.keys.len() as u64).max(1);
        Ok((sample.keys, record_bytes.max(1)))
    }

    fn sample_split(
        &self,
        split: u64,
        within: f64,
        reader: &mut Reader,
        scratch: &Scratch,
        sample: &mut KeySample<'_>,
    ) -> Result<()> {
        let part = self.parts.partition_point(|(first, _)| *first <= split) - 1;
        let (first, section) = &self.parts[part];
        match section {
            Section::Ranged(ranged) => {
                let extents: Vec<Extent> =
                    ranged.layout.extents(split - first..split - first + 1).collect();
                let Some(extent) = extents.get((within * extents.len() as f64) as usize) else {
                    return Ok(());
                };
                let length = extent.bytes.end - extent.bytes.start;
                let window = sample.window_bytes();
                let start =
                    extent.bytes.start + (within * length.saturating_sub(window) as f64) as u64;
                let bytes = start..extent.bytes.end.min(start + window);
                let extent = Extent { file: extent.file, bytes };
                reader.read_extent(ranged, &extent, &self.plan.cut)?;
                for records in reader.read.records() {
                    sample.add(records, split as u32, true);
                }
                Ok(())
            }
            Section::Spool(blocks) => {
                let block = blocks[(split - first) as usize].lock();
                match &block.kept {
                    Kept::Memory(buffer) => {
                        sample.add(&buffer.bytes()[..block.len], split as u32, true);
                    }
                    Kept::Scratch(offset) => {
                        let len = block.len.min(sample.window_bytes() as usize);
                        let buffer = &mut reader.read.buffer;
                        buffer.reserve(len, 0)?;
                        scratch.read(*offset, &mut buffer.bytes_mut()[..len])?;
                        sample.add(&buffer.bytes()[..len], split as u32, len == block.len);
                    }
                    Kept::Gone => {}
                }
                Ok(())
            }
        }
    }
}

impl Spooled {
    /// Gives the block's records to `take`, and its memory back; once.
    pub(super) fn read(
        block: &Mutex<Spooled>,
        reader: &mut Reader,
        scratch: &Scratch,
        take: impl FnOnce(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut block = block.lock();
        let len = block.len;
        match std::mem::replace(&mut block.kept, Kept::Gone) {
            Kept::Memory(buffer) => take(&buffer.bytes()[..len]),
            Kept::Scratch(offset) => {
                let buffer = &mut reader.read.buffer;
                buffer.reserve(len, 0)?;
                scratch.read(offset, &mut buffer.bytes_mut()[..len])?;
                take(&buffer.bytes()[..len])
            }
            Kept::Gone => Ok(()),
        }
    }
}

fn plan_bytes(plan: &Plan) -> u64 {
    let ranged = plan.parts.iter().map(|part| match part {
        Part::Ranged(ranged) => ranged.layout.bytes(),
        Part::Packed(_) | Part::Stream(_) => 0,
    });
    ranged.sum()
}

/// Keys taken so far.
pub(super) struct KeySample<'f> {
    form: &'f Form,
    key_bytes: usize,
    pub(super) keys: Vec<Sampled>,
    /// Of all records taken.
    bytes: u64,
}

impl<'f> KeySample<'f> {
    pub(super) fn new(form: &'f Form, count: usize) -> KeySample<'f> {
        let key_bytes = (SAMPLE_KEY_BYTES / count.max(1)).max(KEY_BYTES_LEAST);
        KeySample { form, key_bytes, keys: Vec::new(), bytes: 0 }
    }

    /// Returns the number of bytes to look at in one place.
    pub(super) fn window_bytes(&self) -> u64 {
        SAMPLE_BYTES.max(self.form.least_bytes() as u64)
    }

    /// Takes the first records of bytes that begin with one. Unless the bytes end `whole`, the last record
    /// may be cut short: then the key of a line is its available part.
    pub(super) fn add(&mut self, mut bytes: &[u8], split: u32, whole: bool) {
        for taken in 0..SAMPLED_PER_PLACE {
            if bytes.len() < self.form.least_bytes() {
                return;
            }
            let record = self.form.first(bytes);
            bytes = &bytes[record.len()..];
            if taken > 0 && bytes.is_empty() && !whole {
                return;
            }
            self.take(record, split);
        }
    }

    /// Takes a record.
    pub(super) fn take(&mut self, record: &[u8], split: u32) {
        let key = self.form.key(record);
        self.keys.push((key[..key.len().min(self.key_bytes)].into(), split));
        self.bytes += record.len() as u64;
    }
}

/// Puts streams away.
struct Spooling<'s> {
    blocks: &'s Arc<BlockPool>,
    scratch: &'s Scratch,
    /// Bytes that may still be kept in memory.
    room: AtomicU64,
}

impl Spooling<'_> {
    /// Reads all that an intake has: its blocks, in order.
    fn run(&self, intake: &Intake<'_>) -> Result<Vec<Spooled>> {
        let spool = Mutex::new(Vec::new());
        let put_away = |unit: &mut Unit| {
            let number = unit.splits.start;
            unit.records().try_for_each(|records| self.put_away(number, records, &spool))
        };
        intake.run(|index| intake.step(index, &put_away), |oversee| oversee())?;
        let mut spool = spool.into_inner();
        spool.sort_unstable_by_key(|block| block.number);
        Ok(spool)
    }

    fn put_away(&self, number: u64, bytes: &[u8], spool: &Mutex<Vec<Spooled>>) -> Result<()> {
        let len = bytes.len();
        let room = |room: u64| room.checked_sub(len as u64 + MEMORY_ROUNDING);
        let fits = self.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, room).is_ok();
        let kept = match fits.then(|| InputBuffer::new(self.blocks, len).ok()).flatten() {
            Some(mut buffer) => {
                buffer.bytes_mut()[..len].copy_from_slice(bytes);
                Kept::Memory(buffer)
            }
            None => Kept::Scratch(self.scratch.append(bytes)?.start),
        };
        spool.lock().push(Spooled { number, len, kept });
        Ok(())
    }
}

/// The bytes by which a buffer may exceed its contents.
const MEMORY_ROUNDING: u64 = 128 << 10;

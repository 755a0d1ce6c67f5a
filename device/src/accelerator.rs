//! An accelerator: a device with the knowledge that is kept from job to job. This is the only type that a
//! caller holds. Takes a job's offload; hands on a driver.

use super::residence::Parked;
use super::sizes::Sizes;
use super::{Caps, Device, DeviceError, DeviceFigures, Driver, Kernel, Offload, Program, Room};
use crate::sizing::Ramp;
use crate::sync::Mutex;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A device for runs (`Options::devices`). It keeps compiled kernels and the
/// sizes that were found.
#[derive(Debug)]
pub struct Accelerator {
    /// Unique in the process.
    number: u64,
    device: Box<dyn Device>,
    memory_bytes: Option<u64>,
    feeders: usize,
    unit_bytes: Option<u64>,
    sizes: Option<Sizes>,
    known: Mutex<HashMap<String, Known>>,
}

/// The facts known about a kernel.
#[derive(Clone)]
struct Known {
    program: Arc<dyn Program>,
    /// The best size of unit so far.
    unit_bytes: Option<u64>,
    /// The best number of threads that fill slots so far.
    feeders: Option<usize>,
    /// How long it took to take memory, the last time.
    opened: Option<Duration>,
}

impl std::fmt::Debug for Known {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut known = f.debug_struct("Known");
        known.field("unit_bytes", &self.unit_bytes).field("feeders", &self.feeders);
        known.field("opened", &self.opened);
        known.finish_non_exhaustive()
    }
}

/// The first size of unit.
const UNIT_BYTES_FIRST: u64 = 64 << 10;
/// Larger units were never faster on a link of 50 GB a second, and would take more pinned memory.
const UNIT_BYTES_MOST: u64 = 64 << 20;
/// A unit is at most this part of the input.
const UNITS_PER_INPUT: u64 = 64;
/// One in this number of bytes may be spent on finding the size.
const PROBING_PART: u64 = 16;
/// Bytes of a slot beside its splits: the rest of the last record, and the alignment of pieces.
const MARGIN_BYTES: u64 = 16 << 10;
/// Default fraction of the device's memory, because others use it, too.
const MEMORY_PART: u64 = 4;
/// A memory smaller than this is taken as a whole.
const MEMORY_SMALL_BYTES: u64 = 64 << 20;

impl Accelerator {
    /// Wraps a device about which nothing is known yet.
    pub fn new(device: impl Device + 'static) -> Accelerator {
        static MADE: AtomicU64 = AtomicU64::new(0);
        let (number, device) = (MADE.fetch_add(1, Ordering::Relaxed), Box::new(device));
        Accelerator {
            number,
            device,
            memory_bytes: None,
            feeders: 1,
            unit_bytes: None,
            sizes: None,
            known: Mutex::default(),
        }
    }

    /// Sets the number of threads that fill slots at first, if the job has that many to spare, until the
    /// best is found. Default: one. Later jobs of the same kernel begin with the best number.
    pub fn feeders(mut self, first: usize) -> Accelerator {
        self.feeders = first;
        self
    }

    /// Sets the size of units, in bytes, as far as memory has room; a unit has one split at least. Default: the
    /// best size is found.
    pub fn unit_bytes(mut self, bytes: u64) -> Accelerator {
        self.unit_bytes = Some(bytes);
        self
    }

    /// Limits the bytes of its memory that are used. Default: a quarter, or all if it has less than 64 MiB.
    pub fn memory_bytes(mut self, bytes: u64) -> Accelerator {
        self.memory_bytes = Some(bytes);
        self
    }

    /// Keeps the best sizes of unit in this file for later processes, and begins near the sizes in it.
    /// Creates the file's folder. A file that cannot be read or written is treated as missing. Default:
    /// none.
    pub fn sizes_in(mut self, file: impl AsRef<Path>) -> Accelerator {
        self.sizes = Some(Sizes::in_file(file.as_ref()));
        self
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }

    pub(super) fn device(&self) -> &dyn Device {
        &*self.device
    }

    /// Returns the device's properties.
    pub fn caps(&self) -> &Caps {
        self.device.caps()
    }

    /// Returns figures with its name and no work.
    pub fn figures(&self) -> DeviceFigures {
        let Caps { name, backend, .. } = self.caps();
        DeviceFigures { name: name.clone(), backend, ..DeviceFigures::default() }
    }

    /// Returns about how long [`start`](Accelerator::start) will take; zero if the device is open at once, or
    /// nothing can be said.
    pub fn opening(&self, offload: &Offload) -> Duration {
        if self.device.opening().is_zero() {
            return Duration::ZERO;
        }
        let known = self.known.lock();
        let opened = known.get(&offload.kernel.told()).and_then(|known| known.opened);
        opened.unwrap_or_else(|| self.device.opening())
    }

    /// Prepares the device for a job with an input of `input_bytes`, cut into splits of `split_bytes`.
    /// Slots take at most `host_bytes`.
    ///
    /// # Errors
    /// Returns [`DeviceError`] if the device has too little memory or does not run the kernel.
    pub fn start(
        &self,
        offload: &Offload,
        split_bytes: u64,
        input_bytes: u64,
        host_bytes: u64,
    ) -> Result<Driver, DeviceError> {
        self.open(offload, split_bytes, input_bytes, host_bytes, MARGIN_BYTES)
    }

    /// Like [`start`](Accelerator::start), for a job that runs on devices alone: a slot has room for the bytes of one
    /// split at least, with `margin_bytes` beside it for the rest of its last record or file and the alignment of pieces.
    ///
    /// # Errors
    /// As for `start`.
    pub fn start_alone(
        &self,
        offload: &Offload,
        split_bytes: u64,
        input_bytes: u64,
        host_bytes: u64,
        margin_bytes: u64,
    ) -> Result<Driver, DeviceError> {
        let margin = MARGIN_BYTES.max(margin_bytes);
        self.open(offload, split_bytes, input_bytes, host_bytes, margin).map(Driver::alone)
    }

    fn open(
        &self,
        offload: &Offload,
        split_bytes: u64,
        input_bytes: u64,
        host_bytes: u64,
        margin_bytes: u64,
    ) -> Result<Driver, DeviceError> {
        let caps = self.caps();
        let memory = caps.memory_bytes;
        let share = if memory <= MEMORY_SMALL_BYTES { memory } else { memory / MEMORY_PART };
        let share = self.memory_bytes.unwrap_or(share).min(memory);
        let budget = share.min(host_bytes);
        let most = (input_bytes / UNITS_PER_INPUT).min(UNIT_BYTES_MOST);
        let most = self.unit_bytes.unwrap_or(most).max(split_bytes);
        let units = (split_bytes.saturating_add(margin_bytes), most.saturating_add(margin_bytes));
        let words = offload.broadcast.len();
        let within = |budget| Room::within(caps, budget, units, offload.partial, words);
        let room = match &offload.residence {
            None => within(budget)?,
            Some(_) => {
                // Half for resident units, if slots fit in the other half.
                let room = within(budget / 2).or_else(|_| within(budget))?;
                room.with_residents(if caps.is_processor { budget } else { share })
            }
        };
        let Known { program, unit_bytes, feeders, .. } = self.known_of(&offload.kernel)?;
        let kernel = offload.kernel.told();
        let residence = offload.residence.as_ref();
        let parked = residence.and_then(|from| from.take_out(self.number, &kernel, &room));
        let (mut session, units) = match parked {
            Some(Parked { session, units, .. }) => (session, units),
            None => {
                let began = Instant::now();
                let session = program.open(&room)?;
                let known = &mut *self.known.lock();
                known.entry(kernel).and_modify(|known| known.opened = Some(began.elapsed()));
                (session, Vec::new())
            }
        };
        if !offload.broadcast.is_empty() {
            session.broadcast(&offload.broadcast)?;
        }
        let splits_most = (room.slot_bytes as u64 - margin_bytes) / split_bytes;
        // The size that was found before is a good start, slightly reduced.
        let first = unit_bytes.map_or(UNIT_BYTES_FIRST, |bytes| bytes / 2).max(split_bytes);
        let first = first / split_bytes * split_bytes;
        let (most, allowance) = (splits_most * split_bytes, input_bytes / PROBING_PART);
        let ramp = match self.unit_bytes {
            Some(bytes) => {
                let bytes = (bytes / split_bytes).clamp(1, splits_most) * split_bytes;
                Ramp::new(bytes, bytes, bytes, 0)
            }
            None => Ramp::new(first, split_bytes, most, allowance),
        };
        let driver = Driver::new(session, &room, (split_bytes, splits_most), ramp, self.figures());
        Ok(driver.with_kept(units).fed_by(feeders.unwrap_or(self.feeders)))
    }

    /// Ends a driver's work. Its units stay on the device if other jobs follow.
    pub fn end(&self, driver: Driver, offload: &Offload) {
        let Some(residence) = &offload.residence else { return };
        if let Some((session, room, units)) = driver.into_kept() {
            let (accelerator, kernel) = (self.number, offload.kernel.told());
            residence.park(Parked { accelerator, kernel, room, session, units });
        }
    }

    /// Keeps the best size of unit for a kernel, and for this process the best number of threads that fill
    /// slots.
    pub fn remember(&self, kernel: &Kernel, driver: &Driver) {
        let (unit_bytes, feeders) = (driver.best_bytes(), driver.best_feeders());
        let known = self.known.lock().get_mut(&kernel.told()).map(|known| {
            // Of several jobs, the last one counts.
            known.feeders = feeders.or(known.feeders);
            let unit_bytes = unit_bytes.or(known.unit_bytes);
            (std::mem::replace(&mut known.unit_bytes, unit_bytes), unit_bytes)
        });
        if let Some((before, Some(found))) = known
            && before != Some(found)
        {
            self.sizes.iter().for_each(|sizes| sizes.keep(self.caps(), kernel, found));
        }
    }

    fn known_of(&self, kernel: &Kernel) -> Result<Known, DeviceError> {
        let name = kernel.told();
        if let Some(known) = self.known.lock().get(&name) {
            return Ok(known.clone());
        }
        // Not under the lock, because a compiler takes seconds.
        let program = Arc::from(self.device.compile(kernel)?);
        let unit_bytes = self.sizes.as_ref().and_then(|sizes| sizes.find(self.caps(), kernel));
        let known = Known { program, unit_bytes, feeders: None, opened: None };
        Ok(self.known.lock().entry(name).or_insert(known).clone())
    }
}

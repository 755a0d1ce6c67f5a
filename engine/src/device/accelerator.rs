//! An accelerator: a device with what is remembered of it from job to job, which is all that a caller
//! holds. Takes a job's offload; hands on a driver.

use super::residence::Parked;
use super::sizes::Sizes;
use super::{
    Alone, Caps, Device, DeviceError, DeviceFigures, Driver, Kernel, Offload, Program, Room,
};
use crate::sizing::Ramp;
use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A device, to be given to runs ([`Options::devices`](crate::Options::devices)). Kernels that were compiled
/// and sizes that were found stay with it.
#[derive(Debug)]
pub struct Accelerator {
    /// Unlike any other's.
    number: u64,
    device: Box<dyn Device>,
    memory_bytes: Option<u64>,
    feeders: usize,
    sizes: Option<Sizes>,
    known: Mutex<HashMap<String, Known>>,
}

/// What is known of a kernel.
#[derive(Clone)]
struct Known {
    program: Arc<dyn Program>,
    /// The size of unit that went best.
    unit_bytes: Option<u64>,
    /// The number of threads filling slots that did.
    feeders: Option<usize>,
}

impl std::fmt::Debug for Known {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut known = f.debug_struct("Known");
        known.field("unit_bytes", &self.unit_bytes).field("feeders", &self.feeders);
        known.finish_non_exhaustive()
    }
}

/// Units begin with this.
const UNIT_BYTES_FIRST: u64 = 64 << 10;
/// More in one unit was never faster on a link of 50 GB a second, and would be slots of pinned memory.
const UNIT_BYTES_MOST: u64 = 64 << 20;
/// A unit is at most this part of the input.
const UNITS_PER_INPUT: u64 = 64;
/// One in so many bytes may be spent on finding the size.
const PROBING_PART: u64 = 16;
/// What a slot has beside its splits: the rest of the last record, and what aligns pieces.
const MARGIN_BYTES: u64 = 16 << 10;
/// The part of the device's memory that is taken where the caller says nothing: others use it, too.
const MEMORY_PART: u64 = 4;
/// Memory that is less than this is taken whole.
const MEMORY_SMALL_BYTES: u64 = 64 << 20;

impl Accelerator {
    /// A device of which nothing is known yet.
    pub fn new(device: impl Device + 'static) -> Accelerator {
        static MADE: AtomicU64 = AtomicU64::new(0);
        let (number, device) = (MADE.fetch_add(1, Ordering::Relaxed), Box::new(device));
        let (feeders, known) = (1, Mutex::default());
        Accelerator { number, device, memory_bytes: None, feeders, sizes: None, known }
    }

    /// Begins with so many threads that fill slots, if the job has as many to spare, until it is seen what is
    /// best. Default: one. Later jobs of the same kernel begin with what was best.
    pub fn feeders(mut self, first: usize) -> Accelerator {
        self.feeders = first;
        self
    }

    /// Takes at most so many bytes of its memory. Default: a quarter, or all of less than 64 MiB.
    pub fn memory_bytes(mut self, bytes: u64) -> Accelerator {
        self.memory_bytes = Some(bytes);
        self
    }

    /// Keeps the sizes of unit that it finds in this file, for later processes, and begins near those that are
    /// there. The file's folder is made. A file that cannot be read or written is as none. Default: none.
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

    /// What the device says of itself.
    pub fn caps(&self) -> &Caps {
        self.device.caps()
    }

    /// Its name, and nothing done.
    pub fn figures(&self) -> DeviceFigures {
        let Caps { name, backend, .. } = self.caps();
        DeviceFigures { name: name.clone(), backend, ..DeviceFigures::default() }
    }

    /// Makes the device ready for a job whose input is so long and is cut into splits of `split_bytes`, and
    /// which has `host_bytes` for slots at most.
    ///
    /// # Errors
    /// [`DeviceError`]: it has too little memory, or does not run the kernel.
    pub fn start(
        &self,
        offload: &Offload,
        split_bytes: u64,
        input_bytes: u64,
        host_bytes: u64,
    ) -> Result<Driver, DeviceError> {
        self.open(offload, split_bytes, input_bytes, host_bytes, MARGIN_BYTES)
    }

    /// As [`start`](Accelerator::start), for a job that devices do alone.
    ///
    /// # Errors
    /// As there.
    pub fn start_alone(
        &self,
        offload: &Offload,
        split_bytes: u64,
        input_bytes: u64,
        host_bytes: u64,
        alone: Alone,
    ) -> Result<Driver, DeviceError> {
        let margin = MARGIN_BYTES.max(alone.margin_bytes());
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
        let most = (input_bytes / UNITS_PER_INPUT).min(UNIT_BYTES_MOST).max(split_bytes);
        let units = (split_bytes + margin_bytes, most + margin_bytes);
        let words = offload.broadcast.len();
        let within = |budget| Room::within(caps, budget, units, offload.partial, words);
        let room = match &offload.residence {
            None => within(budget)?,
            Some(_) => {
                // Half for what stays, if slots can do with the other.
                let room = within(budget / 2).or_else(|_| within(budget))?;
                room.with_residents(if caps.is_processor { budget } else { share })
            }
        };
        let Known { program, unit_bytes, feeders } = self.known_of(&offload.kernel)?;
        let kernel = offload.kernel.told();
        let residence = offload.residence.as_ref();
        let parked = residence.and_then(|from| from.take_out(self.number, &kernel, &room));
        let (mut session, units) = match parked {
            Some(Parked { session, units, .. }) => (session, units),
            None => (program.open(&room)?, Vec::new()),
        };
        if !offload.broadcast.is_empty() {
            session.broadcast(&offload.broadcast)?;
        }
        let splits_most = (room.slot_bytes as u64 - margin_bytes) / split_bytes;
        // What was found before is a good place to begin, a little below.
        let first = unit_bytes.map_or(UNIT_BYTES_FIRST, |bytes| bytes / 2).max(split_bytes);
        let first = first / split_bytes * split_bytes;
        let (most, allowance) = (splits_most * split_bytes, input_bytes / PROBING_PART);
        let ramp = Ramp::new(first, split_bytes, most, allowance);
        let driver = Driver::new(session, &room, (split_bytes, splits_most), ramp, self.figures());
        Ok(driver.with_kept(units).fed_by(feeders.unwrap_or(self.feeders)))
    }

    /// A driver's work is done: what it has on the device stays there if the job has others after it.
    pub fn end(&self, driver: Driver, offload: &Offload) {
        let Some(residence) = &offload.residence else { return };
        if let Some((session, room, units)) = driver.into_kept() {
            let (accelerator, kernel) = (self.number, offload.kernel.told());
            residence.park(Parked { accelerator, kernel, room, session, units });
        }
    }

    /// Keeps what a driver found best with a kernel: the size of unit, and for this process how many threads
    /// fill slots.
    pub fn remember(&self, kernel: &Kernel, driver: &Driver) {
        let (unit_bytes, feeders) = (driver.best_bytes(), driver.best_feeders());
        let known = self.lock().get_mut(&kernel.told()).map(|known| {
            // Of several jobs, the last one's.
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
        if let Some(known) = self.lock().get(&name) {
            return Ok(known.clone());
        }
        // Not under the lock: a compiler takes seconds.
        let program = Arc::from(self.device.compile(kernel)?);
        let unit_bytes = self.sizes.as_ref().and_then(|sizes| sizes.find(self.caps(), kernel));
        let known = Known { program, unit_bytes, feeders: None };
        Ok(self.lock().entry(name).or_insert(known).clone())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! The emulated device: pure Rust, with configurable memory, link, speed and faults. It has a clock of its
//! own, so a scheduler's behaviour on it is the same on every run and machine; or it uses the wall clock,
//! to work beside real cores. Kernels are the Rust twins of their texts.
//!
//! A unit is copied over the link while the one before it is at the kernel, one at a time each. So in the
//! long run the time of a unit is the longer of both.

use super::{
    Caps, Device, DeviceError, Done, EmulatedKernel, Kernel, Launch, Piece, Program, Room, Session,
    Shape, Slot, Slots, failed,
};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The cause of a planned fault, for messages.
const ASKED_FOR: &str = "a fault was asked for";

/// The properties of an emulated device.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Its name.
    pub name: String,
    /// Its memory, in bytes.
    pub memory_bytes: u64,
    /// Bytes per second over its link, in either direction.
    pub link_bytes_s: f64,
    /// Fixed time of each copy and each kernel, in addition to that of its bytes.
    pub overhead: Duration,
    /// Least time of a kernel.
    pub kernel_least: Duration,
    /// Bytes per second of a kernel.
    pub kernel_bytes_s: f64,
    /// Larger units take longer: six tenths more at twice the size.
    pub cliff_bytes: Option<u64>,
    /// Relative variation of times in either direction: 0.1 is a tenth.
    pub noise: f64,
    /// Seed of the variation.
    pub seed: u64,
    /// Which clock it keeps.
    pub clock: Clock,
    /// What it says about the time to open it. It takes none.
    pub opening: Duration,
    /// The planned faults.
    pub faults: Vec<Fault>,
}

/// The clock of an emulated device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// Its own: time passes only while somebody waits for the device.
    Own,
    /// The wall clock: whoever waits for the device sleeps.
    Wall,
}

/// A planned fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The operation that fails.
    pub at: FaultAt,
    /// The number of times that it succeeds before.
    pub after: u64,
}

/// An operation that can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultAt {
    /// Compiling.
    Compile,
    /// Allocating memory.
    Open,
    /// Getting a slot.
    Stage,
    /// Taking a unit.
    Submit,
    /// A unit's kernel.
    Kernel,
    /// A unit's kernel reports an overflow although there is room; only for tables.
    Overflow,
    /// Copying the partial out.
    Snapshot,
    /// Clearing the partial.
    Reset,
    /// Copying the words that all launches see.
    Broadcast,
}

impl Default for Model {
    /// Returns a device about like a small GPU, without noise or faults.
    fn default() -> Model {
        Model {
            name: "emulated".to_owned(),
            memory_bytes: 1 << 30,
            link_bytes_s: 12e9,
            overhead: Duration::from_micros(10),
            kernel_least: Duration::from_micros(20),
            kernel_bytes_s: 50e9,
            cliff_bytes: None,
            noise: 0.0,
            seed: 1,
            clock: Clock::Own,
            opening: Duration::ZERO,
            faults: Vec::new(),
        }
    }
}

/// A device that exists only in software.
#[derive(Clone, Debug)]
pub struct Emulated {
    model: Arc<Model>,
    caps: Caps,
}

impl Emulated {
    /// Creates a device with these properties.
    pub fn new(model: Model) -> Emulated {
        let caps = Caps {
            name: model.name.clone(),
            backend: "emulated",
            is_processor: true,
            memory_bytes: model.memory_bytes,
            allocation_bytes: model.memory_bytes,
            local_bytes: 48 << 10,
            compute_units: 1,
            adds_64_bits: true,
        };
        Emulated { model: Arc::new(model), caps }
    }
}

impl Device for Emulated {
    fn caps(&self) -> &Caps {
        &self.caps
    }

    fn compile(&self, kernel: &Kernel) -> Result<Box<dyn Program>, DeviceError> {
        if Faults::of(&self.model).strikes(FaultAt::Compile) {
            return Err(kernel.refused(&self.caps.name, ASKED_FOR));
        }
        let kernel = kernel.emulated.ok_or_else(|| {
            let cause = format!("{} has no twin in Rust, which this device needs", kernel.file);
            DeviceError::Unfit { device: self.caps.name.clone(), cause }
        })?;
        Ok(Box::new(EmulatedProgram { model: Arc::clone(&self.model), kernel }))
    }

    fn opening(&self) -> Duration {
        self.model.opening
    }
}

struct EmulatedProgram {
    model: Arc<Model>,
    kernel: EmulatedKernel,
}

impl Program for EmulatedProgram {
    fn open(&self, room: &Room) -> Result<Box<dyn Session>, DeviceError> {
        let model = Arc::clone(&self.model);
        let mut faults = Faults::of(&model);
        faults.check(FaultAt::Open, &model, "take memory")?;
        if room.bytes() > model.memory_bytes {
            let (device, memory_bytes) = (model.name.clone(), model.memory_bytes);
            return Err(DeviceError::TooSmall { device, memory_bytes, least_bytes: room.bytes() });
        }
        Ok(Box::new(EmulatedSession {
            kernel: self.kernel,
            room: *room,
            slots: Slots::of(room),
            memory: (0..room.slots).map(|_| vec![0; room.slot_bytes]).collect(),
            kept: Vec::new(),
            partial: vec![0; room.partial.words()],
            broadcast: vec![0; room.broadcast_words],
            in_flight: VecDeque::new(),
            now: Duration::ZERO,
            began: Instant::now(),
            link_free: Duration::ZERO,
            kernel_free: Duration::ZERO,
            chance: model.seed,
            faults,
            model,
        }))
    }
}

struct EmulatedSession {
    model: Arc<Model>,
    kernel: EmulatedKernel,
    room: Room,
    slots: Slots,
    memory: Vec<Vec<u8>>,
    /// Units that have stayed.
    kept: Vec<Vec<u8>>,
    partial: Vec<u64>,
    broadcast: Vec<u64>,
    /// The result of each unit in flight; `None` if its kernel fails.
    in_flight: VecDeque<(usize, Option<Done>)>,
    now: Duration,
    began: Instant,
    /// The times at which the link and the kernels are free again.
    link_free: Duration,
    kernel_free: Duration,
    chance: u64,
    faults: Faults,
}

impl EmulatedSession {
    /// Returns the time of `bytes` at a rate, with the overhead.
    fn time(&mut self, bytes: usize, bytes_s: f64, least: Duration) -> Duration {
        let seconds = least.as_secs_f64() + bytes as f64 / bytes_s;
        let seconds = (self.model.overhead.as_secs_f64() + seconds) * self.noise();
        Duration::from_secs_f64(seconds)
    }

    fn kernel_time(&mut self, bytes: usize) -> Duration {
        let (rate, least) = (self.model.kernel_bytes_s, self.model.kernel_least);
        let time = self.time(bytes, rate, least);
        match self.model.cliff_bytes {
            Some(cliff) if bytes as u64 > cliff => {
                let beyond = (bytes as f64 / cliff as f64 - 1.0).min(1.0);
                time.mul_f64(1.0 + 0.6 * beyond)
            }
            _ => time,
        }
    }

    /// Returns a factor around 1, uniformly distributed.
    fn noise(&mut self) -> f64 {
        // SplitMix64.
        self.chance = self.chance.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut drawn = self.chance;
        drawn = (drawn ^ drawn >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        drawn = (drawn ^ drawn >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        let unit = ((drawn ^ drawn >> 31) >> 11) as f64 / (1_u64 << 53) as f64;
        1.0 + self.model.noise * (2.0 * unit - 1.0)
    }

    /// Advances the clock to `then`.
    fn wait_until(&mut self, then: Duration) {
        match self.model.clock {
            Clock::Own => self.now = self.now.max(then),
            Clock::Wall => std::thread::sleep(then.saturating_sub(self.began.elapsed())),
        }
    }

    fn copy_out(&mut self, bytes: usize) {
        let took = self.time(bytes, self.model.link_bytes_s, Duration::ZERO);
        let then = self.now() + took;
        self.wait_until(then);
    }
}

impl Session for EmulatedSession {
    fn slots(&mut self) -> &mut Slots {
        &mut self.slots
    }

    fn stage(&mut self) -> Result<Option<Slot>, DeviceError> {
        self.faults.check(FaultAt::Stage, &self.model, "give a slot")?;
        Ok(self.slots.free.pop().map(Slot))
    }

    fn bytes_mut(&mut self, slot: &Slot) -> &mut [u8] {
        &mut self.memory[slot.0]
    }

    fn allocate(&mut self, bytes: usize) -> Option<usize> {
        self.kept.push(vec![0; bytes]);
        Some(self.kept.len() - 1)
    }

    /// Runs the kernel as soon as the unit has arrived and the kernel before it has ended.
    fn launch(
        &mut self,
        slot: usize,
        kept: Option<usize>,
        bytes: Option<usize>,
        pieces: &[Piece],
    ) -> Result<(), DeviceError> {
        self.faults.check(FaultAt::Submit, &self.model, "take a unit")?;
        let (mut copied, mut copy) = (self.now(), Duration::ZERO);
        if let Some(bytes) = bytes {
            copy = self.time(bytes, self.model.link_bytes_s, Duration::ZERO);
            copied = copied.max(self.link_free) + copy;
            self.link_free = copied;
            if let Some(kept) = kept {
                self.kept[kept].copy_from_slice(&self.memory[slot][..bytes]);
            }
        }
        let bytes = bytes.or(kept.map(|kept| self.kept[kept].len())).unwrap_or(0);
        let kernel = if pieces.is_empty() { Duration::ZERO } else { self.kernel_time(bytes) };
        let at = copied.max(self.kernel_free) + kernel;
        self.kernel_free = at;
        if self.faults.strikes(FaultAt::Kernel) {
            self.in_flight.push_back((slot, None));
            return Ok(());
        }
        for piece in pieces {
            let unit = kept.map_or(&self.memory[slot], |kept| &self.kept[kept]);
            let bytes = &unit[piece.start..piece.start + piece.bytes];
            let arguments = piece.arguments;
            let launch = Launch { bytes, arguments, broadcast: &self.broadcast };
            (self.kernel)(&launch, &mut self.partial);
        }
        if self.faults.strikes(FaultAt::Overflow)
            && let Shape::Table(_) = self.room.partial
        {
            self.partial[0] = 1;
        }
        let outcome = self.room.partial.outcome(&self.partial);
        self.in_flight.push_back((slot, Some(Done { outcome, copy, copied, kernel, at })));
        Ok(())
    }

    fn poll(&mut self, wait: bool) -> Result<Option<Done>, DeviceError> {
        let Some((slot, done)) = self.in_flight.front().copied() else { return Ok(None) };
        if let Some(done) = done {
            if wait {
                self.wait_until(done.at);
            } else if done.at > self.now() {
                return Ok(None);
            }
        }
        self.in_flight.pop_front();
        self.slots.free.push(slot);
        let done = done.ok_or_else(|| failed(&self.model.name, "run the kernel")(ASKED_FOR))?;
        Ok(Some(done))
    }

    fn snapshot(&mut self, into: &mut Vec<u64>) -> Result<(), DeviceError> {
        self.faults.check(FaultAt::Snapshot, &self.model, "copy the partial out")?;
        self.copy_out(8 * self.partial.len());
        into.clear();
        into.extend_from_slice(&self.partial);
        self.partial.fill(0);
        Ok(())
    }

    fn reset(&mut self) -> Result<(), DeviceError> {
        self.faults.check(FaultAt::Reset, &self.model, "make the partial zeros")?;
        self.partial.fill(0);
        Ok(())
    }

    fn broadcast(&mut self, words: &[u64]) -> Result<(), DeviceError> {
        self.faults.check(FaultAt::Broadcast, &self.model, "copy the broadcast words")?;
        self.copy_out(8 * words.len());
        self.broadcast[..words.len()].copy_from_slice(words);
        Ok(())
    }

    fn rest(&mut self, time: Duration) {
        let then = self.now() + time;
        self.wait_until(then);
    }

    fn now(&self) -> Duration {
        match self.model.clock {
            Clock::Own => self.now,
            Clock::Wall => self.began.elapsed(),
        }
    }
}

/// The faults that are still to come.
struct Faults(Vec<Fault>);

impl Faults {
    fn of(model: &Model) -> Faults {
        Faults(model.faults.clone())
    }

    /// Returns whether the operation fails this time. After the first failure it keeps failing, as on a
    /// lost device, except that a table's overflow is reported once.
    fn strikes(&mut self, at: FaultAt) -> bool {
        let mut strikes = false;
        for fault in self.0.iter_mut().filter(|fault| fault.at == at) {
            match fault.after {
                0 => strikes = true,
                _ => fault.after -= 1,
            }
            if strikes && at == FaultAt::Overflow {
                fault.after = u64::MAX;
            }
        }
        strikes
    }

    fn check(
        &mut self,
        at: FaultAt,
        model: &Model,
        action: &'static str,
    ) -> Result<(), DeviceError> {
        if self.strikes(at) { Err(failed(&model.name, action)(ASKED_FOR)) } else { Ok(()) }
    }
}

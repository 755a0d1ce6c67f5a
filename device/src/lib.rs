//! Devices: accelerators beside the cores. A device takes a **work unit**, a stretch of the input that is
//! cut at records, and adds it to a partial that it keeps. On request the partial comes back as words, of
//! which the job makes pairs. From there on it is merged like any other, so no stage after the map knows of
//! devices.
//!
//! ```text
//! Device (caps) -- compile(kernel) -> Program -- open(room) -> Session
//!
//! Session   stage     returns a slot of pinned memory, or none: backpressure
//!           submit    copies it in and launches the kernel, without waiting; the copy may stay for later
//!           poll      returns done units, in order: Ok | Overflow | Lost, with the time of each stage
//!           snapshot  fetches the partial, which begins anew
//!           reset     drops the partial, which begins anew
//!           broadcast copies words that all launches see, such as the means of k-means
//! ```
//!
//! There is one file or folder per back-end: `emulated.rs` is a device of pure Rust with a clock of its
//! own; it, `opencl/` and `cuda/` belong to the features of these names. `driver.rs` keeps units in flight on
//! any of them and counts each exactly once, whatever fails. `tuning.rs` finds the number and size of
//! units. Each kernel is one text that the prelude (`prelude.h`) makes valid OpenCL C and CUDA C++. Kernels
//! only add integers, so that every device and every order gives the same bytes.

#![warn(missing_debug_implementations)]
#![cfg_attr(
    not(any(feature = "emulated", feature = "opencl", feature = "cuda")),
    allow(dead_code, reason = "without a back-end nobody calls what all of them share")
)]

mod accelerator;
mod alone;
#[cfg(feature = "cuda")]
mod cuda;
mod driver;
#[cfg(any(test, feature = "emulated"))]
mod emulated;
#[allow(missing_docs, missing_debug_implementations, reason = "no part of the interface")]
pub mod feeders;
mod figures;
#[cfg(any(feature = "opencl", feature = "cuda"))]
mod groups;
mod kernel;
#[cfg(feature = "opencl")]
mod opencl;
mod present;
mod residence;
mod room;
#[allow(missing_docs, missing_debug_implementations, reason = "no part of the interface")]
pub mod sizes;
mod tracks;
mod trial;
mod tuning;
mod work;

pub use crate::error::DeviceError;
pub use accelerator::Accelerator;
pub use alone::Alone;
#[cfg(feature = "cuda")]
pub use cuda::Cuda;
pub use driver::{Driver, Turn};
#[cfg(any(test, feature = "emulated"))]
pub use emulated::{Clock, Emulated, Fault, FaultAt, Model};
pub use figures::DeviceFigures;
pub use kernel::{ARGUMENTS, EmulatedKernel, Kernel, Launch, Offload, Piece, Shape};
#[cfg(feature = "opencl")]
pub use opencl::OpenCl;
pub use present::Present;
pub use residence::Residence;
pub use room::Room;
pub use work::{Outlook, Read, Work};

pub use tegula_machine::{error, memory, sizing, storage, sync, timeline};

use std::fmt::Debug;
use std::time::Duration;

/// The properties of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caps {
    /// Its name, as shown to people.
    pub name: String,
    /// The back-end that drives it: `emulated`, `opencl`, `cuda`.
    pub backend: &'static str,
    /// Whether it is the machine's own processor, which is better used by the cores.
    pub is_processor: bool,
    /// Its memory, in bytes.
    pub memory_bytes: u64,
    /// The most bytes that one allocation may have.
    pub allocation_bytes: u64,
    /// Memory that a group of its threads shares, in bytes.
    pub local_bytes: u64,
    /// Its cores, which vendors name differently.
    pub compute_units: u32,
    /// Whether it adds 64-bit integers atomically. Without that, no kernel here runs.
    pub adds_64_bits: bool,
}

/// A usable device.
pub trait Device: Debug + Send + Sync {
    /// Returns its properties.
    fn caps(&self) -> &Caps;

    /// Compiles a kernel.
    ///
    /// # Errors
    /// Returns [`DeviceError::Compile`] with the compiler's message, or [`DeviceError::Unfit`] if the
    /// device cannot run the kernel.
    fn compile(&self, kernel: &Kernel) -> Result<Box<dyn Program>, DeviceError>;

    /// Returns about how long it takes until a new kernel runs: to compile it, and to take memory. A job that the
    /// cores end sooner does without the device.
    fn opening(&self) -> Duration {
        Duration::ZERO
    }
}

/// A compiled kernel on its device.
pub trait Program: Send + Sync {
    /// Allocates slots and a partial of zeros.
    ///
    /// # Errors
    /// Returns [`DeviceError::TooSmall`] if the device has too little memory, [`DeviceError::Failed`] if it
    /// fails.
    fn open(&self, room: &Room) -> Result<Box<dyn Session>, DeviceError>;
}

/// A device that works on one job: its slots, its units in flight, and its partial. After an error of any
/// call the device must not be used any more, and everything since the last snapshot is lost.
pub trait Session: Send {
    /// Returns the bookkeeping of its slots.
    #[doc(hidden)]
    fn slots(&mut self) -> &mut Slots;

    /// Allocates memory for one more resident unit; returns the unit's number.
    #[doc(hidden)]
    fn allocate(&mut self, bytes: usize) -> Option<usize>;

    /// Launches the kernel over a resident unit, or else over a slot's own memory. With `bytes`, copies the slot's
    /// first bytes there before that.
    #[doc(hidden)]
    fn launch(
        &mut self,
        slot: usize,
        kept: Option<usize>,
        bytes: Option<usize>,
        pieces: &[Piece],
    ) -> Result<(), DeviceError>;

    /// Returns a free slot, to be filled through [`bytes_mut`](Session::bytes_mut) and then submitted or
    /// put back. Returns `None` while all are in flight.
    ///
    /// # Errors
    /// Returns [`DeviceError::Failed`] if the device fails.
    fn stage(&mut self) -> Result<Option<Slot>, DeviceError> {
        Ok(self.slots().free.pop().map(Slot))
    }

    /// Returns the memory of a slot, [`Room::slot_bytes`] long.
    fn bytes_mut(&mut self, slot: &Slot) -> &mut [u8];

    /// Takes back a slot that was not submitted.
    fn put_back(&mut self, slot: Slot) {
        self.slots().free.push(slot.0);
    }

    /// Allocates memory of the device beside its slots for a resident unit of `bytes` bytes. Returns the
    /// unit's number, or `None` if there is too little memory.
    fn keep(&mut self, bytes: usize) -> Option<usize> {
        let kept_bytes = self.slots().kept_bytes + bytes as u64;
        let has_room = kept_bytes <= self.slots().room.resident_bytes;
        let number = has_room.then(|| self.allocate(bytes))??;
        self.slots().kept_bytes = kept_bytes;
        Some(number)
    }

    /// Copies the slot's first `bytes` bytes to [kept](Session::keep) memory, or without it to the slot's
    /// own, and launches the kernel for each of their pieces. Waits for neither.
    ///
    /// # Errors
    /// Returns [`DeviceError::Failed`] if the device fails.
    fn submit_to(
        &mut self,
        kept: Option<usize>,
        slot: Slot,
        bytes: usize,
        pieces: &[Piece],
    ) -> Result<(), DeviceError> {
        self.slots().room.check(bytes, pieces);
        self.launch(slot.0, kept, Some(bytes), pieces)
    }

    /// Submits a unit that does not stay.
    ///
    /// # Errors
    /// Returns [`DeviceError::Failed`] if the device fails.
    fn submit(&mut self, slot: Slot, bytes: usize, pieces: &[Piece]) -> Result<(), DeviceError> {
        self.submit_to(None, slot, bytes, pieces)
    }

    /// Like [`submit`](Session::submit), but the slot's bytes stay on the device. Returns a number by which
    /// to [`reuse`](Session::reuse) them, or `None` if the device has no memory for them beside its slots,
    /// so that they do not stay.
    ///
    /// # Errors
    /// Returns [`DeviceError::Failed`] if the device fails.
    fn submit_and_keep(
        &mut self,
        slot: Slot,
        bytes: usize,
        pieces: &[Piece],
    ) -> Result<Option<usize>, DeviceError> {
        let kept = self.keep(bytes);
        self.submit_to(kept, slot, bytes, pieces)?;
        Ok(kept)
    }

    /// Launches the kernel again for the pieces, at least one, of a resident unit. Copies nothing; the slot
    /// represents the unit while it is in flight.
    ///
    /// # Errors
    /// Returns [`DeviceError::Failed`] if the device fails.
    fn reuse(&mut self, slot: Slot, kept: usize, pieces: &[Piece]) -> Result<(), DeviceError> {
        self.launch(slot.0, Some(kept), None, pieces)
    }

    /// Returns the oldest unit in flight if it is done; with `wait`, waits for it. Returns `None` if it is
    /// not done, or none is in flight.
    ///
    /// # Errors
    /// Returns [`DeviceError::Failed`] if the device fails.
    fn poll(&mut self, wait: bool) -> Result<Option<Done>, DeviceError>;

    /// Copies the partial out and clears it. Nothing may be in flight.
    ///
    /// # Errors
    /// Returns [`DeviceError::Failed`] if the device fails.
    fn snapshot(&mut self, into: &mut Vec<u64>) -> Result<(), DeviceError>;

    /// Clears the partial. Nothing may be in flight.
    ///
    /// # Errors
    /// Returns [`DeviceError::Failed`] if the device fails.
    fn reset(&mut self) -> Result<(), DeviceError>;

    /// Copies words that all later launches see: at most [`Room::broadcast_words`].
    ///
    /// # Errors
    /// Returns [`DeviceError::Failed`] if the device fails.
    fn broadcast(&mut self, words: &[u64]) -> Result<(), DeviceError>;

    /// Returns the time since the session began, by the device's clock.
    fn now(&self) -> Duration;

    /// Waits for a time.
    fn rest(&mut self, time: Duration) {
        std::thread::sleep(time);
    }
}

/// The free slots of a session, and its room for resident units.
#[doc(hidden)]
#[derive(Debug)]
pub struct Slots {
    room: Room,
    free: Vec<usize>,
    kept_bytes: u64,
}

impl Slots {
    fn of(room: &Room) -> Slots {
        Slots { room: *room, free: (0..room.slots).rev().collect(), kept_bytes: 0 }
    }
}

/// Converts an error of a device's driver.
#[cfg(any(test, feature = "emulated", feature = "opencl", feature = "cuda"))]
fn failed<E: ToString>(device: &str, action: &'static str) -> impl Fn(E) -> DeviceError + use<E> {
    let device = device.to_owned();
    move |cause| {
        let (device, cause) = (device.clone(), cause.to_string());
        DeviceError::Failed { device, action, cause }
    }
}

/// A slot of a session that is being filled.
#[derive(Debug)]
pub struct Slot(pub usize);

/// A unit that came back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Done {
    /// Its result.
    pub outcome: Outcome,
    /// The duration of its copy.
    pub copy: Duration,
    /// The end of its copy.
    pub copied: Duration,
    /// The duration of its kernel.
    pub kernel: Duration,
    /// The end of its kernel.
    pub at: Duration,
}

/// The result of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is in the partial.
    Ok,
    /// The partial had no room for all of it. The units since the last snapshot can no longer be separated.
    Overflow,
}

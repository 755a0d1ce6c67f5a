//! Devices: accelerators beside the cores. A device takes a **work unit**, a stretch of the input that is
//! cut at records, and adds it to a partial that it keeps; the partial comes back when it is asked for,
//! as words that the job makes pairs of. From there on it is merged as any other, so no stage behind the
//! map knows of devices.
//!
//! ```text
//! Device (caps) -- compile(kernel) -> Program -- open(room) -> Session
//!
//! Session   stage     a slot of pinned memory, or none: back-pressure
//!           submit    copy it in and launch the kernel, without waiting; the copy may stay for later
//!           poll      units that are done, in order: Ok | Overflow | Lost, with the time of each stage
//!           snapshot  the partial so far, which begins anew
//!           reset     the partial begins anew and what was in it is dropped
//!           broadcast what all launches see, such as the means of k-means
//! ```
//!
//! One file or folder per back-end behind these names: `emulated.rs` is a device of pure Rust with a clock
//! of its own, `opencl/` and `cuda/` what features of these names add. `driver.rs` keeps units in flight
//! over any of them and sees to it that each counts exactly once, whatever fails; `tuning.rs` finds how
//! many there are to be and how large. Kernels are one text each, which the prelude (`prelude.h`) makes valid OpenCL C and CUDA C++; they must add up integers
//! only, so that every device and every order gives the same bytes.

mod accelerator;
mod alone;
#[cfg(feature = "cuda")]
mod cuda;
mod driver;
mod emulated;
mod error;
mod feeders;
mod figures;
mod kernel;
#[cfg(feature = "opencl")]
mod opencl;
mod present;
mod residence;
mod room;
mod sizes;
mod tracks;
mod trial;
mod tuning;
mod work;

pub use accelerator::Accelerator;
pub use alone::Alone;
#[cfg(feature = "cuda")]
pub use cuda::Cuda;
pub use driver::{Driver, Turn};
pub use emulated::{Clock, Emulated, Fault, FaultAt, Model};
pub use error::DeviceError;
pub use figures::DeviceFigures;
pub use kernel::{ARGUMENTS, EmulatedKernel, Kernel, Launch, Offload, Piece, Shape};
#[cfg(feature = "opencl")]
pub use opencl::OpenCl;
pub use present::Present;
pub use residence::Residence;
pub use room::Room;
pub use work::{Outlook, Read, Work};

use std::fmt::Debug;
use std::time::Duration;

/// What a device says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caps {
    /// Its name, as people know it.
    pub name: String,
    /// The back-end that drives it: `emulated`, `opencl`, `cuda`.
    pub backend: &'static str,
    /// Whether it is the machine's own processor, of which the cores make better use.
    pub is_processor: bool,
    /// Its memory, in bytes.
    pub memory_bytes: u64,
    /// The most bytes that one allocation may have.
    pub allocation_bytes: u64,
    /// Memory that a group of its threads shares, in bytes.
    pub local_bytes: u64,
    /// Its cores, by whatever name its maker calls them.
    pub compute_units: u32,
    /// Whether it adds 64-bit integers in one step. Without, no kernel here runs.
    pub adds_64_bits: bool,
}

/// A device that is there.
pub trait Device: Debug + Send + Sync {
    /// What it is.
    fn caps(&self) -> &Caps;

    /// Makes a kernel ready.
    ///
    /// # Errors
    /// [`DeviceError::Compile`], with the compiler's own words; [`DeviceError::Unfit`] if the device
    /// cannot run it.
    fn compile(&self, kernel: &Kernel) -> Result<Box<dyn Program>, DeviceError>;
}

/// A kernel that is ready to run on its device.
pub trait Program: Send + Sync {
    /// Takes memory for slots and a partial, which is all zeros.
    ///
    /// # Errors
    /// [`DeviceError::TooSmall`] if the device has not so much, [`DeviceError::Failed`] if it fails.
    fn open(&self, room: &Room) -> Result<Box<dyn Session>, DeviceError>;
}

/// A device at work on one job: its slots, what is in flight, and its partial. An error of any call means
/// that the device is not to be used any more, and that all since the last snapshot is lost.
pub trait Session: Send {
    /// A free slot, to be filled by [`bytes_mut`](Session::bytes_mut) and then submitted or put back.
    /// `None` while all are in flight.
    ///
    /// # Errors
    /// [`DeviceError::Failed`].
    fn stage(&mut self) -> Result<Option<Slot>, DeviceError>;

    /// The memory of a slot, as many bytes as the room says.
    fn bytes_mut(&mut self, slot: &Slot) -> &mut [u8];

    /// Takes a slot back that was not submitted.
    fn put_back(&mut self, slot: Slot);

    /// Takes memory of the device beside its slots for a unit of so many bytes that is to stay. Returns its
    /// number; `None` if there is not as much.
    fn keep(&mut self, bytes: usize) -> Option<usize>;

    /// Has the slot's first bytes copied to memory that was [kept](Session::keep) for them, or else to the slot's
    /// own, and the kernel launched for each of the pieces in them; does not wait for either.
    ///
    /// # Errors
    /// [`DeviceError::Failed`].
    fn submit_to(
        &mut self,
        kept: Option<usize>,
        slot: Slot,
        bytes: usize,
        pieces: &[Piece],
    ) -> Result<(), DeviceError>;

    /// A unit that does not stay.
    ///
    /// # Errors
    /// [`DeviceError::Failed`].
    fn submit(&mut self, slot: Slot, bytes: usize, pieces: &[Piece]) -> Result<(), DeviceError> {
        self.submit_to(None, slot, bytes, pieces)
    }

    /// As [`submit`](Session::submit), and the slot's bytes stay on the device. Returns a number by which
    /// to [`reuse`](Session::reuse) them; `None` if the device has no memory for them beside its slots, so
    /// that they did not stay.
    ///
    /// # Errors
    /// [`DeviceError::Failed`].
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

    /// Has the kernel launched once more for the pieces, at least one, of a unit that has stayed. Nothing is
    /// copied; the slot stands for the unit while that is in flight.
    ///
    /// # Errors
    /// [`DeviceError::Failed`].
    fn reuse(&mut self, slot: Slot, kept: usize, pieces: &[Piece]) -> Result<(), DeviceError>;

    /// The oldest unit in flight, if it is done, or as soon as it is if told to wait. `None` if it is not,
    /// or none is in flight.
    ///
    /// # Errors
    /// [`DeviceError::Failed`].
    fn poll(&mut self, wait: bool) -> Result<Option<Done>, DeviceError>;

    /// Copies the partial out, which then is all zeros again. Nothing may be in flight.
    ///
    /// # Errors
    /// [`DeviceError::Failed`].
    fn snapshot(&mut self, into: &mut Vec<u64>) -> Result<(), DeviceError>;

    /// Drops what is in the partial, which then is all zeros. Nothing may be in flight.
    ///
    /// # Errors
    /// [`DeviceError::Failed`].
    fn reset(&mut self) -> Result<(), DeviceError>;

    /// Copies in what all later launches see, as many words as the room says at most.
    ///
    /// # Errors
    /// [`DeviceError::Failed`].
    fn broadcast(&mut self, words: &[u64]) -> Result<(), DeviceError>;

    /// Time since the session began, by the device's clock.
    fn now(&self) -> Duration;

    /// Lets time pass.
    fn rest(&mut self, time: Duration) {
        std::thread::sleep(time);
    }
}

/// A slot of a session that is being filled.
#[derive(Debug)]
pub struct Slot(pub(crate) usize);

/// A unit that came back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Done {
    /// What became of it.
    pub outcome: Outcome,
    /// How long its copy took.
    pub copy: Duration,
    /// When that ended.
    pub copied: Duration,
    /// How long its kernel took.
    pub kernel: Duration,
    /// When it was done.
    pub at: Duration,
}

/// What became of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is in the partial.
    Ok,
    /// The partial had no room for all of it: no unit since the last snapshot can be told from it.
    Overflow,
}

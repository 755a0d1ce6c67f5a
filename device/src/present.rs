//! Finds the devices of each back-end in this build, and measures their transfer rates.

use super::{Accelerator, DeviceError, Kernel, Launch, Room, Shape};
#[cfg(feature = "emulated")]
use super::{Clock, Emulated, Model};
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// The devices that were found.
#[derive(Debug, Default)]
pub struct Present {
    /// Devices that can be used, real ones first; with the feature `emulated` the last is that one.
    pub devices: Vec<Accelerator>,
    /// The reasons why others are unusable.
    pub unusable: Vec<DeviceError>,
}

impl Present {
    /// Searches for devices. Opens the loaders of the back-ends at once, which may take some tenths of a second.
    pub fn look() -> Present {
        let (cuda, opencl) = thread::scope(|scope| {
            let cuda = scope.spawn(Present::of_cuda);
            let opencl = Present::of_opencl();
            (cuda.join().unwrap_or_else(|panic| resume_unwind(panic)), opencl)
        });
        // First, because the maker's own driver is better where both know a device.
        let present = cuda.and(opencl);
        #[cfg(feature = "emulated")]
        let present = {
            let device = Emulated::new(Model { clock: Clock::Wall, ..Model::default() });
            present.and(Present::of(Ok(vec![Ok(device)])))
        };
        present
    }

    fn of_cuda() -> Present {
        #[cfg(feature = "cuda")]
        return Present::of(super::Cuda::list());
        #[cfg(not(feature = "cuda"))]
        Present::default()
    }

    fn of_opencl() -> Present {
        #[cfg(feature = "opencl")]
        return Present::of(super::OpenCl::list());
        #[cfg(not(feature = "opencl"))]
        Present::default()
    }

    /// Chooses devices by names, each once: `auto`, every device that is not the processor itself, if there is any;
    /// `gpu`, the same, and at least one; `cpu`, none; or those with the name in their own, in any case. `sizes` is
    /// the file that keeps sizes of units from run to run.
    ///
    /// # Errors
    /// Returns the reason why no device with a name can be used.
    pub fn named(
        self,
        names: &[String],
        sizes: Option<&Path>,
    ) -> Result<Vec<Arc<Accelerator>>, String> {
        let Present { devices, unusable } = self;
        let mut wanted = vec![false; devices.len()];
        for name in names {
            let is_meant = |device: &Accelerator| {
                let caps = device.caps();
                match name.as_str() {
                    "cpu" => false,
                    "auto" | "gpu" => !caps.is_processor,
                    name => caps.name.to_lowercase().contains(&name.to_lowercase()),
                }
            };
            let mut found = matches!(name.as_str(), "auto" | "cpu");
            for (wanted, device) in wanted.iter_mut().zip(&devices) {
                let is_meant = is_meant(device);
                (*wanted, found) = (*wanted || is_meant, found || is_meant);
            }
            if !found {
                let whys: Vec<String> = unusable.iter().map(ToString::to_string).collect();
                let whys =
                    if whys.is_empty() { String::new() } else { format!(" ({})", whys.join("; ")) };
                return Err(format!("no such device can be used: {name}{whys}"));
            }
        }
        let wanted = devices.into_iter().zip(wanted).filter(|(_, wanted)| *wanted);
        let remembering = |device: Accelerator| match sizes {
            Some(file) => device.sizes_in(file),
            None => device,
        };
        Ok(wanted.map(|(device, _)| Arc::new(remembering(device))).collect())
    }

    /// Returns the devices of a back-end.
    #[cfg(any(feature = "emulated", feature = "opencl", feature = "cuda"))]
    fn of<D: super::Device + 'static>(
        found: Result<Vec<Result<D, DeviceError>>, DeviceError>,
    ) -> Present {
        let mut present = Present::default();
        for device in found.unwrap_or_else(|why| vec![Err(why)]) {
            match device {
                Ok(device) => present.devices.push(Accelerator::new(device)),
                Err(why) => present.unusable.push(why),
            }
        }
        present
    }

    /// Adds the devices of another back-end, except those whose names are there.
    fn and(mut self, other: Present) -> Present {
        let known: Vec<String> =
            self.devices.iter().map(|device| device.caps().name.clone()).collect();
        let is_new = |device: &Accelerator| !known.contains(&device.caps().name);
        self.devices.extend(other.devices.into_iter().filter(is_new));
        self.unusable.extend(other.unusable);
        self
    }
}

/// The size of a copied unit, which is large for any device; some tens of them are copied to measure the
/// rate.
const UNIT_BYTES: usize = 8 << 20;
const UNITS: usize = 24;
const SLOTS: usize = 3;

impl Accelerator {
    /// Measures the bytes per second from pinned host memory to the device, with several copies in flight.
    /// Takes some hundredths of a second, and 24 MiB of either memory, or less on a small device.
    ///
    /// # Errors
    /// Returns the device's errors.
    pub fn copy_bytes_s(&self) -> Result<f64, DeviceError> {
        fn nothing(_: &Launch<'_>, _: &mut [u64]) {}
        let kernel = Kernel {
            entry: "nothing".into(),
            file: "nothing.c".into(),
            source: "KERNEL void nothing(OFFLOAD) {}\n".into(),
            defines: Vec::new(),
            emulated: Some(nothing),
        };
        let most = self.caps().memory_bytes.min(self.caps().allocation_bytes) as usize / 4;
        let slot_bytes = UNIT_BYTES.min(most);
        let room = Room {
            slots: SLOTS,
            slot_bytes,
            partial: Shape::Dense(1),
            broadcast_words: 0,
            resident_bytes: 0,
        };
        let program = self.device().compile(&kernel)?;
        let mut session = program.open(&room)?;
        let (mut sent, mut done) = (0, Vec::new());
        while done.len() < UNITS {
            match session.stage()?.filter(|_| sent < UNITS) {
                Some(slot) => {
                    session.submit(slot, slot_bytes, &[])?;
                    sent += 1;
                }
                None => done.extend(session.poll(true)?.map(|done| done.at)),
            }
        }
        // The first copies touch fresh memory.
        let (first, last) = (done[SLOTS - 1], done[UNITS - 1]);
        let took = last.saturating_sub(first).max(Duration::from_nanos(1));
        Ok((slot_bytes * (UNITS - SLOTS)) as f64 / took.as_secs_f64())
    }
}

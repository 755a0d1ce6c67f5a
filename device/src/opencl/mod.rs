//! The OpenCL back-end: any device with an installed driver, by OpenCL 1.2 with 64-bit atomics. The loader
//! is opened when devices are first requested, so the program also runs where there is none.
//!
//! The unsafe code here and in `session.rs` calls the C interface through the crate `opencl3`. Each call
//! passes handles that the values beside it own, and memory that a session keeps until its queues are done.

mod session;

use super::{Caps, Device, DeviceError, Kernel, Program, Room, Session, failed};
use crate::sync::Mutex;
use opencl3::context::Context;
use opencl3::device::{CL_DEVICE_TYPE_ALL, CL_DEVICE_TYPE_CPU, Device as Handle};
use opencl3::error_codes::ClError;
use opencl3::kernel::Kernel as Function;
use opencl3::platform::get_platforms;
use opencl3::program::Program as Built;
use session::{ClSession, Means};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

const BACKEND: &str = "opencl";
/// As for CUDA. The compiler of a processor takes seconds for a kernel or none, as the driver has kept it or not, so
/// nothing can be said about it.
const OPENING: Duration = Duration::from_millis(250);
const ATOMICS: &str = "cl_khr_int64_base_atomics";

/// Held while drivers list their devices. Drivers initialise themselves then, and PoCL (3.1) does not wait
/// for another thread that does it: a second thread may get a device whose name is not set yet, and the
/// driver follows that pointer.
static LISTING: Mutex<()> = Mutex::new(());

/// A device with an OpenCL driver.
#[derive(Clone)]
pub struct OpenCl {
    handle: Handle,
    context: Arc<Context>,
    caps: Caps,
}

impl fmt::Debug for OpenCl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenCl").field("caps", &self.caps).finish_non_exhaustive()
    }
}

impl OpenCl {
    /// Returns all devices that OpenCL knows, with the reason for each unusable one.
    ///
    /// # Errors
    /// Returns [`DeviceError::Missing`] if there is no loader, no driver or no device.
    pub fn list() -> Result<Vec<Result<OpenCl, DeviceError>>, DeviceError> {
        let _alone = LISTING.lock();
        let missing =
            |cause: String, advice| DeviceError::Missing { backend: BACKEND, cause, advice };
        if !opencl3_loader_is_there() {
            let advice = "install ocl-icd-libopencl1 and the OpenCL driver of the device";
            return Err(missing("no loader (libOpenCL.so)".to_owned(), advice));
        }
        let advice = "install the OpenCL driver of the device (for the processor: pocl-opencl-icd)";
        let platforms = get_platforms()
            .map_err(|code| missing(format!("the loader finds no driver ({code})"), advice))?;
        let handles = platforms.iter().flat_map(|platform| {
            // A driver without its device reports that by an error.
            platform.get_devices(CL_DEVICE_TYPE_ALL).unwrap_or_default()
        });
        let devices: Vec<_> = handles.map(|id| OpenCl::open(Handle::new(id))).collect();
        if devices.is_empty() {
            return Err(missing("the drivers know of no device".to_owned(), advice));
        }
        Ok(devices)
    }

    fn open(handle: Handle) -> Result<OpenCl, DeviceError> {
        let name = handle.name().unwrap_or_else(|_| "a device without a name".to_owned());
        let failed = |action| failed(&name, action);
        let known = (|| -> Result<_, ClError> {
            Ok(Caps {
                name: name.trim().to_owned(),
                backend: BACKEND,
                is_processor: handle.dev_type()? & CL_DEVICE_TYPE_CPU != 0,
                memory_bytes: handle.global_mem_size()?,
                allocation_bytes: handle.max_mem_alloc_size()?,
                local_bytes: handle.local_mem_size()?,
                compute_units: handle.max_compute_units()?,
                adds_64_bits: handle.extensions()?.contains(ATOMICS),
            })
        })();
        let caps = known.map_err(failed("report its properties"))?;
        let unfit = |cause: String| Err(DeviceError::Unfit { device: caps.name.clone(), cause });
        if !caps.adds_64_bits {
            return unfit(format!("it has no 64-bit atomics ({ATOMICS}), which kernels need"));
        }
        if !handle.compiler_available().unwrap_or(false) {
            return unfit("its driver has no compiler, and kernels are text".to_owned());
        }
        let context = Context::from_device(&handle).map_err(failed("make a context"))?;
        Ok(OpenCl { handle, context: Arc::new(context), caps })
    }
}

/// Returns whether the loader can be opened.
fn opencl3_loader_is_there() -> bool {
    cl3::is_opencl_runtime_available()
}

impl Device for OpenCl {
    fn caps(&self) -> &Caps {
        &self.caps
    }

    fn compile(&self, kernel: &Kernel) -> Result<Box<dyn Program>, DeviceError> {
        let refused = |log: String| kernel.refused(&self.caps.name, &log);
        let text = kernel.text();
        let built = Built::create_and_build_from_source(&self.context, &text, "-cl-std=CL1.2");
        let built = built.map_err(refused)?;
        let function = Function::create(&built, &kernel.entry);
        let function = function.map_err(|code| {
            refused(format!("{}: no kernel of the name {} ({code})", kernel.file, kernel.entry))
        })?;
        let device = self.clone();
        let entry = kernel.entry.to_string();
        let function = Mutex::new(Some(function));
        Ok(Box::new(ClProgram { device, built, entry, function }))
    }

    fn opening(&self) -> Duration {
        if self.caps.is_processor { Duration::ZERO } else { OPENING }
    }
}

struct ClProgram {
    device: OpenCl,
    built: Built,
    entry: String,
    /// Arguments are set on a function, so each session has its own; this one is for the first session.
    function: Mutex<Option<Function>>,
}

impl Program for ClProgram {
    fn open(&self, room: &Room) -> Result<Box<dyn Session>, DeviceError> {
        let OpenCl { handle, context, caps } = &self.device;
        if room.bytes() > caps.memory_bytes {
            let (device, memory_bytes) = (caps.name.clone(), caps.memory_bytes);
            return Err(DeviceError::TooSmall { device, memory_bytes, least_bytes: room.bytes() });
        }
        let first = self.function.lock().take();
        let failed = failed(&caps.name, "make a kernel");
        let function = match first {
            Some(function) => function,
            None => Function::create(&self.built, &self.entry).map_err(failed)?,
        };
        let means = Means { context: Arc::clone(context), device: handle.id(), caps, function };
        Ok(Box::new(ClSession::open(means, room)?))
    }
}

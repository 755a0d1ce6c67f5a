//! The CUDA back-end: NVIDIA's devices by their own driver, kernels compiled by NVRTC. Both libraries are
//! opened when devices are first requested, so the program also runs where there are none.
//!
//! The unsafe code here and in the files below calls the driver's interface through the crate `cudarc`. Each
//! call passes handles that the values beside it own, and memory that a session keeps until its streams are
//! done.

mod compile;
mod pinned;
mod session;

use super::{Caps, Device, DeviceError, Kernel, Program, Room, Session, failed};
use crate::sync::Mutex;
use compile::compiled;
use cudarc::driver::result::device;
use cudarc::driver::sys::CUdevice_attribute as Attribute;
use cudarc::driver::{CudaContext, CudaFunction, DriverError};
use cudarc::nvrtc::Ptx;
use session::CudaSession;
use std::sync::Arc;
use std::time::Duration;

const BACKEND: &str = "cuda";
/// On an H100's host: a context takes 110 ms, NVRTC 60 to 100 for a kernel, memory 10 to 40.
const OPENING: Duration = Duration::from_millis(250);

/// A device by NVIDIA.
#[derive(Clone, Debug)]
pub struct Cuda {
    ordinal: usize,
    /// Made for the first kernel, because that takes a tenth of a second, and the end of it, too.
    context: Arc<Mutex<Option<Arc<CudaContext>>>>,
    /// The architecture for NVRTC.
    architecture: String,
    caps: Caps,
}

impl Cuda {
    /// Returns all devices that the driver knows, with the reason for each unusable one.
    ///
    /// # Errors
    /// Returns [`DeviceError::Missing`] if there is no driver, no run-time compiler or no device.
    pub fn list() -> Result<Vec<Result<Cuda, DeviceError>>, DeviceError> {
        let missing = |cause: &str, advice| Err(missing(cause, advice));
        // SAFETY: opening the library only runs its initialisers, which have no preconditions.
        if !unsafe { cudarc::driver::sys::is_culib_present() } {
            return missing("no driver (libcuda.so)", "install NVIDIA's driver");
        }
        look_for_compiler()?;
        let count = cudarc::driver::result::init().and_then(|()| CudaContext::device_count());
        match count {
            Ok(0) => missing("the driver knows of no device", "check the output of nvidia-smi"),
            Ok(count) => Ok((0..count as usize).map(Cuda::open).collect()),
            Err(error) => {
                let cause = format!("the driver does not start: {error}");
                missing(&cause, "check the output of nvidia-smi")
            }
        }
    }

    /// Checks that NVRTC accepts a kernel's text for an architecture such as `sm_75`. Needs no device.
    ///
    /// # Errors
    /// Returns [`DeviceError::Missing`] if there is no run-time compiler, [`DeviceError::Compile`] with the
    /// compiler's message.
    pub fn check(kernel: &Kernel, architecture: &str) -> Result<(), DeviceError> {
        look_for_compiler()?;
        compiled(kernel, architecture).map_err(|log| kernel.refused(architecture, &log))?;
        Ok(())
    }

    fn open(ordinal: usize) -> Result<Cuda, DeviceError> {
        let name = format!("device {ordinal}");
        let known = (|| -> Result<_, DriverError> {
            let device = device::get(ordinal as i32)?;
            // SAFETY: the driver has just given the device.
            let attribute =
                |of| unsafe { device::get_attribute(device, of) }.map(i32::unsigned_abs);
            // SAFETY: as above.
            let memory_bytes = unsafe { device::total_mem(device) }? as u64;
            let major = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
            let minor = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
            let caps = Caps {
                name: device::get_name(device)?,
                backend: BACKEND,
                is_processor: false,
                memory_bytes,
                allocation_bytes: memory_bytes,
                local_bytes: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK)?
                    .into(),
                compute_units: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
                adds_64_bits: true,
            };
            let (context, architecture) = (Arc::default(), format!("sm_{major}{minor}"));
            Ok(Cuda { ordinal, context, architecture, caps })
        })();
        known.map_err(failed(&name, "report its properties"))
    }

    /// Returns the context, which the first call makes.
    fn context(&self) -> Result<Arc<CudaContext>, DeviceError> {
        let mut context = self.context.lock();
        if let Some(context) = &*context {
            return Ok(Arc::clone(context));
        }
        let made = CudaContext::new(self.ordinal);
        let made = made.map_err(failed(&self.caps.name, "make a context"))?;
        // SAFETY: a session orders its copies and launches by events of its own.
        unsafe { made.disable_event_tracking() };
        Ok(Arc::clone(context.insert(made)))
    }
}

fn missing(cause: &str, advice: &'static str) -> DeviceError {
    DeviceError::Missing { backend: BACKEND, cause: cause.to_owned(), advice }
}

fn look_for_compiler() -> Result<(), DeviceError> {
    // SAFETY: as in `list`.
    if unsafe { cudarc::nvrtc::sys::is_culib_present() } {
        return Ok(());
    }
    let advice = "install NVRTC, a part of the CUDA toolkit";
    Err(missing("no run-time compiler (libnvrtc.so)", advice))
}

impl Device for Cuda {
    fn caps(&self) -> &Caps {
        &self.caps
    }

    fn compile(&self, kernel: &Kernel) -> Result<Box<dyn Program>, DeviceError> {
        let refused = |log: String| kernel.refused(&self.caps.name, &log);
        let code = compiled(kernel, &self.architecture).map_err(refused)?;
        let context = self.context()?;
        let module = context.load_module(Ptx::from_binary(code));
        let module = module.map_err(failed(&self.caps.name, "load a kernel"))?;
        let function = module.load_function(&kernel.entry).map_err(|error| {
            refused(format!("{}: no kernel of the name {} ({error})", kernel.file, kernel.entry))
        })?;
        Ok(Box::new(CudaProgram { device: self.clone(), context, function }))
    }

    fn opening(&self) -> Duration {
        OPENING
    }
}

struct CudaProgram {
    device: Cuda,
    context: Arc<CudaContext>,
    function: CudaFunction,
}

impl Program for CudaProgram {
    fn open(&self, room: &Room) -> Result<Box<dyn Session>, DeviceError> {
        let caps = &self.device.caps;
        let function = self.function.clone();
        let session = CudaSession::open(&self.context, caps, function, room);
        Ok(Box::new(session.map_err(failed(&caps.name, "take memory"))?))
    }
}

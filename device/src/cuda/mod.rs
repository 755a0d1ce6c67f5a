//! The CUDA back-end: NVIDIA's devices by their own driver, kernels compiled by NVRTC. Both libraries are
//! opened when devices are first requested, so the program also runs where there are none.
//!
//! The unsafe code here and in `session.rs` calls the driver's interface through the crate `cudarc`. Each
//! call passes handles that the values beside it own, and memory that a session keeps until its streams are
//! done.

mod session;

use super::{Caps, Device, DeviceError, Kernel, Program, Room, Session, failed};
use cudarc::driver::sys::CUdevice_attribute as Attribute;
use cudarc::driver::{CudaContext, CudaFunction, DriverError};
use cudarc::nvrtc::{CompileError, CompileOptions, compile_ptx_with_opts};
use session::CudaSession;
use std::sync::Arc;

const BACKEND: &str = "cuda";

/// A device by NVIDIA.
#[derive(Clone, Debug)]
pub struct Cuda {
    context: Arc<CudaContext>,
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

    /// Checks that NVRTC accepts a kernel's text for an architecture such as `compute_70`. Needs no device.
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
            let context = CudaContext::new(ordinal)?;
            // SAFETY: a session orders its copies and launches by events of its own.
            unsafe { context.disable_event_tracking() };
            let (major, minor) = context.compute_capability()?;
            let attribute = |of| context.attribute(of).map(i32::unsigned_abs);
            let memory_bytes = context.total_mem()? as u64;
            let caps = Caps {
                name: context.name()?,
                backend: BACKEND,
                is_processor: false,
                memory_bytes,
                allocation_bytes: memory_bytes,
                local_bytes: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK)?
                    .into(),
                compute_units: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
                adds_64_bits: true,
            };
            Ok(Cuda { context, architecture: format!("compute_{major}{minor}"), caps })
        })();
        known.map_err(failed(&name, "make a context"))
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

/// Compiles a kernel's text for an architecture to the form that the driver loads.
fn compiled(kernel: &Kernel, architecture: &str) -> Result<cudarc::nvrtc::Ptx, String> {
    let options = CompileOptions {
        // No sum of a product is fused, as on all other devices.
        fmad: Some(false),
        options: vec![format!("--gpu-architecture={architecture}")],
        ..CompileOptions::default()
    };
    compile_ptx_with_opts(kernel.text(), options).map_err(|error| match error {
        CompileError::CompileError { log, .. } => log.to_string_lossy().into_owned(),
        other => other.to_string(),
    })
}

impl Device for Cuda {
    fn caps(&self) -> &Caps {
        &self.caps
    }

    fn compile(&self, kernel: &Kernel) -> Result<Box<dyn Program>, DeviceError> {
        let refused = |log: String| kernel.refused(&self.caps.name, &log);
        let ptx = compiled(kernel, &self.architecture).map_err(refused)?;
        let module = self.context.load_module(ptx);
        let module = module.map_err(failed(&self.caps.name, "load a kernel"))?;
        let function = module.load_function(&kernel.entry).map_err(|error| {
            refused(format!("{}: no kernel of the name {} ({error})", kernel.file, kernel.entry))
        })?;
        Ok(Box::new(CudaProgram { device: self.clone(), function }))
    }
}

struct CudaProgram {
    device: Cuda,
    function: CudaFunction,
}

impl Program for CudaProgram {
    fn open(&self, room: &Room) -> Result<Box<dyn Session>, DeviceError> {
        let Cuda { context, caps, .. } = &self.device;
        let function = self.function.clone();
        let session = CudaSession::open(context, caps, function, room);
        Ok(Box::new(session.map_err(failed(&caps.name, "take memory"))?))
    }
}

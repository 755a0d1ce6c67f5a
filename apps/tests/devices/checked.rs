//! An emulated device whose kernels must be valid CUDA, too, where there is a compiler for it: `make
//! test-cuda-kernels` gets one, and demands it by `NEEDS_NVRTC`. So all that tests give to devices is compiled, on a
//! machine without a GPU.

use std::collections::HashSet;
use std::env;
use std::sync::Mutex;
use tegula::device::{Caps, Cuda, Device, DeviceError, Emulated, Kernel, Model, Program};

/// The least architecture whose GPUs the newest compiler still knows.
const ARCHITECTURE: &str = "sm_75";

#[derive(Debug)]
pub(crate) struct Checked {
    device: Emulated,
    /// The kernels that were compiled before.
    seen: Mutex<HashSet<String>>,
}

impl Checked {
    pub(crate) fn new() -> Checked {
        Checked { device: Emulated::new(Model::default()), seen: Mutex::default() }
    }
}

impl Device for Checked {
    fn caps(&self) -> &Caps {
        self.device.caps()
    }

    fn compile(&self, kernel: &Kernel) -> Result<Box<dyn Program>, DeviceError> {
        if self.seen.lock().unwrap().insert(kernel.text()) {
            match Cuda::check(kernel, ARCHITECTURE) {
                Ok(()) => eprintln!("{} is valid CUDA", kernel.entry),
                Err(missing @ DeviceError::Missing { .. }) => {
                    assert!(env::var_os("NEEDS_NVRTC").is_none(), "{missing}");
                    eprintln!("skipped: {missing}");
                }
                Err(refused) => panic!("{refused}"),
            }
        }
        self.device.compile(kernel)
    }
}

//! Kernels for one architecture, compiled by NVRTC to machine code. The driver loads that at once; it would
//! compile the portable form (PTX) a second time, which takes longer than NVRTC itself.

use crate::Kernel;
use cudarc::nvrtc::result::{compile_program, create_program, destroy_program, get_program_log};
use cudarc::nvrtc::sys::{nvrtcGetCUBIN, nvrtcGetCUBINSize, nvrtcProgram};
use std::ffi::CString;

/// A program of the compiler.
struct Source(nvrtcProgram);

impl Drop for Source {
    fn drop(&mut self) {
        // SAFETY: it was created, and this is its end.
        let _ = unsafe { destroy_program(self.0) };
    }
}

/// Compiles a kernel's text for an architecture such as `sm_75`. Returns the machine code, or the compiler's
/// message.
pub(super) fn compiled(kernel: &Kernel, architecture: &str) -> Result<Vec<u8>, String> {
    let text = CString::new(kernel.text()).map_err(|error| error.to_string())?;
    let source = create_program(&text, None).map_err(|error| error.to_string())?;
    let source = Source(source);
    // No sum of a product is fused, as on all other devices.
    let options = [format!("--gpu-architecture={architecture}"), "--fmad=false".to_owned()];
    // SAFETY: the program was created, and its text outlives it. The buffer has the size that the compiler
    // names.
    unsafe {
        if let Err(error) = compile_program(source.0, &options) {
            let log = get_program_log(source.0).map_err(|_| error.to_string())?;
            let log: Vec<u8> = log.into_iter().map(|byte| byte as u8).collect();
            return Err(String::from_utf8_lossy(&log).trim_end_matches('\0').to_owned());
        }
        let mut bytes = 0;
        let size = nvrtcGetCUBINSize(source.0, &raw mut bytes).result();
        size.map_err(|error| error.to_string())?;
        let mut code = vec![0; bytes];
        let copied = nvrtcGetCUBIN(source.0, code.as_mut_ptr().cast()).result();
        copied.map_err(|error| error.to_string())?;
        Ok(code)
    }
}

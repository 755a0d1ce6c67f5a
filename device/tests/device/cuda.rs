//! The prelude is valid CUDA, where there is a compiler for it. `NEEDS_NVRTC` makes a missing one an error.

use std::env;
use tegula_device::{Cuda, DeviceError, Kernel};

/// The crates with jobs compile their own kernels in their tests.
#[test]
fn the_prelude_is_valid_cuda_and_errors_name_file_and_line() {
    let kernel = |source: &'static str| Kernel {
        entry: "sums".into(),
        file: "sums.c".into(),
        source: source.into(),
        defines: vec![("PLACE".into(), 3)],
        emulated: None,
    };
    let text = "KERNEL void sums(OFFLOAD) {\n  LOCAL u64 sum;\n  if (LID == 0) sum = 0;\n  BARRIER;\n  \
                LOCAL_ADD64(&sum, (u64)UNIT[GID % bytes]);\n  BARRIER;\n  \
                if (LID == 0) GLOBAL_ADD64(&partial[PLACE], sum);\n  \
                GLOBAL_SWAP64(&partial[0], (u64)0, broadcast[0] + arg5);\n}\n";
    match Cuda::check(&kernel(text), "sm_75") {
        Err(missing @ DeviceError::Missing { .. }) => {
            assert!(env::var_os("NEEDS_NVRTC").is_none(), "{missing}");
            return eprintln!("skipped: {missing}");
        }
        checked => checked.unwrap(),
    }
    let wrong = kernel("KERNEL void sums(OFFLOAD) {\n  nothing;\n}\n");
    let log = Cuda::check(&wrong, "sm_75").unwrap_err().to_string();
    assert!(log.contains("sums.c(2)") && log.contains("nothing"), "{log}");
}

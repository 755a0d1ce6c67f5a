//! Specs of kernels in TOML: refused by name, or read.

use std::path::Path;
use tegula_apps::offload::{OwnKernel, Spec};

pub(crate) fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match Spec::parse(Path::new("spec.toml"), text) {
        Ok(spec) => drop(OwnKernel::new(spec, "kernel.cu", "")),
        Err(error) => assert!(error.to_string().contains("spec.toml")),
    }
}

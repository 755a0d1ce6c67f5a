//! `tegula devices`, and the flag that names the devices that work beside the cores.

use crate::session::Session;
use crate::{exit, size};
use clap::Args;
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;
use tegula::device::{DeviceFigures, Present};
use tegula::{Accelerator, Error, Result};

#[derive(Args)]
pub(crate) struct DeviceFlags {
    /// Devices that work beside the cores; may be given more than once. auto: every device that is not
    /// the processor itself, if there is any. gpu: the same, and at least one. NAME: those with NAME in
    /// their name, as `tegula devices` shows it. The answer is the same.
    #[arg(
        long = "device",
        value_name = "auto|cpu|gpu|NAME",
        default_value = "cpu",
        help_heading = "Run"
    )]
    names: Vec<String>,
}

impl DeviceFlags {
    /// Opens the devices that the flag names, each once.
    pub(crate) fn open(&self) -> Result<Vec<Arc<Accelerator>>> {
        open(&self.names)
    }
}

/// Opens the devices that these names of the command line mean, each once.
pub(crate) fn open(names: &[String]) -> Result<Vec<Arc<Accelerator>>> {
    if names.iter().all(|name| name == "cpu") {
        return Ok(Vec::new());
    }
    Present::look().named(names, sizes_file().as_deref()).map_err(|cause| Error::Option {
        option: "--device",
        cause: format!("{cause}; tegula devices lists those that can"),
    })
}

/// Returns the file that keeps sizes of units from run to run, in the user's cache folder.
fn sizes_file() -> Option<PathBuf> {
    let absolute =
        |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
    Some(folder?.join("tegula/device-units"))
}

/// Says why devices that the user named were not used, or not to the end.
pub(crate) fn say_faults(devices: &[DeviceFigures]) {
    for device in devices {
        if let Some(fault) = &device.fault {
            exit::say(&format!("{} was not used throughout: {fault}", device.name));
        }
    }
}

/// Lists the devices.
pub(crate) fn run() -> Result<()> {
    let Present { devices, unusable } = Present::look();
    let mut text = String::new();
    // Writing to a string cannot fail.
    for device in &devices {
        let caps = device.caps();
        let rate = match device.copy_bytes_s() {
            Ok(rate) => format!("copies {} per second", size::show(rate as u64)),
            Err(error) => format!("cannot be used: {error}"),
        };
        let _ = writeln!(
            text,
            "{}\t{}\t{}, {} compute units, {rate}",
            caps.name,
            caps.backend,
            size::show(caps.memory_bytes),
            caps.compute_units,
        );
    }
    for why in &unusable {
        let _ = writeln!(text, "not usable\t{why}");
    }
    for (backend, is_built_in) in
        [("cuda", cfg!(feature = "cuda")), ("opencl", cfg!(feature = "opencl"))]
    {
        if !is_built_in {
            let _ = writeln!(
                text,
                "not usable\t{backend}: this program was built without it; build it with `make build`, or \
                 with cargo's `--features {backend}`"
            );
        }
    }
    Session::command(|session| session.write(None, |sink| sink.write(text.as_bytes())))
}

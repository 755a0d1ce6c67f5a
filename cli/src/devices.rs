//! `tegula devices`, and the flag that names the devices that work beside the cores.

use crate::session::Session;
use crate::{exit, size};
use clap::Args;
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;
use tegula::device::{DeviceFigures, Present};
use tegula::{Accelerator, DeviceError, Error, Result};

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
    let Present { devices, unusable } = Present::look();
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
            return Err(not_there(name, &unusable));
        }
    }
    let wanted = devices.into_iter().zip(wanted).filter(|(_, wanted)| *wanted);
    let sizes = sizes_file();
    let remembering = |device: Accelerator| match &sizes {
        Some(file) => device.sizes_in(file),
        None => device,
    };
    Ok(wanted.map(|(device, _)| Arc::new(remembering(device))).collect())
}

/// Returns the file that keeps sizes of units from run to run, in the user's cache folder.
fn sizes_file() -> Option<PathBuf> {
    let absolute =
        |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
    Some(folder?.join("tegula/device-units"))
}

/// Returns the error of a name that no usable device has.
fn not_there(name: &str, unusable: &[DeviceError]) -> Error {
    let whys: Vec<String> = unusable.iter().map(ToString::to_string).collect();
    let whys = if whys.is_empty() { String::new() } else { format!(" ({})", whys.join("; ")) };
    let cause =
        format!("no such device can be used: {name}{whys}; tegula devices lists those that can");
    Error::Option { option: "--device", cause }
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

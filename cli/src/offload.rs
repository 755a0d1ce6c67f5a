//! `tegula offload`: runs a user's own kernel; one line per index or key.

use crate::flags::{Format, RunFlags};
use crate::format::Line;
use crate::request::Request;
use crate::{devices, run};
use clap::Args;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use tegula::{Error, InputError, Result};
use tegula_apps::offload::{Key, OwnKernel, Spec, Value};

/// Lines are written when there are this many bytes of them.
const WRITE_BYTES: usize = 256 << 10;

#[derive(Args)]
pub(crate) struct Flags {
    /// The kernel: OpenCL C 1.2 that is also CUDA C++, with the names that docs/offload.md explains.
    #[arg(value_name = "KERNEL")]
    kernel: PathBuf,

    /// The form of records, partials and answers, in TOML.
    #[arg(long, value_name = "FILE")]
    spec: PathBuf,

    /// Files, folders (with all below them) or patterns (* ? [...] **).
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<OsString>,

    /// Devices that run the kernel; may be given more than once. auto, gpu: every device that is not the
    /// processor itself. NAME: those with NAME in their name, as `tegula devices` shows it. The cores
    /// cannot run it.
    #[arg(
        long = "device",
        value_name = "auto|gpu|NAME",
        default_value = "auto",
        help_heading = "Run"
    )]
    devices: Vec<String>,

    /// tsv: index or key, tab, value. jsonl: {"index":N,"value":N}, or "key" for "index".
    #[arg(long, value_enum, default_value_t = Format::Tsv, help_heading = "Answer")]
    format: Format,

    #[command(flatten)]
    run: RunFlags,
}

pub(crate) fn run(flags: &Flags) -> Result<()> {
    let reads = [("KERNEL", flags.kernel.as_path()), ("--spec", flags.spec.as_path())];
    run::command_reading(&flags.run, Request::of("offload"), (&flags.paths, &reads), |run| {
        let spec = Spec::parse(&flags.spec, &text(&flags.spec)?)?;
        let kernel = OwnKernel::new(spec, &flags.kernel, &text(&flags.kernel)?)?;
        let devices = devices::open(&flags.devices)?;
        if devices.is_empty() {
            let cause = "a kernel runs on devices alone, and there is no GPU; name a device that tegula \
                         devices lists, PoCL's for one, which is the processor itself";
            return Err(Error::Option { option: "--device", cause: cause.to_owned() });
        }
        run.use_devices(devices);
        let input = run.input(&flags.paths)?;
        let answer = run.several(|runs| kernel.run(runs, input))?;
        let name = if answer.is_table() { "key" } else { "index" };
        run.write(|sink| {
            let mut lines = Vec::new();
            answer.for_each(|key, value| {
                let mut line = Line::begin(flags.format, &mut lines);
                match key {
                    Key::Number(number) => line.integer(name, *number),
                    Key::Bytes(bytes) => line.bytes(name, bytes),
                };
                match (value, answer.scale()) {
                    (Value::Whole(value), Some(scale)) => {
                        line.float("value", value as f64 / scale as f64)
                    }
                    (Value::Whole(value), None) => line.integer("value", value),
                    (Value::Float(value), _) => line.float("value", value),
                };
                line.end();
                if lines.len() >= WRITE_BYTES {
                    sink.write(&lines)?;
                    lines.clear();
                }
                Ok(())
            })?;
            sink.write(&lines)
        })
    })
}

/// Reads the text of a short file.
fn text(path: &Path) -> Result<String> {
    let bytes = fs::read(path).map_err(|cause| InputError::from_io(path, cause))?;
    String::from_utf8(bytes).map_err(|fault| {
        let at = fault.utf8_error().valid_up_to();
        let cause = std::io::Error::other(format!("no text: byte {at} is not UTF-8"));
        InputError::Read { path: path.to_path_buf(), cause }.into()
    })
}

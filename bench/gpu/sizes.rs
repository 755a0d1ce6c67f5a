//! Times kernels by the size of their units, beside the size that is found: `make bench-units`. Takes the
//! names of devices, which must be there, and a number of runs; prints a line of JSON for each run, with the
//! time from the first unit to the last partial. An emulated device keeps its own clock.
//!
//! This is table 1 and figure 8 of Rafique and others, "Supporting MapReduce on large-scale asymmetric
//! multi-core clusters": there a node pages when a unit is too large.

use crate::patterns::PATTERN_BYTES;
use crate::tally::Tally;
use crate::units::{From, Units};
use crate::{BYTES_OF_PROCESSOR, Fault, is_meant, jobs};
use serde_json::json;
use std::time::Duration;
use tegula::Accelerator;
use tegula::device::{ARGUMENTS, DeviceFigures, Emulated, Kernel, Model, Offload, Present, Shape};

/// The device that is described, not there.
const EMULATED: &str = "emulated";
/// The input of a run on it, as the paper's.
const BYTES_EMULATED: u64 = 2 << 30;
const MEGABYTE: u64 = 1_000_000;

/// A job of table 1, and the largest unit that a node held in its memory, tuned by hand.
const TABLE: [(&str, u64); 4] = [
    ("linreg", 32 * MEGABYTE),
    ("wordcount", 3 * MEGABYTE),
    ("histogram", 2 * MEGABYTE),
    ("kmeans", 37 * MEGABYTE / 100),
];

/// Times all jobs on these devices, `runs` times each.
pub(crate) fn measure(names: &[String], runs: usize) -> Result<(), Fault> {
    for name in names {
        for run in 0..runs {
            match name.as_str() {
                EMULATED => emulated(run as u64)?,
                name => real(name)?,
            }
        }
    }
    Ok(())
}

/// The kernels of the jobs, over units that one thread copies into the slots.
fn real(name: &str) -> Result<(), Fault> {
    for job in jobs::all() {
        // A pass over what is on the device already sends no units.
        if job.behind.is_some() {
            continue;
        }
        let units = job.units_from(From::Staged);
        let split = PATTERN_BYTES as u64;
        let fresh = || -> Result<Accelerator, Fault> {
            let found = Present::look().devices.into_iter().find(|device| is_meant(device, name));
            found.ok_or_else(|| format!("no device of the name {name} can be used").into())
        };
        compare(job.name, &units, BYTES_OF_PROCESSOR * 4, split, None, fresh)?;
    }
    Ok(())
}

/// Nodes like those of the paper: on a network of a gigabit, each paging above another size of unit.
fn emulated(seed: u64) -> Result<(), Fault> {
    for (name, cliff) in TABLE {
        let split = 64 << 10;
        let fresh = || {
            let device = Accelerator::new(Emulated::new(Model {
                memory_bytes: 256 << 20,
                link_bytes_s: 117e6,
                overhead: Duration::from_micros(200),
                kernel_least: Duration::from_micros(500),
                kernel_bytes_s: 130e6,
                cliff_bytes: Some(cliff),
                noise: 0.05,
                seed: seed + 1,
                ..Model::default()
            }));
            // All of it, so that there is room for the largest units.
            Ok(device.memory_bytes(256 << 20))
        };
        let units = Units {
            offload: bytes_of_units(),
            arguments: [0; ARGUMENTS],
            pattern: vec![0; split as usize],
            expected: |pattern| Tally::Dense { words: vec![pattern.len() as u64], sums: 1 },
            from: From::Pinned,
        };
        compare(name, &units, BYTES_EMULATED, split, Some(cliff), fresh)?;
    }
    Ok(())
}

/// A kernel that counts the bytes that it is given: what it would do takes the time that the model says.
fn bytes_of_units() -> Offload {
    let kernel = Kernel {
        entry: "bytes".into(),
        file: "bytes.c".into(),
        source: "".into(),
        defines: Vec::new(),
        emulated: Some(|launch, partial| partial[0] += launch.bytes.len() as u64),
    };
    Offload { kernel, partial: Shape::Dense(1), broadcast: Vec::new(), residence: None }
}

/// Times units of each size, and those of which nothing is known when the run begins.
fn compare(
    job: &str,
    units: &Units,
    bytes: u64,
    split: u64,
    cliff: Option<u64>,
    fresh: impl Fn() -> Result<Accelerator, Fault>,
) -> Result<(), Fault> {
    let sizes = (0..).map(|power| split << power).take_while(|&size| size <= 64 << 20);
    for size in sizes.map(Some).chain([None]) {
        let device = fresh()?;
        let device = match size {
            Some(bytes) => device.unit_bytes(bytes),
            None => device,
        };
        let figures = units.figures(&device, bytes)?;
        let DeviceFigures { name, backend, unit_bytes, sizing_units, sizing, span, .. } = figures;
        println!(
            "{}",
            json!({
                "job": job,
                "device": name,
                "backend": backend,
                "bytes": bytes,
                "cliff_bytes": cliff,
                "fixed_bytes": size,
                "unit_bytes": unit_bytes,
                "sizing_units": sizing_units,
                "sizing_s": sizing.as_secs_f64(),
                "span_s": span.as_secs_f64(),
            })
        );
    }
    Ok(())
}

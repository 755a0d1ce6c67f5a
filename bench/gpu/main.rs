//! What kernels reach on a device, beside the rate at which bytes come to it: what `make bench-gpu` shows.
//! Takes the name of a device (`gpu`: the first that is not the processor) and a folder for raw results;
//! prints a table; a third argument is the size of each file, in megabytes. Each answer is compared with that of the cores, and one that differs ends it with 1.
//!
//! L is the rate of copies from pinned memory. Of each job there is
//! - `pinned`: its kernel over units that lie in pinned memory already, so nothing but the device works;
//! - `staged`: units that one thread copies from ordinary memory into slots on their way;
//! - `cores`, `device`, `both`: the whole job over a file in the page cache.

mod jobs;
mod pinned;

use jobs::Work;
use serde_json::{Value, json};
use std::error::Error;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};
use std::{fs, thread};
use tegula::device::Present;
use tegula::{Accelerator, Engine};

/// Bytes of each file, and of what goes through the link without one.
const BYTES: u64 = 4 << 30;
/// Of a device that is the processor itself: there the table only shows that all works.
const BYTES_OF_PROCESSOR: u64 = 256 << 20;
/// A job is run so often; the best counts, for others disturb it and nothing makes it faster.
const RUNS: usize = 5;
/// After so long no job is begun, so that all ends in time.
const TIME_MOST: Duration = Duration::from_secs(300);

type Fault = Box<dyn Error>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let ([name, folder], megabytes) = arguments.split_at(arguments.len().min(2)) else {
        eprintln!("usage: gpu NAME|gpu FOLDER [MEGABYTES]");
        return ExitCode::from(2);
    };
    let Present { devices, unusable } = Present::look();
    let Some(device) = devices.into_iter().find(|device| is_meant(device, name)) else {
        let whys: Vec<String> = unusable.iter().map(ToString::to_string).collect();
        println!("skipped: no device of the name {name} can be used ({})", whys.join("; "));
        return ExitCode::SUCCESS;
    };
    let default = if device.caps().is_processor { BYTES_OF_PROCESSOR } else { BYTES };
    let bytes = megabytes.first().and_then(|text| text.parse::<u64>().ok());
    let bytes = bytes.map_or(default, |megabytes| megabytes << 20);
    match measure(device, Path::new(folder), bytes) {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("gpu: {fault}");
            ExitCode::FAILURE
        }
    }
}

fn is_meant(device: &Accelerator, name: &str) -> bool {
    let caps = device.caps();
    match name {
        "gpu" => !caps.is_processor,
        name => caps.name.to_lowercase().contains(&name.to_lowercase()),
    }
}

fn measure(device: Accelerator, folder: &Path, bytes: u64) -> Result<(), Fault> {
    let began = Instant::now();
    let caps = device.caps().clone();
    let link = device.copy_bytes_s()?;
    println!("{} ({}), L = {}", caps.name, caps.backend, rate(link));
    println!("{:<12}{:>10}{:>16}{:>10}", "job", "from", "rate", "of L");
    let (engine, files) = (Engine::new()?, tempfile::tempdir()?);
    let device = std::sync::Arc::new(device);
    let mut rows = Vec::new();
    for job in jobs::all() {
        let path = files.path().join(job.name);
        fs::write(&path, job.file(bytes))?;
        let expected = job.run(&engine, &path, &Work::Cores)?;
        for (from, work) in job.ways(&device, bytes) {
            let mut best: Option<f64> = None;
            for _ in 0..RUNS {
                if began.elapsed() > TIME_MOST {
                    break;
                }
                let time = match &work {
                    Work::Units(units) => units.run(&device, bytes)?,
                    work => {
                        let begin = Instant::now();
                        let found = job.run(&engine, &path, work)?;
                        let time = begin.elapsed();
                        if found != expected {
                            return Err(
                                format!("{} by {from} differs from the cores", job.name).into()
                            );
                        }
                        time
                    }
                };
                let rate = bytes as f64 / time.as_secs_f64();
                best = Some(best.map_or(rate, |best| best.max(rate)));
            }
            let shown = best.map_or("no time left".to_owned(), rate);
            let of_link = best.map_or(String::new(), |best| format!("{:.2}", best / link));
            println!("{:<12}{from:>10}{shown:>16}{of_link:>10}", job.name);
            rows.push(json!({ "job": job.name, "from": from, "bytes_s": best, "of_link": best.map(|best| best / link) }));
        }
        fs::remove_file(&path)?;
    }
    let git = Command::new("git").args(["rev-parse", "HEAD"]).output()?;
    let result = json!({
        "commit": String::from_utf8_lossy(&git.stdout).trim(),
        "device": { "name": caps.name, "backend": caps.backend, "memory_bytes": caps.memory_bytes },
        "cores": thread::available_parallelism()?.get(),
        "bytes": bytes,
        "runs": RUNS,
        "link_bytes_s": link,
        "rows": Value::from(rows),
        "seconds": began.elapsed().as_secs_f64(),
    });
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '_' };
    let name: String = caps.name.to_lowercase().chars().map(plain).collect();
    let path = folder.join(format!("gpu_{name}.json"));
    fs::write(&path, format!("{result:#}\n"))?;
    println!("all answers are those of the cores; raw results: {}", path.display());
    Ok(())
}

fn rate(bytes_s: f64) -> String {
    format!("{:.2} GB/s", bytes_s / 1e9)
}

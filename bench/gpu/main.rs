//! Measures the throughput of kernels on a device, beside the rate of copies to it: `make bench-gpu` shows
//! it. Takes the name of a device (`gpu`: the first that is not the processor) and a folder for raw results;
//! prints a table; a third argument is the size of each job's input, in megabytes. Each answer is compared
//! with that of the cores; a difference ends the program with 1.
//!
//! L is the rate of copies from pinned memory. The rows of each job are
//! - `pinned`: its kernel over units in pinned memory, so nothing but the device works;
//! - `staged`: units that one thread copies from ordinary memory into slots on their way;
//! - `resident`: units that have stayed on the device;
//! - `cores`, `device`, `both`: the whole job over a file in the page cache, or over points in memory.
//!
//! With the word `units`, a number of runs and names of devices, times units by their size instead (`sizes.rs`).
//!
//! A row of k-means is one pass over all points; `kmeans later` are the passes after the first.

mod jobs;
mod patterns;
mod sizes;
mod tally;
mod units;

use jobs::{Given, Job, Way, Work};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::error::Error;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{fs, thread};
use tegula::device::{DeviceFigures, Present};
use tegula::{Accelerator, Engine};

/// The input of each job, if that is at most a sixth of the memory: a device and its driver take some, too.
const BYTES: u64 = 4 << 30;
const MEMORY_PART: u64 = 6;
/// The same for a device that is the processor itself: there the table only shows that all works.
const BYTES_OF_PROCESSOR: u64 = 128 << 20;
/// The runs of a row; the best counts, because disturbances only make a run slower.
const RUNS: usize = 5;
/// The time after which a row is not run again, and after which none is begun, so that all ends within eight
/// minutes.
const ROW_MOST: Duration = Duration::from_secs(12);
const TIME_MOST: Duration = Duration::from_secs(360);
/// The rate that cores and device together must reach, in terms of the better alone.
const TOGETHER: f64 = 0.95;

type Fault = Box<dyn Error>;

/// The time of a run, and the work of the device in it.
type Run = (Duration, Option<DeviceFigures>);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [first, runs, names @ ..] = &arguments[..]
        && first == "units"
        && let Ok(runs) = runs.parse()
    {
        return ended(sizes::measure(names, runs));
    }
    let ([name, folder], megabytes) = arguments.split_at(arguments.len().min(2)) else {
        eprintln!("usage: gpu NAME|gpu FOLDER [MEGABYTES]\n       gpu units RUNS NAME|emulated...");
        return ExitCode::from(2);
    };
    let Present { devices, unusable } = Present::look();
    let Some(device) = devices.into_iter().find(|device| is_meant(device, name)) else {
        let whys: Vec<String> = unusable.iter().map(ToString::to_string).collect();
        println!("skipped: no device of the name {name} can be used ({})", whys.join("; "));
        return ExitCode::SUCCESS;
    };
    let default = match device.caps().is_processor {
        true => BYTES_OF_PROCESSOR,
        false => BYTES.min(memory_bytes().map_or(BYTES, |bytes| bytes / MEMORY_PART)),
    };
    let bytes = megabytes.first().and_then(|text| text.parse::<u64>().ok());
    let bytes = bytes.map_or(default, |megabytes| megabytes << 20);
    ended(measure(device, Path::new(folder), bytes))
}

fn ended(result: Result<(), Fault>) -> ExitCode {
    match result {
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

/// Returns the memory that the system has left.
fn memory_bytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? << 10)
}

/// All that is timed, and the rows so far.
struct Bench {
    engine: Engine,
    device: Arc<Accelerator>,
    bytes: u64,
    link: f64,
    began: Instant,
    /// The least time of each job and way.
    best: HashMap<(&'static str, &'static str), Duration>,
    rows: Vec<Value>,
}

fn measure(device: Accelerator, folder: &Path, bytes: u64) -> Result<(), Fault> {
    let began = Instant::now();
    let caps = device.caps().clone();
    let link = device.copy_bytes_s()?;
    let cores = thread::available_parallelism()?.get();
    println!("{} ({}), L = {}; {cores} cores", caps.name, caps.backend, rate(link));
    println!("{:<13}{:>10}{:>14}{:>8}  asked", "job", "from", "rate", "of L");
    let (engine, files) = (Engine::new()?, tempfile::tempdir()?);
    let (device, best, rows) = (Arc::new(device), HashMap::new(), Vec::new());
    let mut bench = Bench { engine, device, bytes, link, began, best, rows };
    let mut last: Option<(&str, Given)> = None;
    for job in jobs::all() {
        // A job that follows another one uses the same input.
        let given = match last.take() {
            Some((name, given)) if job.behind.is_some_and(|(behind, _)| behind == name) => given,
            _ => job.given(files.path(), bytes)?,
        };
        bench.job(&job, &given)?;
        last = Some((job.name, given));
    }
    let result = json!({
        "commit": commit(),
        "device": { "name": caps.name, "backend": caps.backend, "memory_bytes": caps.memory_bytes },
        "cores": cores,
        "bytes": bytes,
        "runs_most": RUNS,
        "link_bytes_s": link,
        "rows": bench.rows,
        "seconds": began.elapsed().as_secs_f64(),
    });
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '_' };
    let name: String = caps.name.to_lowercase().chars().map(plain).collect();
    let path = folder.join(format!("gpu_{name}.json"));
    fs::create_dir_all(folder)?;
    fs::write(&path, format!("{result:#}\n"))?;
    println!("all answers are those of the cores; raw results: {}", path.display());
    Ok(())
}

impl Bench {
    /// Times all ways of a job.
    fn job(&mut self, job: &Job, given: &Given) -> Result<(), Fault> {
        let (expected, _) = job.run(&self.engine, given, &Work::Cores)?;
        for way in job.ways(&self.device) {
            let (row_began, mut runs) = (Instant::now(), Vec::new());
            while runs.len() < RUNS
                && self.began.elapsed() < TIME_MOST
                && (runs.is_empty() || row_began.elapsed() < ROW_MOST)
            {
                runs.push(self.time(job, given, &way, &expected)?);
            }
            self.row(job, &way, &runs);
        }
        Ok(())
    }

    /// Does a job once. Returns the time, and the work of the device if it was a whole job.
    fn time(&self, job: &Job, given: &Given, way: &Way, expected: &str) -> Result<Run, Fault> {
        if let Work::Units(units) = &way.work {
            return Ok((units.run(&self.device, self.bytes)?, None));
        }
        let begin = Instant::now();
        let (found, mut devices) = job.run(&self.engine, given, &way.work)?;
        let time = begin.elapsed();
        if found != expected {
            return Err(format!("{} by {} differs from the cores", job.name, way.from).into());
        }
        Ok((time, devices.pop()))
    }

    /// Prints and keeps the time of a way of a job.
    fn row(&mut self, job: &Job, way: &Way, runs: &[Run]) {
        let is_whole = !matches!(way.work, Work::Units(_));
        let fastest = runs.iter().min_by_key(|(time, _)| time);
        let time = fastest.and_then(|&(time, _)| match job.behind {
            // The time of a job that follows another is the difference, divided by its passes.
            Some((name, passes)) if is_whole => {
                let before = self.best.get(&(name, way.from))?;
                Some(time.saturating_sub(*before).max(Duration::from_nanos(1)) / passes)
            }
            _ => Some(time),
        });
        self.best.extend(time.map(|time| ((job.name, way.from), time)));
        let bytes_s = time.map(|time| self.bytes as f64 / time.as_secs_f64());
        let of_link = bytes_s.map(|bytes_s| bytes_s / self.link);
        let alone = ["cores", "device"].map(|from| self.best.get(&(job.name, from)));
        let of_better = match (&way.work, time, alone.into_iter().flatten().min()) {
            (Work::Both(_), Some(time), Some(alone)) => {
                Some(alone.as_secs_f64() / time.as_secs_f64())
            }
            _ => None,
        };
        // A processor has no link, so there is no rate to reach.
        let is_judged = !self.device.caps().is_processor;
        let reached = |found: f64, asked: f64| if found >= asked { "yes" } else { "no" };
        let asked = match (way.asked, of_link, of_better) {
            _ if !is_judged => String::new(),
            (Some(asked), Some(of_link), _) => {
                format!("{asked:.2} of L: {}", reached(of_link, asked))
            }
            (_, _, Some(of_better)) => {
                let reached = reached(of_better, TOGETHER);
                format!("{TOGETHER:.2} of the better alone: {of_better:.2}, {reached}")
            }
            _ => String::new(),
        };
        let shown = bytes_s.map_or("no time left".to_owned(), rate);
        let part = of_link.map_or(String::new(), |part| format!("{part:.2}"));
        let line = format!("{:<13}{:>10}{shown:>14}{part:>8}  {asked}", job.name, way.from);
        println!("{}", line.trim_end());
        self.rows.push(json!({
            "job": job.name,
            "from": way.from,
            "bytes_s": bytes_s,
            "of_link": of_link,
            "of_better_alone": of_better,
            "asked_of_link": way.asked,
            "seconds": runs.iter().map(|(time, _)| time.as_secs_f64()).collect::<Vec<_>>(),
            "device": fastest.and_then(|(_, device)| device.as_ref()).map(told),
        }));
    }
}

/// Returns the work of a device in the fastest run of a row.
fn told(figures: &DeviceFigures) -> Value {
    json!({
        "bytes": figures.bytes,
        "units": figures.units,
        "unit_bytes": figures.unit_bytes,
        "feeders": figures.feeders,
        "copy_s": figures.copy.as_secs_f64(),
        "kernel_s": figures.kernel.as_secs_f64(),
        "copy_out_s": figures.copy_out.as_secs_f64(),
        "span_s": figures.span.as_secs_f64(),
        "fault": figures.fault,
    })
}

/// Returns the commit that it was built from, or where that was not said, the one here.
fn commit() -> Option<String> {
    if let Some(commit) = option_env!("TEGULA_COMMIT").filter(|commit| !commit.is_empty()) {
        return Some(commit.to_owned());
    }
    let git = Command::new("git").args(["rev-parse", "HEAD"]).output().ok()?;
    let commit = String::from_utf8_lossy(&git.stdout).trim().to_owned();
    (!commit.is_empty()).then_some(commit)
}

fn rate(bytes_s: f64) -> String {
    format!("{:.2} GB/s", bytes_s / 1e9)
}

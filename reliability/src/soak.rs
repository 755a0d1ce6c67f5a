//! Soak: one engine runs mixed jobs in random shapes for a long time. Between two jobs, when it has given back the memory
//! that it keeps for the next, it must hold no more memory, files and threads than it did after the first part of the time.

use crate::files::{self, digest};
use crate::jobs::{JOBS, Run};
use crate::random::Random;
use crate::shape::Shape;
use clap::Args;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tegula::storage::{Disk, Storage};

#[derive(Args)]
pub(crate) struct Flags {
    /// How long.
    #[arg(long, default_value_t = 3600)]
    seconds: u64,
    /// The seed of all random choices; each round has its own.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// A file for the samples: a line of numbers for each, separated by commas.
    #[arg(long)]
    samples: Option<PathBuf>,
}

const WORKERS: usize = 2;
/// Memory may grow by this much from the second quarter of the time to the last: jobs differ in size, and the system's
/// allocator keeps what it has.
const GROWTH_BYTES: u64 = 16 << 20;

/// What the process holds between two jobs.
#[derive(Clone, Copy, Default)]
struct Sample {
    at: Duration,
    resident_bytes: u64,
    files: usize,
    threads: usize,
}

impl Sample {
    fn take(at: Duration) -> Result<Sample, String> {
        let count = |folder: &str| match fs::read_dir(folder) {
            Ok(entries) => Ok(entries.count()),
            Err(cause) => Err(format!("{folder}: {cause}")),
        };
        let pages = fs::read_to_string("/proc/self/statm").map_err(|cause| cause.to_string())?;
        let pages = pages.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
        Ok(Sample {
            at,
            resident_bytes: pages.ok_or("/proc/self/statm has no resident size")?
                * rustix::param::page_size() as u64,
            files: count("/proc/self/fd")?,
            threads: count("/proc/self/task")?,
        })
    }
}

pub(crate) fn run(flags: &Flags) -> Result<(), String> {
    let length = Duration::from_secs(flags.seconds);
    let engine = Shape::plain(WORKERS).engine(None).map_err(|error| error.to_string())?;
    let (began, mut samples, mut jobs) = (Instant::now(), Vec::new(), 0_u64);
    for round in 0.. {
        if began.elapsed() >= length {
            break;
        }
        let mut random = Random::of_round(flags.seed, round);
        let folder = tempfile::tempdir().map_err(|cause| format!("no folder: {cause}"))?;
        let path = |name: &str| folder.path().join(name);
        let is_packed = random.below(3) == 0;
        files::make(&path("input"), &mut random, is_packed)?;
        let mut expected = None;
        for number in 0..4 {
            let job = JOBS[round as usize % JOBS.len()];
            let shape = Shape::random(&mut random, job, is_packed);
            let state = path(&format!("state-{number}"));
            fs::create_dir(&state).map_err(|cause| cause.to_string())?;
            let options = shape.options(Some(Arc::new(Disk::new(&state)) as Arc<dyn Storage>));
            let (input, output) = (&path("input"), path("output"));
            let run = Run {
                engine: &engine,
                input,
                options,
                shows: shape.shows,
                output: output.clone(),
                room: None,
            };
            job.run(run).map_err(|error| format!("round {round}: {error}"))?;
            let found = digest(&output)?;
            if *expected.get_or_insert(found) != found {
                return Err(format!("round {round}: another answer: {shape:?}"));
            }
            jobs += 1;
        }
        drop(folder);
        engine.release_memory();
        samples.push(Sample::take(began.elapsed())?);
    }
    if let Some(path) = &flags.samples {
        let mut text = "seconds,resident_bytes,files,threads\n".to_owned();
        for Sample { at, resident_bytes, files, threads } in &samples {
            let _ = writeln!(text, "{:.1},{resident_bytes},{files},{threads}", at.as_secs_f64());
        }
        fs::write(path, text).map_err(|cause| format!("{}: {cause}", path.display()))?;
    }
    let most = |from: f64, to: f64| {
        let is_in = |sample: &&Sample| (from..to).contains(&sample.at.div_duration_f64(length));
        samples.iter().filter(is_in).fold(Sample::default(), |most, sample| Sample {
            at: sample.at,
            resident_bytes: most.resident_bytes.max(sample.resident_bytes),
            files: most.files.max(sample.files),
            threads: most.threads.max(sample.threads),
        })
    };
    let (second, last) = (most(0.25, 0.5), most(0.75, f64::MAX));
    let Sample { resident_bytes, files, threads, .. } = last;
    let said = format!(
        "{} and {} MB, {} and {files} files, {} and {threads} threads in the second and the last quarter",
        second.resident_bytes / 1_000_000,
        resident_bytes / 1_000_000,
        second.files,
        second.threads
    );
    if resident_bytes > second.resident_bytes + GROWTH_BYTES
        || files > second.files
        || threads > second.threads
    {
        return Err(format!("it grows: {said}"));
    }
    println!(
        "{} s, {jobs} jobs by one engine: {said}; every answer was the same",
        began.elapsed().as_secs()
    );
    Ok(())
}

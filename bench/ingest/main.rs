//! How much of reading hides behind mapping: word count from a source that gives so many bytes a second
//! and no more, whoever asks, and takes its time to answer. Takes a file, a number of workers, of runs and
//! a latency in milliseconds; for rates below, at and above what the map does, prints the time to read
//! alone (a job that looks at nothing), to compute alone (from memory) and to do both, as medians; then,
//! at half the map's rate, the time to do both with splits of fixed sizes and with the engine's choice.

use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tegula::{
    Count, Cut, Emit, Engine, Input, Job, Options, RangeSource, Result, Split, Stage, WordClass,
};

/// Rates in parts of what the map does.
const RATES: [f64; 5] = [0.25, 0.5, 1.0, 2.0, 4.0];

/// The rate at which sizes are compared, and the sizes, in bytes; `None`: the engine chooses.
const RATE_OF_SIZES: f64 = 0.5;
const SIZES: [Option<u64>; 5] =
    [Some(64 << 10), Some(256 << 10), Some(1 << 20), Some(4 << 20), None];

/// How often each word stands between white space.
struct Words;

impl Job for Words {
    type Key = [u8];
    type Combine = Count;

    fn cut(&self) -> Cut {
        Cut::around(WordClass::Whitespace)
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        emit.emit_each(split.fields(), ());
        Ok(())
    }
}

/// Reads, and looks at nothing.
struct Nothing;

impl Job for Nothing {
    type Key = u64;
    type Combine = Count;

    fn cut(&self) -> Cut {
        Cut::around(WordClass::Whitespace)
    }

    fn map<'s>(&self, _: Split<'s>, _: &mut impl Emit<'s, Self>) -> Result<()> {
        Ok(())
    }
}

/// Bytes that come at a rate.
#[derive(Debug)]
struct Throttled {
    bytes: Arc<Vec<u8>>,
    bytes_per_second: f64,
    latency: Duration,
    /// When the line is free again.
    free: Mutex<Instant>,
}

impl Throttled {
    fn input(bytes: &Arc<Vec<u8>>, bytes_per_second: f64, latency: Duration) -> Input {
        let length = bytes.len() as u64;
        let (bytes, free) = (Arc::clone(bytes), Mutex::new(Instant::now()));
        Input::ranges(
            Arc::new(Throttled { bytes, bytes_per_second, latency, free }),
            [("throttled", length)],
        )
    }
}

impl RangeSource for Throttled {
    fn read_at(&self, _: &Path, offset: u64, into: &mut [u8]) -> std::io::Result<()> {
        let asked = Instant::now();
        let takes = Duration::from_secs_f64(into.len() as f64 / self.bytes_per_second);
        let until = {
            let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
            *free = asked.max(*free) + takes;
            (*free).max(asked + self.latency)
        };
        into.copy_from_slice(&self.bytes[offset as usize..offset as usize + into.len()]);
        std::thread::sleep(until.saturating_duration_since(Instant::now()));
        Ok(())
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let measured = match &arguments[..] {
        [path, workers, runs, latency] => match (workers.parse(), runs.parse(), latency.parse()) {
            (Ok(workers), Ok(runs), Ok(latency)) => {
                Some(measure(path, workers, runs, Duration::from_millis(latency)))
            }
            _ => None,
        },
        _ => None,
    };
    match measured {
        Some(Ok(())) => ExitCode::SUCCESS,
        Some(Err(error)) => {
            eprintln!("ingest: {error}");
            ExitCode::FAILURE
        }
        None => {
            eprintln!("usage: ingest FILE WORKERS RUNS LATENCY_MS");
            ExitCode::from(2)
        }
    }
}

fn measure(
    path: &str,
    workers: usize,
    runs: usize,
    latency: Duration,
) -> std::result::Result<(), Box<dyn std::error::Error>> {
    let bytes = Arc::new(std::fs::read(path)?);
    let engine = Engine::builder().workers(workers).build()?;
    let compute =
        median(runs, || map_seconds(&engine, &Words, Input::shared(Arc::clone(&bytes)), None))?;
    println!("rate\tMB/s\tread s\tcompute s\tboth s\tboth/larger");
    for part in RATES {
        let rate = part * bytes.len() as f64 / compute;
        let source = || Throttled::input(&bytes, rate, latency);
        let read = median(runs, || map_seconds(&engine, &Nothing, source(), None))?;
        let both = median(runs, || map_seconds(&engine, &Words, source(), None))?;
        let ratio = both / read.max(compute);
        println!("{part}\t{:.0}\t{read:.4}\t{compute:.4}\t{both:.4}\t{ratio:.3}", rate / 1e6);
    }
    println!("split\tboth s");
    let rate = RATE_OF_SIZES * bytes.len() as f64 / compute;
    for split_bytes in SIZES {
        let source = || Throttled::input(&bytes, rate, latency);
        let both = median(runs, || map_seconds(&engine, &Words, source(), split_bytes))?;
        let name = split_bytes.map_or("auto".to_owned(), |bytes| bytes.to_string());
        println!("{name}\t{both:.4}");
    }
    Ok(())
}

/// The map stage's time.
fn map_seconds<J: Job>(
    engine: &Engine,
    job: &J,
    input: Input,
    split_bytes: Option<u64>,
) -> Result<f64> {
    let options = Options { split_bytes, ..Options::default() };
    let output = engine.run_with(job, input, &options)?;
    let stages = output.stats().stages.iter();
    Ok(stages.filter(|time| time.stage == Stage::Map).map(|time| time.wall.as_secs_f64()).sum())
}

fn median(runs: usize, mut run: impl FnMut() -> Result<f64>) -> Result<f64> {
    let mut times = (0..runs.max(1)).map(|_| run()).collect::<Result<Vec<f64>>>()?;
    times.sort_unstable_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}

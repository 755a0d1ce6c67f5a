//! Measures how much of reading is hidden by mapping: word count from a source with a fixed rate, shared by
//! all readers, and a latency. Takes a file, a number of workers, of runs and a latency in milliseconds. For
//! each job, and rates below, at and above that of its map, prints the time to read alone (a job that looks
//! at nothing), to compute alone (from memory) and to do both, as medians; then, at half the map's rate, the
//! time of a word count with splits of fixed sizes and with the engine's choice. The three are run in turn, and what
//! both take of the others is compared in each turn: over a minute, processors differ by more than is measured.
//!
//! `least` is the lower bound of any pipeline: a map that is faster at first, while its tables are small,
//! waits for the source then, and cannot make up for it later (from the progress of a map that reads from
//! memory); and reading takes processor time, too, so both cannot take less than the processor time of each
//! alone, on all processors. Neither begins before the first bytes are there, after the latency.
//! With the word `cold` before the file and no latency, measures a cold file instead (`cold.rs`).

mod cold;

use std::fmt;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tegula::{
    Count, Cut, Emit, Engine, Input, Job, Options, Progress, RangeSource, Result, Split, Stage,
    WordClass,
};
use tegula_machine::sync::Mutex;

/// Rates in terms of the map's own.
const RATES: [f64; 4] = [0.5, 1.0, 2.0, 4.0];

/// The rate at which sizes are compared, and the sizes, in bytes; `None`: the engine chooses.
const RATE_OF_SIZES: f64 = 0.5;
const SIZES: [Option<u64>; 5] =
    [Some(64 << 10), Some(256 << 10), Some(1 << 20), Some(4 << 20), None];

/// Counts words between white space.
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

/// Counts words by their first two bytes: few keys, so that all of the input costs the same.
struct Beginnings;

impl Job for Beginnings {
    type Key = [u8];
    type Combine = Count;

    fn cut(&self) -> Cut {
        Cut::around(WordClass::Whitespace)
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        emit.emit_each(split.fields().map(|word| &word[..word.len().min(2)]), ());
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
            let mut free = self.free.lock();
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
        [mode, path, workers, runs] if mode == "cold" => match (workers.parse(), runs.parse()) {
            (Ok(workers), Ok(runs)) => Some(cold::measure(path, workers, runs)),
            _ => None,
        },
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
            eprintln!(
                "usage: ingest FILE WORKERS RUNS LATENCY_MS\n       ingest cold FILE WORKERS RUNS"
            );
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
    println!("job\trate\tMB/s\tread s\tcompute s\tleast s\tboth s\tboth/larger\tboth/least");
    rates("beginnings", &Beginnings, &engine, &bytes, runs, latency)?;
    let compute = rates("words", &Words, &engine, &bytes, runs, latency)?;
    println!("split\tboth s");
    let rate = RATE_OF_SIZES * bytes.len() as f64 / compute;
    for split_bytes in SIZES {
        let source = || Throttled::input(&bytes, rate, latency);
        let both = median(runs, || mapped(&engine, &Words, source(), split_bytes))?;
        let name = split_bytes.map_or("auto".to_owned(), |bytes| bytes.to_string());
        println!("{name}\t{both:.4}");
    }
    Ok(())
}

/// Returns one job at each rate; returns its time from memory.
fn rates<J: Job>(
    name: &str,
    job: &J,
    engine: &Engine,
    bytes: &Arc<Vec<u8>>,
    runs: usize,
    latency: Duration,
) -> Result<f64> {
    let from_memory = || mapped(engine, job, Input::shared(Arc::clone(bytes)), None);
    let compute = median(runs, from_memory)?;
    let course = course(from_memory_watched(engine, job, bytes)?);
    let first_s = latency.as_secs_f64();
    for part in RATES {
        let rate = part * bytes.len() as f64 / compute;
        let source = || Throttled::input(bytes, rate, latency);
        let arrival = |part_read: f64| first_s + part_read * bytes.len() as f64 / rate;
        let turns = Turns::taken(runs, || {
            let read = mapped(engine, &Nothing, source(), None)?;
            let compute = from_memory()?;
            let both = mapped(engine, job, source(), None)?;
            let busy = compute.wall.max(on_all_processors(read.cpu + compute.cpu));
            let late = |(read, time): &(f64, f64)| arrival(*read) + compute.wall * (1.0 - time);
            let least = course.iter().map(late).fold(read.wall.max(first_s + busy), f64::max);
            Ok(Turn { read, compute, both, least })
        })?;
        println!("{name}\t{part}\t{:.0}\t{turns}", rate / 1e6);
    }
    Ok(compute)
}

/// What one turn took, and the least seconds that both could take.
struct Turn {
    read: Mapped,
    compute: Mapped,
    both: Mapped,
    least: f64,
}

/// What some turns took. Shown as medians: seconds to read, to compute, the least possible, and those of both; then
/// both in terms of the longer one, and of the least.
struct Turns(Vec<Turn>);

impl Turns {
    fn taken(turns: usize, turn: impl FnMut() -> Result<Turn>) -> Result<Turns> {
        let turns = std::iter::repeat_with(turn).take(turns.max(1));
        Ok(Turns(turns.collect::<Result<_>>()?))
    }

    /// Returns the median of a figure.
    fn of(&self, figure: impl Fn(&Turn) -> f64) -> f64 {
        let mut figures: Vec<f64> = self.0.iter().map(figure).collect();
        figures.sort_unstable_by(f64::total_cmp);
        figures[figures.len() / 2]
    }
}

impl fmt::Display for Turns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = [
            self.of(|turn| turn.read.wall),
            self.of(|turn| turn.compute.wall),
            self.of(|turn| turn.least),
            self.of(|turn| turn.both.wall),
        ];
        seconds.iter().try_for_each(|seconds| write!(f, "{seconds:.4}\t"))?;
        let of_larger = self.of(|turn| turn.both.wall / turn.read.wall.max(turn.compute.wall));
        write!(f, "{of_larger:.3}\t{:.3}", self.of(|turn| turn.both.wall / turn.least))
    }
}

/// Returns the progress of a run from memory, read every millisecond: bytes and seconds.
fn from_memory_watched<J: Job>(
    engine: &Engine,
    job: &J,
    bytes: &Arc<Vec<u8>>,
) -> Result<Vec<(u64, f64)>> {
    let (progress, ended) = (Arc::new(Progress::default()), AtomicBool::new(false));
    let options = Options { progress: Some(Arc::clone(&progress)), ..Options::default() };
    std::thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let mut seen = Vec::new();
            while !ended.load(Ordering::Relaxed) {
                let now = progress.read();
                if now.stage == Stage::Map {
                    seen.push((now.bytes_done, now.mapping.as_secs_f64()));
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            seen
        });
        let run = engine.job(job).options(&options).run(Input::shared(Arc::clone(bytes)));
        ended.store(true, Ordering::Relaxed);
        let seen = watch.join().unwrap_or_default();
        run.map(|_| seen)
    })
}

/// Returns the same as parts of the whole.
fn course(seen: Vec<(u64, f64)>) -> Vec<(f64, f64)> {
    let Some(&(bytes, seconds)) = seen.last() else { return Vec::new() };
    let part = |(read, time): (u64, f64)| (read as f64 / bytes as f64, time / seconds);
    seen.into_iter().map(part).collect()
}

/// A run's map stage: seconds, processor time of all threads, and bytes that were read past the page cache.
#[derive(Clone, Copy)]
struct Mapped {
    wall: f64,
    cpu: f64,
    direct_bytes: u64,
}

fn mapped<J: Job>(
    engine: &Engine,
    job: &J,
    input: Input,
    split_bytes: Option<u64>,
) -> Result<Mapped> {
    run(engine, job, input, &Options { split_bytes, ..Options::default() })
}

fn run<J: Job>(engine: &Engine, job: &J, input: Input, options: &Options) -> Result<Mapped> {
    let output = engine.job(job).options(options).run(input)?;
    let stats = output.stats();
    let map = || stats.stages.iter().filter(|time| time.stage == Stage::Map);
    Ok(Mapped {
        wall: map().map(|time| time.wall.as_secs_f64()).sum(),
        cpu: map().map(|time| time.cpu.as_secs_f64()).sum(),
        direct_bytes: stats.direct_bytes,
    })
}

/// Returns the seconds of the run in the middle.
fn median(runs: usize, mut run: impl FnMut() -> Result<Mapped>) -> Result<f64> {
    let mut runs = (0..runs.max(1)).map(|_| run()).collect::<Result<Vec<Mapped>>>()?;
    runs.sort_unstable_by(|a, b| a.wall.total_cmp(&b.wall));
    Ok(runs[runs.len() / 2].wall)
}

/// Returns the least seconds for this much processor time.
fn on_all_processors(cpu: f64) -> f64 {
    cpu / std::thread::available_parallelism().map_or(1, usize::from) as f64
}

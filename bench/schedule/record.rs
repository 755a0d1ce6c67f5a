//! Records the cost of each split of a word count: processor time of the process with one worker, from one
//! split's map to the next, so reading, mapping, combining and compressing are in it. Reads the records back
//! for the simulation.

use std::error::Error;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;
use tegula::{
    Count, Cut, DEFAULT_TILE_BYTES, Emit, Engine, Input, Job, Options, Result, Split, WordClass,
    process_cpu, sizing,
};

const RUNS: usize = 7;

/// Word count that notes when each split begins.
struct Timed {
    began: Mutex<Vec<Duration>>,
}

impl Job for Timed {
    type Key = [u8];
    type Combine = Count;

    fn cut(&self) -> Cut {
        Cut::around(WordClass::Whitespace)
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        if let Ok(mut began) = self.began.lock() {
            began.push(process_cpu());
        }
        emit.emit_each(split.fields(), ());
        Ok(())
    }
}

/// The costs of one job's splits.
pub(crate) struct Costs {
    pub(crate) name: String,
    /// Splits of a full tile.
    pub(crate) splits_per_tile: usize,
    /// Part of a split's time that goes into fetching its bytes from memory.
    pub(crate) memory_part: f64,
    pub(crate) nanoseconds: Vec<u64>,
}

/// An input longer than the recorded one consists of this number of stretches; each repeats the same stretch
/// of the record.
const STRETCHES: u64 = 8;

impl Costs {
    /// Returns the cost of a split of an input of `splits` splits, in nanoseconds.
    pub(crate) fn of(&self, split: u64, splits: u64) -> u64 {
        let (recorded, stretch) = (self.nanoseconds.len() as u64, split * STRETCHES / splits);
        let from = recorded * stretch / STRETCHES;
        let length = recorded * (stretch + 1) / STRETCHES - from;
        self.nanoseconds[(from + split % length) as usize]
    }
}

/// Prints a job's record: a line of names and figures, then microseconds per split. Each is the least
/// of some runs, because disturbances only add time; with one worker, all runs do the same.
pub(crate) fn record(name: &str, files: &[&str]) -> Result<(), Box<dyn Error>> {
    let engine = Engine::builder().workers(1).build()?;
    // Of one size, or the runs' splits would not be the same.
    let split_bytes = sizing::unit_bytes(engine.topology());
    let options = Options { split_bytes: Some(split_bytes), ..Options::default() };
    let (mut ingest_s, mut costs) = (f64::INFINITY, Vec::new());
    for _ in 0..RUNS {
        let job = Timed { began: Mutex::default() };
        let output = engine.job(&job).options(&options).run(Input::paths(files)?)?;
        ingest_s = ingest_s.min(output.stats().ingest_busy.as_secs_f64());
        let began = job.began.into_inner().unwrap_or_default();
        let took = began.windows(2).map(|pair| (pair[1] - pair[0]).as_secs_f64() * 1e6);
        costs.resize(took.len(), f64::INFINITY);
        costs.iter_mut().zip(took).for_each(|(cost, took)| *cost = took.min(*cost));
    }
    let all_s = costs.iter().sum::<f64>() / 1e6;
    let per_tile = DEFAULT_TILE_BYTES / split_bytes;
    println!("job {name} splits-per-tile {per_tile} memory-part {:.3}", ingest_s / all_s);
    for line in costs.chunks(16) {
        let line: Vec<String> = line.iter().map(|cost| format!("{cost:.0}")).collect();
        println!("{}", line.join(" "));
    }
    Ok(())
}

/// Reads records of jobs.
pub(crate) fn read(path: &Path) -> Result<Vec<Costs>, Box<dyn Error>> {
    let text =
        std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut jobs: Vec<Costs> = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.starts_with('#')) {
        let wrong = || format!("{}:{}: not a record of costs", path.display(), number + 1);
        let words: Vec<&str> = line.split_whitespace().collect();
        if let ["job", name, "splits-per-tile", splits, "memory-part", part] = &words[..] {
            jobs.push(Costs {
                name: (*name).to_owned(),
                splits_per_tile: splits.parse().map_err(|_| wrong())?,
                memory_part: part.parse().map_err(|_| wrong())?,
                nanoseconds: Vec::new(),
            });
        } else {
            let costs = &mut jobs.last_mut().ok_or_else(wrong)?.nanoseconds;
            for word in words {
                costs.push(word.parse::<u64>().map_err(|_| wrong())? * 1000);
            }
        }
    }
    if jobs.is_empty() || jobs.iter().any(|job| job.nanoseconds.len() < STRETCHES as usize) {
        return Err(format!("{}: no costs", path.display()).into());
    }
    Ok(jobs)
}

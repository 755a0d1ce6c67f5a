//! Measures how much of reading a cold file is hidden by mapping it: word count of a file that is taken out
//! of the page cache before each run, read into the cache and past it. Prints the time to read alone, to
//! compute alone (from memory) and to do both, as medians, and the processor time of doing both.

use crate::{Nothing, Words, median};
use rustix::fs::{Advice, fadvise};
use std::error::Error;
use std::fs::File;
use std::sync::Arc;
use tegula::{Engine, Input, InputError, Job, Options, Reads, Result, Stage};

/// Measures `runs` runs of each.
pub(crate) fn measure(
    path: &str,
    workers: usize,
    runs: usize,
) -> std::result::Result<(), Box<dyn Error>> {
    let engine = Engine::builder().workers(workers).build()?;
    let bytes = Arc::new(std::fs::read(path)?);
    let memory = || Input::shared(Arc::clone(&bytes));
    let cold = || {
        drop_from_cache(path)?;
        Input::paths([path])
    };
    let compute = median(runs, || Ok(mapped(&engine, &Words, memory(), Reads::Auto)?.wall))?;
    println!("reads\tread s\tcompute s\tboth s\tboth/larger\tboth CPU s\tMB past the cache");
    for (name, reads) in [("cached", Reads::Cached), ("direct", Reads::Direct)] {
        let read = median(runs, || Ok(mapped(&engine, &Nothing, cold()?, reads)?.wall))?;
        let mut all = Vec::new();
        let both = median(runs, || {
            let run = mapped(&engine, &Words, cold()?, reads)?;
            all.push(run);
            Ok(run.wall)
        })?;
        let cpu = all.iter().map(|run| run.cpu).sum::<f64>() / all.len() as f64;
        let direct = all.iter().map(|run| run.direct_bytes).min().unwrap_or(0);
        let ratio = both / read.max(compute);
        println!(
            "{name}\t{read:.4}\t{compute:.4}\t{both:.4}\t{ratio:.3}\t{cpu:.3}\t{:.0}",
            direct as f64 / 1e6
        );
    }
    Ok(())
}

/// A run's map stage.
#[derive(Clone, Copy)]
struct Mapped {
    wall: f64,
    cpu: f64,
    direct_bytes: u64,
}

fn mapped<J: Job>(engine: &Engine, job: &J, input: Input, reads: Reads) -> Result<Mapped> {
    let options = Options { reads, ..Options::default() };
    let output = engine.job(job).options(&options).run(input)?;
    let stats = output.stats();
    let map = || stats.stages.iter().filter(|time| time.stage == Stage::Map);
    Ok(Mapped {
        wall: map().map(|time| time.wall.as_secs_f64()).sum(),
        cpu: map().map(|time| time.cpu.as_secs_f64()).sum(),
        direct_bytes: stats.direct_bytes,
    })
}

fn drop_from_cache(path: &str) -> Result<()> {
    let dropped = File::open(path).and_then(|file| {
        file.sync_all()?;
        Ok(fadvise(&file, 0, None, Advice::DontNeed)?)
    });
    Ok(dropped.map_err(|cause| InputError::from_io(path, cause))?)
}

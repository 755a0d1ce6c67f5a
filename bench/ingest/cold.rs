//! Measures how much of reading a cold file is hidden by mapping it: word count of a file that is taken out
//! of the page cache before each run, read into the cache and past it. Prints the time to read alone, to
//! compute alone (from memory) and to do both, in turn and as medians, the least possible, and the processor time
//! of doing both.

use crate::{Nothing, Turn, Turns, Words, on_all_processors, run};
use rustix::fs::{Advice, fadvise};
use std::error::Error;
use std::fs::File;
use std::sync::Arc;
use tegula::{Engine, Input, InputError, Options, Reads, Result};

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
    let with = |reads| Options { reads, ..Options::default() };
    println!(
        "reads\tread s\tcompute s\tleast s\tboth s\tboth/larger\tboth/least\tboth CPU s\tMB past the cache"
    );
    for (name, reads) in [("cached", Reads::Cached), ("direct", Reads::Direct)] {
        let turns = Turns::taken(runs, || {
            let read = run(&engine, &Nothing, cold()?, &with(reads))?;
            let compute = run(&engine, &Words, memory(), &with(Reads::Auto))?;
            let both = run(&engine, &Words, cold()?, &with(reads))?;
            let larger = read.wall.max(compute.wall);
            let least = larger.max(on_all_processors(read.cpu + compute.cpu));
            Ok(Turn { read, compute, both, least })
        })?;
        println!(
            "{name}\t{turns}\t{:.3}\t{:.0}",
            turns.of(|turn| turn.both.cpu),
            turns.of(|turn| turn.both.direct_bytes as f64 / 1e6)
        );
    }
    Ok(())
}

fn drop_from_cache(path: &str) -> Result<()> {
    let dropped = File::open(path).and_then(|file| {
        file.sync_all()?;
        Ok(fadvise(&file, 0, None, Advice::DontNeed)?)
    });
    Ok(dropped.map_err(|cause| InputError::from_io(path, cause))?)
}

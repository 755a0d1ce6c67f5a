//! Compares ways to find the unchanged part of a text again, and their costs: content-defined chunks over
//! every byte (FastCDC), borders chosen by content in small windows, borders at fixed offsets, and the
//! engine, which finds the old borders again (`engine`). A text drawn by a seed is changed at some places: in place, by
//! inserting, by deleting, or in turn. For each way prints processor seconds to cut the old text, to hash its
//! tiles, and to cut and hash the new text as the next run does; the new tiles per place; and the part of the
//! bytes that is found again. All but the engine read the text in place; the engine copies it as from the
//! page cache. The ways take turns; medians of all runs.
//!
//!     cargo bench -p tegula-bench --bench reuse -- MEGABYTES PLACES RUNS

mod engine;
mod rivals;
mod text;

use rivals::Way;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use tegula::Engine;
use tegula::reuse::Hashing;
use text::Edits;

/// The size of a tile in bytes; for chunks, their mean.
const TILE_BYTES: u64 = 4 << 20;

/// The result of one way on one pair of texts.
#[derive(Clone, Copy, Default)]
struct Outcome {
    /// To cut the old text, to hash its tiles, and to find the tiles of the new one.
    cut_cpu: Duration,
    hash_cpu: Duration,
    next_cpu: Duration,
    new_tiles: u64,
    same_part: f64,
}

fn main() -> ExitCode {
    let numbers: Vec<usize> =
        std::env::args().skip(1).filter_map(|argument| argument.parse().ok()).collect();
    let (megabytes, places, runs) = match numbers[..] {
        [] => (256, 20, 3),
        [megabytes, places, runs] if megabytes * places * runs > 0 => (megabytes, places, runs),
        _ => {
            eprintln!("usage: reuse [MEGABYTES PLACES RUNS]");
            return ExitCode::from(2);
        }
    };
    match measure(megabytes * 1_000_000, places, runs) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("reuse: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(bytes: usize, places: usize, runs: usize) -> tegula::Result<()> {
    let engine = Engine::builder().workers(1).build()?;
    let old = Arc::new(text::draw(bytes));
    println!("edits\tway\tcut s\thash s\tnext run s\tnew tiles per place\tbytes reused");
    for edits in Edits::ALL {
        let new = Arc::new(edits.apply(&old, places));
        let mut outcomes = vec![Vec::new(); Way::ALL.len() + 2];
        for _ in 0..runs {
            for (way, outcomes) in Way::ALL.iter().zip(&mut outcomes) {
                outcomes.push(way.measure(&old, &new));
            }
            for (hashing, outcomes) in
                [Hashing::Xxh3, Hashing::Blake3].into_iter().zip(&mut outcomes[Way::ALL.len()..])
            {
                outcomes.push(engine::measure(&engine, &old, &new, hashing)?);
            }
        }
        let names = Way::ALL.iter().map(|way| way.name()).chain(["engine", "engine, BLAKE3"]);
        for (name, outcomes) in names.zip(outcomes) {
            let median = |of: fn(&Outcome) -> Duration| {
                let mut times: Vec<Duration> = outcomes.iter().map(of).collect();
                times.sort_unstable();
                times[times.len() / 2].as_secs_f64()
            };
            let last = outcomes[outcomes.len() - 1];
            println!(
                "{}\t{name}\t{:.3}\t{:.3}\t{:.3}\t{:.2}\t{:.1} %",
                edits.name(),
                median(|outcome| outcome.cut_cpu),
                median(|outcome| outcome.hash_cpu),
                median(|outcome| outcome.next_cpu),
                last.new_tiles as f64 / places as f64,
                100.0 * last.same_part,
            );
        }
    }
    Ok(())
}

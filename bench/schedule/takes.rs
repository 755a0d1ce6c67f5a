//! Times handing out, per split, beside a counter that all share, which the engine had before it had groups.
//! One thread on an idle word, and two threads on the same.

use std::error::Error;
use std::hint::black_box;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use tegula::Topology;
use tegula_machine::schedule::{HandOut, Placement};

const SPLITS_PER_TILE: u64 = 256;
const SPLITS: u64 = 256 * 40_000;
const RUNS: usize = 5;

/// The counter: a number, and the end of the tile that it is in, found by binary search.
struct Counter {
    next: AtomicU64,
    tile_ends: Vec<u64>,
}

impl Counter {
    fn take(&self) -> Option<Range<u64>> {
        let mut next = self.next.load(Ordering::Relaxed);
        while next < SPLITS {
            let tile = self.tile_ends.partition_point(|&end| end <= next);
            let to = self.tile_ends[tile].min(next + 1);
            match self.next.compare_exchange_weak(next, to, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Some(next..to),
                Err(now) => next = now,
            }
        }
        None
    }
}

/// Prints nanoseconds per split, a line a way: its name, threads, and the figures of all runs.
pub(crate) fn time() -> Result<(), Box<dyn Error>> {
    let two = Topology::from_text("groups 2, cores 1", Path::new("two groups"))?;
    for threads in [1, 2] {
        let counter = || {
            let counter = Counter { next: AtomicU64::new(0), tile_ends: tile_ends().collect() };
            per_split(threads, |_| counter.take())
        };
        let handed = |placement: &Placement| {
            let hand_out = HandOut::new(tile_ends(), placement);
            per_split(threads, |worker| hand_out.take(worker, 1))
        };
        let (one, two) = (Placement::flat(threads), Placement::new(&two, threads));
        show("counter", threads, counter);
        show("one-group", threads, || handed(&one));
        if threads > 1 {
            show("two-groups", threads, || handed(&two));
        }
    }
    Ok(())
}

fn tile_ends() -> impl Iterator<Item = u64> {
    (1..=SPLITS / SPLITS_PER_TILE).map(|tile| tile * SPLITS_PER_TILE)
}

fn show(name: &str, threads: usize, run: impl Fn() -> f64) {
    let figures: Vec<String> = (0..RUNS).map(|_| format!("{:.1}", run())).collect();
    println!("{name} {threads} {}", figures.join(" "));
}

/// Nanoseconds of processor time that a split costs its taker.
fn per_split(threads: usize, take: impl Fn(usize) -> Option<Range<u64>> + Sync) -> f64 {
    let began = Instant::now();
    std::thread::scope(|scope| {
        for worker in 0..threads {
            let take = &take;
            scope.spawn(move || {
                while let Some(splits) = take(worker) {
                    black_box(splits);
                }
            });
        }
    });
    began.elapsed().as_nanos() as f64 * threads as f64 / SPLITS as f64
}

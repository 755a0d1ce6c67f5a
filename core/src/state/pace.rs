//! Decides when a worker saves its pairs: often enough that a crash loses little work, and seldom enough that
//! it costs next to nothing.

use super::SaveEvery;
use std::time::{Duration, Instant};

/// With `Auto` a worker never saves more often.
const AUTO_LEAST: Duration = Duration::from_secs(1);
/// With `Auto` the next save is at least this many times as far away as the last one took. A save takes
/// the time of handing over and writing; about as much again is spent on pairs that are folded more often
/// and tables that fill anew. So less than a hundredth of the time is spent on saving.
const AUTO_PART: u32 = 300;
/// And at least this part of the run's time away: so the snapshots of a run are few whatever its length.
const AUTO_RUN_PART: u32 = 64;

/// A run whose state is of no use at its end begins to save after this time: most runs have ended by then.
pub const LATE: Duration = Duration::from_millis(500);

/// One worker's pace.
#[derive(Debug)]
pub struct Pace {
    every: SaveEvery,
    tile_bytes: u64,
    began: Instant,
    /// When the next save is due; never, if no clock goes that far.
    next: Option<Instant>,
    /// Bytes mapped since the last save.
    bytes: u64,
}

impl Pace {
    pub fn new(every: SaveEvery, tile_bytes: u64, now: Instant) -> Pace {
        let first = match every {
            SaveEvery::Auto => AUTO_LEAST,
            SaveEvery::Time(time) => time,
            SaveEvery::Tiles(_) => Duration::ZERO,
        };
        Pace { every, tile_bytes, began: now, next: now.checked_add(first), bytes: 0 }
    }

    /// Sets the next save to the time [`LATE`] from now.
    pub fn late(&mut self, now: Instant) {
        (self.bytes, self.next) = (0, now.checked_add(LATE));
    }

    /// Notes that `bytes` were mapped; returns whether it is time to save.
    pub fn mapped(&mut self, bytes: u64, now: Instant) -> bool {
        self.bytes += bytes;
        self.is_due(0, now)
    }

    /// Returns whether it would be time to save if `bytes` more were mapped.
    pub fn is_due(&self, bytes: u64, now: Instant) -> bool {
        match self.bytes_between() {
            None => self.next.is_some_and(|next| now >= next),
            Some(between) => self.bytes + bytes >= between,
        }
    }

    /// Bytes mapped between saves, if it is not a matter of time.
    pub fn bytes_between(&self) -> Option<u64> {
        match self.every {
            SaveEvery::Auto | SaveEvery::Time(_) => None,
            SaveEvery::Tiles(tiles) => Some(tiles.saturating_mul(self.tile_bytes)),
        }
    }

    /// Notes a save that `took` that long.
    pub fn saved(&mut self, took: Duration, now: Instant) {
        self.bytes = 0;
        let pause = match self.every {
            SaveEvery::Auto => {
                let run = now.duration_since(self.began) / AUTO_RUN_PART;
                AUTO_LEAST.max(took.saturating_mul(AUTO_PART)).max(run)
            }
            SaveEvery::Time(time) => time,
            SaveEvery::Tiles(_) => Duration::ZERO,
        };
        self.next = now.checked_add(pause);
    }
}

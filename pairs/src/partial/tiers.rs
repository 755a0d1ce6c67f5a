//! The runs of a partition by tiers: as soon as one level has as many runs as can be read at once, they are
//! joined to one of the next level, as log-structured merge trees do (O'Neil et al., The Log-Structured
//! Merge-Tree, 1996, with tiers). So the number of runs, whose places are held in memory, grows with the
//! logarithm of the bytes on disk, and each pair is written once per level.

use super::runs::Run;

/// Runs, the oldest and longest first.
#[derive(Default)]
pub struct Tiers {
    runs: Vec<Run>,
    /// Somebody joins some of them.
    joining: bool,
}

/// Runs that are being joined.
pub struct Full {
    start: usize,
    pub runs: Vec<Run>,
}

impl Tiers {
    pub fn push(&mut self, run: Run) {
        self.runs.push(run);
    }

    /// Returns the runs, for the stage after the last run was added.
    pub fn runs_mut(&mut self) -> &mut Vec<Run> {
        &mut self.runs
    }

    /// Returns the oldest `fan_in` runs of the newest level that has that many, if nobody joins any. The
    /// caller joins them, without holding the partition meanwhile, and then calls [`joined`](Tiers::joined).
    pub fn take_full(&mut self, fan_in: usize) -> Option<Full> {
        if self.joining {
            return None;
        }
        // Older runs are of no lower level. Newer ones may have come while older ones were joined.
        let mut end = self.runs.len();
        let full = self.runs.chunk_by(|a, b| a.level == b.level).rev().find(|level| {
            end -= level.len();
            level.len() >= fan_in
        })?;
        self.joining = true;
        Some(Full { start: end, runs: full[..fan_in].to_vec() })
    }

    /// Replaces the joined runs by one. Newer runs may have come after them.
    pub fn joined(&mut self, full: &Full, into: Run) {
        self.runs.splice(full.start..full.start + full.runs.len(), [into]);
        self.joining = false;
    }
}

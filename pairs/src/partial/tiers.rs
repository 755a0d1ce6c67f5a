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
pub(super) struct Full {
    start: usize,
    pub(super) runs: Vec<Run>,
}

impl Tiers {
    pub(super) fn push(&mut self, run: Run) {
        self.runs.push(run);
    }

    /// Returns the runs, for the stage after the last run was added.
    pub fn runs_mut(&mut self) -> &mut Vec<Run> {
        &mut self.runs
    }

    /// Returns the oldest `fan_in` runs of the newest level that has that many, if nobody joins any. The
    /// caller joins them, without holding the partition meanwhile, and then calls [`joined`](Tiers::joined).
    pub(super) fn take_full(&mut self, fan_in: usize) -> Option<Full> {
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
    pub(super) fn joined(&mut self, full: &Full, into: Run) {
        self.runs.splice(full.start..full.start + full.runs.len(), [into]);
        self.joining = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whenever runs are joined, and whatever comes meanwhile: none is lost, their order stays,
        /// and there are few.
        #[test]
        fn runs_stay_few_and_in_order(fan_in in 2..6_usize, busy in prop::collection::vec(0..4_usize, 1..200)) {
            let mut tiers = Tiers::default();
            let mut next = 0;
            let mut push = |tiers: &mut Tiers| {
                let mut run = Run::new(0);
                run.add(next..next + 1, 1);
                next += 1;
                tiers.push(run);
            };
            for mut meanwhile in busy {
                push(&mut tiers);
                while let Some(full) = tiers.take_full(fan_in) {
                    for _ in 0..std::mem::take(&mut meanwhile) {
                        push(&mut tiers);
                        prop_assert!(tiers.take_full(fan_in).is_none(), "one joins at a time");
                    }
                    let mut joined = Run { level: full.runs[0].level + 1, ..Run::new(0) };
                    for extent in full.runs.iter().flat_map(|run| &run.extents) {
                        joined.add(extent.clone(), 1);
                    }
                    tiers.joined(&full, joined);
                }
            }
            let runs = tiers.runs_mut();
            let levels = next.ilog(fan_in as u64) as usize + 1;
            prop_assert!(runs.len() <= levels * (fan_in - 1) + 3, "{} of {next}", runs.len());
            prop_assert!(runs.is_sorted_by(|older, newer| older.level >= newer.level));
            let extents: Vec<_> = runs.iter().flat_map(|run| run.extents.clone()).collect();
            prop_assert!(extents.windows(2).all(|two| two[0].end == two[1].start));
            prop_assert_eq!((extents[0].start, extents[extents.len() - 1].end), (0, next));
        }
    }
}

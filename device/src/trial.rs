//! A trial of whether the device is of use. Its feeder takes time of the cores, its copies take bandwidth
//! of their memory, and its driver may use cores itself. So once in a sufficiently long job, all work is
//! timed with the device and then for the same time without. Takes counts of done splits over time; hands
//! on a verdict for the device.

use std::time::Duration;

/// The duration of each half.
const HALF: Duration = Duration::from_millis(200);
/// The rest of the job must last at least this number of halves, so that resting costs little.
const HALVES_LEFT: f64 = 20.0;
/// The cores alone must be faster by this factor to win.
const BETTER: f64 = 1.05;

/// The instruction to the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Work,
    Rest,
    GoHome,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Trial {
    ToCome,
    With {
        since: Duration,
        splits: u64,
    },
    /// The device finishes its units; with it, all did `splits_s` splits per second.
    Ending {
        splits_s: f64,
    },
    Without {
        since: Duration,
        splits: u64,
        splits_s: f64,
    },
    Over(Verdict),
}

/// The state of the run at one moment.
pub(super) struct Standing {
    pub(super) now: Duration,
    /// Splits done so far, by all.
    pub(super) splits: u64,
    /// Estimated time until the end of the job.
    pub(super) seconds_left: f64,
    /// Whether the device has nothing in flight.
    pub(super) is_empty: bool,
}

impl Trial {
    /// Returns whether work is being timed, so that nothing else may change.
    pub(super) fn is_under_way(&self) -> bool {
        !matches!(self, Trial::ToCome | Trial::Over(_))
    }

    /// Decides what the device does now.
    pub(super) fn verdict(&mut self, standing: &Standing) -> Verdict {
        let Standing { now, splits, seconds_left, is_empty } = *standing;
        let splits_s = |since: Duration, before: u64| {
            splits.saturating_sub(before) as f64 / now.saturating_sub(since).as_secs_f64()
        };
        *self = match *self {
            Trial::ToCome if seconds_left > HALVES_LEFT * HALF.as_secs_f64() => {
                Trial::With { since: now, splits }
            }
            Trial::With { since, splits } if now >= since + HALF => {
                Trial::Ending { splits_s: splits_s(since, splits) }
            }
            Trial::Ending { splits_s } if is_empty => {
                Trial::Without { since: now, splits, splits_s }
            }
            Trial::Without { since, splits, splits_s: with } if now >= since + HALF => {
                let is_better = splits_s(since, splits) > BETTER * with;
                Trial::Over(if is_better { Verdict::GoHome } else { Verdict::Work })
            }
            same => same,
        };
        match *self {
            Trial::ToCome | Trial::With { .. } => Verdict::Work,
            Trial::Ending { .. } | Trial::Without { .. } => Verdict::Rest,
            Trial::Over(verdict) => verdict,
        }
    }
}

//! The trial of whether a device is of use at all: its feeder takes time of the cores, its copies take
//! bandwidth of their memory, and its driver may use cores itself. So once, of a job that is long enough,
//! all work is timed with the device and then for as long without. Takes how many splits were done when;
//! hands on what the device is to do.

use std::time::Duration;

/// How long each half lasts.
const HALF: Duration = Duration::from_millis(200);
/// What is left of the job must last so many times as long, so that a rest costs little.
const HALVES_LEFT: f64 = 20.0;
/// Without the device it must be better by this.
const BETTER: f64 = 1.05;

/// What the device is to do.
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
    /// The device is to end what it has, all having done so many splits a second with it.
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

/// How things stand.
pub(super) struct Standing {
    pub(super) now: Duration,
    /// Splits that all have done until now.
    pub(super) splits: u64,
    /// How long what is left will take, about.
    pub(super) seconds_left: f64,
    /// Whether the device has nothing in flight.
    pub(super) is_empty: bool,
}

impl Trial {
    /// Whether work is being timed, so that nothing else may change.
    pub(super) fn is_under_way(&self) -> bool {
        !matches!(self, Trial::ToCome | Trial::Over(_))
    }

    /// What the device is to do now.
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

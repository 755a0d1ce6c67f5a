//! One show, as the caller's function sees it.

use super::stability::Stability;
use crate::aggregate::Aggregate;
use crate::job::Job;
use crate::output::{Answers, Seen};
use std::fmt;
use std::time::Duration;

/// A job's answers so far, and the part of the input that they cover.
#[non_exhaustive]
pub struct Shown<'a, J: Job> {
    /// The show's number, from 1.
    pub number: u64,
    /// Bytes of the input whose records are in the answers, as in [`Progress`](crate::progress::Progress). Compressed
    /// files count with their compressed bytes.
    pub bytes: u64,
    /// Bytes of the whole input; `None` if the length is not known (streams).
    pub bytes_planned: Option<u64>,
    /// Distinct keys so far, shown or not. `None` if a show of the top N was made without counting them
    /// ([`Job::LARGEST_FIRST`]), except in the last one.
    pub keys: Option<u64>,
    /// Time since the map stage began.
    pub elapsed: Duration,
    /// Whether it covers all of the input: these are the job's answers.
    pub is_last: bool,
    answers: Answers<'a, J>,
    stability: &'a Stability,
}

/// One show as the stages make it: see the fields of [`Shown`].
pub(crate) struct Moment<'a, C: Aggregate> {
    pub(super) number: u64,
    pub(super) bytes: u64,
    pub(super) bytes_planned: Option<u64>,
    pub(super) keys: Option<u64>,
    pub(super) elapsed: Duration,
    pub(super) is_last: bool,
    pub(super) answers: Seen<'a, C>,
    pub(super) stability: &'a Stability,
}

impl<J: Job> fmt::Debug for Shown<'_, J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Shown");
        out.field("number", &self.number).field("bytes", &self.bytes);
        out.field("bytes_planned", &self.bytes_planned).field("keys", &self.keys);
        out.field("elapsed", &self.elapsed).field("is_last", &self.is_last);
        out.field("answers", &self.answers).finish_non_exhaustive()
    }
}

impl<'a, J: Job> Shown<'a, J> {
    pub(super) fn of(moment: &Moment<'a, J::Combine>) -> Shown<'a, J> {
        let Moment { number, bytes, bytes_planned, keys, elapsed, is_last, answers, stability } =
            *moment;
        let answers = Answers::of(answers);
        Shown { number, bytes, bytes_planned, keys, elapsed, is_last, answers, stability }
    }
}

impl<J: Job> Shown<'_, J> {
    /// Returns the answers of a run over this part of the input, in the requested order.
    pub fn answers(&self) -> &Answers<'_, J> {
        &self.answers
    }

    /// Returns the part of the input that was seen, from 0 to 1. Before the last show, returns `None` if
    /// the length is not known.
    pub fn part(&self) -> Option<f64> {
        if self.is_last {
            return Some(1.0);
        }
        self.bytes_planned.map(|planned| (self.bytes as f64 / planned.max(1) as f64).min(1.0))
    }

    /// Returns since when the first `count` keys are the same ones, in whatever order among themselves: the
    /// number of bytes that the first show with these keys had seen. Returns `None` if the show has fewer
    /// keys, if `count` is more than [`STABLE_KEYS_MOST`](crate::STABLE_KEYS_MOST), or if the order is not
    /// by value.
    pub fn stable_since(&self, count: usize) -> Option<u64> {
        self.stability.since(count)
    }
}

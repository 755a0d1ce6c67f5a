//! The simulated machines, and the cost of distance on them. The sources of the figures are named in
//! `docs/groups.md`.

use std::path::Path;
use tegula::{Result, Topology};

/// The time of bytes from another chip's memory, in terms of the near memory's.
pub(crate) const REMOTE_FACTOR: f64 = 2.1;
/// The time in which a core gets a cache line to write, if a core of the same chip had it last, and if one of
/// another chip had; in nanoseconds. No other core can have it meanwhile.
pub(crate) const LINE_NEAR_NS: u64 = 50;
pub(crate) const LINE_FAR_NS: u64 = 150;

/// Chips of `per_chip` cores; the last one may have fewer.
#[derive(Clone, Copy)]
pub(crate) struct Machine {
    pub(crate) cores: usize,
    pub(crate) per_chip: usize,
}

impl Machine {
    pub(crate) fn topology(self) -> Result<Topology> {
        let (full, rest) = (self.cores / self.per_chip, self.cores % self.per_chip);
        let mut text = String::new();
        if full > 0 {
            text += &format!("groups {full}, cores {}\n", self.per_chip);
        }
        if rest > 0 {
            text += &format!("cores {rest}\n");
        }
        Topology::from_text(&text, Path::new("a simulated machine"))
    }
}

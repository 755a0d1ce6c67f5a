//! A machine at work, event by event: the worker that is done first takes next, from the very `HandOut` that
//! the engine uses. Takes costs of splits and a machine; hands on the times when workers were done and the
//! number of their remote splits.

use crate::machine::{LINE_FAR_NS, LINE_NEAR_NS, Machine, REMOTE_FACTOR};
use crate::record::Costs;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use tegula::Result;
use tegula_machine::schedule::{HandOut, Placement};

/// The result of a simulated run.
pub(crate) struct Simulated {
    pub(crate) nanoseconds: u64,
    /// Part of all splits whose bytes came from another chip's memory.
    pub(crate) remote: f64,
    /// Part of all workers' time in which they had nothing to do.
    pub(crate) idle: f64,
    pub(crate) tiles_stolen: u64,
}

/// Who takes from which queue.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scheduler {
    /// All workers from one.
    Flat,
    /// Each chip's from its own.
    Grouped,
    /// All workers from one, and none begins a tile before all have ended the one before.
    Waiting,
}

/// The word of a tile that takers write: who had it last, and when it is free again.
#[derive(Clone, Copy, Default)]
struct Line {
    chip: Option<usize>,
    free_ns: u64,
}

/// Runs `tiles` tiles, whose splits have the recorded costs.
pub(crate) fn simulate(
    costs: &Costs,
    tiles: usize,
    machine: Machine,
    scheduler: Scheduler,
) -> Result<Simulated> {
    let chips = Placement::new(&machine.topology()?, machine.cores);
    let flat = Placement::flat(machine.cores);
    let placement = if scheduler == Scheduler::Grouped { &chips } else { &flat };
    let per_tile = costs.splits_per_tile as u64;
    let homes = homes(tiles, &chips);
    let mut lines = vec![Line::default(); tiles];
    let together = if scheduler == Scheduler::Waiting { 1 } else { tiles };
    let (mut last_ns, mut idle, mut remote, mut tiles_stolen) = (0, 0, 0_u64, 0);
    for first in (0..tiles).step_by(together) {
        let hand_out = HandOut::new((1..=together as u64).map(|tile| tile * per_tile), placement);
        let begin = |worker| Reverse((last_ns, worker));
        let mut next: BinaryHeap<_> = (0..machine.cores).map(begin).collect();
        let mut done_ns = Vec::new();
        while let Some(Reverse((now_ns, worker))) = next.pop() {
            let Some(splits) = hand_out.take(worker, 1) else {
                done_ns.push(now_ns);
                continue;
            };
            let split = first as u64 * per_tile + splits.start;
            let tile = (split / per_tile) as usize;
            let chip = chips.group_of(worker);
            let taken_ns = lines[tile].pass_to(chip, now_ns);
            let cost_ns = costs.of(split, tiles as u64 * per_tile) as f64;
            let far = if homes[tile] == chip { 0.0 } else { REMOTE_FACTOR - 1.0 };
            remote += u64::from(homes[tile] != chip);
            let split_ns = (cost_ns * (1.0 + costs.memory_part * far)) as u64;
            next.push(Reverse((taken_ns + split_ns, worker)));
        }
        last_ns = done_ns.iter().copied().max().unwrap_or(last_ns);
        idle += done_ns.iter().map(|done| last_ns - done).sum::<u64>();
        tiles_stolen += hand_out.shares().iter().map(|share| share.tiles_stolen).sum::<u64>();
    }
    Ok(Simulated {
        nanoseconds: last_ns,
        remote: remote as f64 / (tiles as u64 * per_tile) as f64,
        idle: idle as f64 / (last_ns * machine.cores as u64).max(1) as f64,
        tiles_stolen,
    })
}

impl Line {
    /// Passes the word to a core of a chip that wants it; says when it has it.
    fn pass_to(&mut self, chip: usize, now_ns: u64) -> u64 {
        let is_far = self.chip.is_some_and(|last| last != chip);
        let from = self.free_ns.max(now_ns);
        *self = Line {
            chip: Some(chip),
            free_ns: from + if is_far { LINE_FAR_NS } else { LINE_NEAR_NS },
        };
        self.free_ns
    }
}

/// For each tile the chip in whose memory it lies: chips hold stretches that follow each other, as
/// large as their part of the cores. That is where they lie when each chip has read its own.
fn homes(tiles: usize, chips: &Placement) -> Vec<usize> {
    let core_of = |tile: usize| (tile * chips.workers() + chips.workers() / 2) / tiles;
    (0..tiles).map(|tile| chips.group_of(core_of(tile).min(chips.workers() - 1))).collect()
}

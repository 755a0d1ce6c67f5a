//! The machine as the scheduler sees it: the processors that this process may use, their cores, caches,
//! memory nodes and groups. Read once from the operating system's tables (`/sys`) and used by sizing
//! (second-level cache) and scheduling (groups). Reading never fails: a fact that the system does not
//! report is assumed and named in [`Topology::unknown`].

mod described;
mod groups;
mod quota;
mod ranges;
mod read;
mod show;

pub use read::of_files;

use std::path::Path;

/// The second-level cache that is assumed if the system reports none: 1 MiB.
pub const ASSUMED_L2_BYTES: u64 = 1 << 20;

/// Processors, caches, memory nodes and groups of this machine that this process may use.
#[derive(Clone, Debug, PartialEq)]
pub struct Topology {
    /// The processors this process may run on, by number. Never empty.
    pub processors: Vec<Processor>,
    /// The data and unified caches of those processors, by level, then by lowest processor.
    pub caches: Vec<Cache>,
    /// The memory nodes, by number, those without processors included. Never empty.
    pub nodes: Vec<Node>,
    /// The processors by last-level cache and memory node, by lowest processor: each processor is in
    /// exactly one group. Never empty.
    pub groups: Vec<Group>,
    /// Processor time per wall time that the control group allows (2.5 is two and a half processors);
    /// `None` if it sets no limit.
    pub quota: Option<f64>,
    /// The facts that the system did not report, and the assumptions made instead.
    pub unknown: Vec<&'static str>,
}

/// One processor: a hardware thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Processor {
    /// Its number in the operating system.
    pub id: u32,
    /// Number of its package (socket).
    pub package: u32,
    /// Its core, named by the core's lowest processor (which this process may not be allowed to use).
    pub core: u32,
    /// The processors of its core that this process may use, itself included.
    pub siblings: Vec<u32>,
    /// Number of its memory node.
    pub node: u32,
}

/// One cache that holds data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    /// 1 is nearest to the processor.
    pub level: u8,
    /// Its size in bytes.
    pub bytes: u64,
    /// Its line in bytes.
    pub line_bytes: u64,
    /// The usable processors that share it.
    pub processors: Vec<u32>,
}

/// One memory node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its number in the operating system.
    pub id: u32,
    /// Its memory in bytes; 0 if the system does not report it.
    pub bytes: u64,
    /// The usable processors nearest to it.
    pub processors: Vec<u32>,
    /// The distance of its memory to each node, in the order of the nodes (10 is its own); empty if the
    /// system does not report it.
    pub distances: Vec<u32>,
}

/// Processors that share a last-level cache and a memory node, so that data stays near within a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Number of its memory node.
    pub node: u32,
    /// Its usable processors.
    pub processors: Vec<u32>,
    /// The number of cores of these processors.
    pub cores: usize,
    /// Size of the cache that they share, in bytes; `None` if no cache is known to be shared.
    pub cache_bytes: Option<u64>,
}

impl Topology {
    /// Reads the topology of this machine: a few small files per processor. Never fails; see
    /// [`Topology::unknown`].
    pub fn detect() -> Topology {
        of_files(Path::new("/"), read::affinity().as_deref())
    }

    /// Returns the number of workers that keep the usable processors busy: one for each, but no more than
    /// the quota allows, rounded up. At least 1.
    pub fn workers(&self) -> usize {
        let allowed = self.quota.map_or(usize::MAX, |quota| quota.ceil() as usize);
        self.processors.len().min(allowed).max(1)
    }

    /// Returns the smallest second-level cache of the usable processors in bytes, or [`ASSUMED_L2_BYTES`]
    /// if none is known.
    pub fn l2_bytes(&self) -> u64 {
        let sizes = self.caches.iter().filter(|cache| cache.level == 2).map(|cache| cache.bytes);
        sizes.min().unwrap_or(ASSUMED_L2_BYTES)
    }

    /// Returns the distance of one node's memory from another: 10 for its own, more for others.
    pub fn distance(&self, from: u32, to: u32) -> u32 {
        let place = |id| self.nodes.iter().position(|node| node.id == id);
        let known = place(from).zip(place(to));
        let known = known.and_then(|(from, to)| self.nodes[from].distances.get(to).copied());
        known.unwrap_or(if from == to { 10 } else { 20 })
    }

    /// Returns the number of cores of the usable processors.
    pub fn cores(&self) -> usize {
        let mut cores: Vec<u32> = self.processors.iter().map(|processor| processor.core).collect();
        cores.sort_unstable();
        cores.dedup();
        cores.len()
    }
}

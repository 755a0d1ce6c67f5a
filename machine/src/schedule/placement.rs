//! Placement: which worker belongs to which group of processors, and where a group looks for work
//! when it has none left. Takes a topology and a number of workers; hands on plain numbers.

use crate::topology::{Group, Topology};
use std::ops::Range;

/// Workers by group. Workers of one group follow each other in number; groups without workers are
/// left out, so every group here has some.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    groups: Vec<Team>,
    group_of: Vec<usize>,
    /// Whether groups share the last tiles.
    shares: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Team {
    /// Its number in the topology.
    number: usize,
    workers: Range<usize>,
    /// The other groups, nearest first.
    others: Vec<usize>,
}

impl Placement {
    /// Spreads `workers` (at least 1) over the topology's groups, in proportion to their processors.
    /// Costs the square of the number of groups.
    pub fn new(topology: &Topology, workers: usize) -> Placement {
        let processors = |group: &Group| group.processors.len();
        let all: usize = topology.groups.iter().map(processors).sum();
        let mut groups = Vec::new();
        let mut before = 0;
        for (number, group) in topology.groups.iter().enumerate() {
            let first = workers * before / all.max(1);
            before += processors(group);
            let end = workers * before / all.max(1);
            if first < end {
                groups.push(Team { number, workers: first..end, others: Vec::new() });
            }
        }
        if groups.is_empty() {
            return Placement::flat(workers);
        }
        let node_of = |place: &Team| topology.groups[place.number].node;
        let nodes: Vec<u32> = groups.iter().map(node_of).collect();
        for (at, place) in groups.iter_mut().enumerate() {
            let mut others: Vec<usize> =
                (1..nodes.len()).map(|step| (at + step) % nodes.len()).collect();
            // A stable sort: equally near groups keep the order of the ring.
            others.sort_by_cached_key(|&other| topology.distance(nodes[at], nodes[other]));
            place.others = others;
        }
        Placement::of(groups)
    }

    /// Returns all workers in one group.
    pub fn flat(workers: usize) -> Placement {
        Placement::of(vec![Team { number: 0, workers: 0..workers, others: Vec::new() }])
    }

    /// Puts each worker in a group of its own; no tile is shared between groups.
    pub fn alone(workers: usize) -> Placement {
        let group = |worker| Team {
            number: 0,
            workers: worker..worker + 1,
            others: (1..workers).map(|step| (worker + step) % workers).collect(),
        };
        Placement { shares: false, ..Placement::of((0..workers).map(group).collect()) }
    }

    fn of(groups: Vec<Team>) -> Placement {
        let group_of = groups.iter().enumerate();
        let group_of = group_of.flat_map(|(at, place)| place.workers.clone().map(move |_| at));
        let group_of = group_of.collect();
        Placement { groups, group_of, shares: true }
    }

    /// Returns whether groups with an empty queue take splits of tiles that other groups work on.
    pub fn shares(&self) -> bool {
        self.shares
    }

    /// Returns the number of groups that have workers: at least 1.
    pub fn groups(&self) -> usize {
        self.groups.len()
    }

    /// Returns the number of workers.
    pub fn workers(&self) -> usize {
        self.group_of.len()
    }

    /// Returns the group of a worker.
    pub fn group_of(&self, worker: usize) -> usize {
        self.group_of[worker]
    }

    /// Returns the workers of a group.
    pub fn workers_of(&self, group: usize) -> Range<usize> {
        self.groups[group].workers.clone()
    }

    /// Returns the number that a group has among the topology's.
    pub fn number_of(&self, group: usize) -> usize {
        self.groups[group].number
    }

    /// Returns the processors on which a worker is to run: one of its group's, if that has a worker for each; else
    /// all of the group's. Programs side by side that have fewer workers than there are processors would otherwise
    /// all run on the first ones.
    #[doc(hidden)]
    pub fn processors_of(&self, topology: &Topology, worker: usize) -> Vec<u32> {
        let place = &self.groups[self.group_of[worker]];
        let mut processors = topology.groups[place.number].processors.clone();
        if place.workers.len() == processors.len() {
            // A core for each worker as far as there are cores, then their second threads.
            let nth_of_core = |id: &u32| {
                let processor = topology.processors.iter().find(|processor| processor.id == *id);
                let siblings = processor.map(|processor| processor.siblings.iter());
                siblings.and_then(|mut siblings| siblings.position(|sibling| sibling == id))
            };
            processors.sort_by_cached_key(nth_of_core);
            processors = vec![processors[worker - place.workers.start]];
        }
        processors
    }

    /// Returns the other groups in the order in which a group goes to them for work: near memory nodes first,
    /// and on from itself, so that not all go to the same.
    pub fn others(&self, group: usize) -> &[usize] {
        &self.groups[group].others
    }
}

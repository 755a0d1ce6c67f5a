//! How the pairs of all nodes come together, once each tile is held by one. Nodes fold their pairs first, which shows how
//! many there are. Few are given to the manager. Many are exchanged by partition: each node makes the answer of some
//! partitions, of which the others give it their pairs, and the manager puts these answers together. Nodes keep their
//! pairs until the end, so after a loss they begin again with another number, and what is told under an old one is
//! ignored.

use crate::exchange::Part;
use crate::ledger::NodeId;
use crate::message::Order;
use crate::parts::part_in;
use crate::peer::Address;
use std::collections::BTreeMap;
use std::path::Path;
use tegula::holding::ReduceTotals;

/// Exchanges that may fail although no node is lost, before the manager takes all pairs.
const FAILURES_MOST: u32 = 3;

#[derive(Default)]
pub(crate) struct Together {
    /// The number of this attempt.
    pub(crate) number: u64,
    step: Step,
    /// The pairs of the nodes that were asked to fold them.
    folds: BTreeMap<NodeId, Option<Folded>>,
    failures: u32,
}

#[derive(Default)]
enum Step {
    /// Not all tiles are held, or nobody was asked yet.
    #[default]
    Open,
    Folding,
    Giving,
    /// Parts of the answer, in the order of their partitions.
    Exchanging(Vec<(Part, Option<Answered>)>),
}

/// A part of the answer that a node has made.
#[derive(Clone, Copy)]
struct Answered {
    totals: ReduceTotals,
    /// The length of the file that it is in; 0 if the node keeps it.
    bytes: u64,
}

/// A node's pairs after folding.
struct Folded {
    bytes: u64,
    counts: Vec<u8>,
}

impl Together {
    /// Begins anew when it is next asked: a node is lost.
    pub(crate) fn reset(&mut self) {
        self.step = Step::Open;
    }

    /// Asks nodes to fold their pairs, if that was not done.
    pub(crate) fn begin(&mut self, nodes: impl Iterator<Item = NodeId>) -> Vec<(NodeId, Order)> {
        if !matches!(self.step, Step::Open) {
            return Vec::new();
        }
        self.number += 1;
        self.step = Step::Folding;
        self.folds = nodes.map(|node| (node, None)).collect();
        let fold = Order::Fold { number: self.number };
        self.folds.keys().map(|&node| (node, fold.clone())).collect()
    }

    pub(crate) fn folded(&mut self, node: NodeId, number: u64, bytes: u64, counts: Vec<u8>) {
        if let Some(fold) = self.folds.get_mut(&node).filter(|_| number == self.number) {
            *fold = Some(Folded { bytes, counts });
        }
    }

    /// Returns the bytes of all pairs once: when all nodes have folded theirs.
    pub(crate) fn bytes(&self) -> Option<u64> {
        let is_folding = matches!(self.step, Step::Folding);
        let folds = || self.folds.values().flatten();
        let is_ready = is_folding && folds().count() == self.folds.len();
        is_ready.then(|| folds().map(|fold| fold.bytes).sum())
    }

    /// Returns whether nodes may exchange pairs.
    pub(crate) fn may_exchange(&self) -> bool {
        self.failures < FAILURES_MOST
    }

    /// Notes that the manager takes the pairs.
    pub(crate) fn give(&mut self) {
        self.step = Step::Giving;
    }

    /// Lets nodes exchange their pairs; `address` is where a node listens. They write the answer `into` a folder, or
    /// keep it.
    pub(crate) fn exchange(
        &mut self,
        parts: Vec<Part>,
        address: &dyn Fn(NodeId) -> Option<Address>,
        into: Option<&Path>,
    ) -> Vec<(NodeId, Order)> {
        let number = self.number;
        let order = |(at, part): (usize, &Part)| {
            // Each begins with another one, so that no node gives its pairs to all at once.
            let (before, after) = (self.folds.range(..part.node), self.folds.range(part.node..));
            let others = after.chain(before).filter(|(node, fold)| {
                **node != part.node && fold.as_ref().is_some_and(|fold| fold.bytes > 0)
            });
            let from = others.filter_map(|(&node, _)| address(node)).collect();
            let partitions = part.partitions.clone();
            let order = match into {
                Some(into) => {
                    let path = part_in(into, number, at);
                    Order::Write { number, partitions, from, path }
                }
                None => Order::Exchange { number, partitions, from },
            };
            (part.node, order)
        };
        let orders = parts.iter().enumerate().map(order).collect();
        self.step = Step::Exchanging(parts.into_iter().map(|part| (part, None)).collect());
        orders
    }

    /// Notes that a node has made its part of the answer, which is in a file of `bytes`.
    pub(crate) fn answered(
        &mut self,
        node: NodeId,
        number: u64,
        (totals, bytes): (ReduceTotals, u64),
    ) {
        if let Step::Exchanging(parts) = &mut self.step
            && number == self.number
            && let Some((_, of)) = parts.iter_mut().find(|(part, _)| part.node == node)
        {
            *of = Some(Answered { totals, bytes });
        }
    }

    /// Notes that pairs or an answer did not come.
    pub(crate) fn unreached(&mut self, number: u64) {
        if number == self.number && matches!(self.step, Step::Exchanging(_)) {
            self.failures += 1;
            self.reset();
        }
    }

    /// Returns the nodes that have made the answer, in the order of its parts, each with the length of its file, and
    /// the sum of their totals; `None` before all have.
    pub(crate) fn answers(&self) -> Option<(Vec<(NodeId, u64)>, ReduceTotals)> {
        let Step::Exchanging(parts) = &self.step else { return None };
        let answered: Option<Vec<Answered>> = parts.iter().map(|(_, answered)| *answered).collect();
        let answered = answered?;
        let sum = |sum: ReduceTotals, of: ReduceTotals| ReduceTotals {
            keys: sum.keys + of.keys,
            key_bytes: sum.key_bytes + of.key_bytes,
        };
        let totals = answered.iter().map(|of| of.totals).fold(ReduceTotals::default(), sum);
        let nodes = parts.iter().zip(&answered).map(|((part, _), of)| (part.node, of.bytes));
        Some((nodes.collect(), totals))
    }

    /// Returns the nodes that were asked, and the counts of the maps that made their pairs.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (NodeId, &[u8])> {
        let folds = self.folds.iter();
        folds.filter_map(|(&node, fold)| Some((node, &fold.as_ref()?.counts[..])))
    }
}

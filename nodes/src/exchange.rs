//! Which node makes the answer of which partitions.

use crate::ledger::NodeId;
use std::ops::Range;

/// The partitions whose answer a node makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The node.
    pub node: NodeId,
    /// Its partitions: all blocks of other nodes with these go to it.
    pub partitions: Range<usize>,
}

/// The figures of a node on which the division of partitions depends.
pub(crate) struct Share {
    pub(crate) node: NodeId,
    /// Bytes per second.
    pub(crate) rate: f64,
    /// The largest part of all pairs that its memory holds, from 0 to 1 or more.
    pub(crate) most: f64,
}

/// Divides partitions among nodes by rate. A node whose memory holds less than that gets what it holds, and the
/// others the rest; if the memory of all is too small, each spills in proportion to its memory. Partitions are
/// hashed, so each has about as many bytes as another.
pub(crate) fn divide(shares: &[Share], partitions: usize) -> Vec<Part> {
    let parts = parts_of_one(shares);
    let mut begun = 0.0;
    let mut start = 0;
    let mut divided = Vec::new();
    for (share, part) in shares.iter().zip(&parts) {
        begun += part;
        let end = ((begun * partitions as f64).round() as usize).clamp(start, partitions);
        divided.push(Part { node: share.node, partitions: start..end });
        start = end;
    }
    if let Some(last) = divided.iter_mut().rev().find(|part| !part.partitions.is_empty()) {
        // The sum of the parts is 1 but for rounding.
        last.partitions.end = partitions;
    }
    divided.retain(|part| !part.partitions.is_empty());
    divided
}

/// Returns the part of each node; they add up to 1.
fn parts_of_one(shares: &[Share]) -> Vec<f64> {
    let memory: f64 = shares.iter().map(|share| share.most).sum();
    if memory <= 1.0 {
        return shares.iter().map(|share| share.most / memory).collect();
    }
    let mut parts = vec![None; shares.len()];
    // Each round gives nodes that are too small their whole memory, which leaves more to the others.
    loop {
        let left: f64 = 1.0 - parts.iter().flatten().sum::<f64>();
        let open = || shares.iter().zip(&parts).filter(|(_, part)| part.is_none());
        let rates: f64 = open().map(|(share, _)| share.rate).sum();
        let part_of = |share: &Share| left * share.rate / rates;
        let full: Vec<usize> = (0..shares.len())
            .filter(|&at| parts[at].is_none() && part_of(&shares[at]) > shares[at].most)
            .collect();
        if full.is_empty() {
            let given = shares.iter().zip(&parts);
            return given.map(|(share, part)| part.unwrap_or_else(|| part_of(share))).collect();
        }
        full.into_iter().for_each(|at| parts[at] = Some(shares[at].most));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shares(of: &[(f64, f64)]) -> Vec<Share> {
        let share = |(at, &(rate, most))| Share { node: NodeId::of(at), rate, most };
        of.iter().enumerate().map(share).collect()
    }

    fn lengths(parts: &[Part]) -> Vec<usize> {
        parts.iter().map(|part| part.partitions.len()).collect()
    }

    #[test]
    fn partitions_are_divided_by_rate() {
        assert_eq!(lengths(&divide(&shares(&[(1.0, 9.0), (3.0, 9.0)]), 64)), [16, 48]);
    }

    #[test]
    fn a_node_of_little_memory_gets_what_it_holds() {
        assert_eq!(
            lengths(&divide(&shares(&[(2.0, 0.25), (1.0, 9.0), (1.0, 9.0)]), 64)),
            [16, 24, 24]
        );
    }

    #[test]
    fn nodes_whose_memory_is_too_small_together_spill_alike() {
        assert_eq!(lengths(&divide(&shares(&[(9.0, 0.1), (1.0, 0.3)]), 64)), [16, 48]);
    }

    proptest! {
        #[test]
        fn each_partition_is_in_one_part(
            of in prop::collection::vec((1e-3..1e3, 1e-3..2.0), 1..40),
            partitions in 1_usize..300,
        ) {
            let parts = divide(&shares(&of), partitions);
            let mut next = 0;
            for part in &parts {
                prop_assert_eq!(part.partitions.start, next);
                next = part.partitions.end;
            }
            prop_assert_eq!(next, partitions);
        }
    }
}

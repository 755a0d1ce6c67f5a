//! Groups of processors that share a last-level cache and a memory node.

use super::{Cache, Group, Processor};
use std::collections::BTreeSet;

/// The identity of a group: its node, and its cache by index.
type Name = (u32, Option<usize>);

/// Groups processors by (node, last-level cache). Only a cache that several cores could share makes a
/// group: any third-level cache, or a lower one that is shared. Otherwise the node is the group.
pub(super) fn groups(processors: &[Processor], caches: &[Cache]) -> Vec<Group> {
    let mut members: Vec<(Name, Vec<&Processor>)> = Vec::new();
    for processor in processors {
        let near =
            caches.iter().enumerate().filter(|(_, cache)| cache.processors.contains(&processor.id));
        let last = near.max_by_key(|(_, cache)| cache.level);
        let shared =
            |cache: &Cache| cache.processors.iter().any(|id| !processor.siblings.contains(id));
        let last =
            last.filter(|(_, cache)| cache.level >= 3 || shared(cache)).map(|(index, _)| index);
        let name = (processor.node, last);
        match members.iter_mut().find(|(other, _)| *other == name) {
            Some((_, group)) => group.push(processor),
            None => members.push((name, vec![processor])),
        }
    }
    let group = |((node, cache), members): (Name, Vec<&Processor>)| Group {
        node,
        processors: members.iter().map(|processor| processor.id).collect(),
        cores: members.iter().map(|processor| processor.core).collect::<BTreeSet<_>>().len(),
        cache_bytes: cache.map(|index| caches[index].bytes),
    };
    members.into_iter().map(group).collect()
}

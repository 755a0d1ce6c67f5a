//! What the leases in flight let expect. It takes time linear in the number of nodes to make, so one serves for as many
//! calls as a sixteenth of the nodes: a call costs the same with any number of nodes. With fewer than 32 nodes each call
//! has a new one.

/// Nodes for each call that an outlook serves for.
const SERVES: usize = 16;
/// Nodes that are looked at where all of many would be.
const LOOKED_AT: usize = 64;

#[derive(Clone, Debug, Default)]
pub(crate) struct Outlook {
    /// The bytes of leases in flight that are not mapped yet.
    pub(crate) left: f64,
    /// The sum of the rates of all nodes.
    pub(crate) rate: f64,
    /// Leases that no other node has, the one that ends last at the end. They are looked at when no tile is free.
    pub(crate) alone: Vec<u64>,
    pub(crate) has_alone: bool,
    /// The calls that it serves for from now on.
    calls: usize,
}

impl Outlook {
    /// Returns an empty outlook for the call that makes it and those after it.
    pub(crate) fn of(nodes: usize) -> Outlook {
        Outlook { calls: (nodes / SERVES).saturating_sub(1), ..Outlook::default() }
    }

    /// Returns whether it serves for a call that needs the leases that end last, or does not.
    pub(crate) fn serves(&mut self, needs_alone: bool) -> bool {
        let serves = self.calls > 0 && (self.has_alone || !needs_alone);
        self.calls = self.calls.saturating_sub(1);
        serves
    }

    /// Ends it, because much has changed.
    pub(crate) fn end(&mut self) {
        self.calls = 0;
    }
}

/// Returns some of many, at equal distances, others for each `first`; and how many each of them stands for.
pub(crate) fn some(of: &[usize], first: usize) -> (impl Iterator<Item = usize>, f64) {
    let step = of.len().div_ceil(LOOKED_AT).max(1);
    let taken = of.iter().skip(first % step).step_by(step);
    let count = taken.len().max(1);
    (taken.copied(), of.len() as f64 / count as f64)
}

//! The constants of the decisions of a ledger, a manager and a driver.

use std::time::Duration;

/// How large leases are, when a tile is leased twice, where pairs come together, and how long a job waits for a reader.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// A lease takes the time that all nodes need for the work left, divided by this.
    pub parts_left: f64,
    /// A lease takes at least this long, or is a single tile.
    pub least: Duration,
    /// A lease takes at most this long: it is lost with its node.
    pub most: Duration,
    /// The leases that a node has at a time. Two hide the time between a lease's end and the next one's start.
    pub in_flight: usize,
    /// When nothing is left to lease, a lease that is expected to take longer than this many times what another
    /// node would need for it is given to that node, too.
    pub backup_ratio: f64,
    /// Pairs of all nodes with more bytes than this are exchanged between the nodes by partition. Fewer come together
    /// on the driver.
    pub gathered_most: u64,
    /// How long a job goes on with nodes that all need the input sent, until one comes that reads it.
    pub unread_most: Duration,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules {
            parts_left: 6.0,
            least: Duration::from_millis(50),
            most: Duration::from_secs(30),
            in_flight: 2,
            backup_ratio: 2.0,
            gathered_most: 64 << 20,
            unread_most: Duration::from_secs(10),
        }
    }
}

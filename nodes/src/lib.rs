//! Decides which node of several unequal ones maps which tiles of a job, and what happens to them when a node is
//! lost. It is the manager of "MapReduce on asymmetric clusters" (sections 3.1 to 3.5), with losses, saves and
//! second leases added.
//!
//! The [`Ledger`] is a state machine: it holds no clock, thread, socket or byte of input. A carrier, which is a
//! program over Ray or over pipes, tells it what happened and does what it answers. So every order of events can
//! be tested, and a cluster of 512 nodes can be simulated in a second.

mod exchange;
mod form;
mod ledger;
mod pace;
mod rules;
mod tile_set;
mod tiles;

pub use exchange::Part;
pub use form::Damaged;
pub use ledger::{About, Commit, Kept, Ledger, Next, NodeId, Refused};
pub use rules::Rules;
pub use tile_set::TileSet;
pub use tiles::Tiles;

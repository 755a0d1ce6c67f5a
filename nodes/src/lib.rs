//! The same job over several unequal nodes: who maps which tiles, what happens to them when a node is lost, and how
//! the pairs come together. It is the manager of "MapReduce on asymmetric clusters" (sections 3.1 to 3.5), with losses,
//! saves and second leases added.
//!
//! - The [`Ledger`] is a state machine: it holds no clock, thread, socket or byte of input. So every order of events
//!   can be tested, and a cluster of 512 nodes can be simulated in a second.
//! - [`Manager`] and [`Node`] are the two ends of a job. They exchange [`Order`]s and [`Report`]s, and know neither
//!   pipe nor network.
//! - A [`Carrier`] starts nodes, brings messages to the other end, and says that a node is gone. [`local`] is one:
//!   processes on this machine.

mod answers;
mod carrier;
mod drawn;
mod drive;
mod exchange;
mod fed;
mod form;
mod ledger;
pub mod local;
mod machines;
mod manager;
mod message;
mod node;
mod outlook;
mod pace;
mod parts;
mod peer;
pub mod request;
mod rules;
mod task;
mod tile_set;
mod tiles;
mod together;

pub use carrier::{ALIVE, BEAT, Carrier, Event, Here, Orders, Seat};
pub use drive::{Earlier, Shares, drive};
pub use exchange::Part;
pub use fed::Units;
pub use form::Damaged;
pub use ledger::{About, Commit, Kept, Ledger, Lost, Next, NodeId, Refused};
pub use machines::Machines;
pub use manager::{Exchanges, Joined, Manager};
pub use message::{Order, Ready, Report};
pub use node::{Dropped, Node, Obeyed, ToWrite};
pub use parts::{Parts, WritePart};
pub use peer::Address;
pub use rules::Rules;
pub use task::Task;
pub use tile_set::TileSet;
pub use tiles::Tiles;

//! Sizes, none of which can change an answer: those that follow from the machine's caches and from the budget
//! (`part.rs`, `shares.rs`), and those that are found while a job runs (`search.rs`, `units.rs`; from far
//! below, `ramp.rs`). A tile's size does not belong here: later runs recognise tiles, so they never move.

pub mod part;
mod ramp;
mod search;
mod shares;
mod units;

pub use ramp::Ramp;
pub use search::{Enough, Search, Steps, TimedSearch};
pub use shares::{SPLIT_BYTES, unit_bytes};
pub use shares::{Shares, TableLimits};
pub use units::Units;

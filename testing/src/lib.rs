//! What the tests of several crates share: storage with planned faults, and storage on a small disk. No crate depends on
//! this one outside its tests, except for the reliability campaign.

mod faulty;
mod small;

pub use faulty::{Call, Fault, Faulty};
pub use small::{Room, Small, SmallSink};

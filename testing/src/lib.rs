//! What the tests of several crates share: storage with planned faults. No crate depends on this one outside
//! its tests, except for the reliability campaign.

mod faulty;

pub use faulty::{Call, Fault, Faulty};

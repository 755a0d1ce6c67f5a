//! Tests of the crate's modules, one file each. Tests that use private items are in the modules themselves.

// The lint's exception for tests does not reach what tests share.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[cfg(feature = "cuda")]
mod cuda;
mod feeders;
mod present;
mod room;
mod sizes;

//! Tests of the crate's modules, one file each. Tests that use private items are in the modules themselves.

// The lint's exception for tests does not reach what tests share.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod container;
mod container_range;
mod coverage;
mod heads;
mod merge;
mod reuse;
mod reuse_borders;
mod reuse_fingerprint;
mod reuse_record;
mod show_sample;
mod show_stability;
mod state_folds;
mod state_pace;
mod state_stock;
mod stats;

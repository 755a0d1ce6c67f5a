//! Tests of the crate's modules, one file each. Tests that use private items are in the modules themselves.

// The lint's exception for tests does not reach what tests share.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod aggregate;
mod combine_binned;
mod combine_contract;
mod combine_count;
mod combine_mean;
mod combine_min_max;
mod combine_own;
mod combine_rounding;
mod combine_sum;
mod identity;
mod key;
mod partial_compress;
mod partial_fold;
mod partial_form;
mod partial_spill;
mod partial_tiers;
mod slots_key;
mod slots_table;

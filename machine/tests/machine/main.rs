//! Tests of the crate's modules, one file each. Tests that use private items are in the modules themselves.

// The lint's exception for tests does not reach what tests share.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod encoding;
mod memory_arena;
mod memory_block;
mod memory_budget;
mod memory_buffer;
mod memory_chunk;
mod memory_input;
mod memory_reserved;
mod memory_system;
mod relocation;
mod schedule_hand_out;
mod schedule_pool;
mod sizing_ramp;
mod sizing_search;
mod sizing_shares;
mod sizing_units;
mod storage;
mod storage_atomic;
mod sync;
mod timeline_spans;
mod timeline_track;
mod topology;
mod topology_described;

/// Writes a file of the tree below `root`, which stands for a system.
pub(crate) fn put(root: &std::path::Path, path: &str, text: &str) {
    let path = root.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, format!("{text}\n")).unwrap();
}

//! The number of groups of threads of a launch.

use super::Caps;

/// Threads of a group, a number that every device of the last ten years supports.
pub(super) const GROUP: usize = 256;
/// Groups per compute unit, so that all are busy while some wait for memory.
const GROUPS_PER_UNIT: usize = 8;
/// Bytes that justify the start of a thread.
const BYTES_PER_THREAD: usize = 64;

/// Returns the number of groups for a piece of `bytes` bytes.
pub(super) fn groups(bytes: usize, caps: &Caps) -> usize {
    let most = caps.compute_units as usize * GROUPS_PER_UNIT;
    bytes.div_ceil(BYTES_PER_THREAD).div_ceil(GROUP).clamp(1, most)
}

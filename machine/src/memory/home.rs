//! Where a thread works: workers say once which group they belong to, and memory that they ask for
//! comes from that group's part of a pool. It decides where memory lies and nothing else.

use std::cell::Cell;

thread_local! {
    static GROUP: Cell<usize> = const { Cell::new(0) };
}

/// Records that this thread works for a group.
pub fn work_in(group: usize) {
    GROUP.set(group);
}

/// Returns this thread's part of a pool of `parts` parts. A thread of no group, or of a group of another
/// engine, gets some part.
pub(super) fn part_of(parts: usize) -> usize {
    GROUP.get().min(parts - 1)
}

//! Where a thread works: workers say once which group they belong to, and memory that they ask for
//! comes from that group's part of a pool. It decides where memory lies and nothing else.

use std::cell::Cell;

thread_local! {
    static GROUP: Cell<usize> = const { Cell::new(0) };
}

/// Says that this thread works for a group.
pub fn work_in(group: usize) {
    GROUP.set(group);
}

/// The part that is this thread's of a pool that has so many. Threads that belong to no group, or to
/// another engine's, get some part.
pub(super) fn part_of(parts: usize) -> usize {
    GROUP.get().min(parts - 1)
}

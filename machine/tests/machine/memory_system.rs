//! Memory of systems that this one is not, as trees of files.

use crate::put;
use std::path::Path;
use tegula_machine::memory::{allowed_bytes_below, available_bytes_below};

const GIB: u64 = 1 << 30;

fn machine(root: &Path) {
    put(root, "proc/meminfo", "MemTotal:       16777216 kB\nMemAvailable:    8388608 kB");
}

#[test]
fn the_tightest_control_group_counts() {
    let tree = tempfile::tempdir().unwrap();
    let root = tree.path();
    assert_eq!(available_bytes_below(root), u64::MAX);
    machine(root);
    put(root, "proc/self/cgroup", "0::/pod/box");
    put(root, "sys/fs/cgroup/pod/box/memory.max", "max");
    put(root, "sys/fs/cgroup/pod/box/memory.current", "1073741824");
    assert_eq!(available_bytes_below(root), 8 * GIB);
    put(root, "sys/fs/cgroup/pod/memory.max", "2147483648");
    put(root, "sys/fs/cgroup/pod/memory.current", "1610612736");
    assert_eq!(available_bytes_below(root), GIB / 2);
    // Pages of files go when others need the room.
    put(
        root,
        "sys/fs/cgroup/pod/memory.stat",
        "anon 1\ninactive_file 536870912\nactive_file 268435456",
    );
    assert_eq!(available_bytes_below(root), GIB / 2 + GIB / 2 + GIB / 4);
    put(root, "sys/fs/cgroup/pod/box/memory.max", "1073741824");
    assert_eq!(available_bytes_below(root), 0);
    put(root, "sys/fs/cgroup/pod/box/memory.max", "137438953472");
    put(root, "sys/fs/cgroup/pod/memory.max", "137438953472");
    assert_eq!(available_bytes_below(root), 8 * GIB);
}

#[test]
fn groups_of_the_first_version_count_too() {
    let tree = tempfile::tempdir().unwrap();
    let root = tree.path();
    machine(root);
    put(root, "proc/self/cgroup", "9:memory:/a\n4:cpu,cpuacct:/pod");
    put(root, "sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");
    put(root, "sys/fs/cgroup/memory/memory.usage_in_bytes", "5368709120");
    assert_eq!(available_bytes_below(root), 8 * GIB);
    put(root, "sys/fs/cgroup/memory/a/memory.limit_in_bytes", "4294967296");
    put(root, "sys/fs/cgroup/memory/a/memory.usage_in_bytes", "4294967296");
    put(
        root,
        "sys/fs/cgroup/memory/a/memory.stat",
        "inactive_file 7\ntotal_inactive_file 1073741824",
    );
    assert_eq!(available_bytes_below(root), GIB);
}

/// What is in use now may be free by the time that it matters.
#[test]
fn what_is_allowed_in_all_is_the_least_limit() {
    let tree = tempfile::tempdir().unwrap();
    let root = tree.path();
    assert_eq!(allowed_bytes_below(root), u64::MAX);
    machine(root);
    assert_eq!(allowed_bytes_below(root), 16 * GIB);
    put(root, "proc/self/cgroup", "0::/pod/box");
    put(root, "sys/fs/cgroup/pod/box/memory.max", "max");
    put(root, "sys/fs/cgroup/pod/memory.max", "2147483648");
    put(root, "sys/fs/cgroup/pod/memory.current", "1610612736");
    assert_eq!(allowed_bytes_below(root), 2 * GIB);
    put(root, "proc/self/cgroup", "9:memory:/a");
    assert_eq!(allowed_bytes_below(root), 16 * GIB);
    put(root, "sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");
    put(root, "sys/fs/cgroup/memory/a/memory.limit_in_bytes", "4294967296");
    assert_eq!(allowed_bytes_below(root), 4 * GIB);
}

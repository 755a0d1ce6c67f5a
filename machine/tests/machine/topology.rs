//! Topologies that this machine does not have, as trees of files.

use crate::put;
use std::path::Path;
use tegula_machine::topology::{Topology, of_files};
use tempfile::TempDir;

fn cpu(root: &Path, id: u32, file: &str, text: &str) {
    put(root, &format!("sys/devices/system/cpu/cpu{id}/{file}"), text);
}

fn cache(root: &Path, id: u32, index: u32, level: u32, kind: &str, size: &str, shared: &str) {
    for (file, text) in [
        ("level", &*level.to_string()),
        ("type", kind),
        ("size", size),
        ("shared_cpu_list", shared),
    ] {
        cpu(root, id, &format!("cache/index{index}/{file}"), text);
    }
    cpu(root, id, &format!("cache/index{index}/coherency_line_size"), "64");
}

fn node(root: &Path, id: u32, processors: &str, kib: u64) {
    put(root, &format!("sys/devices/system/node/node{id}/cpulist"), processors);
    put(
        root,
        &format!("sys/devices/system/node/node{id}/meminfo"),
        &format!("Node {id} MemTotal:  {kib} kB"),
    );
}

/// Makes 2 sockets of 12 cores with 2 threads each, numbered as Linux does: 0-11, 12-23, then siblings.
fn two_sockets() -> TempDir {
    let tree = tempfile::tempdir().unwrap();
    let root = tree.path();
    put(root, "sys/devices/system/cpu/online", "0-47");
    put(root, "sys/devices/system/node/online", "0-1");
    node(root, 0, "0-11,24-35", 128 << 20);
    node(root, 1, "12-23,36-47", 128 << 20);
    put(root, "sys/devices/system/node/node0/distance", "10 21");
    put(root, "sys/devices/system/node/node1/distance", "21 10");
    for id in 0..48 {
        let core = id % 24;
        let threads = format!("{core},{}", core + 24);
        cpu(root, id, "topology/core_cpus_list", &threads);
        cpu(root, id, "topology/physical_package_id", if core < 12 { "0" } else { "1" });
        cache(root, id, 0, 1, "Data", "48K", &threads);
        cache(root, id, 1, 1, "Instruction", "32K", &threads);
        cache(root, id, 2, 2, "Unified", "2048K", &threads);
        cache(
            root,
            id,
            3,
            3,
            "Unified",
            "36M",
            if core < 12 { "0-11,24-35" } else { "12-23,36-47" },
        );
    }
    tree
}

fn check(topology: &Topology) {
    let grouped: usize = topology.groups.iter().map(|group| group.processors.len()).sum();
    assert_eq!(grouped, topology.processors.len(), "each processor is in one group");
    assert!(!topology.processors.is_empty() && !topology.nodes.is_empty());
}

#[test]
fn two_sockets_make_two_groups() {
    let tree = two_sockets();
    let found = of_files(tree.path(), None);
    check(&found);
    assert_eq!(
        (found.processors.len(), found.cores(), found.nodes.len(), found.groups.len()),
        (48, 24, 2, 2)
    );
    assert_eq!(found.l2_bytes(), 2 << 20);
    assert_eq!(found.nodes[1].bytes, 128 << 30);
    assert_eq!(
        (found.groups[1].cores, found.groups[1].cache_bytes, found.groups[1].node),
        (12, Some(36 << 20), 1)
    );
    assert_eq!(found.processors[30].siblings, [6, 30]);
    assert_eq!((found.processors[30].core, found.processors[30].package), (6, 0));
    assert_eq!(
        found.caches.iter().filter(|cache| cache.level == 1).count(),
        24,
        "instruction caches do not count"
    );
    assert_eq!((found.distance(0, 0), found.distance(0, 1)), (10, 21));
    assert!(found.unknown.is_empty(), "{:?}", found.unknown);
}

#[test]
fn the_affinity_mask_narrows_everything() {
    let tree = two_sockets();
    let found = of_files(tree.path(), Some(&[1, 2, 13]));
    check(&found);
    assert_eq!((found.processors.len(), found.cores(), found.groups.len()), (3, 3, 2));
    assert_eq!(found.groups[0].processors, [1, 2]);
    assert_eq!(found.processors[0].siblings, [1]);
    assert_eq!(found.nodes[1].processors, [13]);
}

#[test]
fn eight_nodes_of_six_make_eight_groups() {
    let tree = tempfile::tempdir().unwrap();
    let root = tree.path();
    put(root, "sys/devices/system/cpu/online", "0-47");
    put(root, "sys/devices/system/node/online", "0-7");
    for id in 0..8 {
        let processors = format!("{}-{}", id * 6, id * 6 + 5);
        node(root, id, &processors, 32 << 20);
        for cpu_id in id * 6..id * 6 + 6 {
            cpu(root, cpu_id, "topology/thread_siblings_list", &cpu_id.to_string());
            cache(root, cpu_id, 0, 2, "Unified", "512K", &cpu_id.to_string());
            cache(root, cpu_id, 1, 3, "Unified", "16384K", &processors);
        }
    }
    let found = of_files(root, None);
    check(&found);
    assert_eq!((found.groups.len(), found.cores(), found.l2_bytes()), (8, 48, 512 << 10));
    assert_eq!(found.groups[7].processors, [42, 43, 44, 45, 46, 47]);
    assert!(found.unknown.is_empty(), "{:?}", found.unknown);
}

#[test]
fn two_caches_on_one_node_make_two_groups() {
    let tree = tempfile::tempdir().unwrap();
    let root = tree.path();
    put(root, "sys/devices/system/cpu/online", "0-3");
    put(root, "sys/devices/system/node/online", "0");
    node(root, 0, "0-3", 1 << 20);
    for id in 0..4 {
        cache(root, id, 0, 3, "Unified", "8M", if id < 2 { "0-1" } else { "2-3" });
    }
    let groups = of_files(root, None).groups;
    assert_eq!(groups.iter().map(|group| &*group.processors).collect::<Vec<_>>(), [[0, 1], [2, 3]]);
}

#[test]
fn missing_files_are_assumed_and_named() {
    let tree = tempfile::tempdir().unwrap();
    put(tree.path(), "sys/devices/system/cpu/online", "0-3,8");
    let found = of_files(tree.path(), None);
    check(&found);
    assert_eq!(
        found.processors.iter().map(|processor| processor.id).collect::<Vec<_>>(),
        [0, 1, 2, 3, 8]
    );
    assert_eq!(
        (found.groups.len(), found.groups[0].cache_bytes, found.l2_bytes()),
        (1, None, 1 << 20)
    );
    assert_eq!((found.nodes.len(), found.nodes[0].bytes), (1, 0));
    assert_eq!(found.unknown.len(), 5, "{:?}", found.unknown);
}

#[test]
fn an_empty_tree_still_gives_a_processor() {
    let tree = tempfile::tempdir().unwrap();
    check(&of_files(tree.path(), None));
}

#[test]
fn broken_cache_files_leave_the_rest() {
    let tree = two_sockets();
    for (file, text) in [("size", "huge"), ("level", "?"), ("shared_cpu_list", "3-1")] {
        cpu(tree.path(), 0, &format!("cache/index2/{file}"), text);
    }
    let found = of_files(tree.path(), None);
    check(&found);
    assert_eq!((found.groups.len(), found.l2_bytes()), (2, 2 << 20));
    assert_eq!(found.unknown.len(), 1, "{:?}", found.unknown);
}

#[test]
fn the_tightest_quota_on_the_way_up_counts() {
    let tree = two_sockets();
    put(tree.path(), "proc/self/cgroup", "0::/pod/box");
    put(tree.path(), "sys/fs/cgroup/cpu.max", "max 100000");
    assert_eq!(of_files(tree.path(), None).quota, None);
    put(tree.path(), "sys/fs/cgroup/pod/cpu.max", "250000 100000");
    put(tree.path(), "sys/fs/cgroup/pod/box/cpu.max", "400000 100000");
    let found = of_files(tree.path(), None);
    assert_eq!((found.quota, found.workers()), (Some(2.5), 3));
}

#[test]
fn quotas_of_the_first_version_count_too() {
    let tree = two_sockets();
    put(tree.path(), "proc/self/cgroup", "9:memory:/a\n4:cpu,cpuacct:/pod\n0::/");
    put(tree.path(), "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1");
    put(tree.path(), "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000");
    let found = of_files(tree.path(), None);
    assert_eq!((found.quota, found.workers()), (None, 48));
    put(tree.path(), "sys/fs/cgroup/cpu/pod/cpu.cfs_quota_us", "50000");
    put(tree.path(), "sys/fs/cgroup/cpu/pod/cpu.cfs_period_us", "100000");
    let found = of_files(tree.path(), None);
    assert_eq!((found.quota, found.workers()), (Some(0.5), 1));
}

#[test]
fn the_text_is_aligned_and_complete() {
    let tree = two_sockets();
    let text = of_files(tree.path(), None).to_string();
    let expected = "\
processors  48 (0-47)
cores       24
quota       no limit
cache L1    24 x 48 KiB, for 2 processors each, line 64 bytes
cache L2    24 x 2 MiB, for 2 processors each, line 64 bytes
cache L3    2 x 36 MiB, for 24 processors each, line 64 bytes
node 0      128 GiB, processors 0-11,24-35
node 1      128 GiB, processors 12-23,36-47
group 0     node 0, cache 36 MiB, 12 cores, processors 0-11,24-35
group 1     node 1, cache 36 MiB, 12 cores, processors 12-23,36-47
";
    assert_eq!(text, expected);
}

#[test]
fn this_machine_is_read() {
    check(&Topology::detect());
}

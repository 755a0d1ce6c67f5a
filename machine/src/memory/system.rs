//! The memory that the system has and this process takes, as the system says.

use crate::control_group;
use std::fs;
use std::path::Path;

/// Peak resident memory of this process, in bytes; 0 where the system does not say.
pub fn resident_peak_bytes() -> u64 {
    kib_in(Path::new("/proc/self/status"), "VmHWM:")
}

/// Resident memory of this process now, in bytes; 0 where the system does not say.
pub fn resident_bytes() -> u64 {
    kib_in(Path::new("/proc/self/status"), "VmRSS:")
}

/// Returns the size that a file of the system's gives for a field, in bytes; 0 if it gives none.
fn kib_in(path: &Path, field: &str) -> u64 {
    let Ok(text) = fs::read_to_string(path) else { return 0 };
    let line = text.lines().find_map(|line| line.strip_prefix(field));
    let kib = line.and_then(|rest| rest.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

/// Returns the memory that this process can have without swapping: that of the machine, and no more than its control
/// groups leave. `u64::MAX` if the system does not report it.
pub fn available_bytes() -> u64 {
    available_bytes_below(Path::new("/"))
}

/// As [`available_bytes`], of a machine whose `proc` and `sys` are below `root`.
pub fn available_bytes_below(root: &Path) -> u64 {
    let machine = match kib_in(&root.join("proc/meminfo"), "MemAvailable:") {
        0 => u64::MAX,
        bytes => bytes,
    };
    let groups = control_group::folders(root, "memory").into_iter();
    let left = groups.filter_map(|group| second(&group).or_else(|| first(&group)));
    left.min().unwrap_or(u64::MAX).min(machine)
}

/// Returns the memory that this process may take in all, whatever is in use now: that of the machine, and no more than its
/// control groups allow. `u64::MAX` if the system does not report it.
pub fn allowed_bytes() -> u64 {
    allowed_bytes_below(Path::new("/"))
}

/// As [`allowed_bytes`], of a machine whose `proc` and `sys` are below `root`.
pub fn allowed_bytes_below(root: &Path) -> u64 {
    let machine = match kib_in(&root.join("proc/meminfo"), "MemTotal:") {
        0 => u64::MAX,
        bytes => bytes,
    };
    let groups = control_group::folders(root, "memory").into_iter();
    let limits = groups.filter_map(|group| {
        let limit = |name: &str| number_in(&group.join(name));
        limit(SECOND[0]).or_else(|| limit(FIRST[0]))
    });
    limits.min().unwrap_or(u64::MAX).min(machine)
}

/// The files of a group's limit and use, in both versions. A group without a limit has `max` in version 2, and one that no
/// machine reaches in version 1.
const SECOND: [&str; 2] = ["memory.max", "memory.current"];
const FIRST: [&str; 2] = ["memory.limit_in_bytes", "memory.usage_in_bytes"];

fn second(group: &Path) -> Option<u64> {
    left(group, SECOND, ["inactive_file ", "active_file "])
}

fn first(group: &Path) -> Option<u64> {
    left(group, FIRST, ["total_inactive_file ", "total_active_file "])
}

/// Returns what a group's limit leaves. Pages of files count as left, as they do in `MemAvailable`.
fn left(group: &Path, [limit, used]: [&str; 2], of_files: [&str; 2]) -> Option<u64> {
    let (limit, used) = (number_in(&group.join(limit))?, number_in(&group.join(used))?);
    let stat = fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
    let pages =
        |field: &str| stat.lines().find_map(|line| line.strip_prefix(field)?.parse::<u64>().ok());
    let cached: u64 = of_files.into_iter().filter_map(pages).sum();
    Some(limit.saturating_sub(used.saturating_sub(cached)))
}

fn number_in(path: &Path) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

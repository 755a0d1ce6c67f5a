//! How much processor time the control group (version 2) allows: a container with 48 processors and
//! a quota of 4 runs 48 workers in stutters, so the quota is shown.

use std::fs;
use std::path::Path;

/// The smallest quota on the way from this process's group up to the root, in processors. The path
/// in `proc/self/cgroup` may lie outside what a container sees; the part of it that exists counts.
pub(super) fn quota(root: &Path) -> Option<f64> {
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let own = groups.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default();
    let quotas = Path::new(own).ancestors().filter_map(|group| {
        parse(&fs::read_to_string(root.join("sys/fs/cgroup").join(group).join("cpu.max")).ok()?)
    });
    quotas.min_by(f64::total_cmp)
}

/// `QUOTA PERIOD` in microseconds, or `max PERIOD` for no limit.
fn parse(text: &str) -> Option<f64> {
    let (quota, period) = text.trim().split_once(' ')?;
    let (quota, period) = (quota.parse::<f64>().ok()?, period.parse::<f64>().ok()?);
    (quota > 0.0 && period > 0.0).then_some(quota / period)
}

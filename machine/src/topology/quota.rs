//! Reads the processor time that the control group allows. A container with 48 processors and a quota of 4
//! would run 48 workers in stutters, so it gets 4.

use crate::control_group;
use std::fs;
use std::path::Path;

/// Returns the smallest quota from this process's group up to the root, in processors.
pub(super) fn quota(root: &Path) -> Option<f64> {
    let groups = control_group::folders(root, "cpu").into_iter();
    groups.filter_map(|group| second(&group).or_else(|| first(&group))).min_by(f64::total_cmp)
}

/// Version 2: `QUOTA PERIOD` in microseconds, or `max PERIOD` for no limit.
fn second(group: &Path) -> Option<f64> {
    let text = fs::read_to_string(group.join("cpu.max")).ok()?;
    let (quota, period) = text.trim().split_once(' ')?;
    processors(quota, period)
}

/// Version 1: quota and period in files of their own; -1 for no limit.
fn first(group: &Path) -> Option<f64> {
    let text = |name| fs::read_to_string(group.join(name)).ok();
    processors(text("cpu.cfs_quota_us")?.trim(), text("cpu.cfs_period_us")?.trim())
}

fn processors(quota: &str, period: &str) -> Option<f64> {
    let (quota, period) = (quota.parse::<f64>().ok()?, period.parse::<f64>().ok()?);
    (quota > 0.0 && period > 0.0).then_some(quota / period)
}

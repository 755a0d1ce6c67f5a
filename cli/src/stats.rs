//! The figures of a run, as a table for people and as JSON for programs. Both have the same figures.

use crate::size;
use serde_json::{Value, json};
use std::fmt::Write;
use std::time::Duration;
use tegula::Stats;
use tegula::device::DeviceFigures;
use tegula::schedule::GroupShare;

/// Returns the table, one figure per line.
pub(crate) fn table(stats: &Stats) -> String {
    let mut table = String::new();
    for stage in &stats.stages {
        let times = format!(
            "{:10.3} s wall, {:10.3} s cpu",
            stage.wall.as_secs_f64(),
            stage.cpu.as_secs_f64()
        );
        line(&mut table, stage.stage.name(), &times);
    }
    line(&mut table, "throughput", &throughput(stats));
    let seconds = |time: Duration| format!("{:10.3} s over all workers", time.as_secs_f64());
    for (name, text) in [
        ("ingest", seconds(stats.ingest_busy)),
        ("hand over", seconds(stats.hand_over_busy)),
        ("compress", seconds(stats.compress_busy)),
        ("workers", format!("{}, {} instructions", stats.workers, stats.simd)),
        (
            "input",
            format!(
                "{} in {} files ({} passed over)",
                size::show(stats.bytes),
                stats.files,
                stats.files_passed_over
            ),
        ),
        ("compressed", compressed(stats)),
        ("tiles", format!("{} of {}", stats.tiles, size::show(stats.tile_bytes))),
        (
            "splits",
            format!(
                "{} of {}, {} at a time in the end",
                stats.splits,
                size::show(stats.split_bytes),
                size::show(stats.unit_bytes)
            ),
        ),
        ("read ahead", read_ahead(stats)),
        ("direct", direct(stats)),
        ("pairs", format!("{}, {} handed over", stats.pairs, stats.pairs_handed_over)),
        ("bad records", stats.bad_records.to_string()),
        ("keys", format!("{}, {}", stats.keys, size::show(stats.key_value_bytes))),
        (
            "memory",
            format!(
                "{} counted, {} resident (peaks)",
                size::show(stats.memory_counted_peak),
                size::show(stats.memory_resident_peak)
            ),
        ),
        ("scratch", size::show(stats.spilled_bytes)),
        (
            "state",
            format!(
                "{} of the input were there, {} saved",
                size::show(stats.restored_bytes),
                size::show(stats.saved_bytes)
            ),
        ),
    ] {
        line(&mut table, name, &text);
    }
    for (number, group) in stats.groups.iter().enumerate() {
        line(&mut table, &format!("group {number}"), &group_text(group));
    }
    for (number, device) in stats.devices.iter().enumerate() {
        line(&mut table, &format!("device {number}"), &device_text(device));
    }
    if let Some(most) = stats.map_idle.iter().max() {
        let all: Duration = stats.map_idle.iter().sum();
        let (all, most) = (all.as_secs_f64(), most.as_secs_f64());
        let text =
            format!("{all:.3} s over all workers at the end of map, {most:.3} s the longest");
        line(&mut table, "idle", &text);
    }
    table
}

/// Says who read the input: the workers, or readers ahead of them.
fn read_ahead(stats: &Stats) -> String {
    match stats.readers {
        0 => "nothing: workers read their own splits".to_owned(),
        readers => format!(
            "{} by up to {readers} readers in {:.3} s over all of them",
            size::show(stats.read_ahead_bytes),
            stats.read_ahead_busy.as_secs_f64()
        ),
    }
}

/// Says whether reads went through the page cache.
fn direct(stats: &Stats) -> String {
    match stats.direct_bytes {
        0 => "none: files are read through the page cache".to_owned(),
        bytes => format!("{} past the page cache, the rest through it", size::show(bytes)),
    }
}

fn group_text(group: &GroupShare) -> String {
    format!(
        "{} workers, {} tiles ({} stolen), {} splits ({} of other groups' tiles)",
        group.workers, group.tiles, group.tiles_stolen, group.splits, group.splits_remote
    )
}

/// Says how much a device did, and how long it copied and ran kernels.
fn device_text(device: &DeviceFigures) -> String {
    let what = format!("{} ({})", device.name, device.backend);
    let fault = device.fault.as_ref().map(|fault| format!("; {fault}")).unwrap_or_default();
    if device.units == 0 {
        return format!("{what}: not used{fault}");
    }
    let stayed = match (device.reused_bytes, device.resident_bytes) {
        (0, 0) => String::new(),
        (reused, resident) => {
            format!("; {} stay there, {} not sent again", size::show(resident), size::show(reused))
        }
    };
    let fed = match device.feeders {
        0 => String::new(),
        1 => "; one thread filled its slots".to_owned(),
        several => format!("; {several} threads filled its slots"),
    };
    let found = match device.sizing_units {
        0 => String::new(),
        units => format!(" (found after {units}, in {:.4} s)", device.sizing.as_secs_f64()),
    };
    let refused = device.feeders_refused.as_ref();
    let refused = refused.map(|why| format!(", and there was no other: {why}")).unwrap_or_default();
    format!(
        "{what}: {} in {} units, {} at a time in the end{found}, {} per second{stayed}{fed}{refused}; copies in {:.3} s, kernels {:.3} s, \
         copies out {:.3} s of {:.3} s; {} given back, {} overflows{fault}",
        size::show(device.bytes),
        device.units,
        size::show(device.unit_bytes),
        size::show((device.bytes as f64 / device.span.as_secs_f64().max(1e-9)) as u64),
        device.copy.as_secs_f64(),
        device.kernel.as_secs_f64(),
        device.copy_out.as_secs_f64(),
        device.span.as_secs_f64(),
        size::show(device.given_back_bytes),
        device.overflows,
    )
}

/// Formats `gzip, 1.00 MiB of 4.00 MiB in 2 files`, for each format.
fn compressed(stats: &Stats) -> String {
    let formats = stats.compressed.iter().map(|one| {
        let (small, large) = (size::show(one.compressed_bytes), size::show(one.bytes));
        format!("{}, {small} of {large} in {} files", one.format, one.files)
    });
    let formats: Vec<String> = formats.collect();
    if formats.is_empty() { "nothing".to_owned() } else { formats.join("; ") }
}

/// Formats the throughput of all stages together, by wall clock and by processor time.
fn throughput(stats: &Stats) -> String {
    let rate =
        |time: Duration| size::show((stats.bytes as f64 / time.as_secs_f64().max(1e-9)) as u64);
    let wall = rate(stats.stages.iter().map(|stage| stage.wall).sum());
    let cpu = rate(stats.stages.iter().map(|stage| stage.cpu).sum());
    format!("{wall} per second, {cpu} per second of processor time")
}

fn line(table: &mut String, name: &str, text: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(table, "{name:<12}{}", text.trim_start());
}

/// Returns the figures by their names in the engine; times are in seconds.
pub(crate) fn json(stats: &Stats) -> Value {
    let stages = stats.stages.iter().map(|stage| {
        json!({ "stage": stage.stage.name(), "wall_s": stage.wall.as_secs_f64(), "cpu_s": stage.cpu.as_secs_f64() })
    });
    let bad_first = stats
        .bad_first
        .iter()
        .map(|bad| json!({ "place": bad.place.to_string(), "cause": bad.cause }));
    let groups = stats.groups.iter().map(|group| {
        json!({
            "workers": group.workers,
            "tiles": group.tiles,
            "tiles_stolen": group.tiles_stolen,
            "splits": group.splits,
            "splits_remote": group.splits_remote,
        })
    });
    let compressed = stats.compressed.iter().map(|one| {
        json!({ "format": one.format, "files": one.files, "compressed_bytes": one.compressed_bytes, "bytes": one.bytes })
    });
    let devices = stats.devices.iter().map(|device| {
        json!({
            "name": device.name,
            "backend": device.backend,
            "units": device.units,
            "bytes": device.bytes,
            "reused_bytes": device.reused_bytes,
            "resident_bytes": device.resident_bytes,
            "unit_bytes": device.unit_bytes,
            "sizing_units": device.sizing_units,
            "sizing_s": device.sizing.as_secs_f64(),
            "feeders": device.feeders,
            "feeders_refused": device.feeders_refused,
            "given_back_bytes": device.given_back_bytes,
            "overflows": device.overflows,
            "snapshots": device.snapshots,
            "copy_s": device.copy.as_secs_f64(),
            "kernel_s": device.kernel.as_secs_f64(),
            "copy_out_s": device.copy_out.as_secs_f64(),
            "span_s": device.span.as_secs_f64(),
            "fault": device.fault,
        })
    });
    json!({
        "stages": stages.collect::<Vec<_>>(),
        "ingest_busy_s": stats.ingest_busy.as_secs_f64(),
        "hand_over_busy_s": stats.hand_over_busy.as_secs_f64(),
        "compress_busy_s": stats.compress_busy.as_secs_f64(),
        "workers": stats.workers,
        "simd": stats.simd,
        "files": stats.files,
        "files_passed_over": stats.files_passed_over,
        "bytes": stats.bytes,
        "compressed": compressed.collect::<Vec<_>>(),
        "tiles": stats.tiles,
        "tile_bytes": stats.tile_bytes,
        "splits": stats.splits,
        "split_bytes": stats.split_bytes,
        "unit_bytes": stats.unit_bytes,
        "readers": stats.readers,
        "read_ahead_bytes": stats.read_ahead_bytes,
        "read_ahead_busy_s": stats.read_ahead_busy.as_secs_f64(),
        "direct_bytes": stats.direct_bytes,
        "pairs": stats.pairs,
        "pairs_handed_over": stats.pairs_handed_over,
        "bad_records": stats.bad_records,
        "bad_first": bad_first.collect::<Vec<_>>(),
        "keys": stats.keys,
        "key_value_bytes": stats.key_value_bytes,
        "spilled_bytes": stats.spilled_bytes,
        "restored_bytes": stats.restored_bytes,
        "saved_bytes": stats.saved_bytes,
        "memory_counted_peak": stats.memory_counted_peak,
        "memory_resident_peak": stats.memory_resident_peak,
        "groups": groups.collect::<Vec<_>>(),
        "devices": devices.collect::<Vec<_>>(),
        "map_idle_s": stats.map_idle.iter().map(Duration::as_secs_f64).collect::<Vec<_>>(),
    })
}

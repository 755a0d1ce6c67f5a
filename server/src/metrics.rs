//! `/metrics`: the figures of the server as OpenMetrics text, for Prometheus and what understands it.

use crate::job::State;
use crate::supervisor::{Totals, UserTotals};
use std::fmt::Write;

/// The type of the text.
pub(crate) const TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Returns the text. `streams` are open ones.
pub(crate) fn text(totals: &Totals, streams: usize) -> String {
    let mut text = String::new();
    let mut family = |name: &str, kind: &str, unit: &str, help: &str, samples: &[(String, f64)]| {
        let suffix = if kind == "counter" { "_total" } else { "" };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "# TYPE {name} {kind}");
        if !unit.is_empty() {
            let _ = writeln!(text, "# UNIT {name} {unit}");
        }
        let _ = writeln!(text, "# HELP {name} {help}");
        for (labels, value) in samples {
            let _ = writeln!(text, "{name}{suffix}{labels} {value}");
        }
    };
    let one = |value: f64| vec![(String::new(), value)];
    let jobs = State::ALL.map(|state| {
        let count = totals.by_state.get(&state).copied().unwrap_or(0);
        (format!("{{state=\"{}\"}}", state.name()), count as f64)
    });
    let by_user = |value: fn(&UserTotals) -> f64| {
        let users = totals.by_user.iter();
        users
            .map(|(name, user)| (format!("{{user=\"{}\"}}", escaped(name)), value(user)))
            .collect::<Vec<_>>()
    };
    family("tegula_jobs", "gauge", "", "Jobs by state.", &jobs);
    family("tegula_cores", "gauge", "", "Cores that jobs share.", &one(totals.cores as f64));
    let used = totals.cores_used as f64;
    family("tegula_cores_used", "gauge", "", "Cores that a running job may use.", &one(used));
    let (all, granted) = (totals.memory_bytes as f64, totals.memory_granted_bytes as f64);
    family("tegula_memory_bytes", "gauge", "bytes", "Memory of all jobs together.", &one(all));
    family(
        "tegula_memory_granted_bytes",
        "gauge",
        "bytes",
        "Memory granted to running jobs.",
        &one(granted),
    );
    let used = by_user(|user| user.memory_bytes as f64);
    family("tegula_memory_used_bytes", "gauge", "bytes", "Memory that running jobs hold.", &used);
    let mapped = by_user(|user| user.bytes_done as f64);
    family(
        "tegula_mapped_bytes",
        "gauge",
        "bytes",
        "Input that the jobs here have mapped.",
        &mapped,
    );
    let cores = by_user(|user| user.core_s);
    let help = "Time for which jobs had cores, halved every hour.";
    family("tegula_recent_core_seconds", "gauge", "seconds", help, &cores);
    family("tegula_streams", "gauge", "", "Open streams of events.", &one(streams as f64));
    let help = "Time since the server began.";
    family("tegula_uptime_seconds", "gauge", "seconds", help, &one(totals.uptime_s));
    text.push_str("# EOF\n");
    text
}

/// Escapes the value of a label.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

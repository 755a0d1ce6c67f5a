//! A recording in the trace event format of Chrome: an object whose `traceEvents` are whole spans
//! (`X`), names (`M`) and counters (`C`), times in microseconds. docs/timeline.md says all of it.

use super::Kind;
use super::recording::{LaneRecording, Recording};
use super::sampler::Sample;
use super::spans::Span;
use std::io::{self, Write};

const PROCESS: u32 = 1;
/// The row of the stages; threads follow.
const STAGES: usize = 0;

pub(super) fn write(recording: &Recording, out: &mut dyn Write) -> io::Result<()> {
    let title = text(&recording.title);
    writeln!(out, "{{\"displayTimeUnit\":\"ms\",\"otherData\":{{\"title\":{title},")?;
    writeln!(out, "\"producer\":\"tegula {}\",", env!("CARGO_PKG_VERSION"))?;
    write!(out, "\"wall_ns\":{},\"memory_limit_bytes\":", recording.wall_ns)?;
    match recording.memory_limit_bytes {
        Some(bytes) => writeln!(out, "{bytes},")?,
        None => writeln!(out, "null,")?,
    }
    write!(out, "\"threads\":[")?;
    for (number, lane) in recording.lanes.iter().enumerate() {
        out.write_all(if number == 0 { b"\n" } else { b",\n" })?;
        thread(number + 1, lane, recording.wall_ns, out)?;
    }
    writeln!(out, "]}},\n\"traceEvents\":[")?;
    writeln!(
        out,
        "{{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\",\"args\":{{\"name\":{title}}}}},"
    )?;
    name(STAGES, "stages", out)?;
    for span in &recording.stages {
        event(STAGES, span.kind.stage_name(), "stage", span, out)?;
    }
    for (number, lane) in recording.lanes.iter().enumerate() {
        writeln!(out, ",")?;
        name(number + 1, &lane.name, out)?;
        for span in &lane.spans {
            event(number + 1, span.kind.name(), "work", span, out)?;
        }
    }
    for samples in recording.samples.windows(2) {
        counters(&samples[0], &samples[1], out)?;
    }
    writeln!(out, "\n]}}")
}

/// A thread's sums.
fn thread(tid: usize, lane: &LaneRecording, wall_ns: u64, out: &mut dyn Write) -> io::Result<()> {
    let (name, resolution) = (text(&lane.name), lane.resolution_ns);
    write!(out, "{{\"tid\":{tid},\"name\":{name},\"resolution_ns\":{resolution},\"ns\":{{")?;
    for (kind, sum) in Kind::RECORDED.into_iter().zip(lane.sums_ns()) {
        write!(out, "\"{}\":{sum},", kind.name())?;
    }
    write!(out, "\"idle\":{}}}}}", lane.ns(Kind::Idle, wall_ns))
}

fn name(tid: usize, name: &str, out: &mut dyn Write) -> io::Result<()> {
    let name = text(name);
    write!(
        out,
        "{{\"ph\":\"M\",\"pid\":{PROCESS},\"tid\":{tid},\"name\":\"thread_name\",\"args\":{{\"name\":{name}}}}},\n\
         {{\"ph\":\"M\",\"pid\":{PROCESS},\"tid\":{tid},\"name\":\"thread_sort_index\",\"args\":{{\"sort_index\":{tid}}}}}"
    )
}

fn event(
    tid: usize,
    name: &str,
    category: &str,
    span: &Span,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (begin, length) = (Micros(span.begin_ns), Micros(span.ns()));
    write!(
        out,
        ",\n{{\"ph\":\"X\",\"pid\":{PROCESS},\"tid\":{tid},\"name\":\"{name}\",\"cat\":\"{category}\",\"ts\":{begin},\"dur\":{length}}}"
    )
}

/// Writes the counters of a sample. Rates between two samples are written at the first; amounts at the sample
/// that read them.
fn counters(from: &Sample, to: &Sample, out: &mut dyn Write) -> io::Result<()> {
    let seconds = (to.at_ns - from.at_ns).max(1) as f64 / 1e9;
    let rate = |from: u64, to: u64| (to.saturating_sub(from) as f64 / seconds) as u64;
    let mut counter = |at_ns, name: &str, values: &[(&str, f64)]| {
        let at = Micros(at_ns);
        write!(
            out,
            ",\n{{\"ph\":\"C\",\"pid\":{PROCESS},\"name\":\"{name}\",\"ts\":{at},\"args\":{{"
        )?;
        for (number, (name, value)) in values.iter().enumerate() {
            let comma = if number == 0 { "" } else { "," };
            write!(out, "{comma}\"{name}\":{value}")?;
        }
        write!(out, "}}}}")
    };
    let rates = [
        ("read", rate(from.read_bytes, to.read_bytes) as f64),
        ("written", rate(from.written_bytes, to.written_bytes) as f64),
        ("device_read", rate(from.device_read_bytes, to.device_read_bytes) as f64),
        ("device_written", rate(from.device_written_bytes, to.device_written_bytes) as f64),
    ];
    counter(from.at_ns, "bytes_per_second", &rates)?;
    let processors = |from: u64, to: u64| {
        let part = to.saturating_sub(from) as f64 / 1e9 / seconds;
        (part * 1000.0).round() / 1000.0
    };
    // The kernel's part is counted in ticks, so it may be ahead of the sum.
    let user = |sample: &Sample| sample.cpu_ns.saturating_sub(sample.system_ns);
    let parts = [
        ("busy", processors(from.cpu_ns, to.cpu_ns)),
        ("user", processors(user(from), user(to))),
        ("system", processors(from.system_ns, to.system_ns)),
        ("io_wait", processors(from.io_wait_ns, to.io_wait_ns)),
    ];
    counter(from.at_ns, "processors", &parts)?;
    let memory = [("resident", to.resident_bytes as f64), ("counted", to.counted_bytes as f64)];
    counter(to.at_ns, "memory_bytes", &memory)
}

/// Nanoseconds, as microseconds to the last digit.
struct Micros(u64);

impl std::fmt::Display for Micros {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}.{:03}", self.0 / 1000, self.0 % 1000)
    }
}

/// Text between quotation marks.
fn text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

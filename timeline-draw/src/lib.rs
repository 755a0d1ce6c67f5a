//! A recording as a picture, from top to bottom over one axis of time: the stages, the number of busy
//! threads, a row for each thread, the bytes read and written, and the memory that is held. It draws any
//! number of threads and any length of time: all spans within a column of the picture share its height.
//! `docs/timeline.md` shows one.

mod lines;
mod page;
mod rows;
mod scale;
#[cfg(test)]
mod tests;

use lines::Line;
use page::{Frame, Page};
use rows::{Shares, draw_shares};
use scale::{Scale, bytes_scale, count_scale, show_bytes, show_time};
use std::io::{self, Write};
use tegula::timeline::{Kind, Recording, Sample};

/// Number of kinds that are recorded.
const KINDS: usize = Kind::RECORDED.len();

const HEIGHT_OF_ALL: f64 = 110.0;
const HEIGHT_OF_CHART: f64 = 90.0;
const READ: &str = "#4e79a7";
const DEVICE: &str = "#1f3a5f";
const WRITTEN: &str = "#e8743b";
const DARK: &str = "#333";
const LIMIT: &str = "#c62828";
const IN_KERNEL: &str = "#b5179e";
const WAITING: &str = "#0096c7";

/// Returns the colour of a kind, from a palette that tells ten apart; devices have darker ones of their own.
fn colour(kind: Kind) -> &'static str {
    match kind {
        Kind::Plan => "#a0a0a0",
        Kind::Read => READ,
        Kind::Decode => "#76b7b2",
        Kind::Map => "#59a14f",
        Kind::Combine => "#edc948",
        Kind::Compress => "#f28e2b",
        Kind::Spill => "#e15759",
        Kind::Reduce => "#b07aa1",
        Kind::Merge => "#9c755f",
        Kind::Write => "#ff9da7",
        Kind::CopyIn => "#2b5b84",
        Kind::Kernel => "#2e6b34",
        Kind::CopyOut => "#8c3b1f",
        Kind::Idle => "#f1f1f1",
    }
}

/// Draws a recording as an SVG picture.
///
/// # Errors
/// Those of the writer.
pub fn write_svg(recording: &Recording, out: &mut dyn Write) -> io::Result<()> {
    // Inside the resolution, the order of spans is not that of events.
    let resolution = recording.lanes.iter().map(|lane| lane.resolution_ns).max().unwrap_or(0);
    let columns = if recording.lanes.len() > 64 { 520.0 } else { 1040.0 };
    let column_ns = (recording.wall_ns.max(1) as f64 / columns).max(resolution as f64);
    let of = |spans| Shares::of(spans, column_ns, recording.wall_ns);
    let lanes: Vec<Shares> = recording.lanes.iter().map(|lane| of(&lane.spans)).collect();
    let mut all = Shares::none(column_ns, recording.wall_ns);
    // A device is busy beside the threads, and takes no processor.
    let threads_only = lanes.iter().zip(&recording.lanes).filter(|(_, lane)| !lane.is_device);
    threads_only.for_each(|(lane, _)| all.add(lane));
    let mut page = Page::new(recording.wall_ns);
    page.title(&recording.title, &summary(recording));
    legend(&mut page, recording);
    if recording.lanes.len() > 16 {
        page.axis();
    }
    stages(&mut page, recording, &of(&recording.stages));
    all_threads(&mut page, recording, &all);
    threads(&mut page, recording, &lanes);
    input_and_output(&mut page, recording);
    memory(&mut page, recording);
    out.write_all(page.finish().as_bytes())
}

/// Returns the duration and the use of processors and memory.
fn summary(recording: &Recording) -> String {
    let threads = recording.lanes.iter().filter(|lane| !lane.is_device).count();
    let mut text = format!(
        "{} · {threads} thread{}",
        show_time(recording.wall_ns),
        if threads == 1 { "" } else { "s" }
    );
    if let (Some(first), Some(last)) = (recording.samples.first(), recording.samples.last()) {
        let processors = last.cpu_ns.saturating_sub(first.cpu_ns) as f64
            / last.at_ns.saturating_sub(first.at_ns).max(1) as f64;
        let read = last.read_bytes.saturating_sub(first.read_bytes);
        let written = last.written_bytes.saturating_sub(first.written_bytes);
        let resident = recording.samples.iter().map(|sample| sample.resident_bytes).max();
        text.push_str(&format!(
            " · {processors:.2} processors busy · {} read · {} written · {} of memory at most",
            show_bytes(read as f64),
            show_bytes(written as f64),
            show_bytes(resident.unwrap_or(0) as f64)
        ));
    }
    text
}

/// Each kind with its part of all workers' time.
fn legend(page: &mut Page, recording: &Recording) {
    let part = |kind| {
        let workers = recording.lanes.iter().filter(|lane| lane.is_worker());
        let wall = recording.wall_ns.max(1) * workers.clone().count().max(1) as u64;
        workers.map(|lane| lane.ns(kind, recording.wall_ns)).sum::<u64>() as f64 / wall as f64
    };
    let occurs =
        |kind: &Kind| recording.lanes.iter().any(|lane| lane.ns(*kind, recording.wall_ns) > 0);
    let kinds = Kind::RECORDED.into_iter().chain([Kind::Idle]).filter(occurs);
    let entries = kinds.map(|kind| {
        let percent = 100.0 * part(kind);
        let digits = if percent < 9.95 { 1 } else { 0 };
        let shown = format!("{} {percent:.digits$} %", kind.name());
        (colour(kind), if percent < 0.05 { kind.name().to_owned() } else { shown })
    });
    page.legend(&entries.collect::<Vec<_>>(), "of the workers' time");
}

/// A band that says which stage it is, where there is room to.
fn stages(page: &mut Page, recording: &Recording, shares: &Shares) {
    let frame = page.frame("stage", 16.0, 12.0);
    draw_shares(page, &frame, shares, 1.0, 0.45, None);
    for span in &recording.stages {
        let (from, to) = (page.x(span.begin_ns), page.x(span.end_ns));
        let name = span.kind.stage_name();
        if to - from > 8.0 * name.len() as f64 {
            page.text((from + to) / 2.0, frame.top + 12.0, "middle", DARK, name);
        }
    }
}

/// All threads on top of each other, the processor time that was really used, and that for which processors waited.
fn all_threads(page: &mut Page, recording: &Recording, shares: &Shares) {
    let line = |of: fn(&Sample) -> u64| {
        Line::rate(recording, page.columns(), move |sample| of(sample) as f64 / 1e9)
    };
    let processors = line(|sample| sample.cpu_ns);
    let (kernel, waiting) = (line(|sample| sample.system_ns), line(|sample| sample.io_wait_ns));
    let workers = recording.lanes.iter().filter(|lane| lane.is_worker()).count();
    let most = shares.most().max(processors.most()).max(waiting.most()).max(workers as f64);
    let scale = count_scale(most);
    let frame = page.frame("threads busy", HEIGHT_OF_ALL, 14.0);
    page.grid(&frame, &scale);
    draw_shares(page, &frame, shares, scale.top, 1.0, None);
    let lines = [
        (&processors, DARK, "processors busy"),
        (&kernel, IN_KERNEL, "in the kernel"),
        (&waiting, WAITING, "waiting for I/O"),
    ];
    for (line, colour, name) in lines {
        line.draw(page, &frame, scale.top, colour, name);
    }
    page.key(&frame, &lines.map(|(_, colour, name)| (colour, name)));
}

/// A row for each thread.
fn threads(page: &mut Page, recording: &Recording, lanes: &[Shares]) {
    let (height, gap) = match lanes.len() {
        0..=8 => (22.0, 3.0),
        9..=32 => (14.0, 2.0),
        33..=64 => (9.0, 1.0),
        65..=128 => (6.0, 1.0),
        _ => (4.0, 1.0),
    };
    // Names that would overlap are left out.
    let every = (12.0_f64 / (height + gap)).ceil() as usize;
    for (number, (lane, shares)) in recording.lanes.iter().zip(lanes).enumerate() {
        let is_named = number % every == 0;
        let frame = page.frame(if is_named { &lane.name } else { "" }, height, gap);
        page.background(&frame, colour(Kind::Idle));
        let kinds = Kind::RECORDED.into_iter().chain([Kind::Idle]);
        let parts = kinds.filter_map(|kind| {
            let part = lane.ns(kind, recording.wall_ns) as f64 / recording.wall_ns.max(1) as f64;
            (part > 0.0).then(|| format!("{} {:.1} %", kind.name(), 100.0 * part))
        });
        let told = format!("{}: {}", lane.name, parts.collect::<Vec<_>>().join(", "));
        draw_shares(page, &frame, shares, 1.0, 1.0, Some(&told));
    }
    page.space(12.0);
}

fn input_and_output(page: &mut Page, recording: &Recording) {
    let line = |of: fn(&Sample) -> f64| Line::rate(recording, page.columns(), of);
    let read = line(|sample| sample.read_bytes as f64);
    let device = line(|sample| sample.device_read_bytes as f64);
    let written = line(|sample| sample.written_bytes as f64);
    let most = read.most().max(written.most()).max(device.most());
    let scale = bytes_scale(most, "/s");
    let frame = page.frame("I/O per second", HEIGHT_OF_CHART, 20.0);
    chart(
        page,
        &frame,
        &scale,
        &[(&read, READ, "read"), (&device, DEVICE, "from devices"), (&written, WRITTEN, "written")],
    );
}

fn memory(page: &mut Page, recording: &Recording) {
    let line = |of: fn(&Sample) -> f64| Line::most_of(recording, page.columns(), of);
    let resident = line(|sample| sample.resident_bytes as f64);
    let counted = line(|sample| sample.counted_bytes as f64);
    let limit = recording.memory_limit_bytes.map(|limit| limit as f64);
    let most = resident.most().max(counted.most()).max(limit.unwrap_or(0.0));
    let scale = bytes_scale(most, "");
    let frame = page.frame("memory", HEIGHT_OF_CHART, 14.0);
    chart(
        page,
        &frame,
        &scale,
        &[(&resident, "#8e6bbf", "resident"), (&counted, "#3b2c63", "counted")],
    );
    if let Some(limit) = limit {
        page.limit(&frame, limit / scale.top, LIMIT, &format!("limit {}", show_bytes(limit)));
    }
}

fn chart(page: &mut Page, frame: &Frame, scale: &Scale, lines: &[(&Line, &str, &str)]) {
    page.grid(frame, scale);
    for (number, (line, colour, name)) in lines.iter().enumerate() {
        if number == 0 {
            line.fill(page, frame, scale.top, colour);
        }
        line.draw(page, frame, scale.top, colour, name);
    }
    let keys: Vec<_> = lines.iter().map(|(_, colour, name)| (*colour, *name)).collect();
    page.key(frame, &keys);
}

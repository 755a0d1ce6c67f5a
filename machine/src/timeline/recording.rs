//! The recording of a timeline: plain data, to be written or drawn.

use super::sampler::Sample;
use super::spans::Span;
use super::{Inner, KINDS, Kind};
use std::io::{self, Write};

/// The data that a [`Timeline`](super::Timeline) had when it was read.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Recording {
    /// The title.
    pub title: String,
    /// The duration at that moment, in nanoseconds.
    pub wall_ns: u64,
    /// Whole stages, each under the kind that names it (`write`: the output stage).
    pub stages: Vec<Span>,
    /// The lanes of threads and devices: the workers first, by number, then others by name.
    pub lanes: Vec<LaneRecording>,
    /// The bytes that the process read, wrote and held, in order of time.
    pub samples: Vec<Sample>,
    /// The limit on the memory of the process, in bytes, of the engine that ran last.
    pub memory_limit_bytes: Option<u64>,
}

/// The spans of one thread, or of one queue of a device.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct LaneRecording {
    /// `worker-N`, `reader-N`, `device-N` (the thread that serves a device), `caller`, or the thread's own
    /// name; of a device's queues `device-N copies` and `device-N kernels`.
    pub name: String,
    /// Whether it is a queue of a device and not a thread.
    pub is_device: bool,
    /// In order, without overlap.
    pub spans: Vec<Span>,
    /// The interval, in nanoseconds, inside which spans were merged by kind; 0 if there was room for all.
    pub resolution_ns: u64,
}

impl Recording {
    pub(super) fn of(timeline: &Inner) -> Recording {
        let mut lanes: Vec<_> = timeline.lanes.lock().iter().map(|lane| lane.read()).collect();
        lanes.retain(|lane| !lane.spans.is_empty());
        lanes.sort_by_key(LaneRecording::place);
        let stages = timeline.stages.lock().as_slice().to_vec();
        let (samples, memory_limit_bytes) = timeline.sampler.read();
        // All earlier recording ended before the last sample.
        let wall_ns = samples.last().map_or(0, |sample| sample.at_ns);
        let title = timeline.title.clone();
        Recording { title, wall_ns, stages, lanes, samples, memory_limit_bytes }
    }

    /// Writes it in the trace event format of Chrome, which chrome://tracing, Perfetto and speedscope open;
    /// `docs/timeline.md` describes the contents.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        super::json::write(self, out)
    }
}

impl LaneRecording {
    /// Returns the total of each kind, in nanoseconds, by [`Kind::RECORDED`]: exact at any resolution.
    pub fn sums_ns(&self) -> [u64; KINDS] {
        let mut sums = [0; KINDS];
        self.spans.iter().for_each(|span| sums[span.kind as usize] += span.ns());
        sums
    }

    /// Returns the total of one kind, in nanoseconds; idle is the rest of `wall_ns`.
    pub fn ns(&self, kind: Kind, wall_ns: u64) -> u64 {
        match kind {
            Kind::Idle => wall_ns.saturating_sub(self.sums_ns().iter().sum()),
            kind => self.sums_ns()[kind as usize],
        }
    }

    /// Returns whether it is a worker of an engine.
    pub fn is_worker(&self) -> bool {
        self.name.starts_with("worker-")
    }

    fn place(&self) -> (bool, String, u64) {
        let (name, number) = self.name.rsplit_once('-').unwrap_or((&self.name, ""));
        let number = number.split_once(' ').map_or(number, |(number, _)| number);
        (name != "worker", name.to_owned(), number.parse().unwrap_or(0))
    }
}

//! The timeline of jobs: the work of each thread over time, and the bytes that the process read, wrote and
//! held meanwhile, as SupMR's figures show it (Sevilla et al., "SupMR", figures 1 and 5 to 7). Threads put
//! spans of work into lanes of their own; a sampler looks at the process. Both are bounded for jobs of any
//! length, and neither may influence an answer. A [`Recording`] is the data so far; it is written as JSON;
//! the crate `tegula-timeline-draw` draws it as SVG.

mod context;
mod json;
mod lane;
mod recording;
mod sampler;
mod spans;
mod track;

pub use context::{Context, begin};
pub use recording::{LaneRecording, Recording};
pub use sampler::Sample;
pub use spans::{SPANS_MOST, Span, Spans};
pub use track::Track;

use crate::memory::BlockPool;
use crate::progress::Stage;
use crate::sync::Mutex;
use lane::{Lane, Owner};
use sampler::Sampler;
use std::sync::Arc;
use std::time::Instant;

/// The work of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Kind {
    /// Listing and cutting the input.
    Plan,
    /// Reading input, or waiting for it.
    Read,
    /// Decompressing input.
    Decode,
    /// The job's map, with combining in the worker's own tables; a sort's finding of ranges.
    Map,
    /// Handing tables over to the partial.
    Combine,
    /// Folding partials while the map stage runs.
    Compress,
    /// Moving pairs that exceed memory to disk, and back.
    Spill,
    /// Folding partitions into one pair per key.
    Reduce,
    /// Sorting ranges of the answer.
    Merge,
    /// Formatting and writing the answer.
    Write,
    /// On a device: copying a unit of input to it.
    CopyIn,
    /// On a device: a kernel.
    Kernel,
    /// On a device: copying a partial from it.
    CopyOut,
    /// Waiting. Never recorded: it is the time that no span covers.
    Idle,
}

/// Number of kinds that are recorded.
pub const KINDS: usize = Kind::RECORDED.len();

impl Kind {
    /// All kinds but idling: those of threads in the order of the path of the data, then those of devices.
    pub const RECORDED: [Kind; 13] = [
        Kind::Plan,
        Kind::Read,
        Kind::Decode,
        Kind::Map,
        Kind::Combine,
        Kind::Compress,
        Kind::Spill,
        Kind::Reduce,
        Kind::Merge,
        Kind::Write,
        Kind::CopyIn,
        Kind::Kernel,
        Kind::CopyOut,
    ];

    /// Returns the kind's name in files.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Plan => "plan",
            Kind::Read => "read",
            Kind::Decode => "decode",
            Kind::Map => "map",
            Kind::Combine => "combine",
            Kind::Compress => "compress",
            Kind::Spill => "spill",
            Kind::Reduce => "reduce",
            Kind::Merge => "merge",
            Kind::Write => "write",
            Kind::CopyIn => "copy_in",
            Kind::Kernel => "kernel",
            Kind::CopyOut => "copy_out",
            Kind::Idle => "idle",
        }
    }

    /// Returns the name of this kind's stage in [`Recording::stages`], or else the kind's own.
    pub fn stage_name(self) -> &'static str {
        let stage = Stage::ALL.into_iter().find(|&stage| Kind::of(stage) == self);
        stage.map_or(self.name(), Stage::name)
    }

    /// Returns the default kind of work in a stage.
    #[doc(hidden)]
    pub fn of(stage: Stage) -> Kind {
        match stage {
            Stage::Plan => Kind::Plan,
            Stage::Map => Kind::Map,
            Stage::Reduce => Kind::Reduce,
            Stage::Merge => Kind::Merge,
            Stage::Output => Kind::Write,
        }
    }
}

/// A recorder that jobs are given in `Options::timeline`. One may serve several jobs,
/// one after another or at once. Clones are the same timeline.
///
/// Recording takes some tens of nanoseconds per span, of which a split makes a handful, and at most 200 kB of
/// memory per thread. When those are full, spans inside one interval of time are merged by kind: their order
/// in that interval is lost, the total of each kind is kept.
///
/// ```
/// # fn main() -> tegula::Result<()> {
/// # use tegula::{Emit, Job, Split, Sum};
/// # struct Lines;
/// # impl Job for Lines {
/// #     type Key = [u8];
/// #     type Combine = Sum<u64>;
/// #     fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> tegula::Result<()> {
/// #         split.lines().for_each(|line| emit.emit(line, 1));
/// #         Ok(())
/// #     }
/// # }
/// use tegula::{Engine, Input, Options, Timeline};
///
/// let timeline = Timeline::new("lines");
/// let options = Options { timeline: Some(timeline.clone()), ..Options::default() };
/// Engine::new()?.job(&Lines).options(&options).run(Input::bytes("a\nb\na\n"))?;
/// let mut json = Vec::new();
/// timeline.read().write_json(&mut json).map_err(|cause| tegula::Error::System { action: "write", cause })?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Timeline(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    title: String,
    clock: Clock,
    lanes: Mutex<Vec<Arc<Lane>>>,
    /// Spans of whole stages, under the kind of each.
    stages: Mutex<Spans>,
    sampler: Sampler,
}

impl Timeline {
    /// Returns a timeline whose time begins now. `title` describes it, such as a command line.
    pub fn new(title: impl Into<String>) -> Timeline {
        let clock = Clock { epoch: Instant::now() };
        Timeline(Arc::new(Inner {
            title: title.into(),
            clock,
            lanes: Mutex::default(),
            stages: Mutex::new(Spans::new()),
            sampler: Sampler::start(clock),
        }))
    }

    /// Does work of a stage that lies outside the engine, such as writing an answer, on the calling
    /// thread.
    pub fn during<R>(&self, stage: Stage, work: impl FnOnce() -> R) -> R {
        let began = Instant::now();
        let entered = Context::new(Some(self), stage).enter();
        let result = work();
        drop(entered);
        self.add_stage(stage, began);
        result
    }

    /// Returns the recording so far, without spans that are still open.
    pub fn read(&self) -> Recording {
        Recording::of(&self.0)
    }

    /// Returns the name of each lane, in no order, and the total of each kind of work in it so far, in nanoseconds, by
    /// [`Kind::RECORDED`]. For those who watch: unlike [`read`](Timeline::read) it copies no spans.
    pub fn sums_ns(&self) -> Vec<(String, [u64; KINDS])> {
        self.0.lanes.lock().iter().map(|lane| lane.sums_ns()).collect()
    }

    /// Samples the memory of this pool from now on; the limit is that on the process.
    #[doc(hidden)]
    pub fn watch(&self, blocks: &Arc<BlockPool>, limit_bytes: Option<u64>) {
        self.0.sampler.watch(blocks, limit_bytes);
    }

    /// Records that a stage lasted until now.
    #[doc(hidden)]
    pub fn add_stage(&self, stage: Stage, began: Instant) {
        let span = self.0.clock.span(Kind::of(stage), began, Instant::now());
        self.0.stages.lock().push(span);
    }
}

/// Time as a timeline counts it.
#[derive(Clone, Copy, Debug)]
struct Clock {
    epoch: Instant,
}

impl Clock {
    fn span(self, kind: Kind, begin: Instant, end: Instant) -> Span {
        Span { kind, begin_ns: self.ns(begin), end_ns: self.ns(end) }
    }

    fn ns(self, at: Instant) -> u64 {
        at.saturating_duration_since(self.epoch).as_nanos() as u64
    }
}

impl Inner {
    /// Returns the lane of the calling thread: the one it had, or one that a thread of the same name left
    /// when it ended, or a new one.
    fn lane(self: &Arc<Inner>) -> Arc<Lane> {
        let owner = Owner::this_thread();
        let mut lanes = self.lanes.lock();
        if let Some(lane) = lanes.iter().find(|lane| lane.is_of(&owner)) {
            return Arc::clone(lane);
        }
        if let Some(lane) = lanes.iter().find(|lane| lane.take_over(&owner)) {
            return Arc::clone(lane);
        }
        let lane = Arc::new(Lane::new(self, owner));
        lanes.push(Arc::clone(&lane));
        lane
    }
}

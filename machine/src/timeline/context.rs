//! What the calling thread records, and where. A stage's caller enters a [`Context`]; the pool carries
//! it to its workers, and whoever starts a thread of its own for a stage does the same. Beneath, at any
//! depth, [`begin`] says what is being done until it ends: no handle is passed down to it. A thread does
//! one thing at a time: what begins inside another interrupts it, so spans never overlap.
//!
//! The same is said to `tracing`, as spans of the target `tegula::timeline`, whether or not a timeline
//! records.

use super::lane::Lane;
use super::{Inner, Kind, Timeline};
use crate::progress::Stage;
use std::cell::RefCell;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tracing::span::EnteredSpan;

thread_local! {
    static HERE: RefCell<Here> = const { RefCell::new(Here { known: None, current: None }) };
}

/// A thread's own.
struct Here {
    /// The lane that this thread used last.
    known: Option<Arc<Lane>>,
    /// What it does now, if that belongs to a job.
    current: Option<Current>,
}

struct Current {
    /// Where that is recorded, if it is.
    lane: Option<Arc<Lane>>,
    kind: Kind,
    since: Instant,
}

impl Drop for Here {
    fn drop(&mut self) {
        if let Some(lane) = &self.known {
            lane.leave();
        }
    }
}

impl Here {
    /// Does something else from `now` on; returns what was done until then.
    fn turn_to(&mut self, kind: Kind, now: Instant) -> Option<Kind> {
        let current = self.current.as_mut()?;
        let before = std::mem::replace(&mut current.kind, kind);
        let since = std::mem::replace(&mut current.since, now);
        if let Some(lane) = current.lane.as_ref().filter(|_| before != Kind::Idle) {
            lane.push(lane.clock().span(before, since, now));
        }
        Some(before)
    }

    fn lane(&mut self, timeline: &Arc<Inner>) -> Arc<Lane> {
        match &self.known {
            Some(lane) if lane.is_in(timeline) => Arc::clone(lane),
            _ => Arc::clone(self.known.insert(timeline.lane())),
        }
    }
}

/// Does something with the thread's own; nothing while the thread ends.
fn here<R: Default>(work: impl FnOnce(&mut Here) -> R) -> R {
    HERE.try_with(|here| work(&mut here.borrow_mut())).unwrap_or_default()
}

/// A timeline, if any, and what threads do by default that work for the job.
#[derive(Clone)]
#[allow(missing_debug_implementations, reason = "no part of the interface")]
pub struct Context {
    timeline: Option<Arc<Inner>>,
    kind: Kind,
}

impl Context {
    /// That of a stage.
    pub fn new(timeline: Option<&Timeline>, stage: Stage) -> Context {
        let timeline = timeline.map(|timeline| Arc::clone(&timeline.0));
        Context { timeline, kind: Kind::of(stage) }
    }

    /// That of the calling thread, for another one.
    pub fn here() -> Context {
        let current = here(|here| {
            let current = here.current.as_ref()?;
            Some((current.lane.as_ref().and_then(|lane| lane.timeline()), current.kind))
        });
        let (timeline, kind) = current.unwrap_or((None, Kind::Idle));
        Context { timeline, kind }
    }

    /// The timeline that records.
    pub(super) fn timeline(self) -> Option<Arc<Inner>> {
        self.timeline
    }

    /// Has the calling thread work for the job until what is returned is dropped.
    pub fn enter(&self) -> Entered {
        let now = Instant::now();
        let outer = here(|here| {
            let before = here.turn_to(Kind::Idle, now);
            let lane = self.timeline.as_ref().map(|timeline| here.lane(timeline));
            let outer = here.current.replace(Current { lane, kind: self.kind, since: now });
            outer.zip(before)
        });
        Entered { outer, _traced: trace(self.kind) }
    }
}

/// While it lives, its thread works for a job. Then the thread goes on with what it did before.
#[allow(missing_debug_implementations, reason = "no part of the interface")]
pub struct Entered {
    outer: Option<(Current, Kind)>,
    _traced: EnteredSpan,
}

impl Drop for Entered {
    fn drop(&mut self) {
        let (now, outer) = (Instant::now(), self.outer.take());
        here(|here| {
            here.turn_to(Kind::Idle, now);
            here.current = outer.map(|(outer, kind)| Current { kind, since: now, ..outer });
        });
    }
}

/// Something that is being done. It ends when this is dropped, and what it interrupted goes on.
#[allow(missing_debug_implementations, reason = "no part of the interface")]
pub struct Doing {
    began: Instant,
    /// What it interrupted; `None` if that is of no job, and when it has ended.
    before: Option<Kind>,
    _traced: EnteredSpan,
}

/// Begins to do something.
#[inline]
pub fn begin(kind: Kind) -> Doing {
    let began = Instant::now();
    Doing { began, before: here(|here| here.turn_to(kind, began)), _traced: trace(kind) }
}

impl Doing {
    /// Ends it; returns how long it took, with what interrupted it.
    pub fn end(mut self) -> Duration {
        let now = Instant::now();
        self.turn_back(now);
        now - self.began
    }

    fn turn_back(&mut self, now: Instant) {
        if let Some(before) = self.before.take() {
            here(|here| here.turn_to(before, now));
        }
    }
}

impl Drop for Doing {
    fn drop(&mut self) {
        if self.before.is_some() {
            self.turn_back(Instant::now());
        }
    }
}

/// A span for whoever listens. A place in the code has one name, so each kind has a place.
fn trace(kind: Kind) -> EnteredSpan {
    macro_rules! span {
        ($name:literal) => {
            tracing::trace_span!(target: "tegula::timeline", $name).entered()
        };
    }
    match kind {
        Kind::Plan => span!("plan"),
        Kind::Read => span!("read"),
        Kind::Decode => span!("decode"),
        Kind::Map => span!("map"),
        Kind::Combine => span!("combine"),
        Kind::Compress => span!("compress"),
        Kind::Spill => span!("spill"),
        Kind::Reduce => span!("reduce"),
        Kind::Merge => span!("merge"),
        Kind::Write => span!("write"),
        Kind::CopyIn => span!("copy_in"),
        Kind::Kernel => span!("kernel"),
        Kind::CopyOut => span!("copy_out"),
        Kind::Idle => span!("idle"),
    }
}

//! The recording of the calling thread. A stage's caller enters a [`Context`]; the pool carries it to its
//! workers, and so does any code that starts a thread for a stage. Beneath, at any depth, [`begin`] starts a
//! span without a handle passed down. A thread does one thing at a time: a span that begins inside another
//! interrupts it, so spans never overlap.
//!
//! `tracing` gets the same as spans of the target `tegula::timeline`, whether or not a timeline records.

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
    /// The present work, if it belongs to a job.
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
    /// Turns to other work at `now`; returns the kind of the work before.
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

/// A timeline, if any, and the default kind of work of threads that work for the job.
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

    /// Returns the timeline that records.
    pub(super) fn timeline(self) -> Option<Arc<Inner>> {
        self.timeline
    }

    /// Makes the calling thread work for the job until the returned guard is dropped.
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

/// A guard: its thread works for a job while it lives, and returns to its earlier work after that.
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

/// A span that is open. It ends when this is dropped, and the interrupted span continues.
#[allow(missing_debug_implementations, reason = "no part of the interface")]
pub struct Doing {
    began: Instant,
    /// The interrupted work; `None` if that belongs to no job, and after the end.
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
    /// Ends the span; returns its duration, interruptions included.
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

/// Returns a span for subscribers of `tracing`. A place in the code has one name, so each kind has a place.
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

//! A lane: the spans of one thread, or of a queue of a device. One thread at a time writes. Its lock is contended
//! only while somebody reads a timeline that is still recording, for as long as it takes to copy the spans.

use super::spans::{Span, Spans};
use super::{Clock, Inner, KINDS, Kind, LaneRecording};
use crate::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::thread::{self, ThreadId};

/// The name of the lane of a thread without a name.
const NAMELESS: &str = "thread";
/// The engine's worker threads have this name with their number after it.
const WORKER: &str = "tegula-";

#[derive(Debug)]
pub(super) struct Lane {
    timeline: Weak<Inner>,
    clock: Clock,
    name: String,
    /// Whether it is of a device, and of no thread.
    is_device: bool,
    /// The thread that writes; `None` when it has ended.
    owner: Mutex<Option<ThreadId>>,
    spans: Mutex<Spans>,
    /// The total of each kind so far.
    sums_ns: [AtomicU64; KINDS],
}

/// A thread that wants a lane.
pub(super) struct Owner {
    id: ThreadId,
    name: String,
}

impl Owner {
    pub(super) fn this_thread() -> Owner {
        let thread = thread::current();
        let name = match thread.name().unwrap_or(NAMELESS) {
            "main" => "caller".to_owned(),
            name => name.replace(WORKER, "worker-"),
        };
        Owner { id: thread.id(), name }
    }
}

impl Lane {
    /// Returns the lane of a thread.
    pub(super) fn new(timeline: &Arc<Inner>, owner: Owner) -> Lane {
        Lane::of(timeline, owner.name, Some(owner.id))
    }

    /// Returns the lane of a queue of a device.
    pub(super) fn of_device(timeline: &Arc<Inner>, name: &str) -> Lane {
        Lane::of(timeline, name.to_owned(), None)
    }

    fn of(timeline: &Arc<Inner>, name: String, owner: Option<ThreadId>) -> Lane {
        Lane {
            timeline: Arc::downgrade(timeline),
            clock: timeline.clock,
            name,
            is_device: owner.is_none(),
            owner: Mutex::new(owner),
            spans: Mutex::new(Spans::new()),
            sums_ns: [const { AtomicU64::new(0) }; KINDS],
        }
    }

    pub(super) fn is_track(&self, name: &str) -> bool {
        self.is_device && self.name == name
    }

    pub(super) fn is_in(&self, timeline: &Arc<Inner>) -> bool {
        std::ptr::eq(self.timeline.as_ptr(), Arc::as_ptr(timeline))
    }

    pub(super) fn clock(&self) -> Clock {
        self.clock
    }

    pub(super) fn timeline(&self) -> Option<Arc<Inner>> {
        self.timeline.upgrade()
    }

    pub(super) fn is_of(&self, owner: &Owner) -> bool {
        *self.owner.lock() == Some(owner.id)
    }

    /// Makes this lane the thread's, if it was left by one of the same name.
    pub(super) fn take_over(&self, owner: &Owner) -> bool {
        let mut left = self.owner.lock();
        let taken = left.is_none() && !self.is_device && self.name == owner.name;
        if taken {
            *left = Some(owner.id);
        }
        taken
    }

    /// The thread has ended.
    pub(super) fn leave(&self) {
        *self.owner.lock() = None;
    }

    pub(super) fn push(&self, span: Span) {
        if span.kind != Kind::Idle {
            self.sums_ns[span.kind as usize]
                .fetch_add(span.end_ns.saturating_sub(span.begin_ns), Ordering::Relaxed);
        }
        self.spans.lock().push(span);
    }

    /// Returns its name, and the total of each kind so far, in nanoseconds. Costs a few reads.
    pub(super) fn sums_ns(&self) -> (String, [u64; KINDS]) {
        let sum = |kind: usize| self.sums_ns[kind].load(Ordering::Relaxed);
        (self.name.clone(), std::array::from_fn(sum))
    }

    pub(super) fn read(&self) -> LaneRecording {
        let spans = self.spans.lock();
        LaneRecording {
            name: self.name.clone(),
            is_device: self.is_device,
            spans: spans.as_slice().to_vec(),
            resolution_ns: spans.resolution_ns(),
        }
    }
}

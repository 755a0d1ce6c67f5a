//! The gate of the map stage: a worker outside of the run's share takes nothing new, until it is in the share again, or
//! the others have found nothing left. A thread beside the stage wakes the workers when the share has changed, and when
//! the run stops while all of them wait.

use crate::failure::Failure;
use crate::ingest::Intake;
use crate::schedule::{Pool, Share, beside};
use crate::timeline::{self, Kind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The interval at which it is checked whether the run was stopped.
const LOOK: Duration = Duration::from_millis(10);

/// Who may take new work of one part of the input.
pub(super) struct Gate<'r> {
    share: Option<&'r Share>,
    pool: &'r Pool,
    failure: &'r Failure,
    /// Whether a worker found nothing left.
    is_open: AtomicBool,
}

impl<'r> Gate<'r> {
    pub(super) fn new(share: Option<&'r Share>, pool: &'r Pool, failure: &'r Failure) -> Gate<'r> {
        Gate { share, pool, failure, is_open: AtomicBool::new(false) }
    }

    /// Returns whether a worker must wait. What was read for it alone, it maps in any case.
    pub(super) fn bars(&self, worker: usize, intake: &Intake<'_>) -> bool {
        self.share.is_some_and(|share| !share.has(worker))
            && !self.is_open.load(Ordering::Acquire)
            && !self.failure.stops()
            && !intake.owes(worker)
    }

    /// A worker found nothing left: now all others may see that, too.
    pub(super) fn open(&self) {
        let Some(share) = self.share else { return };
        if !self.is_open.swap(true, Ordering::AcqRel) {
            share.nudge();
            self.pool.wake();
        }
    }

    /// Wakes the workers when they may have work, while the caller does `meanwhile`.
    pub(super) fn beside(&self, intake: &Intake<'_>, meanwhile: &mut dyn FnMut()) {
        let Some(share) = self.share else { return meanwhile() };
        let watch = |_| {
            let _waiting = timeline::begin(Kind::Idle);
            let mut seen = 0;
            while !self.is_open.load(Ordering::Acquire) && !self.failure.stops() {
                let changes = share.wait(seen, LOOK);
                let owes = (0..self.pool.workers())
                    .any(|worker| !share.has(worker) && intake.owes(worker));
                if changes != seen || owes {
                    self.pool.wake();
                }
                seen = changes;
            }
            self.pool.wake();
        };
        // Without the thread, the workers must not wait.
        let mut cannot = |_, _| self.open();
        beside(&["share".to_owned()], &watch, &mut cannot, meanwhile);
    }
}

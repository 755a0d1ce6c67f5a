//! Detects whether a thread had to wait: the operating system counts how often a thread gave its processor
//! away because it had nothing to do. Time alone would not distinguish waiting for a disk from waiting for a
//! processor that others use, too.

/// The number of waits of one thread when a read began.
pub(super) struct Waits(i64);

impl Waits {
    /// Begins to count, on the thread that calls it.
    pub(super) fn begin() -> Waits {
        Waits(voluntary_switches())
    }

    /// Returns whether this thread has waited since then.
    pub(super) fn any(&self) -> bool {
        voluntary_switches() != self.0
    }
}

/// Costs about a third of a microsecond. 0 where the system does not say: then nothing ever waits.
fn voluntary_switches() -> i64 {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the call fills the structure, which is large enough; zeroes are a valid value of it, too.
    unsafe {
        libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
        usage.assume_init().ru_nvcsw
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn sleeping_is_waiting_and_working_is_not() {
        let waits = Waits::begin();
        let sum: u64 = std::hint::black_box((0..1000).sum());
        assert!(sum > 0 && !waits.any());
        std::thread::sleep(Duration::from_millis(1));
        assert!(waits.any() && !Waits::begin().any());
    }
}

//! Figures that the operating system keeps about this process.

use std::time::Duration;

/// Returns the processor time that this process has used so far, on all processors.
pub fn process_cpu() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs() as u32)
}

//! The figures of a device in a run. They never influence a run.

use std::time::Duration;

/// The work of a device in a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceFigures {
    /// Its name.
    pub name: String,
    /// Its back-end.
    pub backend: &'static str,
    /// Units that were counted.
    pub units: u64,
    /// Input bytes in them, approximately: splits are counted as a whole.
    pub bytes: u64,
    /// Those of the bytes that stayed on the device from an earlier run.
    pub reused_bytes: u64,
    /// Bytes that stay on the device for a later run.
    pub resident_bytes: u64,
    /// The best size of unit, in bytes.
    pub unit_bytes: u64,
    /// Units that came back until that size was known, and the time from the first unit until then; zero if it never was.
    pub sizing_units: u64,
    /// See `sizing_units`.
    pub sizing: Duration,
    /// Threads that filled its slots at the end, the best number; 0 if it got no units.
    pub feeders: u64,
    /// The reason if the system or the budget refused more threads.
    pub feeders_refused: Option<String>,
    /// Bytes that were given back to the cores.
    pub given_back_bytes: u64,
    /// The number of overflows of a table.
    pub overflows: u64,
    /// The number of partials that were fetched.
    pub snapshots: u64,
    /// Time of copies to the device, and of its kernels. They overlap.
    pub copy: Duration,
    /// See `copy`.
    pub kernel: Duration,
    /// Time of copies of partials from the device.
    pub copy_out: Duration,
    /// From the first unit to the last partial.
    pub span: Duration,
    /// The reason why it was not used, or not to the end.
    pub fault: Option<String>,
}

impl DeviceFigures {
    /// Adds the later work of the same device.
    pub fn add(&mut self, later: &DeviceFigures) {
        *self = DeviceFigures {
            name: later.name.clone(),
            backend: later.backend,
            units: self.units + later.units,
            bytes: self.bytes + later.bytes,
            reused_bytes: self.reused_bytes + later.reused_bytes,
            resident_bytes: later.resident_bytes,
            unit_bytes: later.unit_bytes,
            sizing_units: self.sizing_units + later.sizing_units,
            sizing: self.sizing + later.sizing,
            feeders: if later.feeders > 0 { later.feeders } else { self.feeders },
            feeders_refused: later.feeders_refused.clone().or(self.feeders_refused.take()),
            given_back_bytes: self.given_back_bytes + later.given_back_bytes,
            overflows: self.overflows + later.overflows,
            snapshots: self.snapshots + later.snapshots,
            copy: self.copy + later.copy,
            kernel: self.kernel + later.kernel,
            copy_out: self.copy_out + later.copy_out,
            span: self.span + later.span,
            fault: later.fault.clone().or(self.fault.take()),
        };
    }
}

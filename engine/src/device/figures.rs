//! The figures of a device: what it did in a run. They never influence one.

use std::time::Duration;

/// What a device did in a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceFigures {
    /// Its name.
    pub name: String,
    /// Its back-end.
    pub backend: &'static str,
    /// Units that were counted.
    pub units: u64,
    /// Input bytes in them, about: splits are counted whole.
    pub bytes: u64,
    /// Bytes of these that were on the device already, from a run before this one.
    pub reused_bytes: u64,
    /// Bytes that stayed on the device, for a run after this one.
    pub resident_bytes: u64,
    /// The size of unit that went best, in bytes.
    pub unit_bytes: u64,
    /// Threads that filled its slots in the end, which was found best; 0 if it was sent nothing.
    pub feeders: u64,
    /// Why no more threads could, where some were wanted that the system or the budget did not have.
    pub feeders_refused: Option<String>,
    /// Bytes that were given back to the cores.
    pub given_back_bytes: u64,
    /// How often a table had no room.
    pub overflows: u64,
    /// How often a partial came back.
    pub snapshots: u64,
    /// Time of copies to the device, and of its kernels. They overlap.
    pub copy: Duration,
    /// See `copy`.
    pub kernel: Duration,
    /// Time of copies of partials from the device.
    pub copy_out: Duration,
    /// From the first unit to the last partial.
    pub span: Duration,
    /// Why it was not used, or not to the end.
    pub fault: Option<String>,
}

impl DeviceFigures {
    /// Adds what the same device did later.
    pub fn add(&mut self, later: &DeviceFigures) {
        *self = DeviceFigures {
            name: later.name.clone(),
            backend: later.backend,
            units: self.units + later.units,
            bytes: self.bytes + later.bytes,
            reused_bytes: self.reused_bytes + later.reused_bytes,
            resident_bytes: later.resident_bytes,
            unit_bytes: later.unit_bytes,
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

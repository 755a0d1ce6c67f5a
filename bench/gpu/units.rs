//! Units for a device that come from no file: they lie in the slots already, one thread copies them there, or
//! they have stayed on the device. A unit repeats a pattern, so the kernel's result is known.

use crate::Fault;
use crate::tally::Tally;
use std::collections::{HashSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tegula::Accelerator;
use tegula::device::{
    ARGUMENTS, DeviceFigures, Offload, Outlook, Piece, Read, Residence, Turn, Work,
};

/// Where units are when they are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum From {
    /// In pinned memory.
    Pinned,
    /// In ordinary memory: one thread copies them to pinned memory.
    Staged,
    /// On the device, as far as there is room.
    Device,
}

pub(crate) struct Units {
    pub(crate) offload: Offload,
    pub(crate) arguments: [u64; ARGUMENTS],
    pub(crate) pattern: Vec<u8>,
    /// Returns the tally that the kernel makes of the pattern.
    pub(crate) expected: fn(&[u8]) -> Tally,
    pub(crate) from: From,
}

/// The outcome of a run over them.
struct Pass {
    took: Duration,
    /// The units that were sent.
    sent: Vec<Range<u64>>,
    figures: DeviceFigures,
}

/// A run over them.
struct Run<'u> {
    units: &'u Units,
    left: u64,
    given_back: Vec<Range<u64>>,
    /// Units that the device has.
    held: VecDeque<Range<u64>>,
    /// The units that were sent, in this order.
    sent: Vec<Range<u64>>,
    merged: u64,
    tally: Tally,
    /// Slots that have been filled, by their addresses; the time when the last of them was, and the rest of
    /// the work then.
    filled: HashSet<usize>,
    began: (Instant, u64),
}

impl Units {
    /// Sends about `bytes` bytes; returns the time for that, at the rate since every slot was first filled.
    pub(crate) fn run(&self, device: &Accelerator, bytes: u64) -> Result<Duration, Fault> {
        if self.from != From::Device {
            return Ok(self.pass(device, &self.offload, bytes, VecDeque::new())?.took);
        }
        let residence = Some(Residence::of(Arc::default()));
        let offload = Offload { residence, ..self.offload.clone() };
        let first = self.pass(device, &offload, bytes, VecDeque::new())?;
        Ok(self.pass(device, &offload, bytes, first.sent.into())?.took)
    }

    /// Sends about `bytes` bytes; returns the figures of the device.
    pub(crate) fn figures(&self, device: &Accelerator, bytes: u64) -> Result<DeviceFigures, Fault> {
        Ok(self.pass(device, &self.offload, bytes, VecDeque::new())?.figures)
    }

    fn pass(
        &self,
        device: &Accelerator,
        offload: &Offload,
        bytes: u64,
        held: VecDeque<Range<u64>>,
    ) -> Result<Pass, Fault> {
        let split = self.pattern.len() as u64;
        let mut driver = device.start(offload, split, bytes, u64::MAX)?;
        let splits = bytes / split;
        let expected = (self.expected)(&self.pattern);
        let left = if held.is_empty() { splits } else { 0 };
        let mut run = Run {
            units: self,
            left,
            given_back: Vec::new(),
            held,
            sent: Vec::new(),
            merged: 0,
            tally: expected.empty(),
            filled: HashSet::new(),
            began: (Instant::now(), splits),
        };
        while driver.step(&mut run)? == Turn::More {}
        let (began, left) = run.began;
        let took = began.elapsed().mul_f64(splits as f64 / left.max(1) as f64);
        device.remember(&offload.kernel, &driver);
        let figures = driver.figures();
        device.end(driver, offload);
        match &figures.fault {
            Some(fault) => Err(fault.clone().into()),
            None if run.merged != splits || run.tally != expected.times(splits) => {
                let entry = &offload.kernel.entry;
                Err(format!("{entry}: the kernel's answer is not that of the cores").into())
            }
            None => Ok(Pass { took, sent: run.sent, figures }),
        }
    }
}

impl Work for Run<'_> {
    fn take(&mut self, splits: u64) -> Option<Range<u64>> {
        let taken = self.given_back.pop().or_else(|| {
            let end = self.left;
            self.left -= splits.min(end);
            (self.left < end).then_some(self.left..end)
        })?;
        self.sent.push(taken.clone());
        Some(taken)
    }

    fn take_held(&mut self) -> Option<Range<u64>> {
        self.held.pop_front()
    }

    fn give_back(&mut self, splits: Range<u64>) {
        self.given_back.push(splits);
    }

    fn read(
        &mut self,
        splits: &Range<u64>,
        slot: &mut [u8],
        pieces: &mut Vec<Piece>,
    ) -> tegula::Result<Read> {
        let pattern = &self.units.pattern;
        let bytes = (splits.end - splits.start) as usize * pattern.len();
        let is_new = self.filled.insert(slot.as_ptr().addr());
        let to_fill = if is_new { slot.len() } else { bytes };
        if is_new || self.units.from == From::Staged {
            for part in slot[..to_fill].chunks_mut(pattern.len()) {
                part.copy_from_slice(&pattern[..part.len()]);
            }
        }
        if is_new && self.units.from != From::Device {
            self.began = (Instant::now(), self.left + splits.end - splits.start);
        }
        pieces.push(Piece { start: 0, bytes, arguments: self.units.arguments });
        Ok(Read::Filled(bytes))
    }

    fn merge(
        &mut self,
        partial: &[u64],
        splits: &[Range<u64>],
        _idle: Duration,
    ) -> tegula::Result<()> {
        self.merged += splits.iter().map(|splits| splits.end - splits.start).sum::<u64>();
        self.tally.add(partial)
    }

    fn outlook(&mut self) -> Outlook {
        let splits_left = self.left;
        Outlook { splits_left, others_splits: 0, others_at_a_time: 0, others_splits_s: 0.0 }
    }
}

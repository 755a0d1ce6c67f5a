//! Units for a device that come from no file: they lie in the slots from before, or one thread copies them
//! there. A unit is a pattern so many times, so what the kernel is to add is known.

use crate::Fault;
use crate::jobs::PATTERN_BYTES;
use std::collections::HashSet;
use std::ops::Range;
use std::time::{Duration, Instant};
use tegula::Accelerator;
use tegula::device::{ARGUMENTS, Kernel, Offload, Outlook, Piece, Read, Shape, Turn, Work};

pub(crate) struct Units {
    pub(crate) name: &'static str,
    pub(crate) kernel: &'static str,
    pub(crate) words: usize,
    pub(crate) arguments: [u64; ARGUMENTS],
    pub(crate) pattern: Vec<u8>,
    /// What the kernel adds for the pattern.
    pub(crate) expected: Vec<u64>,
    /// Whether each unit is copied into its slot.
    pub(crate) is_staged: bool,
    pub(crate) bytes: u64,
}

/// A run over them.
struct Run<'u> {
    units: &'u Units,
    left: u64,
    merged: u64,
    sums: Vec<u64>,
    /// Slots that have been filled, by where they are, when the last of them was, and what was left then.
    filled: HashSet<usize>,
    began: (Instant, u64),
}

impl Units {
    /// Sends about so many bytes; returns how long that took, at the rate since every slot was first filled.
    pub(crate) fn run(&self, device: &Accelerator, bytes: u64) -> Result<Duration, Fault> {
        let kernel = Kernel {
            entry: self.name.into(),
            file: format!("{}.c", self.name).into(),
            source: self.kernel.into(),
            defines: Vec::new(),
            emulated: None,
        };
        let partial = Shape::Dense(self.words);
        let offload = Offload { kernel, partial, broadcast: Vec::new(), residence: None };
        let split = PATTERN_BYTES as u64;
        let mut driver = device.start(&offload, split, self.bytes, u64::MAX)?;
        let splits = bytes / split;
        let sums = vec![0; self.words];
        let (filled, began) = (HashSet::new(), (Instant::now(), splits));
        let mut run = Run { units: self, left: splits, merged: 0, sums, filled, began };
        while driver.step(&mut run)? == Turn::More {}
        let (began, left) = run.began;
        let took = began.elapsed().mul_f64(splits as f64 / left.max(1) as f64);
        if let Some(best) = driver.best_bytes() {
            device.remember(&offload.kernel, best);
        }
        let is_right = self
            .expected
            .iter()
            .zip(&run.sums)
            .all(|(of_one, &sum)| of_one.wrapping_mul(splits) == sum);
        match driver.figures().fault {
            Some(fault) => Err(fault.into()),
            None if run.merged != splits || !is_right => {
                Err(format!("{}: the kernel's sums are not those of the cores", self.name).into())
            }
            None => Ok(took),
        }
    }
}

impl Work for Run<'_> {
    fn take(&mut self, splits: u64) -> Option<Range<u64>> {
        let end = self.left;
        self.left -= splits.min(end);
        (self.left < end).then_some(self.left..end)
    }

    fn give_back(&mut self, _: Range<u64>) {}

    fn read(
        &mut self,
        splits: &Range<u64>,
        slot: &mut [u8],
        pieces: &mut Vec<Piece>,
    ) -> tegula::Result<Read> {
        let bytes = (splits.end - splits.start) as usize * PATTERN_BYTES;
        let is_new = self.filled.insert(slot.as_ptr().addr());
        let to_fill = if is_new { slot.len() } else { bytes };
        if is_new || self.units.is_staged {
            for part in slot[..to_fill].chunks_mut(PATTERN_BYTES) {
                part.copy_from_slice(&self.units.pattern[..part.len()]);
            }
        }
        if is_new {
            self.began = (Instant::now(), self.left + splits.end - splits.start);
        }
        pieces.push(Piece { start: 0, bytes, arguments: self.units.arguments });
        Ok(Read::Filled(bytes))
    }

    fn merge(&mut self, partial: &[u64], splits: &[Range<u64>]) -> tegula::Result<()> {
        self.merged += splits.iter().map(|splits| splits.end - splits.start).sum::<u64>();
        for (sum, word) in self.sums.iter_mut().zip(partial) {
            *sum = sum.wrapping_add(*word);
        }
        Ok(())
    }

    fn outlook(&mut self) -> Outlook {
        Outlook { splits_left: self.left, others_splits: 0, others_splits_s: 0.0 }
    }
}

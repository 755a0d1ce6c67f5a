//! Reads ahead of a decoder: requests the next ranges of a remote file while one range is decompressed.
//! Each request has its own thread, whose start is cheap beside the request. Outstanding requests are
//! bounded, counted in the budget, and joined at the end, so that no thread remains.

use super::source::copy_first;
use crate::error::{Error, InputError, Result};
use crate::input::{RangeSource, read_range};
use crate::memory::{BlockPool, Reserved};
use crate::sizing::part;
use std::collections::VecDeque;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

/// Bytes per request: a request may travel far.
pub(super) const RANGE_BYTES: usize = 1 << 20;
/// Outstanding requests for one file, in addition to the range that is decompressed.
const RANGES_AHEAD: usize = 3;
/// This fraction of the budget stays free, because blocks need memory, too.
const BUDGET_KEPT_PART: u64 = 2;

/// The bytes of one file, in order.
pub(super) struct Ahead {
    source: Arc<dyn RangeSource>,
    name: PathBuf,
    /// The file's length.
    end: u64,
    /// Where the next request begins.
    next: u64,
    asked: VecDeque<JoinHandle<Result<Vec<u8>, InputError>>>,
    ranges: usize,
    /// The range that is decompressed, and where it begins in the file.
    range: Vec<u8>,
    start: u64,
    _memory: Reserved,
}

impl Ahead {
    /// Opens a file of `bytes` bytes. Returns `None` if the budget has no room for reading ahead.
    pub(super) fn new(
        source: &Arc<dyn RangeSource>,
        name: PathBuf,
        bytes: u64,
        blocks: &Arc<BlockPool>,
    ) -> Option<Ahead> {
        let budget = blocks.budget();
        let room = budget.limit() / part::RANGES_AHEAD / RANGE_BYTES as u64;
        let ranges = RANGES_AHEAD.min(usize::try_from(room).unwrap_or(usize::MAX));
        let wanted = (ranges + 1) * RANGE_BYTES;
        if ranges == 0 || budget.used() + wanted as u64 > budget.limit() / BUDGET_KEPT_PART {
            return None;
        }
        let memory = Reserved::new(blocks, wanted, "reading ahead of a decoder").ok()?;
        Some(Ahead {
            source: Arc::clone(source),
            name,
            end: bytes,
            next: 0,
            asked: VecDeque::new(),
            ranges,
            range: Vec::new(),
            start: 0,
            _memory: memory,
        })
    }

    /// Copies bytes from `offset` on into `into` and returns their number; 0 at the end. Offsets must
    /// follow each other.
    pub(super) fn read(&mut self, offset: u64, into: &mut [u8]) -> Result<usize> {
        if offset == self.start + self.range.len() as u64 {
            if self.asked.is_empty() {
                self.next = offset;
            }
            // Freed before more is requested.
            self.range = Vec::new();
            self.ask()?;
            let Some(range) = self.asked.pop_front() else { return Ok(0) };
            self.range = range.join().unwrap_or_else(|panic| resume_unwind(panic))?;
            self.start = offset;
            self.ask()?;
        }
        Ok(copy_first(&self.range[(offset - self.start) as usize..], into))
    }

    /// Requests as many ranges as may be outstanding.
    fn ask(&mut self) -> Result<()> {
        while self.asked.len() < self.ranges && self.next < self.end {
            let (source, name, offset) = (Arc::clone(&self.source), self.name.clone(), self.next);
            let bytes = RANGE_BYTES.min(usize::try_from(self.end - offset).unwrap_or(RANGE_BYTES));
            let request = move || {
                let mut range = vec![0; bytes];
                read_range(&*source, name, offset, &mut range)?;
                Ok(range)
            };
            let asked = thread::Builder::new().name("range".to_owned()).spawn(request);
            let action = "start a thread that reads ahead";
            self.asked.push_back(asked.map_err(|cause| Error::System { action, cause })?);
            self.next = offset + bytes as u64;
        }
        Ok(())
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        // Their errors do not matter any more.
        self.asked.drain(..).for_each(|asked| drop(asked.join()));
    }
}

//! The way to read files: through the page cache or past it, and the bytes read past it. The reading itself
//! is in `ingest/direct.rs`.

use std::sync::atomic::{AtomicU64, Ordering};

/// Of the memory there is for the page cache, an input may fill this part before it is read directly.
const CACHE_PARTS: u64 = 2;
/// A smaller one never does.
const INPUT_BYTES_LEAST: u64 = 256 << 20;

/// The way to read files that are not in the page cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reads {
    /// Past the page cache if the input is larger than half of the memory that the system could give to
    /// it; else into the cache, for the next run.
    #[default]
    Auto,
    /// Always into the page cache.
    Cached,
    /// Past the page cache: it costs a tenth of the processor time, but the next run finds the file as cold.
    /// Files under 1 MiB, cached files, and files of systems that cannot do it or do not report cached pages
    /// (before Linux 6.5) are read as with `Cached`.
    Direct,
}

impl Reads {
    /// Returns whether an input of `input_bytes` is to be read past the page cache.
    pub(super) fn are_direct(self, input_bytes: u64, available_bytes: impl Fn() -> u64) -> bool {
        match self {
            Reads::Auto => {
                input_bytes > INPUT_BYTES_LEAST && input_bytes > available_bytes() / CACHE_PARTS
            }
            Reads::Cached => false,
            Reads::Direct => true,
        }
    }
}

/// The way to read the files of a part of the plan.
#[derive(Debug, Default)]
pub struct DirectReads {
    pub wanted: bool,
    /// Bytes that were read directly.
    bytes: AtomicU64,
}

impl DirectReads {
    /// Returns the bytes that were read directly so far.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Counts bytes that were read directly.
    pub fn add(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_beyond_the_cache_are_read_directly() {
        let wants = |reads: Reads, bytes| reads.are_direct(bytes, || 1 << 30);
        assert!(wants(Reads::Auto, (512 << 20) + 1) && !wants(Reads::Auto, 512 << 20));
        assert!(wants(Reads::Direct, 1) && !wants(Reads::Cached, 1 << 40));
    }
}

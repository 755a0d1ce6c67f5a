//! The budget: the only place where bytes are counted. Every block is taken from it and given back
//! to it; a taking that would pass the limit is refused with both figures.

use crate::error::MemoryError;
use std::sync::atomic::{AtomicU64, Ordering};

/// A limit in bytes, and the bytes in use.
#[derive(Debug)]
pub struct Budget {
    limit: u64,
    used: AtomicU64,
    peak: AtomicU64,
}

impl Budget {
    /// Returns a budget of `limit` bytes; `None` counts without a limit.
    pub fn new(limit: Option<u64>) -> Budget {
        Budget {
            limit: limit.unwrap_or(u64::MAX),
            used: AtomicU64::new(0),
            peak: AtomicU64::new(0),
        }
    }

    /// Returns the limit in bytes; `u64::MAX` without one.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Counts `bytes` as used.
    pub fn take(&self, bytes: usize, purpose: &'static str) -> Result<(), MemoryError> {
        let bytes = bytes as u64;
        let add = |used: u64| used.checked_add(bytes).filter(|now| *now <= self.limit);
        match self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add) {
            Ok(before) => {
                self.peak.fetch_max(before + bytes, Ordering::Relaxed);
                Ok(())
            }
            Err(used) => Err(MemoryError::Budget {
                purpose,
                needed_bytes: used.saturating_add(bytes),
                limit_bytes: self.limit,
            }),
        }
    }

    /// Counts `bytes` as no longer used.
    pub fn give(&self, bytes: usize) {
        self.used.fetch_sub(bytes as u64, Ordering::Relaxed);
    }

    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    pub fn peak(&self) -> u64 {
        self.peak.load(Ordering::Relaxed)
    }
}

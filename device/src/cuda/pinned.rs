//! Pinned memory of the host, which a device copies from and to by itself.
//!
//! Huge pages of the process, pinned as far as they are used. On an H100's host the system pins 64 MiB that were
//! touched before in 2 ms; the driver's own pinned memory of that size takes 24. Where the system does not pin
//! memory of the process, the driver's serves.

use crate::memory::{Access, Block, BlockPool, Budget};
use cudarc::driver::{CudaContext, DriverError, PinnedHostSlice, sys};
use std::sync::Arc;

/// Pinned at first, and at least.
const BYTES_LEAST: usize = 1 << 20;

pub(super) enum Pinned {
    /// The first `bytes` bytes of the block are pinned.
    Registered {
        block: Block,
        bytes: usize,
        context: Arc<CudaContext>,
    },
    OfDriver {
        _memory: PinnedHostSlice<u8>,
        start: *mut u8,
    },
}

// SAFETY: it owns its memory, which belongs to the process, not to a thread.
unsafe impl Send for Pinned {}

impl Pinned {
    /// Returns at least `bytes` bytes, all zero and aligned to a page. The first of them are pinned.
    pub(super) fn new(context: &Arc<CudaContext>, bytes: usize) -> Result<Pinned, DriverError> {
        context.bind_to_thread()?;
        // The caller has counted it.
        let pool = BlockPool::new(Budget::new(None));
        if let Ok(block) = pool.take(bytes, Access::Random, "a device's slots") {
            let mut pinned = Pinned::Registered { block, bytes: 0, context: Arc::clone(context) };
            if pinned.pin(bytes.min(BYTES_LEAST)).is_ok() {
                return Ok(pinned);
            }
        }
        // SAFETY: it is written before it is read: zeros here, in its whole length.
        unsafe {
            let mut memory = context.alloc_pinned_with_flags::<u8>(bytes.max(1), 0)?;
            let start = memory.as_mut_ptr()?;
            start.write_bytes(0, bytes.max(1));
            Ok(Pinned::OfDriver { _memory: memory, start })
        }
    }

    /// Returns where it begins.
    pub(super) fn start(&self) -> *mut u8 {
        match self {
            Pinned::Registered { block, .. } => block.start().as_ptr(),
            Pinned::OfDriver { start, .. } => *start,
        }
    }

    /// Pins the first `wanted` bytes, of which none may be on their way.
    pub(super) fn pin(&mut self, wanted: usize) -> Result<(), DriverError> {
        let Pinned::Registered { block, bytes, .. } = self else { return Ok(()) };
        if wanted <= *bytes {
            return Ok(());
        }
        // A copy must be within one registration, so that of fewer bytes ends.
        unpin(block, bytes)?;
        let more = wanted.next_power_of_two().max(BYTES_LEAST).min(block.bytes());
        // SAFETY: the block is mapped memory of that length, and stays so until `drop` ends the registration.
        unsafe { sys::cuMemHostRegister_v2(block.start().as_ptr().cast(), more, 0) }.result()?;
        *bytes = more;
        Ok(())
    }
}

/// Ends the registration of a block's first bytes.
fn unpin(block: &Block, bytes: &mut usize) -> Result<(), DriverError> {
    match std::mem::take(bytes) {
        0 => Ok(()),
        // SAFETY: they were registered, and none of them is on its way.
        _ => unsafe { sys::cuMemHostUnregister(block.start().as_ptr().cast()) }.result(),
    }
}

impl Drop for Pinned {
    /// Ends the registration before the block is unmapped. The driver's memory is returned by its owner.
    fn drop(&mut self) {
        if let Pinned::Registered { block, bytes, context } = self {
            // An error here has occurred before, or the device is lost.
            let _ = context.bind_to_thread().and_then(|()| unpin(block, bytes));
        }
    }
}

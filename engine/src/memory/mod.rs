//! Memory: the one budget that counts it, the blocks that are made once and reused, and the two
//! shapes that blocks are cut into: lists of equal entries and arenas of bytes.
//!
//! First touch of fresh memory is the dearest memory operation there is, so blocks go back to a pool
//! and not to the system (Ostrich, section 4.3: buffers are reused over sub-jobs, none freed before
//! the end).

mod arena;
mod block;
mod budget;
mod chunk;
mod reserved;
mod values;

pub(crate) use arena::ByteArena;
pub(crate) use block::{Access, Block, BlockPool};
pub(crate) use budget::Budget;
pub(crate) use chunk::{ChunkList, ChunkPool};
pub(crate) use reserved::Reserved;
pub(crate) use values::KeptValues;
pub(crate) use values::ValueStore;

/// Asks the processor to fetch the memory at an address, which need not be valid.
#[inline(always)]
pub(crate) fn prefetch<T>(address: *const T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint; it reads nothing and cannot fault.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = address;
}

/// Peak resident memory of this process, in bytes; 0 where the system does not say.
pub(crate) fn resident_peak_bytes() -> u64 {
    resident("VmHWM:")
}

/// Resident memory of this process now, in bytes; 0 where the system does not say.
pub(crate) fn resident_bytes() -> u64 {
    resident("VmRSS:")
}

fn resident(field: &str) -> u64 {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else { return 0 };
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let kib = line.and_then(|rest| rest.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

//! Memory: the one budget that counts it, the blocks that are made once and reused, and the two
//! shapes that blocks are cut into: lists of equal entries and arenas of bytes.
//!
//! First touch of fresh memory is the dearest memory operation there is, so blocks go back to a pool and not
//! to the system (Ostrich, section 4.3: buffers are reused over sub-jobs, none freed before the end). Each
//! group of workers has a part of the pools on its own memory node (section 5.2). Its threads take from that
//! part, and its blocks and chunks go back to that part, whichever thread returns them.
//!
//! A `Buffer` is counted before it grows for a large record, and shrinks after it. With a limit, large
//! allocations that are freed go back to the system at once (`allocator.rs`).

mod allocator;
mod arena;
mod block;
mod budget;
mod buffer;
mod chunk;
mod home;
mod input;
mod mapped;
mod reserved;
mod values;

pub use allocator::return_large_allocations;
pub use arena::ByteArena;
pub use block::{Access, Block, BlockPool};
pub use budget::Budget;
pub use buffer::Buffer;
pub use chunk::{CHUNK_BYTES, ChunkList, ChunkPool};
pub use home::work_in;
pub use input::{InputBuffer, OVERREAD_BYTES};
pub use mapped::MappedFiles;
pub use reserved::Reserved;
pub use values::KeptValues;
pub use values::ValueStore;

/// Asks the processor to fetch the memory at an address, which need not be valid.
#[inline(always)]
pub fn prefetch<T>(address: *const T) {
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
pub fn resident_peak_bytes() -> u64 {
    kib_in("/proc/self/status", "VmHWM:")
}

/// Resident memory of this process now, in bytes; 0 where the system does not say.
pub fn resident_bytes() -> u64 {
    kib_in("/proc/self/status", "VmRSS:")
}

/// Returns the size that a file of the system's gives for a field, in bytes; 0 if it gives none.
fn kib_in(path: &str, field: &str) -> u64 {
    let Ok(text) = std::fs::read_to_string(path) else { return 0 };
    let line = text.lines().find_map(|line| line.strip_prefix(field));
    let kib = line.and_then(|rest| rest.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

/// Returns the memory that the machine has without swapping; `u64::MAX` if the system does not report it.
pub fn available_bytes() -> u64 {
    match kib_in("/proc/meminfo", "MemAvailable:") {
        0 => u64::MAX,
        bytes => bytes,
    }
}

/// Returns the memory that a job may still take: the rest of the budget or, without one, the memory that the
/// machine has without swapping. Idle blocks go back to the system first.
pub fn usable_bytes(blocks: &BlockPool) -> u64 {
    blocks.release(0);
    match blocks.budget().limit() {
        u64::MAX => match available_bytes() {
            u64::MAX => u64::MAX,
            bytes => bytes / 4 * 3,
        },
        limit => limit.saturating_sub(blocks.budget().used()),
    }
}

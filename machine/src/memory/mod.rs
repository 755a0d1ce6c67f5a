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
mod system;
mod values;

pub use allocator::return_large_allocations;
pub use arena::ByteArena;
pub use block::{Access, Block, BlockPool};
pub use budget::Budget;
pub use buffer::Buffer;
pub use chunk::{CHUNK_BYTES, ChunkList, ChunkPool, Entries, Slices};
pub use home::work_in;
pub use input::{InputBuffer, OVERREAD_BYTES};
pub use mapped::MappedFiles;
pub use reserved::Reserved;
pub use system::{
    allowed_bytes, allowed_bytes_below, available_bytes, available_bytes_below, resident_bytes,
    resident_peak_bytes,
};
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

//! The process's allocator, as far as a limit on memory needs it.

/// Large allocations that are freed are to go back to the system at once. The C library of GNU raises
/// the size from which they do whenever one is freed, up to 32 MiB, and then keeps what lies between
/// allocations that live: tens of megabytes that no budget knows of.
pub fn return_large_allocations() {
    #[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
    {
        const LARGE_BYTES: libc::c_int = 256 << 10;
        // SAFETY: sets parameters of the allocator, which may be done at any time and from any thread.
        // Where it refuses, all stays as it was.
        unsafe {
            libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE_BYTES);
            libc::mallopt(libc::M_TRIM_THRESHOLD, LARGE_BYTES);
        }
    }
}

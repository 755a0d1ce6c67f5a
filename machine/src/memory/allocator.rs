//! The process's allocator, as far as a limit on memory needs it.

/// Makes the C library return freed large allocations to the system at once. By default GNU's raises its
/// threshold for that whenever a large allocation is freed, up to 32 MiB, and keeps the memory between live
/// allocations: tens of megabytes that no budget counts.
pub fn return_large_allocations() {
    #[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
    {
        const LARGE_BYTES: libc::c_int = 256 << 10;
        // SAFETY: sets parameters of the allocator, which may be done at any time and from any thread.
        // If the call is refused, the defaults stay.
        unsafe {
            libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE_BYTES);
            libc::mallopt(libc::M_TRIM_THRESHOLD, LARGE_BYTES);
        }
    }
}

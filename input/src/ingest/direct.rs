//! Direct reads: past the page cache, from the disk into the buffer that is mapped. Bytes that are not in the
//! page cache cost a tenth of the processor time that way, which maps have then; but they are not in the
//! cache for the next run either. So files are read directly only where the cache would not keep them: if the
//! input is larger than half of the memory there is for it, or the caller asks for it. Of such files only the
//! bytes that the cache does not hold are read directly; the system is asked before each read.
//!
//! A direct read needs offsets in the file and in memory at the borders of disk blocks. The buffer is filled
//! from an offset that is aligned like the one in the file; a few bytes before and after the wanted ones are
//! read with them.
//!
//! It needs no thread or ring of its own: the readers' reads, a mebibyte each, reach the rate of the disk
//! (figures in `docs/input.md`).

use crate::plan::DirectReads;
use rustix::fs::{Advice, OFlags, fadvise, fcntl_getfl, fcntl_setfl};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

/// Borders of blocks of any disk are among the multiples of this.
pub(super) const BLOCK_BYTES: usize = 4096;
/// Room that a buffer needs beside the wanted bytes.
pub(super) const SLACK_BYTES: usize = 2 * BLOCK_BYTES;
/// Smaller files are not worth the question.
const FILE_BYTES_LEAST: u64 = 1 << 20;
/// Nor smaller reads.
const READ_BYTES_LEAST: usize = 64 << 10;
/// A direct read is made if the cache holds at most this part of the wanted bytes.
const CACHED_PART_MOST: u64 = 8;

/// Prepares a file that was opened to be read so. Where some of it is cached and is read from there, the
/// system must not read ahead, because it would then cache the next bytes at each read.
pub(super) fn prepare(reads: &DirectReads, file: &File, file_bytes: u64) {
    if reads.wanted && file_bytes >= FILE_BYTES_LEAST {
        // Where this is not known, the file is only read as it would be without.
        let _ = fadvise(file, 0, None, Advice::Random);
    }
}

/// Returns the place in a buffer for a file's bytes from `offset` on, such that all of their disk block can
/// be read there, too. The buffer begins at the border of a disk block, and `used` bytes of it are taken.
/// `None` if the place does not matter.
pub(super) fn place(
    reads: &DirectReads,
    used: usize,
    file_bytes: u64,
    offset: u64,
) -> Option<usize> {
    let place = used.next_multiple_of(BLOCK_BYTES) + (offset % BLOCK_BYTES as u64) as usize;
    (reads.wanted && file_bytes >= FILE_BYTES_LEAST).then_some(place)
}

/// The way to read one open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Cached,
    Direct,
    /// Its file system has no direct reads, or does not report cached pages.
    NeverDirect,
}

/// Reads at least `wanted` of a buffer, from the file's byte `offset` on, directly if that is of use.
/// Returns whether it was read; if not, some bytes around may have been overwritten all the same.
pub(super) fn read(
    file: &File,
    mode: &mut Mode,
    buffer: &mut [u8],
    wanted: Range<usize>,
    offset: u64,
    reads: &DirectReads,
) -> bool {
    let skew = (offset % BLOCK_BYTES as u64) as usize;
    let from = wanted.start.wrapping_sub(skew);
    let to = from.wrapping_add((skew + wanted.len()).next_multiple_of(BLOCK_BYTES));
    let Some(into) = buffer.get_mut(from..to) else { return false };
    let is_aligned = into.as_ptr().addr().is_multiple_of(BLOCK_BYTES);
    if !is_aligned || wanted.len() < READ_BYTES_LEAST || *mode == Mode::NeverDirect {
        return false;
    }
    let begin = offset - skew as u64;
    let next = match cached_bytes(file, begin, into.len() as u64) {
        Ok(cached) if cached > into.len() as u64 / CACHED_PART_MOST => Mode::Cached,
        Ok(_) => Mode::Direct,
        Err(_) => Mode::NeverDirect,
    };
    switch(file, mode, next);
    if *mode != Mode::Direct {
        return false;
    }
    let needed = skew + wanted.len();
    let mut have = 0;
    while have < needed {
        match file.read_at(&mut into[have..], begin + have as u64) {
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
            Ok(count)
                if count > 0 && (count.is_multiple_of(BLOCK_BYTES) || have + count >= needed) =>
            {
                have += count;
            }
            // The file has become shorter, or refuses: reading it the usual way gives the error.
            _ => {
                switch(file, mode, Mode::NeverDirect);
                return false;
            }
        }
    }
    reads.add(wanted.len() as u64);
    true
}

/// Makes the next read one through the page cache.
pub(super) fn end(file: &File, mode: &mut Mode) {
    if *mode == Mode::Direct {
        switch(file, mode, Mode::Cached);
    }
}

/// Makes later reads of the file direct, or not.
fn switch(file: &File, mode: &mut Mode, next: Mode) {
    if *mode == next {
        return;
    }
    let flags = fcntl_getfl(file);
    let set = flags.and_then(|mut flags| {
        flags.set(OFlags::DIRECT, next == Mode::Direct);
        fcntl_setfl(file, flags)
    });
    *mode = if set.is_ok() { next } else { Mode::NeverDirect };
}

/// Bytes of a file's range that are in the page cache: `cachestat(2)`, since Linux 6.5.
fn cached_bytes(file: &File, offset: u64, bytes: u64) -> io::Result<u64> {
    /// The same number on all architectures that Rust and Linux share.
    const CACHESTAT: libc::c_long = 451;
    let (range, mut pages) = ([offset, bytes], [0_u64; 5]);
    // SAFETY: by its manual the call reads two words, offset and length, and writes five, the first of
    // which is the number of cached pages; both are live arrays of that size. A kernel without the call
    // touches neither.
    let answer = unsafe {
        libc::syscall(CACHESTAT, file.as_raw_fd(), range.as_ptr(), pages.as_mut_ptr(), 0)
    };
    if answer == 0 {
        Ok(pages[0] * rustix::param::page_size() as u64)
    } else {
        Err(io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::InputBuffer;
    use crate::memory::{BlockPool, Budget};
    use std::io::Write;

    /// On a file system without direct reads nothing is read, and nothing fails.
    #[test]
    fn the_bytes_that_are_read_are_those_of_the_file() {
        let mut file = tempfile::tempfile().unwrap();
        let text: Vec<u8> = (0..1_000_000_u32).flat_map(u32::to_le_bytes).collect();
        file.write_all(&text).unwrap();
        file.sync_all().unwrap();
        let dropped = fadvise(&file, 0, None, Advice::DontNeed);
        let cold =
            dropped.is_ok() && cached_bytes(&file, 0, 4_000_000).is_ok_and(|bytes| bytes == 0);
        let mut mode = Mode::Cached;
        let mut buffer = InputBuffer::new(&BlockPool::new(Budget::new(None)), 400_000).unwrap();
        let mut reads = DirectReads::default();
        reads.wanted = true;
        let mut seen = 0;
        for offset in [0, 1, 4095, 4096, 777_777, 4_000_000 - 100_000] {
            let start = place(&reads, 0, 4_000_000, offset).unwrap();
            let wanted = start..start + 100_000;
            if read(&file, &mut mode, buffer.bytes_mut(), wanted.clone(), offset, &reads) {
                assert_eq!(buffer.bytes()[wanted], text[offset as usize..][..100_000]);
                seen += 100_000;
            } else {
                assert!(!cold || mode == Mode::NeverDirect);
            }
        }
        assert_eq!(reads.bytes(), seen);
    }
}

//! Files that are mapped into memory, one after the other in one range of addresses. Bytes are only copied out, so
//! nobody holds a reference into a file that another process may write to.
//!
//! A page that cannot be read, because its file has become shorter or its disk fails, would end the process by
//! SIGBUS. A handler puts a page of zeros in its place and notes that, as systemd's journal does; the owner of the
//! mapping asks whether anything was lost. Signals for other addresses go to the handler that was there before.

use std::fs::File;
use std::io;

/// Files in memory. Unmapped when dropped.
pub struct MappedFiles {
    region: region::Region,
    used: usize,
}

impl MappedFiles {
    /// Returns room for files of these lengths, in bytes, of which none is mapped yet.
    ///
    /// # Errors
    /// Those of the system, which may have no more addresses, and [`io::ErrorKind::Unsupported`] where files cannot be
    /// mapped or many mappings are open already.
    pub fn for_lengths(lengths: impl IntoIterator<Item = u64>) -> io::Result<MappedFiles> {
        let too_large = || io::Error::from(io::ErrorKind::OutOfMemory);
        let add = |sum: usize, length: u64| {
            sum.checked_add(usize::try_from(length).ok()?.checked_next_multiple_of(region::PAGE)?)
        };
        let bytes = lengths.into_iter().try_fold(0, add).ok_or_else(too_large)?;
        Ok(MappedFiles { region: region::Region::reserve(bytes)?, used: 0 })
    }

    /// Maps the first `length` bytes of a file after those that were mapped before. Returns the place where they
    /// begin.
    ///
    /// # Errors
    /// Those of the system, and [`io::ErrorKind::OutOfMemory`] if there is no room.
    pub fn add(&mut self, file: &File, length: u64) -> io::Result<u64> {
        let room = self.region.bytes() - self.used;
        let length = usize::try_from(length).ok().filter(|&length| length <= room);
        let length = length.ok_or(io::ErrorKind::OutOfMemory)?;
        let start = self.used;
        if length > 0 {
            self.region.map(file, start, length)?;
            self.used += length.next_multiple_of(region::PAGE);
        }
        Ok(start as u64)
    }

    /// Bytes of addresses that are mapped.
    pub fn bytes(&self) -> usize {
        self.used
    }

    /// Maps pages ahead of their use.
    pub fn touch(&self, place: usize, bytes: usize) {
        let end = place.saturating_add(bytes).min(self.used);
        if place < end && place.is_multiple_of(region::PAGE) {
            self.region.touch(place, end - place);
        }
    }

    /// Asks the processor to fetch the first bytes from a place on.
    #[inline(always)]
    pub fn prefetch(&self, place: u64, bytes: usize) {
        const LINE_BYTES: usize = 64;
        const LINES_MOST: usize = 4;
        let start = self.region.start().wrapping_add(place as usize);
        for line in 0..bytes.div_ceil(LINE_BYTES).min(LINES_MOST) {
            super::prefetch(start.wrapping_add(line * LINE_BYTES));
        }
        super::prefetch(start.wrapping_add(bytes.saturating_sub(1).min(LINES_MOST * LINE_BYTES)));
    }

    /// Copies bytes from a place on. They may be zeros where [`is_torn`](MappedFiles::is_torn) says so.
    ///
    /// # Panics
    /// If they are not all mapped.
    #[inline(always)]
    pub fn copy(&self, place: u64, into: &mut [u8]) {
        let end = (place as usize).checked_add(into.len());
        assert!(end.is_some_and(|end| end <= self.used), "bytes beyond the mapped files");
        self.region.copy(place as usize, into);
    }

    /// Returns whether bytes could not be read and were taken for zeros.
    pub fn is_torn(&self) -> bool {
        self.region.is_torn()
    }
}

#[cfg(not(miri))]
mod region {
    use crate::sync::Mutex;
    use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};
    use std::fs::File;
    use std::io;
    use std::mem::MaybeUninit;
    use std::ptr::{self, NonNull};
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    pub(super) const PAGE: usize = 4096;
    /// The bytes that the kernel maps around a missing page.
    const AROUND: usize = 64 << 10;

    /// A range of addresses that files are mapped into.
    pub(super) struct Region {
        start: NonNull<u8>,
        bytes: usize,
        seat: &'static Seat,
    }

    // SAFETY: a region is addresses of the process, of no thread, and all access to their bytes is by copies.
    unsafe impl Send for Region {}
    // SAFETY: as above; a copy out of a region changes nothing.
    unsafe impl Sync for Region {}

    /// The addresses of a region, for the handler, which may only look at atomics.
    struct Seat {
        start: AtomicUsize,
        end: AtomicUsize,
        is_torn: AtomicBool,
    }

    /// No region begins here.
    const FREE: usize = 0;
    /// A region that is about to be there.
    const CLAIMED: usize = usize::MAX;
    static SEATS: [Seat; 32] = [const {
        Seat {
            start: AtomicUsize::new(FREE),
            end: AtomicUsize::new(0),
            is_torn: AtomicBool::new(false),
        }
    }; 32];
    /// The handler that was there before.
    static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();
    static INSTALLING: Mutex<()> = Mutex::new(());

    impl Region {
        pub(super) fn reserve(bytes: usize) -> io::Result<Region> {
            if rustix::param::page_size() != PAGE {
                return Err(io::ErrorKind::Unsupported.into());
            }
            install()?;
            let claim = |seat: &&Seat| {
                seat.start
                    .compare_exchange(FREE, CLAIMED, Ordering::AcqRel, Ordering::Relaxed)
                    .is_ok()
            };
            let seat = SEATS.iter().find(claim).ok_or(io::ErrorKind::Unsupported)?;
            // SAFETY: a null hint asks for a new mapping at a place of the system's choice. Nobody may read or write it.
            let start = unsafe {
                mmap_anonymous(
                    ptr::null_mut(),
                    bytes.max(PAGE),
                    ProtFlags::empty(),
                    MapFlags::PRIVATE,
                )
            };
            let start = start.map_err(io::Error::from).and_then(|start| {
                NonNull::new(start.cast::<u8>()).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
            });
            let start = start.inspect_err(|_| seat.start.store(FREE, Ordering::Release))?;
            seat.is_torn.store(false, Ordering::Relaxed);
            seat.end.store(start.as_ptr() as usize + bytes, Ordering::Relaxed);
            seat.start.store(start.as_ptr() as usize, Ordering::Release);
            Ok(Region { start, bytes: bytes.max(PAGE), seat })
        }

        pub(super) fn bytes(&self) -> usize {
            self.bytes
        }

        pub(super) fn start(&self) -> *const u8 {
            self.start.as_ptr()
        }

        /// Maps a file; all of it lies in the region, from a whole page on.
        pub(super) fn map(&mut self, file: &File, at: usize, length: usize) -> io::Result<()> {
            assert!(at.is_multiple_of(PAGE) && at + length <= self.bytes.next_multiple_of(PAGE));
            // SAFETY: the addresses are the region's own, checked above, and nobody holds a reference into them: what
            // is replaced there is the reservation.
            unsafe {
                let place = self.start.as_ptr().add(at).cast();
                mmap(place, length, ProtFlags::READ, MapFlags::SHARED | MapFlags::FIXED, file, 0)?;
            }
            Ok(())
        }

        pub(super) fn touch(&self, at: usize, bytes: usize) {
            // The kernel maps the pages around one that is missing, if it has them; that costs less than to ask it for
            // each page of a range.
            let mut first = [0];
            (at..at + bytes).step_by(AROUND).for_each(|place| self.copy(place, &mut first));
            std::hint::black_box(first);
        }

        #[inline(always)]
        pub(super) fn copy(&self, at: usize, into: &mut [u8]) {
            // SAFETY: the caller has checked that these bytes are mapped, and `into` is memory of its own. Another
            // process may write to the file meanwhile; then the copy has some of its bytes, and no reference shows
            // them. A page that cannot be read is replaced by zeros (`replace_page`), and the load is tried again.
            unsafe {
                ptr::copy_nonoverlapping(
                    self.start.as_ptr().add(at),
                    into.as_mut_ptr(),
                    into.len(),
                );
            }
        }

        pub(super) fn is_torn(&self) -> bool {
            self.seat.is_torn.load(Ordering::Acquire)
        }
    }

    impl Drop for Region {
        fn drop(&mut self) {
            self.seat.start.store(CLAIMED, Ordering::Release);
            // SAFETY: the region is the only owner of these addresses, and nobody holds a reference into them.
            let _ = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
            self.seat.start.store(FREE, Ordering::Release);
        }
    }

    /// Installs the handler, once.
    fn install() -> io::Result<()> {
        let _installing = INSTALLING.lock();
        if BEFORE.get().is_some() {
            return Ok(());
        }
        let mut before = MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: `sigaction` is a plain structure of the system's, which it fills; all zeros is a value of it. The
        // handler has the signature that SA_SIGINFO asks for, and calls nothing but what a handler may call.
        unsafe {
            if libc::sigaction(libc::SIGBUS, ptr::null(), before.as_mut_ptr()) != 0 {
                return Err(io::Error::last_os_error());
            }
            // Kept before the handler can be called.
            let _ = BEFORE.set(before.assume_init());
            let mut action = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
            let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) =
                on_bus_error;
            action.sa_sigaction = handler as libc::sighandler_t;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigemptyset(&mut action.sa_mask);
            if libc::sigaction(libc::SIGBUS, &action, ptr::null_mut()) != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(())
    }

    /// Replaces the page that could not be read; a signal of another address goes to the handler before this one.
    extern "C" fn on_bus_error(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
        // SAFETY: the system gives the handler a valid description of the signal.
        let address = unsafe { (*info).si_addr() } as usize;
        let is_within = |seat: &&Seat| {
            let start = seat.start.load(Ordering::Acquire);
            start != CLAIMED
                && start != FREE
                && start <= address
                && address < seat.end.load(Ordering::Relaxed)
        };
        if let Some(seat) = SEATS.iter().find(is_within)
            && replace_page(address)
        {
            seat.is_torn.store(true, Ordering::Release);
            return;
        }
        // The instruction is tried again after this, and fails again, with the handler that was there before.
        if let Some(before) = BEFORE.get() {
            // SAFETY: it is what the system gave for this signal.
            unsafe { libc::sigaction(libc::SIGBUS, before, ptr::null_mut()) };
        }
    }

    /// Puts a page of zeros in the place of one that cannot be read. Returns whether that was possible.
    fn replace_page(address: usize) -> bool {
        let page = (address & !(PAGE - 1)) as *mut libc::c_void;
        let (rights, flags) =
            (libc::PROT_READ, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED);
        // SAFETY: the page is of a region, whose bytes are only copied, so no reference into it is alive; a mapping may
        // be replaced at any time. `mmap` is one system call, which takes no lock that this thread may hold.
        let at = unsafe { libc::mmap(page, PAGE, rights, flags, -1, 0) };
        at == page
    }
}

#[cfg(miri)]
mod region {
    use std::fs::File;
    use std::io;

    pub(super) const PAGE: usize = 4096;

    /// Miri maps no files.
    pub(super) enum Region {}

    impl Region {
        pub(super) fn reserve(_: usize) -> io::Result<Region> {
            Err(io::ErrorKind::Unsupported.into())
        }

        pub(super) fn bytes(&self) -> usize {
            match *self {}
        }

        pub(super) fn start(&self) -> *const u8 {
            match *self {}
        }

        pub(super) fn map(&mut self, _: &File, _: usize, _: usize) -> io::Result<()> {
            match *self {}
        }

        pub(super) fn touch(&self, _: usize, _: usize) {
            match *self {}
        }

        pub(super) fn copy(&self, _: usize, _: &mut [u8]) {
            match *self {}
        }

        pub(super) fn is_torn(&self) -> bool {
            match *self {}
        }
    }
}

#[cfg(not(miri))]
#[cfg(test)]
mod tests {
    use super::MappedFiles;
    use std::fs::OpenOptions;

    const PAGE: usize = 4096;

    fn file_of(bytes: &[u8]) -> std::fs::File {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        OpenOptions::new().read(true).write(true).open(file.path()).unwrap()
    }

    #[test]
    fn files_lie_one_after_the_other() {
        let contents: [Vec<u8>; 3] = [vec![b'a'; 5000], Vec::new(), b"end".to_vec()];
        let lengths = contents.iter().map(|bytes| bytes.len() as u64);
        let mut files = MappedFiles::for_lengths(lengths).unwrap();
        let places: Vec<u64> = contents
            .iter()
            .map(|bytes| files.add(&file_of(bytes), bytes.len() as u64).unwrap())
            .collect();
        files.touch(0, files.bytes());
        for (bytes, place) in contents.iter().zip(places) {
            let mut copy = vec![0; bytes.len()];
            files.prefetch(place, copy.len());
            files.copy(place, &mut copy);
            assert_eq!(&copy, bytes);
        }
        assert!(!files.is_torn());
        assert!(files.add(&file_of(b"more"), 4).is_err());
    }

    #[test]
    fn a_page_of_a_file_that_shrank_is_zeros_and_noted() {
        let file = file_of(&vec![b'x'; 3 * PAGE]);
        let mut files = MappedFiles::for_lengths([3 * PAGE as u64]).unwrap();
        let mut other = MappedFiles::for_lengths([PAGE as u64]).unwrap();
        files.add(&file, 3 * PAGE as u64).unwrap();
        other.add(&file, PAGE as u64).unwrap();
        file.set_len(PAGE as u64).unwrap();
        let mut copy = vec![1; 2 * PAGE];
        files.copy(PAGE as u64 / 2, &mut copy);
        assert_eq!(copy[..PAGE / 2], vec![b'x'; PAGE / 2]);
        assert_eq!(copy[PAGE / 2..], vec![0; 2 * PAGE - PAGE / 2]);
        assert!(files.is_torn());
        other.copy(0, &mut copy[..PAGE]);
        assert!(!other.is_torn());
    }

    #[test]
    #[should_panic(expected = "beyond the mapped files")]
    fn no_byte_beyond_the_files_is_copied() {
        let mut files = MappedFiles::for_lengths([3]).unwrap();
        files.add(&file_of(b"abc"), 3).unwrap();
        files.copy(PAGE as u64 - 1, &mut [0; 2]);
    }

    /// A signal of another address ends the process, as if there were no mapped files.
    #[test]
    fn other_bus_errors_are_not_swallowed() {
        const CHILD: &str = "TEGULA_TEST_BUS_ERROR";
        if std::env::var_os(CHILD).is_some() {
            let _files = MappedFiles::for_lengths([1]).unwrap();
            let file = file_of(&vec![b'x'; PAGE]);
            // SAFETY: a new mapping of the test's own; the load from it is meant to fail.
            unsafe {
                let (read, shared) = (rustix::mm::ProtFlags::READ, rustix::mm::MapFlags::SHARED);
                let start =
                    rustix::mm::mmap(std::ptr::null_mut(), PAGE, read, shared, &file, 0).unwrap();
                file.set_len(0).unwrap();
                std::ptr::read_volatile(start.cast::<u8>());
            }
            std::process::exit(0);
        }
        use std::os::unix::process::ExitStatusExt;
        let test = "memory::mapped::tests::other_bus_errors_are_not_swallowed";
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", test, "--nocapture"]).env(CHILD, "1");
        let status =
            child.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).status();
        assert_eq!(status.unwrap().signal(), Some(libc::SIGBUS));
    }
}

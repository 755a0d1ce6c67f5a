//! Blocks: large pieces of zero-filled memory straight from the operating system, kept in a pool
//! when their owner is done with them. Files are mapped in `mapped.rs`, all other memory here.

use super::budget::Budget;
use super::home;
use crate::error::MemoryError;
use crate::sync::Mutex;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;

/// Sizes are multiples of this, so that blocks of one use fit the next.
const GRAIN_BYTES: usize = 64 << 10;
/// Blocks of at least this size are aligned to it, the size of a huge page.
const HUGE_BYTES: usize = 2 << 20;

/// The access pattern of a block; it decides whether huge pages are asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Written and read front to back. Small pages: first touch of huge pages is slower.
    Streamed,
    /// Read and written all over. Huge pages spare a page walk per probe.
    Random,
    /// Written in full, and soon. All pages are touched at once, which costs a fraction of a page fault for
    /// each. Small pages, because a virtual machine that reports free memory to its host does so in huge
    /// pages, and the host must bring each of those back when it is touched again.
    Filled,
}

/// Memory of at least the size asked for, owned alone. Goes back to its pool when dropped.
pub struct Block {
    raw: Raw,
    pool: Arc<BlockPool>,
    /// Whether it goes back to its pool or to the system.
    kept: bool,
}

struct Raw {
    start: NonNull<u8>,
    bytes: usize,
    /// The shelf it came from.
    shelf: usize,
    /// Still as the system gave it: all zero.
    untouched: bool,
}

// SAFETY: a Raw is the only owner of its memory, which belongs to the process, not to a thread.
unsafe impl Send for Raw {}
// SAFETY: a shared Raw gives out a pointer and two numbers; who follows the pointer argues for it.
unsafe impl Sync for Raw {}

/// Blocks not in use, and the budget that all blocks, used or not, are counted in.
pub struct BlockPool {
    budget: Budget,
    shelves: Vec<Shelf>,
}

/// A group's part of the pool.
struct Shelf {
    /// The memory node on which its blocks are to lie; `None` where the system decides.
    node: Option<u32>,
    free: Mutex<Vec<Raw>>,
}

impl Block {
    /// First byte; aligned to a page, and to 2 MiB if the block is that large. Valid for `bytes()`
    /// bytes of reads and writes while the block lives; all of them are initialised.
    pub fn start(&self) -> NonNull<u8> {
        self.raw.start
    }

    /// Returns the size in bytes: the size asked for, rounded up.
    pub fn bytes(&self) -> usize {
        self.raw.bytes
    }

    /// Returns the block's bytes, with arbitrary contents.
    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: the block's bytes are initialised and borrowed.
        unsafe { std::slice::from_raw_parts(self.raw.start.as_ptr(), self.raw.bytes) }
    }

    /// As [`Block::as_slice`], to be written.
    #[inline]
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        self.raw.untouched = false;
        // SAFETY: the block's bytes are initialised and borrowed alone.
        unsafe { std::slice::from_raw_parts_mut(self.raw.start.as_ptr(), self.raw.bytes) }
    }

    /// Gives the memory back to the system instead of the pool: for a size that is not asked for again.
    pub fn discard(mut self) {
        self.kept = false;
    }

    /// Has the system provide a range of the block's pages at once. Contents stay as they are. A page that is read
    /// before it is written is provided twice otherwise, and the second time interrupts the other threads of the
    /// process, whose processors must forget the first. Costs a system call, also for pages that were there.
    pub fn provide(&mut self, bytes: Range<usize>) {
        let start = bytes.start - bytes.start % GRAIN_BYTES;
        provide(&self.raw, start.min(self.raw.bytes)..bytes.end.min(self.raw.bytes));
    }

    /// Makes all bytes zero; free of cost if nobody wrote to the block yet.
    pub fn zero(&mut self) {
        if !self.raw.untouched {
            // SAFETY: the block owns `raw.bytes` writable bytes.
            unsafe { self.raw.start.write_bytes(0, self.raw.bytes) };
        }
        self.raw.untouched = false;
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        let raw = Raw { untouched: false, ..self.raw };
        if self.kept {
            self.pool.shelves[raw.shelf].free.lock().push(raw);
        } else {
            unmap(&raw);
            self.pool.budget.give(raw.bytes);
        }
    }
}

impl BlockPool {
    /// Returns a pool of one part.
    pub fn new(budget: Budget) -> Arc<BlockPool> {
        BlockPool::by_group(budget, &[None])
    }

    /// Returns a pool with a part for each of at least one group, whose blocks are to lie on these nodes.
    pub fn by_group(budget: Budget, nodes: &[Option<u32>]) -> Arc<BlockPool> {
        let shelf = |&node: &Option<u32>| Shelf { node, free: Mutex::default() };
        Arc::new(BlockPool { budget, shelves: nodes.iter().map(shelf).collect() })
    }

    /// Returns how many groups have a part of their own.
    pub(super) fn groups(&self) -> usize {
        self.shelves.len()
    }

    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Returns a block of at least `bytes`. Its contents are arbitrary; see [`Block::zero`].
    pub fn take(
        self: &Arc<Self>,
        bytes: usize,
        access: Access,
        purpose: &'static str,
    ) -> Result<Block, MemoryError> {
        let bytes = bytes.max(1).next_multiple_of(GRAIN_BYTES);
        if let Some(raw) = self.find(bytes, bytes) {
            return Ok(self.own(raw));
        }
        self.count(bytes, purpose)?;
        let shelf = home::part_of(self.shelves.len());
        match map(bytes, access, self.shelves[shelf].node) {
            Ok(start) => {
                let raw = Raw { start, bytes, shelf, untouched: true };
                if access == Access::Filled {
                    provide(&raw, 0..bytes);
                }
                Ok(self.own(raw))
            }
            Err(cause) => {
                self.budget.give(bytes);
                Err(MemoryError::System { purpose, bytes: bytes as u64, cause })
            }
        }
    }

    /// Returns a block for streaming of `least` to `most` bytes: one that lies idle, whatever it served
    /// before, or else a new one of `fresh` bytes.
    pub fn take_between(
        self: &Arc<Self>,
        least: usize,
        most: usize,
        fresh: usize,
        purpose: &'static str,
    ) -> Result<Block, MemoryError> {
        match self.find(least, most) {
            Some(raw) => Ok(self.own(raw)),
            None => self.take(fresh, Access::Streamed, purpose),
        }
    }

    /// Counts `bytes` as used; idle blocks make room for them.
    pub fn count(&self, bytes: usize, purpose: &'static str) -> Result<(), MemoryError> {
        loop {
            match self.budget.take(bytes, purpose) {
                Ok(()) => return Ok(()),
                // Another thread may put a block by after this one looked.
                Err(refused) if self.release(0) == 0 => return Err(refused),
                Err(_) => {}
            }
        }
    }

    /// Gives idle blocks back to the system until at most `keep_bytes` lie idle. Returns how many
    /// bytes that were.
    pub fn release(&self, keep_bytes: usize) -> usize {
        let released = self.shelves.iter().map(|shelf| {
            let mut free = shelf.free.lock();
            let before: usize = free.iter().map(|raw| raw.bytes).sum();
            let mut idle = before;
            while idle > keep_bytes / self.shelves.len() {
                let Some(raw) = free.pop() else { break };
                idle -= raw.bytes;
                self.budget.give(raw.bytes);
                unmap(&raw);
            }
            before - idle
        });
        released.sum()
    }

    /// Returns an idle block of this thread's group, or of another group on the same node.
    fn find(&self, least: usize, most: usize) -> Option<Raw> {
        let own = &self.shelves[home::part_of(self.shelves.len())];
        let find = |shelf: &Shelf| {
            let mut free = shelf.free.lock();
            let at = free.iter().rposition(|raw| (least..=most).contains(&raw.bytes))?;
            Some(free.swap_remove(at))
        };
        find(own).or_else(|| {
            let near = |shelf: &&Shelf| shelf.node == own.node && !std::ptr::eq(*shelf, own);
            self.shelves.iter().filter(near).find_map(find)
        })
    }

    fn own(self: &Arc<Self>, raw: Raw) -> Block {
        Block { raw, pool: Arc::clone(self), kept: true }
    }
}

impl Drop for BlockPool {
    fn drop(&mut self) {
        self.release(0);
    }
}

#[cfg(not(miri))]
fn map(bytes: usize, access: Access, node: Option<u32>) -> std::io::Result<NonNull<u8>> {
    use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
    let spare = if bytes >= HUGE_BYTES { HUGE_BYTES } else { 0 };
    let (rights, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
    // SAFETY: a null hint asks for a new mapping at a place of the system's choice, so no memory
    // that is in use is replaced. The two unmappings cut off pages of that same mapping which lie
    // before `start` and from `start + bytes` on; nobody has seen them. `madvise` with `Hugepage` never
    // changes contents.
    unsafe {
        let whole =
            mmap_anonymous(std::ptr::null_mut(), bytes + spare, rights, flags)?.cast::<u8>();
        let before = if spare > 0 { whole.align_offset(HUGE_BYTES) } else { 0 };
        let start = whole.add(before);
        if before > 0 {
            munmap(whole.cast(), before)?;
        }
        if spare > before {
            munmap(start.add(bytes).cast(), spare - before)?;
        }
        if let Some(node) = node {
            // Where this is refused, the node of the thread that touches the memory first serves.
            let _ = prefer(start, bytes, node);
        }
        if access == Access::Random && bytes >= HUGE_BYTES {
            // A kernel without huge pages says no, and small pages serve.
            let _ = madvise(start.cast(), bytes, Advice::LinuxHugepage);
        }
        NonNull::new(start).ok_or_else(|| std::io::Error::from(std::io::ErrorKind::OutOfMemory))
    }
}

/// Has pages of a mapping that are not touched yet come from a memory node, as long as it has some.
///
/// # Safety
/// The `bytes` from `start` on are whole pages of a mapping that the caller owns.
#[cfg(not(miri))]
unsafe fn prefer(start: *mut u8, bytes: usize, node: u32) -> std::io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        const WORDS: usize = 16;
        let mut nodes = [0 as libc::c_ulong; WORDS];
        let (word, bit) = (node as usize / 64, node % 64);
        // The kernel looks at one bit less than it is told.
        let bits = 64 * WORDS;
        if size_of::<libc::c_ulong>() == 8 && (node as usize) < bits - 1 {
            nodes[word] = 1 << bit;
            let (policy, flags) = (libc::MPOL_PREFERRED, 0);
            // SAFETY: the mask has `bits` bits; the range is the caller's, and a policy for pages never
            // changes their contents.
            let done = unsafe {
                let call = libc::SYS_mbind;
                libc::syscall(call, start, bytes, policy, nodes.as_ptr(), bits, flags)
            };
            return if done == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) };
        }
    }
    let _ = (start, bytes, node);
    Err(std::io::ErrorKind::Unsupported.into())
}

/// Touches the pages of a part of some memory, which starts at a page's start.
#[cfg(not(miri))]
fn provide(raw: &Raw, bytes: Range<usize>) {
    use rustix::mm::{Advice, madvise};
    // SAFETY: the part lies in a mapping that is owned alone, and `PopulateWrite` never changes contents. A kernel
    // that does not know it faults page by page, as it always did.
    unsafe {
        let start = raw.start.as_ptr().add(bytes.start);
        let _ = madvise(start.cast(), bytes.len(), Advice::LinuxPopulateWrite);
    }
}

#[cfg(miri)]
fn provide(_raw: &Raw, _bytes: Range<usize>) {}

#[cfg(not(miri))]
fn unmap(raw: &Raw) {
    // SAFETY: `raw` is a whole mapping made by `map`, and its one owner is giving it up. A refusal
    // would leave the pages mapped, which harms nobody.
    let _ = unsafe { rustix::mm::munmap(raw.start.as_ptr().cast(), raw.bytes) };
}

// Miri knows the allocator but not the system's mappings.
#[cfg(miri)]
fn map(bytes: usize, _access: Access, _node: Option<u32>) -> std::io::Result<NonNull<u8>> {
    let layout = std::alloc::Layout::from_size_align(bytes, 4096).map_err(std::io::Error::other)?;
    // SAFETY: the layout's size is a positive multiple of the grain.
    NonNull::new(unsafe { std::alloc::alloc_zeroed(layout) })
        .ok_or_else(|| std::io::Error::from(std::io::ErrorKind::OutOfMemory))
}

#[cfg(miri)]
fn unmap(raw: &Raw) {
    // SAFETY: made by `map` above with this same layout.
    unsafe {
        let layout = std::alloc::Layout::from_size_align_unchecked(raw.bytes, 4096);
        std::alloc::dealloc(raw.start.as_ptr(), layout);
    }
}

#[cfg(all(test, target_os = "linux", not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn memory_is_asked_for_on_its_node_where_the_system_lets_us() {
        let pool = BlockPool::by_group(Budget::new(None), &[Some(0)]);
        let block = pool.take(1 << 20, Access::Filled, "test").unwrap();
        let start = block.start().as_ptr();
        let mut policy: libc::c_int = -1;
        // SAFETY: the block is ours, and `policy` takes the answer.
        let asked = unsafe {
            let (none, by_address) = (std::ptr::null_mut::<libc::c_ulong>(), 1 << 1);
            let call = libc::SYS_get_mempolicy;
            prefer(start, block.bytes(), 0).is_ok()
                && libc::syscall(call, &raw mut policy, none, 0, start, by_address) == 0
        };
        assert!(!asked || policy == libc::MPOL_PREFERRED, "policy {policy}");
    }
}

//! The emitter: a worker's batch of emitted pairs in front of its container. It takes keys as the map
//! finds them, loads and hashes the short ones, asks for their slots, and probes a batch at a time.
//! Longer keys wait in a list of their own, so that the loop over short ones has no branch to miss.
//!
//! It never keeps a borrowed key past [`Emitter::finish_split`].

use super::class::HandedOver;
use super::hash::{HashContainer, Hashed};
use super::slot::{LONG_KEY_BYTES, LongKey, MediumKey, ShortKey, SlotKey, hash_bytes};
use super::table::Hint;
use crate::combine::Combine;
use crate::error::MemoryError;
use crate::job::{Emit, Job};
use crate::key::{Key, KeyForm};
use crate::memory::ChunkPool;
use crate::partial::Partial;
use crate::sizing::TableLimits;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::Arc;

/// Pairs in a batch: enough to overlap their cache misses, few enough to stay in the first-level
/// cache between the passes.
const BATCH: usize = if cfg!(miri) { 32 } else { 512 };
/// Bytes of copied keys in a batch.
const COPIED_BYTES: usize = 64 << 10;
/// Bytes that are readable behind the data of a split's buffer.
pub(crate) const OVERREAD_BYTES: usize = 32;

type Value<J> = <<J as Job>::Combine as Combine>::Value;
type Accumulator<J> = <<J as Job>::Combine as Combine>::Accumulator;

/// A worker's way into its container.
pub(crate) struct Emitter<'p, J: Job + ?Sized> {
    container: HashContainer<J::Combine>,
    partial: &'p Partial<Accumulator<J>>,
    batch: NonNull<Batch<Value<J>>>,
    lane: Lane<J::Combine>,
    copied: Vec<u8>,
    failure: Option<MemoryError>,
    emitted: u64,
    handed_over_seen: u64,
}

struct Batch<T> {
    short: [MaybeUninit<Hashed<ShortKey, T>>; BATCH],
    /// Keys of more than 15 bytes, borrowed from the split or from `copied`.
    other: [MaybeUninit<Borrowed<T>>; BATCH],
    medium: [MaybeUninit<Hashed<MediumKey, T>>; BATCH],
    long: [MaybeUninit<Hashed<LongKey, T>>; BATCH],
}

#[derive(Clone, Copy)]
struct Borrowed<T> {
    key: NonNull<u8>,
    len: usize,
    value: T,
}

/// All that adding a pair to the batch touches, small enough for a loop to keep in registers.
struct Lane<C: Combine> {
    batch: NonNull<Batch<C::Value>>,
    short_len: usize,
    other_len: usize,
    window: Window,
    hint: Hint<ShortKey, C::Accumulator, 0>,
}

impl<C: Combine> Clone for Lane<C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C: Combine> Copy for Lane<C> {}

/// The split's buffer: `len` bytes from `start`, and OVERREAD_BYTES readable bytes behind them.
#[derive(Clone, Copy)]
struct Window {
    start: NonNull<u8>,
    len: usize,
}

impl Window {
    const NONE: Window = Window { start: NonNull::dangling(), len: 0 };

    /// `N` bytes from the key's first on, if the key lies in the window: one load and no branch on
    /// the key's length.
    #[inline(always)]
    fn load<const N: usize>(&self, key: *const u8) -> Option<[u8; N]> {
        const { assert!(N <= OVERREAD_BYTES) };
        let offset = (key as usize).wrapping_sub(self.start.as_ptr() as usize);
        // SAFETY: `offset` is below `len`, so the bytes end within the OVERREAD_BYTES that
        // `begin_split`'s caller promised. The pointer is derived from the buffer's, not the key's.
        (offset < self.len)
            .then(|| unsafe { self.start.add(offset).cast::<[u8; N]>().read_unaligned() })
    }
}

impl<C: Combine> Lane<C> {
    fn is_full(&self) -> bool {
        self.short_len == BATCH || self.other_len == BATCH
    }

    /// Writes a short pair, and counts it only if told so.
    #[inline(always)]
    fn push_short(&mut self, key: ShortKey, value: C::Value, counts: bool) {
        debug_assert!(self.short_len < BATCH);
        let hash = key.hash();
        self.hint.prefetch(hash);
        // SAFETY: the batch outlives the lane (both are the emitter's), and nobody else looks at it
        // while a lane is in use; `short_len` is below BATCH, for a full batch is flushed at once.
        unsafe {
            let short =
                (&raw mut (*self.batch.as_ptr()).short).cast::<Hashed<ShortKey, C::Value>>();
            short.add(self.short_len).write(Hashed { key, hash, value });
        }
        self.short_len += usize::from(counts);
    }

    #[inline(always)]
    fn push_other(&mut self, key: &[u8], value: C::Value, counts: bool) {
        debug_assert!(self.other_len < BATCH);
        // SAFETY: as in `push_short`.
        unsafe {
            let other = (&raw mut (*self.batch.as_ptr()).other).cast::<Borrowed<C::Value>>();
            let key = Borrowed { key: NonNull::from(key).cast(), len: key.len(), value };
            other.add(self.other_len).write(key);
        }
        self.other_len += usize::from(counts);
    }

    /// Adds a pair whose key lies in the split or lives as long. Both lists are written and the one
    /// that holds is counted: no branch on the key's length.
    #[inline(always)]
    fn push_bytes(&mut self, key: &[u8], value: C::Value) {
        let is_short = key.len() <= ShortKey::MOST;
        let short = match self.window.load(key.as_ptr()) {
            Some(padded) => ShortKey::from_padded(padded, key.len()),
            None if is_short => ShortKey::new(key),
            None => ShortKey::new(&[]),
        };
        if !is_short {
            return self.push_other(key, value, true);
        }
        self.push_short(short, value, true);
    }

    #[inline(always)]
    fn push_inline(&mut self, bytes: [u8; 8], len: usize, value: C::Value) {
        let mut padded = [0; 16];
        padded[..8].copy_from_slice(&bytes);
        self.push_short(ShortKey::from_padded(padded, len), value, true);
    }

    #[inline(always)]
    fn push(&mut self, key: KeyForm<'_>, value: C::Value) {
        match key {
            KeyForm::Bytes(bytes) => self.push_bytes(bytes, value),
            KeyForm::Inline(bytes, len) => self.push_inline(bytes, len, value),
        }
    }
}

// SAFETY: between splits, when an emitter may go to another thread, the batch is empty; the batch and
// the tables that the pointers lead to are the emitter's own.
unsafe impl<J: Job + ?Sized> Send for Emitter<'_, J> {}

impl<'p, J: Job + ?Sized> Emitter<'p, J> {
    pub(crate) fn new(
        pool: &Arc<ChunkPool>,
        partial: &'p Partial<Accumulator<J>>,
        table_limits: TableLimits,
    ) -> Result<Emitter<'p, J>, MemoryError> {
        let container = HashContainer::new(pool, table_limits)?;
        let batch = NonNull::from(Box::leak(Box::<Batch<Value<J>>>::new_uninit())).cast();
        let hint = container.short_hint();
        let lane = Lane { batch, short_len: 0, other_len: 0, window: Window::NONE, hint };
        Ok(Emitter {
            container,
            partial,
            batch,
            lane,
            copied: Vec::new(),
            failure: None,
            emitted: 0,
            handed_over_seen: 0,
        })
    }

    /// Pairs emitted so far.
    pub(crate) fn emitted(&self) -> u64 {
        self.emitted
    }

    /// What left the container so far.
    pub(crate) fn handed_over(&self) -> HandedOver {
        self.container.handed_over()
    }

    /// Whether a table was handed over since this was last asked.
    pub(crate) fn has_new_hand_over(&mut self) -> bool {
        let now = self.container.handed_over().pairs;
        std::mem::replace(&mut self.handed_over_seen, now) != now
    }

    /// The face that a map sees while it works on one split, whose bytes begin at `start`.
    ///
    /// # Safety
    /// From `start` on, `len + OVERREAD_BYTES` initialised bytes are readable and nobody writes to
    /// them while a key that was cut from them is in the batch; keys live until `finish_split`.
    pub(crate) unsafe fn begin_split<'e, 's>(
        &'e mut self,
        start: NonNull<u8>,
        len: usize,
    ) -> SplitEmitter<'e, 'p, 's, J> {
        self.lane.window = Window { start, len };
        SplitEmitter { emitter: self, split: PhantomData }
    }

    /// Combines what is in the batch; the split's buffer is free then.
    ///
    /// # Errors
    /// The first refusal of memory since the split began.
    pub(crate) fn finish_split(&mut self) -> Result<(), MemoryError> {
        self.flush();
        self.lane.window = Window::NONE;
        self.failure.take().map_or(Ok(()), Err)
    }

    /// Drops the batch of a split whose map failed.
    pub(crate) fn abandon_split(&mut self) {
        (self.lane.short_len, self.lane.other_len) = (0, 0);
        self.lane.window = Window::NONE;
        self.copied.clear();
        self.failure = None;
    }

    /// Hands the container's pairs over.
    pub(crate) fn hand_over(&mut self) -> Result<(), MemoryError> {
        self.container.hand_over(self.partial)
    }

    fn push_copy(&mut self, key: &[u8], value: Value<J>) {
        if key.len() <= ShortKey::MOST {
            return self.lane.push_short(ShortKey::new(key), value, true);
        }
        if self.copied.len() + key.len() > self.copied.capacity() {
            // Growing would move the keys that the batch points at.
            self.flush();
            self.copied.reserve(key.len().max(COPIED_BYTES));
        }
        let start = self.copied.len();
        self.copied.extend_from_slice(key);
        self.lane.push_other(&self.copied[start..], value, true);
    }

    /// Combines the batch and begins a new one.
    #[inline(never)]
    fn flush(&mut self) {
        let Lane { short_len, other_len, .. } = self.lane;
        self.emitted += (short_len + other_len) as u64;
        // After a refusal of memory the rest of the split is dropped: the job fails anyway.
        if self.failure.is_none() {
            self.failure = self.combine_batch(short_len, other_len).err();
        }
        (self.lane.short_len, self.lane.other_len) = (0, 0);
        self.lane.hint = self.container.short_hint();
        self.copied.clear();
    }

    fn combine_batch(&mut self, short_len: usize, other_len: usize) -> Result<(), MemoryError> {
        // SAFETY: the batch is the emitter's own, and no lane writes to it during this call.
        let batch = unsafe { self.batch.as_mut() };
        // SAFETY: the first `short_len` entries were written by `push_short`.
        let short = unsafe { batch.short[..short_len].assume_init_ref() };
        self.container.combine_short(short, self.partial)?;
        let (mut medium_len, mut long_len) = (0, 0);
        for place in 0..other_len {
            // SAFETY: the first `other_len` entries were written by `push_other`, and the keys they
            // borrow live until the split is finished (or lie in `copied`, which is cleared only
            // with the batch).
            let (key, value) = unsafe {
                let other = batch.other[place].assume_init();
                (std::slice::from_raw_parts(other.key.as_ptr(), other.len), other.value)
            };
            if key.len() >= LONG_KEY_BYTES {
                let key = LongKey::new(hash_bytes(key), NonNull::from(key).cast(), key.len());
                batch.long[long_len].write(Hashed { key, hash: key.hash(), value });
                long_len += 1;
                continue;
            }
            let key = match self.lane.window.load(key.as_ptr()) {
                Some(padded) => MediumKey::from_padded(padded, key.len()),
                None => MediumKey::new(key),
            };
            batch.medium[medium_len].write(Hashed { key, hash: key.hash(), value });
            medium_len += 1;
        }
        // SAFETY: the first entries of both, as many as counted, were written just above.
        let (medium, long) = unsafe {
            let medium = batch.medium[..medium_len].assume_init_ref();
            (medium, batch.long[..long_len].assume_init_ref())
        };
        self.container.combine_medium(medium, self.partial)?;
        self.container.combine_long(long, self.partial)
    }
}

impl<J: Job + ?Sized> Drop for Emitter<'_, J> {
    fn drop(&mut self) {
        // SAFETY: leaked by `new` as a box of this type (uninitialised, which all its fields may be).
        drop(unsafe { Box::from_raw(self.batch.as_ptr()) });
    }
}

/// What a map emits into, for the time of one split.
pub(crate) struct SplitEmitter<'e, 'p, 's, J: Job + ?Sized> {
    emitter: &'e mut Emitter<'p, J>,
    split: PhantomData<&'s [u8]>,
}

impl<'s, J: Job + ?Sized> Emit<'s, J> for SplitEmitter<'_, '_, 's, J> {
    #[inline(always)]
    fn emit(&mut self, key: <J::Key as Key>::Borrowed<'s>, value: Value<J>) {
        self.emitter.lane.push(J::Key::form(key), value);
        if self.emitter.lane.is_full() {
            self.emitter.flush();
        }
    }

    #[inline(always)]
    fn emit_each(
        &mut self,
        keys: impl Iterator<Item = <J::Key as Key>::Borrowed<'s>>,
        value: Value<J>,
    ) {
        let emitter = &mut *self.emitter;
        let mut lane = emitter.lane;
        keys.for_each(|key| {
            lane.push(J::Key::form(key), value);
            if lane.is_full() {
                emitter.lane = lane;
                emitter.flush();
                lane = emitter.lane;
            }
        });
        emitter.lane = lane;
    }

    #[inline(always)]
    fn emit_copied(&mut self, key: <J::Key as Key>::Borrowed<'_>, value: Value<J>) {
        match J::Key::form(key) {
            KeyForm::Bytes(bytes) => self.emitter.push_copy(bytes, value),
            KeyForm::Inline(bytes, len) => self.emitter.lane.push_inline(bytes, len, value),
        }
        if self.emitter.lane.is_full() {
            self.emitter.flush();
        }
    }
}

//! The batch emitter: a worker's batch of emitted pairs in front of a container that takes batches. It
//! takes keys as the map finds them, loads and hashes the short ones, asks for their slots, and hands
//! a batch on at a time. Longer keys wait in a list of their own, so that the loop over short ones has
//! no branch to miss.
//!
//! It never keeps a borrowed key past [`BatchEmitter::finish_split`].
//!
//! Outcomes that are as good as random (is the key new? is a slot vacant?) decide no branch. Once a batch
//! brings hardly a new key, the next batch looks for each key in its most likely slot first, and then for
//! the few others together.

use super::range::{KeyRange, OutOfRange};
use super::{Accumulator, Batched, Hashed, Making, OfClass, Value};
use crate::aggregate::Aggregate;
use crate::error::{Error, MemoryError, Result};
use crate::job::{Emit, Job};
use crate::key::{Key, KeyForm};
use crate::memory::OVERREAD_BYTES;
use crate::partial::{Outlet, Relief, partition_of};
use crate::slots::{
    ClassKey, Entry, Hint, LONG_KEY_BYTES, LongKey, MediumKey, ShortKey, SlotKey, hash_bytes,
};
use crate::split::Split;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

/// Pairs in a batch: enough to overlap their cache misses, few enough to stay in the first-level
/// cache between the passes.
const BATCH: usize = if cfg!(miri) { 32 } else { 512 };
const COPIED_BYTES: usize = 64 << 10;

type Held<J> = <<J as Job>::Combine as Aggregate>::Held;

/// A worker's way into a container that takes batches.
pub(crate) struct BatchEmitter<'p, J: Job> {
    pub(super) container: Box<dyn Batched<J::Combine>>,
    pub(super) outlet: Outlet<'p, Accumulator<J>>,
    /// Spills pairs of the partial between batches.
    pub(super) relief: Box<dyn Relief<J::Combine>>,
    batch: NonNull<Batch<Held<J>>>,
    lane: Lane<J::Combine>,
    range: KeyRange,
    out_of_range: Option<OutOfRange>,
    copied: Vec<u8>,
    failure: Option<Error>,
    pub(super) emitted: u64,
    /// Pairs that did not go through the container.
    pub(super) totals: u64,
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
struct Lane<C: Aggregate> {
    batch: NonNull<Batch<C::Held>>,
    short_len: usize,
    other_len: usize,
    window: Window,
    ahead: Hint<ShortKey, C::Accumulator, 0>,
}

impl<C: Aggregate> Clone for Lane<C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C: Aggregate> Copy for Lane<C> {}

/// The split's buffer: `len` bytes from `start`, followed by OVERREAD_BYTES readable bytes.
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

impl<C: Aggregate> Lane<C> {
    fn is_full(&self) -> bool {
        self.short_len == BATCH || self.other_len == BATCH
    }

    #[inline(always)]
    fn push_short(&mut self, key: ShortKey, value: C::Held) {
        debug_assert!(self.short_len < BATCH);
        let hash = key.hash();
        self.ahead.prefetch(hash);
        // SAFETY: the batch outlives the lane (both belong to the emitter), and nothing else reads it while a
        // lane is in use; `short_len` is below BATCH, because a full batch is flushed at once.
        unsafe {
            let short = (&raw mut (*self.batch.as_ptr()).short).cast::<Hashed<ShortKey, C::Held>>();
            short.add(self.short_len).write(Hashed { key, hash, value });
        }
        self.short_len += 1;
    }

    #[inline(always)]
    fn push_other(&mut self, key: &[u8], value: C::Held) {
        debug_assert!(self.other_len < BATCH);
        // SAFETY: as in `push_short`.
        unsafe {
            let other = (&raw mut (*self.batch.as_ptr()).other).cast::<Borrowed<C::Held>>();
            let key = Borrowed { key: NonNull::from(key).cast(), len: key.len(), value };
            other.add(self.other_len).write(key);
        }
        self.other_len += 1;
    }

    /// Adds a pair whose key lies in the split or lives as long.
    #[inline(always)]
    fn push_bytes(&mut self, key: &[u8], value: C::Held) {
        if key.len() > ShortKey::MOST {
            return self.push_other(key, value);
        }
        let short = match self.window.load(key.as_ptr()) {
            Some(padded) => ShortKey::from_padded(padded, key.len()),
            None => ShortKey::new(key),
        };
        self.push_short(short, value);
    }

    #[inline(always)]
    fn push_inline(&mut self, bytes: [u8; 8], len: usize, value: C::Held) {
        let mut padded = [0; 16];
        if let Some(first) = padded.first_chunk_mut() {
            *first = bytes;
        }
        self.push_short(ShortKey::from_padded(padded, len), value);
    }

    #[inline(always)]
    fn push(&mut self, key: KeyForm<'_>, value: C::Held) {
        match key {
            KeyForm::Bytes(bytes) => self.push_bytes(bytes, value),
            KeyForm::Inline(bytes, len) => self.push_inline(bytes, len, value),
        }
    }
}

// SAFETY: between splits, when an emitter may go to another thread, the batch is empty; the emitter owns the
// batch and the memory that the container's pointers lead to.
unsafe impl<J: Job> Send for BatchEmitter<'_, J> {}

impl<'p, J: Job> BatchEmitter<'p, J> {
    pub(super) fn new(making: &Making<'p, J::Combine>) -> Result<Self, MemoryError> {
        let Making { container, chunks, limits, share_bytes, tables, .. } = *making;
        let container = tables(container, chunks, limits, share_bytes)?;
        let batch = NonNull::from(Box::leak(Box::<Batch<Held<J>>>::new_uninit())).cast();
        let ahead = container.ahead();
        let lane = Lane { batch, short_len: 0, other_len: 0, window: Window::NONE, ahead };
        Ok(BatchEmitter {
            container,
            outlet: making.outlet,
            relief: (making.upkeep)(chunks),
            batch,
            lane,
            range: making.range.unwrap_or(KeyRange::ALL),
            out_of_range: None,
            copied: Vec::new(),
            failure: None,
            emitted: 0,
            totals: 0,
        })
    }

    /// # Safety
    /// As [`Inlet::begin_split`](super::Inlet::begin_split).
    pub(super) unsafe fn begin_split<'e, 's>(
        &'e mut self,
        start: NonNull<u8>,
        len: usize,
        number: u32,
    ) -> BatchSplit<'e, 'p, 's, J> {
        self.container.begin_split(number, len);
        self.lane.window = Window { start, len };
        BatchSplit { emitter: self, split: PhantomData }
    }

    pub(super) fn finish_split(&mut self, split: &Split<'_>) -> Result<()> {
        self.flush();
        self.lane.window = Window::NONE;
        if let Some(out_of_range) = self.out_of_range.take() {
            return Err(out_of_range.at(split));
        }
        self.failure.take().map_or(Ok(()), Err)
    }

    pub(super) fn abandon_split(&mut self) {
        (self.lane.short_len, self.lane.other_len) = (0, 0);
        self.lane.window = Window::NONE;
        self.copied.clear();
        self.out_of_range = None;
        self.failure = None;
    }
}

impl<J: Job> BatchEmitter<'_, J> {
    /// Returns whether a key may be emitted; a refused key is kept for the message.
    #[inline(always)]
    fn allows(&mut self, key: <J::Key as Key>::Borrowed<'_>) -> bool {
        let Some(number) = J::Key::number(key) else { return true };
        self.range.place_of(number).is_some() || self.refuse(number)
    }

    #[cold]
    fn refuse(&mut self, number: u64) -> bool {
        self.out_of_range.get_or_insert_with(|| OutOfRange::new::<J::Key>(number, self.range));
        false
    }

    /// Returns the value, borrowed from a copy, and room for a copy of `key_bytes` more.
    #[inline]
    fn copy_value(&mut self, value: Value<'_, J>, key_bytes: usize) -> Held<J> {
        let held = J::Combine::hold(value);
        let bytes = J::Combine::held_bytes(&held);
        if self.copied.len() + bytes + key_bytes > self.copied.capacity() {
            // Growing would move the bytes that the batch points at.
            self.flush();
            self.copied.reserve((bytes + key_bytes).max(COPIED_BYTES));
        }
        J::Combine::copy_held(held, &mut self.copied)
    }

    fn push_copy(&mut self, key: &[u8], value: Value<'_, J>) {
        if key.len() <= ShortKey::MOST {
            let value = self.copy_value(value, 0);
            return self.lane.push_short(ShortKey::new(key), value);
        }
        let value = self.copy_value(value, key.len());
        let start = self.copied.len();
        self.copied.extend_from_slice(key);
        self.lane.push_other(&self.copied[start..], value);
    }

    /// Hands a pair over at once, beside the container.
    fn append_total(&mut self, key: &[u8], total: Accumulator<J>) -> Result<()> {
        (self.emitted, self.totals) = (self.emitted + 1, self.totals + 1);
        match ClassKey::of(key) {
            ClassKey::Short(key) => self.append(key, total)?,
            ClassKey::Medium(key) => self.append(key, total)?,
            ClassKey::Long(key) => self.append(key, total)?,
        }
        if self.totals.is_multiple_of(BATCH as u64) { self.relieve() } else { Ok(()) }
    }

    fn append<K: SlotKey>(&self, key: K, value: Accumulator<J>) -> Result<(), MemoryError> {
        self.outlet.append(partition_of(key.hash()), &[Entry { key, value }])
    }

    /// Combines the batch and begins a new one.
    #[inline(never)]
    fn flush(&mut self) {
        let Lane { short_len, other_len, .. } = self.lane;
        self.emitted += (short_len + other_len) as u64;
        // After a failure the rest of the split is dropped: the job fails anyway.
        if self.failure.is_none() {
            let combined = self.combine_batch(short_len, other_len);
            self.failure = combined.map_err(Error::from).and_then(|()| self.relieve()).err();
        }
        (self.lane.short_len, self.lane.other_len) = (0, 0);
        self.lane.ahead = self.container.ahead();
        self.copied.clear();
    }

    /// Spills if pairs have passed their share of memory, for one split may give more than fit.
    fn relieve(&mut self) -> Result<()> {
        let partial = self.outlet.partial();
        if partial.spill().is_some() { self.relief.relieve_between(partial) } else { Ok(()) }
    }

    fn combine_batch(&mut self, short_len: usize, other_len: usize) -> Result<(), MemoryError> {
        // SAFETY: the batch is the emitter's own, and no lane writes to it during this call.
        let batch = unsafe { self.batch.as_mut() };
        // SAFETY: the first `short_len` entries were written by `push_short`.
        let short = unsafe { batch.short[..short_len].assume_init_ref() };
        self.container.put(OfClass::Short(short), &self.outlet)?;
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
        // SAFETY: that many first entries of both were written just above.
        let (medium, long) = unsafe {
            let medium = batch.medium[..medium_len].assume_init_ref();
            (medium, batch.long[..long_len].assume_init_ref())
        };
        self.container.put(OfClass::Medium(medium), &self.outlet)?;
        self.container.put(OfClass::Long(long), &self.outlet)
    }
}

impl<J: Job> Drop for BatchEmitter<'_, J> {
    fn drop(&mut self) {
        // SAFETY: leaked by `new` as a box of this type (uninitialised, which all its fields may be).
        drop(unsafe { Box::from_raw(self.batch.as_ptr()) });
    }
}

/// The emitter of a map for one split.
pub(crate) struct BatchSplit<'e, 'p, 's, J: Job> {
    emitter: &'e mut BatchEmitter<'p, J>,
    split: PhantomData<&'s [u8]>,
}

impl<J: Job> BatchSplit<'_, '_, '_, J> {
    /// Returns whether the split has failed already.
    pub(super) fn has_failed(&self) -> bool {
        self.emitter.failure.is_some()
    }

    /// Goes on after pairs were handed over beside the container, as after a batch.
    #[cold]
    pub(super) fn handed_over(&mut self, handed_over: Result<(), MemoryError>) {
        let relieved = handed_over.map_err(Error::from).and_then(|()| self.emitter.relieve());
        self.emitter.failure = relieved.err();
    }
}

impl<'s, J: Job> Emit<'s, J> for BatchSplit<'_, '_, 's, J> {
    #[inline(always)]
    fn emit(&mut self, key: <J::Key as Key>::Borrowed<'s>, value: Value<'s, J>) {
        if !self.emitter.allows(key) {
            return;
        }
        self.emitter.lane.push(J::Key::form(key), J::Combine::hold(value));
        if self.emitter.lane.is_full() {
            self.emitter.flush();
        }
    }

    #[inline(always)]
    fn emit_each(
        &mut self,
        keys: impl Iterator<Item = <J::Key as Key>::Borrowed<'s>>,
        value: Value<'s, J>,
    ) {
        let (emitter, value) = (&mut *self.emitter, J::Combine::hold(value));
        let mut lane = emitter.lane;
        keys.for_each(|key| {
            if !emitter.allows(key) {
                return;
            }
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
    fn emit_copied(&mut self, key: <J::Key as Key>::Borrowed<'_>, value: Value<'_, J>) {
        if !self.emitter.allows(key) {
            return;
        }
        match J::Key::form(key) {
            KeyForm::Bytes(bytes) => self.emitter.push_copy(bytes, value),
            KeyForm::Inline(bytes, len) => {
                let value = self.emitter.copy_value(value, 0);
                self.emitter.lane.push_inline(bytes, len, value);
            }
        }
        if self.emitter.lane.is_full() {
            self.emitter.flush();
        }
    }

    fn emit_total(&mut self, key: <J::Key as Key>::Borrowed<'_>, total: Accumulator<J>) {
        if !self.emitter.allows(key) || self.emitter.failure.is_some() {
            return;
        }
        self.emitter.failure = match J::Key::form(key) {
            KeyForm::Bytes(bytes) => self.emitter.append_total(bytes, total).err(),
            KeyForm::Inline(bytes, len) => self.emitter.append_total(&bytes[..len], total).err(),
        };
    }
}

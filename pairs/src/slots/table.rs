//! An open table: linear probing, a power of two of slots, each a key and its accumulator, without pointers.
//! The slot index is the hash's *top* bits (after `SKIP`), so slot order is hash order: growing streams, and
//! handing over by partition is one walk from front to back.
//!
//! The caller makes room before a batch ([`Table::has_room`]), so the probe loop checks nothing.
//!
//! Keys may come in the order of their hashes, or nearly, as when an answer in no order is the input of
//! another job. Then all of them lead to a few slots, and a probe takes linear time. After a batch the caller
//! asks whether that happens ([`Table::is_crowded`]); if so, it hands over the table's pairs or spreads the
//! slots ([`Table::spread`]).
//!
//! A crowd is 256 occupied slots in a row. It is handed over at once, and the tables of a partition spread
//! their slots by another hash.

use super::PairRef;
use super::slot::{Entry, SlotKey};
use crate::error::{MemoryError, Result};
use crate::memory::{Access, Block, BlockPool, prefetch};
use std::convert::Infallible;
use std::hint::select_unpredictable;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::Arc;

/// Sees entries of many slots at once, in a list that it may change.
pub type SeeEntries<'s, K, V> = dyn FnMut(&mut Vec<Entry<K, V>>) -> Result<()> + 's;

/// A table is full at this many eighths of its slots.
const FULL_EIGHTHS: usize = 5;

/// Slots that are looked at together, at most the fewest there are.
const BLOCK: usize = 64;

/// The length of a run of occupied slots that is a crowd. With keys in any other order, one place in 10^10 of
/// a full table begins such a run.
const CROWD: usize = 256;
/// Spreads keys whose hashes are near each other over all slots; odd, so that no two hashes become one.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// The most entries that are sorted by insertion: more lie between two vacant ends of blocks only where keys
/// are crowded.
const NEAR_MOST: usize = 4 * BLOCK;

/// A table takes fresh memory by this much at a time, so that it is still in the cache when it is written.
const PROVIDED_BYTES: usize = 128 << 10;

/// log2 of the fewest slots.
const LEAST_BITS: u32 = 6;

/// Slots of one size class. `SKIP` is how many top bits of the hash all keys share, so that they say
/// nothing here.
pub struct Table<K, V, const SKIP: u32> {
    block: Block,
    blocks: Arc<BlockPool>,
    mask: usize,
    shift: u32,
    len: usize,
    /// The factor of hashes: 1, or [`SPREAD`]. Tables that are handed over by partition are never spread, and
    /// save the multiplication.
    factor: u64,
    slots: PhantomData<Entry<K, V>>,
}

impl<K: SlotKey, V: Copy, const SKIP: u32> Table<K, V, SKIP> {
    /// Returns an empty table of `2^bits` slots, `bits` at least 6 and at most `64 - SKIP`.
    pub fn new(blocks: &Arc<BlockPool>, bits: u32) -> Result<Table<K, V, SKIP>, MemoryError> {
        let block = Self::slots(blocks, bits)?;
        Ok(Table {
            block,
            blocks: Arc::clone(blocks),
            mask: (1 << bits) - 1,
            shift: 64 - bits,
            len: 0,
            factor: 1,
            slots: PhantomData,
        })
    }

    fn slots(blocks: &Arc<BlockPool>, bits: u32) -> Result<Block, MemoryError> {
        let bytes = size_of::<Entry<K, V>>() << bits;
        let mut block = blocks.take(bytes, Access::Random, "a table of keys and values")?;
        block.zero();
        block.provide(0..PROVIDED_BYTES);
        Ok(block)
    }

    /// Fewest bits for which `entries` entries fit.
    pub fn bits_for(entries: usize) -> u32 {
        (entries * 8 / FULL_EIGHTHS + 1).next_power_of_two().trailing_zeros().max(LEAST_BITS)
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn bits(&self) -> u32 {
        64 - self.shift
    }

    /// Returns whether `entries` more entries can be probed for before the table must grow.
    #[inline]
    pub fn has_room(&self, entries: usize) -> bool {
        (self.len + entries) * 8 <= (self.mask + 1) * FULL_EIGHTHS
    }

    #[inline(always)]
    fn home(&self, hash: u64) -> usize {
        home::<SKIP>(hash, self.factor, self.shift)
    }

    /// Returns whether the slots that a hash leads to are a crowd.
    #[inline]
    pub fn is_crowded(&self, hash: u64) -> bool {
        let home = self.home(hash);
        (home..home + CROWD).all(|index| !self.key(index & self.mask).is_vacant())
    }

    /// Lets keys of any hashes lead to all slots, until the table is resized: slot order is then not hash
    /// order. For tables within a partition. Linear in the slots; the entries are copied meanwhile.
    pub fn spread(&mut self) {
        debug_assert!(SKIP > 0);
        let mut held = Vec::with_capacity(self.len);
        let Ok(()) = self.drain(|entry| {
            held.push(*entry);
            Ok::<(), Infallible>(())
        });
        self.factor = SPREAD;
        held.iter().for_each(|entry| self.insert_absent(entry));
    }

    /// Returns whether the table was spread since it was last resized.
    pub fn is_spread(&self) -> bool {
        self.factor != 1
    }

    #[inline(always)]
    fn slot(&self, index: usize) -> NonNull<Entry<K, V>> {
        // SAFETY: every caller's index is a home (of `bits` bits), went through `mask` or counts up to
        // it, and the block holds `mask + 1` slots.
        unsafe { self.block.start().cast::<Entry<K, V>>().add(index) }
    }

    #[inline(always)]
    fn key(&self, index: usize) -> &K {
        // SAFETY: a slot is either all zero, which is a valid vacant key, or holds an entry; nobody
        // writes while `self` is shared.
        unsafe { &(*self.slot(index).as_ptr()).key }
    }

    #[inline(always)]
    fn entry(&self, index: usize) -> &Entry<K, V> {
        debug_assert!(!self.key(index).is_vacant());
        // SAFETY: callers ask for slots whose key is not vacant; those hold whole entries.
        unsafe { self.slot(index).as_ref() }
    }

    /// Asks the processor to fetch the slot of `hash`.
    #[inline(always)]
    pub fn prefetch(&self, hash: u64) {
        self.hint().prefetch(hash);
    }

    /// Returns the accumulator in the home slot of `hash`, be it of that key or of another.
    #[inline(always)]
    pub fn at_home(&self, hash: u64) -> Option<&V> {
        let home = self.home(hash);
        (!self.key(home).is_vacant()).then(|| &self.entry(home).value)
    }

    /// Returns the data that prefetching needs of the table as it is now.
    #[inline(always)]
    pub fn hint(&self) -> Hint<K, V, SKIP> {
        Hint { slots: self.block.start().cast(), shift: self.shift, factor: self.factor }
    }

    /// Changes the accumulator of `key`, which is put in with `identity` if it is new. There must be
    /// room.
    ///
    /// Whether a key is new is as good as random in many jobs, so no branch depends on it: the key is written
    /// in any case, and the accumulator chosen.
    #[inline(always)]
    pub fn combine(&mut self, key: K, hash: u64, identity: V, change: impl FnOnce(&mut V)) {
        let mut index = self.home(hash);
        let vacant = loop {
            let slot = self.key(index);
            let vacant = slot.is_vacant();
            if one_test(vacant, slot.same(&key)) {
                break vacant;
            }
            index = (index + 1) & self.mask;
        };
        self.len += usize::from(vacant);
        // SAFETY: inside the block, borrowed alone. The value of a vacant slot is read as bytes that
        // may be no V, and replaced by one; the slot is an entry then.
        unsafe {
            let slot = self.slot(index).cast::<Entry<K, MaybeUninit<V>>>().as_mut();
            slot.key = key;
            let value = select_unpredictable(vacant, MaybeUninit::new(identity), slot.value);
            let mut value = value.assume_init();
            change(&mut value);
            slot.value = MaybeUninit::new(value);
        }
    }

    /// As `combine`, for keys that are seldom new: a key in its home slot costs one predicted branch and no
    /// more.
    #[inline(always)]
    pub fn combine_known(&mut self, key: K, hash: u64, identity: V, change: impl FnOnce(&mut V)) {
        let home = self.home(hash);
        if self.key(home).same(&key) {
            // SAFETY: no key that is put in is vacant, so the slot holds an entry; borrowed alone.
            return change(unsafe { &mut (*self.slot(home).as_ptr()).value });
        }
        self.combine(key, hash, identity, change);
    }

    /// As `combine`, but `absent` makes the key that is put in: for borrowed keys, which must be copied
    /// first.
    #[inline(always)]
    pub fn combine_borrowed(
        &mut self,
        key: K,
        hash: u64,
        absent: impl FnOnce() -> Result<Entry<K, V>, MemoryError>,
        change: impl FnOnce(&mut V),
    ) -> Result<(), MemoryError> {
        let index = self.probe(hash, |slot| slot.same(&key) || slot.is_vacant());
        if self.key(index).is_vacant() {
            let entry = absent()?;
            // SAFETY: inside the block, borrowed alone.
            unsafe { self.slot(index).write(entry) };
            self.len += 1;
        }
        // SAFETY: the slot is not vacant (any more), so it holds an entry; borrowed alone.
        change(unsafe { &mut (*self.slot(index).as_ptr()).value });
        Ok(())
    }

    /// Makes it `2^bits` slots, more than now. On an error of memory the table is as before.
    pub fn grow(&mut self, bits: u32) -> Result<(), MemoryError> {
        debug_assert!(bits > self.bits());
        let mut larger = Table::new(&self.blocks, bits)?;
        let mut provided = PROVIDED_BYTES;
        self.drain(|entry| {
            let home = larger.home(entry.key.hash()) * size_of::<Entry<K, V>>();
            while home >= provided {
                larger.block.provide(provided..provided + PROVIDED_BYTES);
                provided += PROVIDED_BYTES;
            }
            larger.insert_absent(entry);
            Ok::<(), MemoryError>(())
        })?;
        *self = larger;
        Ok(())
    }

    /// Returns the first slot from that of `hash` on that `is_it` accepts.
    #[inline(always)]
    fn probe(&self, hash: u64, is_it: impl Fn(&K) -> bool) -> usize {
        let mut index = self.home(hash);
        while !is_it(self.key(index)) {
            index = (index + 1) & self.mask;
        }
        index
    }

    fn insert_absent(&mut self, entry: &Entry<K, V>) {
        let index = self.probe(entry.key.hash(), K::is_vacant);
        // SAFETY: inside the block, borrowed alone.
        unsafe { self.slot(index).write(*entry) };
        self.len += 1;
    }

    /// Shows every entry, in about the order of their hashes, and leaves the table empty. An error of
    /// `see` ends it early; the table is of no use then.
    /// Slots are vacated while they are in the cache; those of an empty table are not touched.
    pub fn drain<E>(
        &mut self,
        mut see: impl FnMut(&Entry<K, V>) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.len == 0 {
            return Ok(());
        }
        let mut occupied = [0; BLOCK];
        for first in (0..=self.mask).step_by(BLOCK) {
            self.occupied(first, &mut occupied)
                .iter()
                .try_for_each(|&index| see(self.entry(index)))?;
            self.vacate(first);
        }
        self.len = 0;
        Ok(())
    }

    /// Vacates the slots of a block.
    #[inline(always)]
    fn vacate(&mut self, first: usize) {
        // SAFETY: a table has at least BLOCK slots, a power of two of them; borrowed alone.
        unsafe { self.slot(first).write_bytes(0, BLOCK) };
    }

    /// Vacates all slots.
    fn clear(&mut self) {
        // SAFETY: the block holds `mask + 1` slots; borrowed alone.
        unsafe { self.slot(0).write_bytes(0, self.mask + 1) };
        self.len = 0;
    }

    pub fn get(&self, key: &K) -> Option<&V> {
        let index = self.probe(key.hash(), |slot| slot.is_vacant() || slot.same(key));
        (!self.key(index).is_vacant()).then(|| &self.entry(index).value)
    }

    /// Shows the entries whose values are wanted, in about the order of their hashes.
    pub fn each(&self, wants: impl Fn(&V) -> bool, mut see: impl FnMut(PairRef<'_, V>)) {
        let mut occupied = [0; BLOCK];
        for first in (0..=self.mask).step_by(BLOCK) {
            for &index in self.occupied(first, &mut occupied) {
                let entry = self.entry(index);
                if wants(&entry.value) {
                    see(PairRef::of(entry));
                }
            }
        }
    }

    /// Returns the occupied slots of a block. Which they are is as good as random, so it decides no branch.
    #[inline]
    fn occupied<'o>(&self, first: usize, occupied: &'o mut [usize; BLOCK]) -> &'o [usize] {
        let mut count = 0;
        for index in first..first + BLOCK {
            occupied[count % BLOCK] = index;
            count += usize::from(!self.key(index).is_vacant());
        }
        &occupied[..count]
    }

    /// As `drain`, with the entries of many slots at once, in a list that `see` may change.
    pub fn drain_batches(&mut self, see: &mut SeeEntries<'_, K, V>) -> Result<()> {
        if self.len == 0 {
            return Ok(());
        }
        let mut batch = Vec::with_capacity(BLOCK);
        let mut occupied = [0; BLOCK];
        for first in (0..=self.mask).step_by(BLOCK) {
            let indices = self.occupied(first, &mut occupied).iter();
            batch.clear();
            batch.extend(indices.map(|&index| *self.entry(index)));
            self.vacate(first);
            see(&mut batch)?;
        }
        self.len = 0;
        Ok(())
    }

    /// As `drain_batches`, in the order of hash, then key: the same however the table was filled.
    pub fn drain_sorted(&mut self, see: &mut SeeEntries<'_, K, V>) -> Result<()> {
        if self.len == 0 {
            return Ok(());
        }
        let mut batch = Vec::with_capacity(BLOCK);
        let mut walk = self.walk();
        while self.go_on(&mut walk) {
            for places in walk.places.chunks(BLOCK) {
                batch.clear();
                batch.extend(places.iter().map(|place| *self.entry(place.index)));
                see(&mut batch)?;
            }
            walk.places.clear();
        }
        self.clear();
        Ok(())
    }

    /// Begins a walk over the entries in the order of hash, then key.
    ///
    /// An entry lies in the run of occupied slots that its hash leads to, and runs follow each other in hash
    /// order, so sorting within runs sorts all. Runs are short, so whole blocks of them are sorted at once,
    /// by moving each entry before the few that must follow it. The last run may continue in the table's
    /// first slots, mixed with the first run; an entry there that is before its home belongs to the last.
    ///
    /// Slots that are spread are in no order, so all of them are sorted at once.
    fn walk(&self) -> Walk {
        let slots = self.mask + 1;
        let mut walk = Walk { first: 0, first_vacant: slots, is_done: false, places: Vec::new() };
        if self.is_spread() {
            walk.first = slots;
            return walk;
        }
        let first_vacant = (0..slots).find(|&index| self.key(index).is_vacant());
        walk.first_vacant = first_vacant.unwrap_or(slots);
        walk.first = walk.first_vacant / BLOCK * BLOCK;
        self.add_start(&mut walk, false);
        walk
    }

    /// Puts the next entries into the places of the walk, which are empty; returns whether there are any.
    fn go_on(&self, walk: &mut Walk) -> bool {
        if walk.is_done {
            return false;
        }
        let slots = self.mask + 1;
        let mut occupied = [0; BLOCK];
        while walk.first < slots {
            let first = walk.first;
            walk.first += BLOCK;
            for &index in self.occupied(first, &mut occupied) {
                if index > walk.first_vacant {
                    walk.places.push(self.place(index));
                }
            }
            if self.key(walk.first - 1).is_vacant() && !walk.places.is_empty() {
                sort(&mut walk.places, &|index| self.key(index).bytes());
                return true;
            }
        }
        walk.is_done = true;
        self.add_start(walk, true);
        sort(&mut walk.places, &|index| self.key(index).bytes());
        true
    }

    /// Adds the entries before the first vacant slot: those that are there because the table's end was full,
    /// or the others.
    fn add_start(&self, walk: &mut Walk, went_on: bool) {
        for index in 0..walk.first_vacant {
            let key = self.key(index);
            if self.is_spread() {
                if !key.is_vacant() {
                    walk.places.push(self.place(index));
                }
            } else if (self.home(key.hash()) > index) == went_on {
                walk.places.push(self.place(index));
            }
        }
    }

    #[inline(always)]
    fn place(&self, index: usize) -> Occupied {
        Occupied { hash: self.key(index).hash(), index }
    }

    /// Gives an empty table `2^bits` slots, in the memory it has where that suffices.
    pub fn resize(&mut self, bits: u32) -> Result<(), MemoryError> {
        debug_assert_eq!(self.len, 0);
        if (size_of::<Entry<K, V>>() << bits) > self.block.bytes() {
            self.block = Self::slots(&self.blocks, bits)?;
        }
        // A block that served a larger table was left all zero by its draining.
        self.mask = (1 << bits) - 1;
        self.shift = 64 - bits;
        self.factor = 1;
        Ok(())
    }
}

/// Returns the slot that a hash leads to, if it is not another key's.
#[inline(always)]
fn home<const SKIP: u32>(hash: u64, factor: u64, shift: u32) -> usize {
    let hash = if SKIP > 0 { hash.wrapping_mul(factor) } else { hash };
    ((hash << SKIP) >> shift) as usize
}

/// Returns `a | b` as one value that is tested once. Left alone, the compiler makes two branches of it, and
/// the processor guesses the first wrong half the time.
#[inline(always)]
fn one_test(a: bool, b: bool) -> bool {
    let either = u32::from(a) | u32::from(b);
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    let either = {
        let mut either = either;
        // SAFETY: no instruction at all; the compiler just cannot see where the value comes from.
        unsafe {
            std::arch::asm!("/* {0:e} */", inout(reg) either, options(pure, nomem, nostack, preserves_flags));
        }
        either
    };
    either != 0
}

/// An occupied slot, by the order in which it is sorted.
#[derive(Clone, Copy)]
struct Occupied {
    hash: u64,
    index: usize,
}

/// A walk over the entries of a table in the order of hash, then key.
struct Walk {
    /// The first slot of the next block.
    first: usize,
    first_vacant: usize,
    is_done: bool,
    /// The entries that come next, in order.
    places: Vec<Occupied>,
}

/// Sorts places by hash, then by the bytes of their keys. Those that are near their final places are sorted by
/// insertion, others in the general way. Two keys seldom have one hash, so this is compiled once for all types of
/// keys, and asks for the bytes of those alone.
fn sort<'k>(places: &mut [Occupied], bytes: &dyn Fn(usize) -> &'k [u8]) {
    let order = |a: &Occupied, b: &Occupied| {
        a.hash.cmp(&b.hash).then_with(|| bytes(a.index).cmp(bytes(b.index)))
    };
    if places.len() > NEAR_MOST {
        return places.sort_unstable_by(order);
    }
    for next in 1..places.len() {
        let mut at = next;
        while at > 0 && order(&places[at], &places[at - 1]).is_lt() {
            places.swap(at, at - 1);
            at -= 1;
        }
    }
}

/// Where the slots of a table are. A hint may be out of date: it is never followed, only prefetched.
pub struct Hint<K, V, const SKIP: u32> {
    slots: NonNull<Entry<K, V>>,
    shift: u32,
    factor: u64,
}

impl<K, V, const SKIP: u32> Clone for Hint<K, V, SKIP> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K, V, const SKIP: u32> Copy for Hint<K, V, SKIP> {}

impl<K, V, const SKIP: u32> Hint<K, V, SKIP> {
    /// Returns the hint of a container that has no slots: it fetches a line of the container itself, which
    /// costs nothing.
    pub fn nowhere<T>(container: &T) -> Self {
        Hint { slots: NonNull::from(container).cast(), shift: 63, factor: 0 }
    }

    /// Returns the hint for when no slot will be looked at: it fetches the table's first line again and
    /// again, which costs nothing.
    pub fn idle(self) -> Self {
        Hint { shift: 63, ..self }
    }

    /// Asks the processor to fetch the slot of `hash`.
    #[inline(always)]
    pub fn prefetch(&self, hash: u64) {
        let home = home::<SKIP>(hash, self.factor, self.shift);
        prefetch(self.slots.as_ptr().wrapping_add(home));
    }
}

//! Lists of the values of one key. A list is plain data, so tables and partials hold it like any
//! accumulator. Its values are in blocks of a [`ValueStore`], which lives as long as the list is used.
//!
//! A block is a run of records: the split's number in 4 bytes (little-endian, so that a record in memory
//! equals its byte form), then the value's bytes; or [`LINK`] and the address of the next block. After
//! every record there is room for a link. So adding a value writes one record and reads nothing, and
//! joining two lists writes one link. A block has room for as many records as come before it, but at most 4 KiB.
//!
//! A list of one short record keeps it in place of addresses. Where a key comes once in a tile, its lists are such,
//! and joining them writes their records one after the other: a link to each of them would be a cache miss for each
//! value that is read.
//!
//! Values of one split come from one worker, in order. Splits are numbered in the order of the input. So a
//! list has the same input order however it was joined: by number, stable.

use super::element::Element;
use crate::memory::{ValueStore, prefetch};
use crate::relocation::Relocation;
use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

/// In place of a split's number: the address of the next block follows.
const LINK: u32 = u32::MAX;
const NUMBER_BYTES: usize = 4;
const LINK_BYTES: usize = NUMBER_BYTES + size_of::<NonNull<u8>>();
const BLOCK_BYTES_LEAST: usize = 32;
const BLOCK_BYTES_MOST: usize = 4 << 10;
/// Bytes in place of addresses.
const PLACE_BYTES: usize = size_of::<Ends>();

/// Values, or none.
pub struct List<T: Element + ?Sized> {
    place: Place,
    /// Bytes for records from the tail on; if there is a block, there is room for a link after them.
    room: u32,
    len: u32,
    element: PhantomData<fn(&T)>,
}

/// Where the records are.
#[derive(Clone, Copy)]
union Place {
    blocks: Ends,
    /// The record, if it is the only one and [`List::HOLDS_ONE`].
    record: [MaybeUninit<u8>; PLACE_BYTES],
}

#[derive(Clone, Copy)]
struct Ends {
    /// The first record; undefined while the list is empty.
    head: NonNull<u8>,
    /// Where the next record goes.
    tail: NonNull<u8>,
}

impl<T: Element + ?Sized> Clone for List<T> {
    fn clone(&self) -> List<T> {
        *self
    }
}

impl<T: Element + ?Sized> Copy for List<T> {}

impl<T: Element + ?Sized> fmt::Debug for List<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list of {} values", self.len)
    }
}

// SAFETY: a list points to memory of a store, which belongs to no thread. Only the list's one owner adds
// values; shared lists are only read.
unsafe impl<T: Element + ?Sized> Send for List<T> {}
// SAFETY: as above.
unsafe impl<T: Element + ?Sized> Sync for List<T> {}

impl<T: Element + ?Sized> List<T> {
    pub(super) const EMPTY: List<T> = List {
        place: Place { blocks: Ends { head: NonNull::dangling(), tail: NonNull::dangling() } },
        room: 0,
        len: 0,
        element: PhantomData,
    };

    /// Bytes of each record, if all have the same and one of them fits in place of addresses.
    const RECORD_BYTES: Option<usize> = match T::BYTES {
        Some(bytes) if NUMBER_BYTES + bytes <= PLACE_BYTES => Some(NUMBER_BYTES + bytes),
        _ => None,
    };
    /// Whether the record of a list of one is in place of addresses.
    pub(super) const HOLDS_ONE: bool = Self::RECORD_BYTES.is_some();

    /// Returns the number of values.
    pub(super) fn len(&self) -> usize {
        self.len as usize
    }

    /// Adds a value of the store's present split. If memory is refused, the value is dropped and the store
    /// keeps the refusal.
    #[inline(always)]
    pub(super) fn push(&mut self, held: T::Held, store: &mut ValueStore) {
        let bytes = NUMBER_BYTES + T::len(&held);
        let Some(to) = self.place_of_next(bytes, store) else { return };
        // SAFETY: `bytes` bytes there belong to this list alone. The value's borrowed bytes are alive: it was
        // emitted in the split that is being mapped.
        unsafe {
            to.cast::<u32>().write_unaligned(store.split().to_le());
            T::write(held, to.add(NUMBER_BYTES));
        }
        self.count(1);
    }

    /// Returns where the next record of `bytes` bytes goes, which the caller writes and counts. Returns `None` if
    /// memory is refused.
    #[inline(always)]
    fn place_of_next(&mut self, bytes: usize, store: &mut ValueStore) -> Option<NonNull<u8>> {
        if (self.room as usize) < bytes {
            if Self::HOLDS_ONE && self.len == 0 {
                // SAFETY: any bytes may be there.
                return Some(NonNull::from(unsafe { &mut self.place.record }).cast());
            }
            if !self.grow(bytes, store) {
                return None;
            }
        }
        // SAFETY: there is a block, because it has room; `room` bytes from its tail on lie in it.
        unsafe {
            let Ends { tail, .. } = &mut self.place.blocks;
            let to = *tail;
            *tail = to.add(bytes);
            self.room -= bytes as u32;
            Some(to)
        }
    }

    /// Makes room for a record of `bytes` bytes, and for as many more as there are.
    #[inline(never)]
    fn grow(&mut self, bytes: usize, store: &mut ValueStore) -> bool {
        let doubled = bytes * self.len() + LINK_BYTES;
        if self.holds_its_one() {
            return self.move_out(bytes, store);
        }
        self.add_block(bytes, doubled.clamp(BLOCK_BYTES_LEAST, BLOCK_BYTES_MOST), store)
    }

    /// Returns whether its record is in place of addresses.
    #[inline(always)]
    fn holds_its_one(&self) -> bool {
        Self::HOLDS_ONE && self.len == 1
    }

    /// Returns the place of the record that is in place of addresses.
    #[inline(always)]
    fn record(&self) -> NonNull<u8> {
        // SAFETY: any bytes may be there.
        NonNull::from(unsafe { &self.place.record }).cast()
    }

    /// Moves the record in place of addresses to a block that has room for `bytes` bytes more.
    fn move_out(&mut self, bytes: usize, store: &mut ValueStore) -> bool {
        let record_bytes = Self::RECORD_BYTES.unwrap_or(0);
        // Without records, there is nothing to which the block could be linked.
        let one = std::mem::replace(self, List::EMPTY);
        if !self.add_block(record_bytes + bytes, 0, store) {
            *self = one;
            return false;
        }
        // SAFETY: the new block has room for both records, and belongs to this list alone.
        unsafe {
            let Ends { tail, .. } = &mut self.place.blocks;
            tail.copy_from_nonoverlapping(one.record(), record_bytes);
            *tail = tail.add(record_bytes);
        }
        self.room -= record_bytes as u32;
        self.len = 1;
        true
    }

    /// Adds a block with room for `bytes` bytes of records, of `wanted` bytes if that is more.
    fn add_block(&mut self, bytes: usize, wanted: usize, store: &mut ValueStore) -> bool {
        let least = bytes + LINK_BYTES;
        let Some((block, size)) = store.take(least, wanted.max(least)) else { return false };
        self.link(block);
        self.place.blocks.tail = block;
        self.room = u32::try_from(size - LINK_BYTES).unwrap_or(u32::MAX);
        true
    }

    /// Makes the memory at `to` follow the list's records, none of which is in place of addresses.
    #[inline]
    fn link(&mut self, to: NonNull<u8>) {
        if self.len == 0 {
            self.place.blocks.head = to;
            return;
        }
        // SAFETY: there is a block, and after its records there is room for a link, which belongs to this list
        // alone.
        unsafe {
            let Ends { tail, .. } = self.place.blocks;
            tail.cast::<u32>().write_unaligned(LINK);
            tail.add(NUMBER_BYTES).cast::<NonNull<u8>>().write_unaligned(to);
        }
    }

    /// Asks the processor to fetch where the next record goes.
    #[inline(always)]
    pub(super) fn prefetch(&self) {
        if !self.holds_its_one() {
            // SAFETY: its records are in blocks, or there is none, and the addresses are those of the empty list.
            prefetch(unsafe { self.place.blocks.tail }.as_ptr());
        }
    }

    /// Appends another list, which must not be used any more, because it becomes part of this one. If memory is
    /// refused, the other's values are dropped and the store keeps the refusal.
    #[inline]
    pub(super) fn append(&mut self, other: &List<T>, store: &mut ValueStore) {
        if self.len == 0 {
            *self = *other;
        } else if other.holds_its_one() {
            let bytes = Self::RECORD_BYTES.unwrap_or(0);
            let Some(to) = self.place_of_next(bytes, store) else { return };
            // SAFETY: the record is that long, and so is the place, which belongs to this list alone.
            unsafe { to.copy_from_nonoverlapping(other.record(), bytes) };
            self.count(1);
        } else if other.len > 0 {
            if self.holds_its_one() && !self.move_out(0, store) {
                return;
            }
            // SAFETY: the other has several records, which are in blocks, or one that does not fit elsewhere.
            let Ends { head, tail } = unsafe { other.place.blocks };
            self.link(head);
            (self.place.blocks.tail, self.room) = (tail, other.room);
            self.count(other.len);
        }
    }

    /// Copies the values of another list, which need not live any longer.
    pub(super) fn copy_in(&mut self, other: &List<T>, store: &mut ValueStore) {
        for (split, value) in other.records() {
            store.set_split(split);
            self.push(T::hold(value), store);
        }
    }

    #[inline(always)]
    fn count(&mut self, more: u32) {
        let Some(len) = self.len.checked_add(more) else {
            panic!("a key has more than 2^32 collected values: count or combine them instead");
        };
        self.len = len;
    }

    /// Returns the records in the order in which they are stored.
    pub(super) fn records(&self) -> Records<'_, T> {
        let at = match self.holds_its_one() {
            true => self.record(),
            // SAFETY: the records are in blocks, or there is none, and the addresses are those of the empty list.
            false => unsafe { self.place.blocks.head },
        };
        Records { at, left: self.len, list: PhantomData }
    }

    /// Returns the bytes of the byte form: at most those of the records and its own head.
    pub(super) fn form_bytes(&self) -> usize {
        const HEAD_BYTES: usize = 8;
        let records = match T::BYTES {
            Some(bytes) => self.len() * (NUMBER_BYTES + bytes),
            None => self.records().map(|(_, value)| NUMBER_BYTES + T::len(&T::hold(value))).sum(),
        };
        HEAD_BYTES + records
    }

    /// Appends the byte form: the number of values as 8 bytes, then in input order each value's split as 4
    /// bytes and its own byte form.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&u64::from(self.len).to_le_bytes());
        let put = |(split, value): (u32, T::Value<'_>)| {
            out.extend_from_slice(&split.to_le_bytes());
            T::encode(value, out);
        };
        self.in_order().for_each(put);
    }

    /// Reads a byte form back into a store, which knows the distance by which its records have moved.
    /// Returns `None` if the bytes are not a byte form.
    pub(super) fn decode(bytes: &mut &[u8], store: &mut ValueStore) -> Option<List<T>> {
        let (len, mut rest) = bytes.split_first_chunk::<8>()?;
        let len = u64::from_le_bytes(*len);
        let mut list = List::EMPTY;
        if let Some(bytes) = T::BYTES {
            let record_bytes = NUMBER_BYTES + bytes;
            let bytes = usize::try_from(len).ok()?.checked_mul(record_bytes)?;
            let (records, after) = rest.split_at_checked(bytes)?;
            list.extend(records, record_bytes, store);
            rest = after;
        } else {
            for _ in 0..len {
                let (split, after) = rest.split_first_chunk::<4>()?;
                rest = after;
                store.set_split(store.relocation().split(u32::from_le_bytes(*split)));
                list.push(T::hold(T::decode(&mut rest)?), store);
            }
        }
        *bytes = rest;
        Some(list)
    }

    /// Adds records of `record_bytes` bytes each from their byte form, one block at a time. If memory is
    /// refused, the rest is dropped and the store keeps the refusal.
    fn extend(&mut self, mut records: &[u8], record_bytes: usize, store: &mut ValueStore) {
        let by = store.relocation();
        while !records.is_empty() {
            let is_one = Self::HOLDS_ONE && self.len == 0 && records.len() == record_bytes;
            if !is_one && (self.room as usize) < record_bytes {
                // The rest of a chunk is used if it has room for a record; for the first two, if a list of one has no
                // block.
                let least = record_bytes << u32::from(Self::HOLDS_ONE && self.len == 0);
                let wanted = (records.len() + LINK_BYTES).min(BLOCK_BYTES_MOST);
                if !self.add_block(least, wanted, store) {
                    return;
                }
            }
            let fitting = if is_one { 1 } else { self.room as usize / record_bytes } * record_bytes;
            let (now, rest) = records.split_at(fitting.min(records.len()));
            records = rest;
            let Some(to) = self.place_of_next(now.len(), store) else { return };
            // SAFETY: that many bytes there belong to this list alone; they were written before they are borrowed.
            let added = unsafe {
                to.copy_from_nonoverlapping(NonNull::from(now).cast(), now.len());
                NonNull::slice_from_raw_parts(to, now.len()).as_mut()
            };
            if by != Relocation::default() {
                added.chunks_exact_mut(record_bytes).for_each(|record| relocate::<T>(record, by));
            }
            self.count((now.len() / record_bytes) as u32);
        }
    }
}

/// Relocates the value of a record.
#[inline(always)]
fn relocate<T: Element + ?Sized>(record: &mut [u8], by: Relocation) {
    if let Some((split, value)) = record.split_first_chunk_mut::<NUMBER_BYTES>() {
        *split = by.split(u32::from_le_bytes(*split)).to_le_bytes();
        if T::RELOCATES {
            T::relocate(value, by);
        }
    }
}

/// Records in the order in which they are stored.
pub(super) struct Records<'a, T: Element + ?Sized> {
    at: NonNull<u8>,
    left: u32,
    list: PhantomData<&'a List<T>>,
}

impl<T: Element + ?Sized> Clone for Records<'_, T> {
    fn clone(&self) -> Self {
        Records { ..*self }
    }
}

impl<T: Element + ?Sized> Records<'_, T> {
    /// Returns the records before the last `left` ones.
    pub(super) fn without_last(&self, left: u32) -> Self {
        Records { left: self.left - left, ..*self }
    }

    /// Returns the number of remaining records.
    pub(super) fn left(&self) -> u32 {
        self.left
    }

    /// Returns the split of the next record.
    #[inline(always)]
    pub(super) fn split(&mut self) -> Option<u32> {
        if self.left == 0 {
            return None;
        }
        // SAFETY: `left` is not 0, so a record or a link to one is here; the store that holds them outlives
        // every borrower of the list.
        unsafe {
            let mut split = self.at.cast::<u32>().read_unaligned();
            while split == LINK {
                self.at = self.at.add(NUMBER_BYTES).cast::<NonNull<u8>>().read_unaligned();
                split = self.at.cast::<u32>().read_unaligned();
            }
            Some(u32::from_le(split))
        }
    }
}

impl<'a, T: Element + ?Sized> Iterator for Records<'a, T> {
    type Item = (u32, T::Value<'a>);

    #[inline]
    fn next(&mut self) -> Option<(u32, T::Value<'a>)> {
        let split = self.split()?;
        self.left -= 1;
        // SAFETY: a record is here, because its split was, and the store outlives the borrow.
        unsafe {
            let (value, bytes) = T::read(self.at.add(NUMBER_BYTES));
            self.at = self.at.add(NUMBER_BYTES + bytes);
            Some((split, value))
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

//! Lists of the values of one key. A list is plain data, so that tables and partials hold it like any
//! accumulator; its values lie in blocks of a [`ValueStore`], which lives as long as the list is used.
//!
//! A block is a run of records: 4 bytes of a split's number and the value's bytes; or [`LINK`] and the
//! address of the next block. Behind every record there is room for a link. So adding a value writes
//! one record and reads nothing, and putting two lists together writes one link. Blocks double, from
//! 32 bytes to 4 KiB.
//!
//! Values of one split come from one worker, in order. Splits are numbered in the order of the input,
//! so a list that was put together in any order has one order of the input: by number, stable.

use super::element::Element;
use crate::memory::ValueStore;
use std::iter::FusedIterator;
use std::marker::PhantomData;
use std::ptr::NonNull;

/// In place of a split's number: what follows is the address of the next block.
const LINK: u32 = u32::MAX;
const NUMBER_BYTES: usize = 4;
const LINK_BYTES: usize = NUMBER_BYTES + size_of::<NonNull<u8>>();
const BLOCK_BYTES_LEAST: usize = 32;
const BLOCK_BYTES_MOST: usize = 4 << 10;

/// Values, or none.
#[derive(Debug)]
pub struct List<T: Element + ?Sized> {
    /// The first record; of no meaning while the list is empty.
    head: NonNull<u8>,
    /// Where the next record goes.
    tail: NonNull<u8>,
    /// Bytes for records from `tail` on; there is room for a link behind them if the list holds any.
    room: u32,
    len: u32,
    element: PhantomData<fn(&T)>,
}

impl<T: Element + ?Sized> Clone for List<T> {
    fn clone(&self) -> List<T> {
        *self
    }
}

impl<T: Element + ?Sized> Copy for List<T> {}

// SAFETY: a list points at memory of a store, which belongs to no thread. Values are added by a list's
// one owner; lists that are shared are only read.
unsafe impl<T: Element + ?Sized> Send for List<T> {}
// SAFETY: as above.
unsafe impl<T: Element + ?Sized> Sync for List<T> {}

impl<T: Element + ?Sized> List<T> {
    pub(super) const EMPTY: List<T> = List {
        head: NonNull::dangling(),
        tail: NonNull::dangling(),
        room: 0,
        len: 0,
        element: PhantomData,
    };

    /// Number of values.
    pub(super) fn len(&self) -> usize {
        self.len as usize
    }

    /// Adds a value of the split that the store knows of. Where memory is refused the value is dropped,
    /// and the store keeps the refusal.
    #[inline(always)]
    pub(super) fn push(&mut self, held: T::Held, store: &mut ValueStore) {
        let bytes = NUMBER_BYTES + T::len(&held);
        if (self.room as usize) < bytes && !self.add_block(bytes, store) {
            return;
        }
        // SAFETY: `room` bytes from `tail` on are the list's alone. The value's borrowed bytes live:
        // it was emitted in the split that is being mapped.
        unsafe {
            self.tail.cast::<u32>().write_unaligned(store.split());
            T::write(held, self.tail.add(NUMBER_BYTES));
            self.tail = self.tail.add(bytes);
        }
        self.room -= bytes as u32;
        self.count(1);
    }

    /// Makes room for a record of `bytes`.
    #[inline(never)]
    fn add_block(&mut self, bytes: usize, store: &mut ValueStore) -> bool {
        let least = bytes + LINK_BYTES;
        let doubled = (bytes * self.len()).next_power_of_two();
        let wanted = doubled.clamp(BLOCK_BYTES_LEAST, BLOCK_BYTES_MOST).max(least);
        let Some((block, size)) = store.take(least, wanted) else { return false };
        self.link(block);
        self.tail = block;
        self.room = u32::try_from(size - LINK_BYTES).unwrap_or(u32::MAX);
        true
    }

    /// Lets what is at `to` follow what the list holds.
    #[inline]
    fn link(&mut self, to: NonNull<u8>) {
        if self.len == 0 {
            self.head = to;
            return;
        }
        // SAFETY: behind the records there is room for a link, which is the list's alone.
        unsafe {
            self.tail.cast::<u32>().write_unaligned(LINK);
            self.tail.add(NUMBER_BYTES).cast::<NonNull<u8>>().write_unaligned(to);
        }
    }

    /// Takes another list in, which must not be used any more: it is part of this one.
    #[inline]
    pub(super) fn append(&mut self, other: &List<T>) {
        if other.len > 0 {
            self.link(other.head);
            (self.tail, self.room) = (other.tail, other.room);
            self.count(other.len);
        }
    }

    /// Adds the values of another list, of which nothing is kept.
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

    /// The records as they stand.
    fn records(&self) -> Records<'_, T> {
        Records { at: self.head, left: self.len, list: PhantomData }
    }

    /// The values in the order of the input. Linear where they stand in that order (so with one
    /// worker); else places of runs of one split, of which there are fewer than values, are sorted.
    pub(super) fn values(&self) -> Values<'_, T> {
        let order = if self.records().is_sorted_by_key(|(split, _)| split) {
            InOrder::AsTheyStand(self.records())
        } else {
            let mut runs = self.runs();
            runs.sort_by_key(|run| run.split);
            InOrder::BySplit(BySplit { current: None, rest: runs.into_iter(), left: self.len() })
        };
        Values { order }
    }

    /// Runs of records of one split, as they stand.
    fn runs(&self) -> Vec<SplitRun<'_, T>> {
        let mut runs: Vec<SplitRun<'_, T>> = Vec::new();
        let mut records = self.records();
        loop {
            let from = records.at;
            let Some((split, _)) = records.next() else { return runs };
            match runs.last_mut() {
                Some(last) if last.split == split => last.records.left += 1,
                _ => {
                    let records = Records { at: from, left: 1, list: PhantomData };
                    runs.push(SplitRun { split, records });
                }
            }
        }
    }

    /// Bytes of the byte form, which are at most those of the records and its own head.
    pub(super) fn form_bytes(&self) -> usize {
        const HEAD_BYTES: usize = 8;
        let values = self.records().map(|(_, value)| NUMBER_BYTES + T::len(&T::hold(value)));
        HEAD_BYTES + values.sum::<usize>()
    }

    /// Appends the byte form: the number of values as 8 bytes, then in the order of the input each
    /// one's split as 4 bytes and its own byte form.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&u64::from(self.len).to_le_bytes());
        let mut put = |(split, value): (u32, T::Value<'_>)| {
            out.extend_from_slice(&split.to_le_bytes());
            T::encode(value, out);
        };
        match self.values().order {
            InOrder::AsTheyStand(records) => records.for_each(&mut put),
            InOrder::BySplit(records) => records.for_each(&mut put),
        }
    }

    /// Reads a byte form back into a store.
    pub(super) fn decode(bytes: &mut &[u8], store: &mut ValueStore) -> Option<List<T>> {
        let (len, mut rest) = bytes.split_first_chunk::<8>()?;
        let mut list = List::EMPTY;
        for _ in 0..u64::from_le_bytes(*len) {
            let (split, after) = rest.split_first_chunk::<4>()?;
            rest = after;
            store.set_split(u32::from_le_bytes(*split));
            list.push(T::hold(T::decode(&mut rest)?), store);
        }
        *bytes = rest;
        Some(list)
    }
}

/// Records in the order in which they stand.
struct Records<'a, T: Element + ?Sized> {
    at: NonNull<u8>,
    left: u32,
    list: PhantomData<&'a List<T>>,
}

impl<'a, T: Element + ?Sized> Iterator for Records<'a, T> {
    type Item = (u32, T::Value<'a>);

    #[inline]
    fn next(&mut self) -> Option<(u32, T::Value<'a>)> {
        self.left = self.left.checked_sub(1)?;
        // SAFETY: `left` was not 0, so a record or a link to one stands here; the store that holds
        // them outlives whoever borrows the list.
        unsafe {
            let mut split = self.at.cast::<u32>().read_unaligned();
            while split == LINK {
                self.at = self.at.add(NUMBER_BYTES).cast::<NonNull<u8>>().read_unaligned();
                split = self.at.cast::<u32>().read_unaligned();
            }
            let (value, bytes) = T::read(self.at.add(NUMBER_BYTES));
            self.at = self.at.add(NUMBER_BYTES + bytes);
            Some((split, value))
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

/// Neighbouring records of one split.
struct SplitRun<'a, T: Element + ?Sized> {
    split: u32,
    records: Records<'a, T>,
}

/// Records, run by run.
struct BySplit<'a, T: Element + ?Sized> {
    current: Option<Records<'a, T>>,
    rest: std::vec::IntoIter<SplitRun<'a, T>>,
    left: usize,
}

impl<'a, T: Element + ?Sized> Iterator for BySplit<'a, T> {
    type Item = (u32, T::Value<'a>);

    #[inline]
    fn next(&mut self) -> Option<(u32, T::Value<'a>)> {
        loop {
            if let Some(record) = self.current.as_mut().and_then(Iterator::next) {
                self.left -= 1;
                return Some(record);
            }
            self.current = Some(self.rest.next()?.records);
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

/// The values of a key, in the order of the input.
pub struct Values<'a, T: Element + ?Sized> {
    order: InOrder<'a, T>,
}

enum InOrder<'a, T: Element + ?Sized> {
    AsTheyStand(Records<'a, T>),
    BySplit(BySplit<'a, T>),
}

impl<'a, T: Element + ?Sized> Iterator for Values<'a, T> {
    type Item = T::Value<'a>;

    #[inline]
    fn next(&mut self) -> Option<T::Value<'a>> {
        match &mut self.order {
            InOrder::AsTheyStand(records) => records.next(),
            InOrder::BySplit(records) => records.next(),
        }
        .map(|(_, value)| value)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match &self.order {
            InOrder::AsTheyStand(records) => records.size_hint(),
            InOrder::BySplit(records) => records.size_hint(),
        }
    }
}

impl<T: Element + ?Sized> ExactSizeIterator for Values<'_, T> {}
impl<T: Element + ?Sized> FusedIterator for Values<'_, T> {}

impl<T: Element + ?Sized> std::fmt::Debug for Values<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} values", self.len())
    }
}

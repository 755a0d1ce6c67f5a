//! Samples of keys, which splitters are chosen from. All keys of a sample have a bounded size together: many are cut
//! short, because a splitter need not be a whole key. Where most are alike as far as they were taken, so that no
//! splitter would divide their records, fewer and longer ones are taken.

use super::records::Form;
use super::splitters::Sampled;

/// Read at each place of a sample: a page, in which most records begin and end.
const PLACE_BYTES: u64 = 4 << 10;
/// Records taken at one place: more would say little, where neighbours are alike.
const TAKEN_PER_PLACE: usize = 16;
/// The bytes of all keys in a sample.
const ALL_KEY_BYTES: usize = 4 << 20;
const KEY_BYTES_LEAST: usize = 32;
/// So many times longer, and fewer, are the keys of a sample that is taken again.
const DEEPER: usize = 8;
/// The least number of keys of a sample that is taken again.
const COUNT_LEAST: usize = 2;
/// Bytes of a key that are always looked at before it is taken for another's like.
pub(super) const ALIKE_BYTES_MOST: usize = ALL_KEY_BYTES / (COUNT_LEAST * DEEPER);

/// Keys taken so far.
pub(super) struct KeySample<'f> {
    form: &'f Form,
    /// The number of keys that is wanted, about.
    count: usize,
    /// Of a key, at most.
    key_bytes: usize,
    pub(super) keys: Vec<Sampled>,
    /// The number of keys that were cut short.
    cut: usize,
    /// Of all records taken, also for earlier samples, and their number.
    bytes: u64,
    records: u64,
    is_begun: bool,
}

impl<'f> KeySample<'f> {
    pub(super) fn new(form: &'f Form, count: usize) -> KeySample<'f> {
        let key_bytes = (ALL_KEY_BYTES / count.max(1)).max(KEY_BYTES_LEAST);
        let (keys, cut, bytes, records, is_begun) = (Vec::new(), 0, 0, 0, false);
        KeySample { form, count, key_bytes, keys, cut, bytes, records, is_begun }
    }

    /// Returns whether keys are to be taken from all over: at first, and again, fewer and longer ones, where most that
    /// were taken are alike.
    pub(super) fn begin(&mut self) -> bool {
        if !self.is_begun {
            self.is_begun = true;
            return true;
        }
        let is_again = self.count / DEEPER >= COUNT_LEAST && self.is_alike();
        if is_again {
            self.count /= DEEPER;
            self.key_bytes *= DEEPER;
            self.keys.clear();
            self.cut = 0;
        }
        is_again
    }

    /// Returns the number of places to look at.
    pub(super) fn places(&self) -> usize {
        (self.count / TAKEN_PER_PLACE).max(self.count.clamp(1, TAKEN_PER_PLACE))
    }

    /// Returns the number of records to take in one place.
    pub(super) fn per_place(&self) -> usize {
        self.count.div_ceil(self.places()).clamp(1, TAKEN_PER_PLACE)
    }

    /// Returns the number of keys that is wanted, about.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Returns the number of bytes to look at in one place.
    pub(super) fn window_bytes(&self) -> u64 {
        PLACE_BYTES.max(self.form.least_bytes() as u64).max(self.key_bytes as u64)
    }

    /// Returns the mean length of a record.
    pub(super) fn record_bytes(&self) -> u64 {
        (self.bytes / self.records.max(1)).max(1)
    }

    /// Takes the first records of bytes that begin with one. Unless the bytes end `whole`, the last record
    /// may be cut short: then the key of a line is its available part.
    pub(super) fn add(&mut self, mut bytes: &[u8], split: u32, whole: bool) {
        for taken in 0..self.per_place() {
            if bytes.len() < self.form.least_bytes() {
                return;
            }
            let record = self.form.first(bytes);
            bytes = &bytes[record.len()..];
            let is_cut = bytes.is_empty() && !whole;
            if taken > 0 && is_cut {
                return;
            }
            self.add_record(record, split);
            self.cut += usize::from(is_cut);
        }
    }

    /// Takes a record.
    pub(super) fn add_record(&mut self, record: &[u8], split: u32) {
        let key = self.form.key(record);
        self.cut += usize::from(key.len() > self.key_bytes);
        self.keys.push((key[..key.len().min(self.key_bytes)].into(), split));
        self.bytes += record.len() as u64;
        self.records += 1;
    }

    /// Returns whether more than half of the keys are the same where they were cut.
    fn is_alike(&mut self) -> bool {
        if 2 * self.cut <= self.keys.len() {
            return false;
        }
        // The key in the middle is the one that more than half of them are, if there is one.
        let middle = self.keys.len() / 2;
        let (_, (key, _), _) = self.keys.select_nth_unstable(middle);
        let key = key.clone();
        2 * self.keys.iter().filter(|(other, _)| *other == key).count() > self.keys.len()
    }
}

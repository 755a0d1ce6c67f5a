//! The range of a job's integer keys, from the type or the job, and the error for a key outside. Keys are
//! numbers here, in the order of the keys.

use crate::error::{Error, Result};
use crate::job::Job;
use crate::key::Key;
use crate::split::Split;

/// The first key and the number of keys after it, as numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyRange {
    pub first: u64,
    last_place: u64,
}

impl KeyRange {
    pub const ALL: KeyRange = KeyRange { first: 0, last_place: u64::MAX };

    pub fn new(first: u64, last: u64) -> Option<KeyRange> {
        let last_place = last.checked_sub(first)?;
        Some(KeyRange { first, last_place })
    }

    /// Returns the range that a job declares, or else that of its type of key if it is small.
    ///
    /// # Errors
    /// For a range without keys, and for one of keys that are no integers.
    pub fn of<J: Job>(job: &J) -> Result<Option<KeyRange>> {
        let Some(range) = job.key_range() else {
            return Ok(J::Key::SMALL_RANGE.and_then(|(first, last)| KeyRange::new(first, last)));
        };
        let refuse = |cause: &str| Error::Option { option: "key_range", cause: cause.to_owned() };
        let ends = J::Key::number(*range.start()).zip(J::Key::number(*range.end()));
        let (first, last) = ends.ok_or_else(|| refuse("only integer keys have a range"))?;
        let range = KeyRange::new(first, last);
        range.map(Some).ok_or_else(|| refuse("no key in it; give the least key first"))
    }

    /// Number of keys; `None` if there are more than memory could hold.
    pub fn keys(&self) -> Option<usize> {
        usize::try_from(self.last_place).ok()?.checked_add(1)
    }

    /// Returns a key's place in the range, counted from 0.
    #[inline(always)]
    pub fn place_of(&self, number: u64) -> Option<u64> {
        let place = number.wrapping_sub(self.first);
        (place <= self.last_place).then_some(place)
    }
}

/// A key that its job promised not to emit.
pub(super) struct OutOfRange {
    key: String,
    first: String,
    last: String,
}

impl OutOfRange {
    pub(super) fn new<K: Key + ?Sized>(number: u64, range: KeyRange) -> OutOfRange {
        OutOfRange {
            key: K::text(number),
            first: K::text(range.first),
            last: K::text(range.first + range.last_place),
        }
    }

    pub(super) fn at(&self, split: &Split<'_>) -> Error {
        let OutOfRange { key, first, last } = self;
        let cause = format!(
            "a record from here on gave key {key}, but the job's keys are {first} to {last}: mend \
             the record, or the job's key_range"
        );
        let place = split.origin().place(None, split.offset());
        Error::Record { place, cause: cause.into() }
    }
}

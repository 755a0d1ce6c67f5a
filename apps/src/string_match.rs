//! Finds the lines of a file that equal a key, and counts them or lists their places. Takes lines of any
//! bytes; a carriage return at a line's end does not belong to it.

use crate::listed;
use aho_corasick::packed::{Config, MatchKind, Searcher};
use std::collections::HashMap;
use tegula::{Cut, Emit, Identity, Job, Result, Resumable, Sees, Split, Sum};

/// Counts the lines that equal a key. The answer's keys are those found.
pub struct StringMatch {
    keys: Keys,
}

/// Lists the lines that equal a key: one pair for each, whose key [`Place::read`] parses.
pub struct StringPlaces {
    keys: Keys,
}

/// The place of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<'k> {
    /// The key's index among the sorted keys.
    pub key: usize,
    /// The file, as a path's bytes.
    pub path: &'k [u8],
    /// The offset of the line in the file, in bytes.
    pub offset: u64,
}

/// Keys, and the data to find them.
struct Keys {
    numbers: HashMap<Vec<u8>, u32>,
    /// Finds where a key may begin; `None` for many keys, or an empty one.
    begins: Option<Searcher>,
    /// Bytes that it finds before the key: a line end, or none if all keys are long enough to search for
    /// their heads.
    before: usize,
}

/// A search for heads of three bytes costs half of one for four, and most hits are not at a line's start.
const HEAD_BYTES: usize = 3;

impl StringMatch {
    /// Creates a job for these keys. A key that is given twice counts once.
    pub fn new(keys: impl IntoIterator<Item: AsRef<[u8]>>) -> StringMatch {
        StringMatch { keys: Keys::new(keys) }
    }
}

impl StringPlaces {
    /// Creates a job for these keys. A key that is given twice counts once.
    pub fn new(keys: impl IntoIterator<Item: AsRef<[u8]>>) -> StringPlaces {
        StringPlaces { keys: Keys::new(keys) }
    }

    /// Returns the sorted keys, which [`Place::key`] indexes.
    pub fn keys(&self) -> Vec<&[u8]> {
        let mut sorted: Vec<&[u8]> = self.keys.numbers.keys().map(Vec::as_slice).collect();
        sorted.sort_unstable();
        sorted
    }
}

impl Keys {
    fn new(keys: impl IntoIterator<Item: AsRef<[u8]>>) -> Keys {
        let mut sorted: Vec<Vec<u8>> = keys.into_iter().map(|key| key.as_ref().to_vec()).collect();
        sorted.sort_unstable();
        sorted.dedup();
        let mut begins = Config::new().match_kind(MatchKind::LeftmostFirst).builder();
        // No line equals a key with a line end, and a hit of such a key would cover lines that equal another key.
        let lines = || sorted.iter().filter(|key| !key.contains(&b'\n'));
        let before = usize::from(lines().any(|key| key.len() < HEAD_BYTES));
        if before == 0 {
            begins.extend(lines().map(|key| &key[..HEAD_BYTES]));
        } else if !sorted.iter().any(Vec::is_empty) {
            begins.extend(lines().map(|key| [b"\n", &key[..]].concat()));
        }
        Keys { begins: begins.build(), before, numbers: sorted.into_iter().zip(0..).collect() }
    }

    /// Returns the identity of a job that looks for these keys.
    fn identity(&self, what: &str) -> Identity {
        let mut keys: Vec<&[u8]> = self.numbers.keys().map(Vec::as_slice).collect();
        keys.sort_unstable();
        Identity::new("stringmatch", 1).with("of", what).with("keys", listed(&keys))
    }

    /// Calls `found` with each line that equals a key, and the key's index.
    fn find<'s>(&self, split: Split<'s>, mut found: impl FnMut(&'s [u8], u32)) {
        let mut look = |line: &'s [u8]| {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if let Some(&number) = self.numbers.get(line) {
                found(line, number);
            }
        };
        let Some(begins) = &self.begins else {
            return split.lines().for_each(look);
        };
        // The first line has no line end before it.
        split.lines().take(1).for_each(&mut look);
        let text = split.bytes();
        for begin in begins.find_iter(text) {
            let start = begin.start() + self.before;
            if start > 0 && text[start - 1] == b'\n' {
                let rest = &text[start..];
                look(&rest[..memchr::memchr(b'\n', rest).unwrap_or(rest.len())]);
            }
        }
    }
}

impl Job for StringMatch {
    type Key = [u8];
    type Combine = Sum<u64>;

    const LARGEST_FIRST: bool = true;

    fn cut(&self) -> Cut {
        Cut::Lines
    }

    fn state(&self) -> Option<&dyn Resumable> {
        Some(self)
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        self.keys.find(split, |line, _| emit.emit(line, 1));
        Ok(())
    }
}

impl Resumable for StringMatch {
    fn identity(&self) -> Identity {
        self.keys.identity("count")
    }

    fn sees(&self) -> Sees {
        Sees::Records
    }
}

impl Job for StringPlaces {
    type Key = [u8];
    type Combine = Sum<u64>;

    fn cut(&self) -> Cut {
        Cut::Lines
    }

    fn state(&self) -> Option<&dyn Resumable> {
        Some(self)
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        let path = split.path();
        self.keys.find(split, |line, key| {
            let place = Place {
                key: key as usize,
                path: path.as_os_str().as_encoded_bytes(),
                offset: split.offset_of(line),
            };
            emit.emit_copied(&place.form(), 1);
        });
        Ok(())
    }
}

impl Resumable for StringPlaces {
    fn identity(&self) -> Identity {
        self.keys.identity("places")
    }
}

impl<'k> Place<'k> {
    /// Returns the place as a key of the answer, whose bytes have the order of key, path and offset.
    fn form(&self) -> Vec<u8> {
        let (key, offset) = ((self.key as u32).to_be_bytes(), self.offset.to_be_bytes());
        [&key[..], self.path, b"\0", &offset].concat()
    }

    /// Parses a key of the answer; `None` if it is not a place.
    pub fn read(key: &'k [u8]) -> Option<Place<'k>> {
        let (number, rest) = key.split_first_chunk()?;
        let (path, offset) = rest.split_last_chunk()?;
        Some(Place {
            key: u32::from_be_bytes(*number) as usize,
            path: path.strip_suffix(b"\0")?,
            offset: u64::from_be_bytes(*offset),
        })
    }
}

//! Tracks since when the first keys of shows are the same ones. For each N the set of the first N keys is
//! compared with that of the show before, for all N in one pass: a key that is in only one of the two
//! prefixes is a difference, until the other prefix reaches it.

use std::collections::HashMap;

/// The largest N for which it is known since when the first N keys are the same.
pub const STABLE_KEYS_MOST: usize = 1000;

/// The first keys of the last show.
#[derive(Debug, Default)]
pub struct Stability {
    keys: Vec<Box<[u8]>>,
    /// For each N, the bytes seen by the first show with the same first N keys.
    since: Vec<u64>,
}

impl Stability {
    /// Takes the first keys, [`STABLE_KEYS_MOST`] at most, of a show that has seen `bytes` bytes.
    pub fn see(&mut self, keys: Vec<Box<[u8]>>, bytes: u64) {
        let mut since = Vec::with_capacity(keys.len());
        // 1 for a key in this show's prefix alone, -1 for one in the last show's alone.
        let mut sides: HashMap<&[u8], i8> = HashMap::with_capacity(2 * keys.len());
        let mut differ = 0_usize;
        for (place, key) in keys.iter().enumerate() {
            for (key, side) in [(Some(key), 1), (self.keys.get(place), -1)] {
                let Some(key) = key else { continue };
                let now = sides.entry(key).or_default();
                *now += side;
                if *now == 0 { differ -= 1 } else { differ += 1 }
            }
            let before = self.since.get(place).copied().filter(|_| differ == 0);
            since.push(before.unwrap_or(bytes));
        }
        drop(sides);
        (self.keys, self.since) = (keys, since);
    }

    pub fn since(&self, count: usize) -> Option<u64> {
        self.since.get(count.checked_sub(1)?).copied()
    }
}

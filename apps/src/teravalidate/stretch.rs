//! The combine of teravalidate: the result for consecutive records, and the join of two such stretches.
//! Knows no files.

use crate::ROW_BYTES;
use std::cmp::Ordering;
use tegula::Combine;

const KEY_BYTES: usize = 10;

/// The result for consecutive records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    pub(super) records: u64,
    pub(super) checksum: u128,
    /// Records with the key of the one before.
    pub(super) duplicates: u64,
    first: [u8; KEY_BYTES],
    last: [u8; KEY_BYTES],
    /// The first record with a lesser key than the one before, counted from 0.
    pub(super) misplaced: Option<u64>,
}

impl Stretch {
    pub(super) const NONE: Stretch = Stretch {
        records: 0,
        checksum: 0,
        duplicates: 0,
        first: [0; KEY_BYTES],
        last: [0; KEY_BYTES],
        misplaced: None,
    };

    pub(super) fn of(records: &[u8]) -> Stretch {
        let mut stretch = Stretch::NONE;
        for record in records.chunks_exact(ROW_BYTES) {
            let mut key = [0; KEY_BYTES];
            key.copy_from_slice(&record[..KEY_BYTES]);
            let crc = u128::from(crc32fast::hash(record));
            stretch.append(&Stretch {
                records: 1,
                checksum: crc,
                first: key,
                last: key,
                ..Stretch::NONE
            });
        }
        stretch
    }

    /// Appends the stretch that follows.
    pub(super) fn append(&mut self, next: &Stretch) {
        if self.records == 0 {
            *self = *next;
        } else if next.records > 0 {
            let border = match self.last.cmp(&next.first) {
                Ordering::Greater => Some(0),
                Ordering::Equal | Ordering::Less => next.misplaced,
            };
            let misplaced = self.misplaced.or(border.map(|place| self.records + place));
            *self = Stretch {
                records: self.records + next.records,
                checksum: self.checksum + next.checksum,
                duplicates: self.duplicates + next.duplicates + u64::from(self.last == next.first),
                first: self.first,
                last: next.last,
                misplaced,
            };
        }
    }
}

/// Keeps a stretch per key, of which each has one if no file is named twice.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stretches;

impl Combine for Stretches {
    type Value = Stretch;
    type Accumulator = Stretch;
    type Output = Stretch;

    fn identity() -> Stretch {
        Stretch::NONE
    }

    fn absorb(into: &mut Stretch, value: Stretch) {
        Self::merge(into, &value);
    }

    fn merge(into: &mut Stretch, other: &Stretch) {
        match (into.records, other.records) {
            (_, 0) => {}
            (0, _) => *into = *other,
            _ => {
                *into = Stretch {
                    records: into.records + other.records,
                    checksum: into.checksum + other.checksum,
                    duplicates: into.duplicates + other.duplicates,
                    first: into.first.min(other.first),
                    last: into.last.max(other.last),
                    misplaced: [into.misplaced, other.misplaced].into_iter().flatten().min(),
                }
            }
        }
    }

    fn finish(stretch: &Stretch) -> Stretch {
        *stretch
    }

    fn rank(a: &Stretch, b: &Stretch) -> Ordering {
        a.first.cmp(&b.first)
    }

    fn encode(stretch: &Stretch, out: &mut Vec<u8>) {
        out.extend_from_slice(&stretch.records.to_le_bytes());
        out.extend_from_slice(&stretch.checksum.to_le_bytes());
        out.extend_from_slice(&stretch.duplicates.to_le_bytes());
        out.extend_from_slice(&stretch.first);
        out.extend_from_slice(&stretch.last);
        out.extend_from_slice(&stretch.misplaced.unwrap_or(u64::MAX).to_le_bytes());
    }

    fn decode(bytes: &mut &[u8]) -> Option<Stretch> {
        Some(Stretch {
            records: u64::from_le_bytes(take(bytes)?),
            checksum: u128::from_le_bytes(take(bytes)?),
            duplicates: u64::from_le_bytes(take(bytes)?),
            first: take(bytes)?,
            last: take(bytes)?,
            misplaced: Some(u64::from_le_bytes(take(bytes)?)).filter(|&place| place != u64::MAX),
        })
    }
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (piece, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*piece)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TeraRows;

    #[test]
    fn a_stretch_has_a_byte_form() {
        let mut rows = [0; 3 * ROW_BYTES];
        TeraRows::Binary.fill(0, &mut rows);
        for stretch in [
            Stretch::NONE,
            Stretch::of(&rows),
            Stretch { misplaced: Some(7), ..Stretch::of(&rows) },
        ] {
            let mut bytes = Vec::new();
            Stretches::encode(&stretch, &mut bytes);
            let mut rest = &bytes[..];
            assert_eq!(Stretches::decode(&mut rest), Some(stretch));
            assert!(rest.is_empty());
            assert_eq!(Stretches::decode(&mut &bytes[1..]), None);
        }
    }
}

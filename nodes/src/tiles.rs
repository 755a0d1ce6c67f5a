//! The tiles of a job, as a ledger and its nodes must agree on them.

use std::ops::Range;

/// The tiles that can be leased: their sizes, and a digest of the plan by which nodes agree that they mean the
/// same tiles of the same input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tiles {
    /// The sum of the bytes of each tile and of those before it.
    ends: Box<[u64]>,
    digest: u128,
}

impl Tiles {
    /// Describes tiles of these sizes, in bytes. `digest` covers all that changes which records a tile holds: the
    /// names, lengths and versions of the files, the sizes of tiles, and the identity of the job.
    ///
    /// # Panics
    /// If there are 2^32 tiles or more.
    pub fn new(bytes: impl IntoIterator<Item = u64>, digest: u128) -> Tiles {
        let mut total = 0;
        let add = |bytes| {
            total += bytes;
            total
        };
        let ends: Box<[u64]> = bytes.into_iter().map(add).collect();
        assert!(u32::try_from(ends.len()).is_ok(), "a job has fewer than 2^32 tiles");
        Tiles { ends, digest }
    }

    /// Returns the number of tiles.
    pub fn count(&self) -> u32 {
        // `new` checks that the number fits.
        self.ends.len() as u32
    }

    /// Returns the digest of the plan.
    pub fn digest(&self) -> u128 {
        self.digest
    }

    /// Returns whether these tiles have the sizes of others.
    pub(crate) fn are_as_large_as(&self, others: &Tiles) -> bool {
        self.ends == others.ends
    }

    /// Returns the bytes of a range of tiles. Constant time.
    pub fn bytes(&self, tiles: Range<u32>) -> u64 {
        let before = |tile: u32| match tile.checked_sub(1) {
            Some(last) => self.ends[last as usize],
            None => 0,
        };
        before(tiles.end) - before(tiles.start)
    }

    /// Returns the first tiles of a range that have at most so many bytes together, at least one tile.
    pub(crate) fn first_of(&self, tiles: Range<u32>, most_bytes: u64) -> Range<u32> {
        let before = self.bytes(0..tiles.start);
        let within = &self.ends[tiles.start as usize..tiles.end as usize];
        let count = within.partition_point(|&end| end - before <= most_bytes);
        tiles.start..tiles.start + (count.max(1) as u32).min(tiles.end - tiles.start)
    }
}

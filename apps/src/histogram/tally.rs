//! Counts bytes by channel index and value. A count that was just written cannot be read again at once, and
//! neighbours are often equal, so two tables per channel alternate. Tables hold small numbers, so that the
//! counts of near values share a cache line.

/// Counts by channel index and level.
pub(super) struct Tables {
    totals: [[u64; 256]; 3],
}

/// Counts of even pixels, then of odd ones; three channels each.
type Small = [[u16; 256]; 6];

/// The most blocks whose counts cannot overflow: each adds at most 2 to a count.
const BLOCKS_MOST: usize = u16::MAX as usize / 2;

impl Tables {
    pub(super) fn new() -> Tables {
        Tables { totals: [[0; 256]; 3] }
    }

    /// Counts bytes, the first of which has channel index `phase`.
    pub(super) fn count(&mut self, bytes: &[u8], phase: usize) {
        let (first, rest) = bytes.split_at(((3 - phase) % 3).min(bytes.len()));
        self.count_some(first, phase);
        let (blocks, last) = rest.as_chunks();
        for blocks in blocks.chunks(BLOCKS_MOST) {
            for (place, counts) in count_blocks(blocks).iter().enumerate() {
                let totals = self.totals[place % 3].iter_mut();
                totals.zip(counts).for_each(|(total, &count)| *total += u64::from(count));
            }
        }
        self.count_some(last, 0);
    }

    fn count_some(&mut self, bytes: &[u8], phase: usize) {
        for (place, &level) in (phase..).zip(bytes) {
            self.totals[place % 3][usize::from(level)] += 1;
        }
    }

    /// Returns the count of a level at a channel index.
    pub(super) fn total(&self, place: usize, level: u8) -> u64 {
        self.totals[place][usize::from(level)]
    }
}

fn count_blocks(blocks: &[[u8; 12]]) -> Small {
    let mut counts: Small = [[0; 256]; 6];
    for block in blocks {
        // The same table twice in a row: the cache takes both at once because they are near.
        for (place, counts) in counts.iter_mut().enumerate() {
            counts[usize::from(block[place])] += 1;
            counts[usize::from(block[place + 6])] += 1;
        }
    }
    counts
}

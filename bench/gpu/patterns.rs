//! The bytes that jobs are timed over: patterns of one length, drawn by a seed, so the same on every machine.

/// The bytes of a pattern: a multiple of a pixel, a point and the bytes that kernels load at once.
pub(crate) const PATTERN_BYTES: usize = 192 << 10;

/// Numbers of a point of k-means, of four bytes each.
pub(crate) const COLUMNS: usize = 8;

/// Words that texts are made of.
const WORDS: u64 = 200_000;

/// Draws numbers; the upper halves of their bits are as good as random.
struct Chance(u64);

impl Chance {
    /// Below `end`, which is at most 2^31.
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        ((self.0 >> 33) * end) >> 31
    }
}

/// Bytes that no kernel can foresee.
pub(crate) fn noise(seed: u64) -> Vec<u8> {
    let mut chance = Chance(seed);
    (0..PATTERN_BYTES).map(|_| chance.below(256) as u8).collect()
}

/// Points whose numbers are whole, from 1 to 255: all their bits lie in one bin of a sum.
pub(crate) fn points(seed: u64) -> Vec<u8> {
    let mut chance = Chance(seed);
    (0..PATTERN_BYTES / 4).flat_map(|_| (1.0 + chance.below(255) as f32).to_le_bytes()).collect()
}

/// Returns words with a space after each, by Zipf's law: the frequency of rank r is about 1 in r.
pub(crate) fn text(seed: u64) -> Vec<u8> {
    let mut chance = Chance(seed);
    let mut text = Vec::with_capacity(PATTERN_BYTES);
    while text.len() < PATTERN_BYTES {
        let unit = chance.below(1 << 31) as f64 / (1_u64 << 31) as f64;
        let mut rank = (WORDS as f64).powf(unit) as u64;
        // Bijective base 26, frequent words being the shortest.
        while rank > 0 {
            text.push(b'a' + ((rank - 1) % 26) as u8);
            rank = (rank - 1) / 26;
        }
        text.push(b' ');
    }
    text.truncate(PATTERN_BYTES - 1);
    text.push(b' ');
    text
}

//! Turns masks of bytes into positions, for the levels without an instruction for it. The end of the text
//! is read from a padded copy of its last block.

use super::positions::{BLOCK, Positions};

/// Like [`Positions::scan`] with `EDGES`, otherwise like [`Positions::find`]. `marks` marks the bytes of a
/// block: word bytes, or the searched bytes.
///
/// # Safety
/// `positions` holds at most a start, `text[from..]` is within a window.
#[inline(always)]
pub(super) unsafe fn scan<const EDGES: bool>(
    text: &[u8],
    from: usize,
    positions: &mut Positions,
    marks: impl Fn(&[u8; BLOCK]) -> u64,
) {
    let mut carry = u64::from(positions.open().is_some());
    let mut base = from;
    let (blocks, tail) = text[from..].as_chunks::<BLOCK>();
    for block in blocks {
        let marks = marks(block);
        let bits = if EDGES { marks ^ (marks << 1 | carry) } else { marks };
        // SAFETY: a block gives at most its bytes in positions, so all blocks at most a window.
        unsafe { unpack(bits, base, positions) };
        carry = marks >> 63;
        base += BLOCK;
    }
    if !tail.is_empty() {
        let mut block = [b' '; BLOCK];
        block[..tail.len()].copy_from_slice(tail);
        let marks = marks(&block);
        let bits = if EDGES { marks ^ (marks << 1 | carry) } else { marks };
        let held = !(u64::MAX << tail.len());
        // SAFETY: as above; the tail gives at most its bytes in positions, because `held` cuts the rest.
        unsafe { unpack(bits & held, base, positions) };
    }
}

/// For each byte of a mask, the indices of its bits, lowest first. A lookup is cheaper than counting
/// trailing zeros bit by bit, because no branch depends on the text.
static PLACES: [[u8; 8]; 256] = {
    let mut places = [[0; 8]; 256];
    let mut mask = 0;
    while mask < 256 {
        let (mut bit, mut count) = (0, 0);
        while bit < 8 {
            if mask >> bit & 1 == 1 {
                places[mask][count] = bit as u8;
                count += 1;
            }
            bit += 1;
        }
        mask += 1;
    }
    places
};

/// Adds the positions of `bits`; the first bit is at `base`.
///
/// # Safety
/// There is room in `positions` for a block, as [`Positions::tail`] requires.
#[inline(always)]
unsafe fn unpack(bits: u64, base: usize, positions: &mut Positions) {
    // SAFETY: the caller's promise is passed on.
    let to = unsafe { positions.tail() };
    let mut count = 0;
    for i in 0..8 {
        let mask = (bits >> (8 * i)) as u8;
        let base = (base + 8 * i) as u16;
        let mut places = [0; 8];
        for (place, bit) in places.iter_mut().zip(&PLACES[usize::from(mask)]) {
            *place = u16::from(*bit) + base;
        }
        // SAFETY: `count` is at most 8 * i, so these 8 are within a block's room of 64.
        unsafe { to.add(count).cast::<[u16; 8]>().write_unaligned(places) };
        count += mask.count_ones() as usize;
    }
    // SAFETY: each step's positions began where the kept ones before it ended.
    unsafe { positions.keep(count) };
}

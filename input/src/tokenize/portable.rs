//! Portable: eight bytes at a time in plain 64-bit integers, for any machine.

use super::class::{ALPHA, NAME};
use super::flatten;
use super::positions::{BLOCK, Positions};

const ONES: u64 = u64::from_ne_bytes([0x01; 8]);
const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);

/// Like [`Positions::scan`], which checks the conditions below.
///
/// # Safety
/// `positions` holds at most a start, `text[from..]` is within a window.
pub(super) unsafe fn scan<const CLASS: u8>(text: &[u8], from: usize, positions: &mut Positions) {
    // SAFETY: the caller's promise is passed on.
    unsafe { flatten::scan::<true>(text, from, positions, word_bytes::<CLASS>) }
}

/// Like [`Positions::find`], which checks the conditions below.
///
/// # Safety
/// `positions` is empty, `text` is within a window.
pub(super) unsafe fn find(bytes: [u8; 2], text: &[u8], positions: &mut Positions) {
    let [a, b] = bytes.map(|byte| ONES * u64::from(byte));
    let found = |lane: u64| !(at_least_one(lane ^ a) & at_least_one(lane ^ b)) & HIGH;
    // SAFETY: the caller's promise is passed on.
    unsafe { flatten::scan::<false>(text, 0, positions, |block| gather(block, found)) }
}

/// Returns one bit per byte, set for word bytes.
#[inline(always)]
fn word_bytes<const CLASS: u8>(block: &[u8; BLOCK]) -> u64 {
    gather(block, |lane| match CLASS {
        ALPHA => letters(lane),
        NAME => letters(lane) | digits(lane) | underscores(lane) | (lane & HIGH),
        _ => !spaces(lane) & HIGH,
    })
}

/// Returns one bit per byte: the high bits that `marks` leaves in each group of eight bytes.
#[inline(always)]
fn gather(block: &[u8; BLOCK], marks: impl Fn(u64) -> u64) -> u64 {
    let (lanes, _) = block.as_chunks::<8>();
    let mut gathered = 0;
    for (i, lane) in lanes.iter().enumerate() {
        let marks = marks(u64::from_le_bytes(*lane));
        // Each high bit moves to its own place in the top byte; no two sums collide.
        let bits = (marks >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        gathered |= bits << (8 * i);
    }
    gathered
}

/// Sets the high bit of each byte that is at least `least`; all bytes are below 0x80.
#[inline(always)]
const fn at_least(bytes: u64, least: u8) -> u64 {
    bytes + ONES * (0x80 - least) as u64
}

/// Sets the high bit of each byte that is not 0; the other bits are undefined.
#[inline(always)]
const fn at_least_one(bytes: u64) -> u64 {
    at_least(bytes & !HIGH, 1) | bytes
}

/// Sets the high bit of each byte that is an ASCII letter.
#[inline(always)]
const fn letters(bytes: u64) -> u64 {
    let lower = (bytes | (ONES * 0x20)) & !HIGH;
    at_least(lower, b'a') & !at_least(lower, b'z' + 1) & !bytes & HIGH
}

/// Sets the high bit of each byte that is an ASCII digit.
#[inline(always)]
const fn digits(bytes: u64) -> u64 {
    let low = bytes & !HIGH;
    at_least(low, b'0') & !at_least(low, b'9' + 1) & !bytes & HIGH
}

/// Sets the high bit of each byte that is an underscore.
#[inline(always)]
const fn underscores(bytes: u64) -> u64 {
    !at_least_one(bytes ^ (ONES * b'_' as u64)) & HIGH
}

/// Sets the high bit of each byte that is ASCII white space.
#[inline(always)]
const fn spaces(bytes: u64) -> u64 {
    let low = bytes & !HIGH;
    let control = at_least(low, b'\t') & !at_least(low, b'\r' + 1);
    let blank = !at_least(low ^ (ONES * b' ' as u64), 1);
    (control | blank) & !bytes & HIGH
}

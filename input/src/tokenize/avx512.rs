//! AVX-512: a block is one register; the positions of its changes are compressed in one instruction and
//! stored 32 at a time. The end of the text is read with a masked load, never past it.

use super::class::{ALPHA, NAME, SPACE_OF_LOW_HALF};
use super::positions::{BLOCK, Positions};
use std::arch::x86_64::*;

/// The numbers 0 to 63: the index of each byte of a block.
const IOTA: [u8; BLOCK] = {
    let mut iota = [0; BLOCK];
    let mut i = 0;
    while i < BLOCK {
        iota[i] = i as u8;
        i += 1;
    }
    iota
};

/// Like [`Positions::scan`], which checks the conditions below.
///
/// # Safety
/// The machine has the features; `positions` holds at most a start, `text[from..]` is within a window.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2")]
#[target_feature(enable = "bmi1,bmi2,popcnt,lzcnt")]
pub(super) unsafe fn scan<const CLASS: u8>(text: &[u8], from: usize, positions: &mut Positions) {
    // SAFETY: the caller's promise is passed on.
    unsafe { each_block::<true>(text, from, positions, |bytes| word_bytes::<CLASS>(bytes)) }
}

/// Like [`Positions::find`], which checks the conditions below.
///
/// # Safety
/// The machine has the features; `positions` is empty, `text` is within a window.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2")]
#[target_feature(enable = "bmi1,bmi2,popcnt,lzcnt")]
pub(super) unsafe fn find(bytes: [u8; 2], text: &[u8], positions: &mut Positions) {
    let [a, b] = bytes.map(|byte| _mm512_set1_epi8(byte.cast_signed()));
    let found = |bytes| _mm512_cmpeq_epi8_mask(bytes, a) | _mm512_cmpeq_epi8_mask(bytes, b);
    // SAFETY: the caller's promise is passed on.
    unsafe { each_block::<false>(text, 0, positions, found) }
}

/// Adds the positions of the bytes that `marks` selects, or with `EDGES` the positions where runs of them
/// begin and end.
///
/// # Safety
/// As for `scan`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2")]
#[target_feature(enable = "bmi1,bmi2,popcnt,lzcnt")]
unsafe fn each_block<const EDGES: bool>(
    text: &[u8],
    from: usize,
    positions: &mut Positions,
    marks: impl Fn(__m512i) -> u64,
) {
    // SAFETY: IOTA is as long as a register.
    let iota = unsafe { _mm512_loadu_epi8(IOTA.as_ptr().cast()) };
    let mut carry = u64::from(positions.open().is_some());
    let mut base = from;
    let (blocks, tail) = text[from..].as_chunks::<BLOCK>();
    for block in blocks {
        // SAFETY: a block is as long as a register.
        let bytes = unsafe { _mm512_loadu_epi8(block.as_ptr().cast()) };
        let marks = marks(bytes);
        let bits = if EDGES { marks ^ (marks << 1 | carry) } else { marks };
        // SAFETY: a block gives at most its bytes in positions, so all blocks at most a window.
        unsafe { unpack(bits, base, iota, positions) };
        carry = marks >> 63;
        base += BLOCK;
    }
    if !tail.is_empty() {
        let held = _bzhi_u64(u64::MAX, tail.len() as u32);
        // SAFETY: only the bytes in `held`, the bytes of `tail`, are read.
        let bytes = unsafe { _mm512_maskz_loadu_epi8(held, tail.as_ptr().cast()) };
        let marks = marks(bytes);
        let bits = if EDGES { marks ^ (marks << 1 | carry) } else { marks };
        // SAFETY: as above; the tail gives at most its bytes in positions, because `held` cuts the rest.
        unsafe { unpack(bits & held, base, iota, positions) };
    }
}

/// Returns one bit per byte, set for word bytes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn word_bytes<const CLASS: u8>(bytes: __m512i) -> u64 {
    let within = |bytes, first: u8, count| {
        let rank = _mm512_sub_epi8(bytes, _mm512_set1_epi8(first.cast_signed()));
        _mm512_cmplt_epu8_mask(rank, _mm512_set1_epi8(count))
    };
    let letters = || within(_mm512_or_si512(bytes, _mm512_set1_epi8(0x20)), b'a', 26);
    match CLASS {
        ALPHA => letters(),
        NAME => {
            let underscores = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(b'_'.cast_signed()));
            letters() | within(bytes, b'0', 10) | underscores | _mm512_movepi8_mask(bytes)
        }
        _ => {
            // SAFETY: the table is as long as the load.
            let table = unsafe { _mm_loadu_si128(SPACE_OF_LOW_HALF.as_ptr().cast()) };
            // A byte from 0x80 looks up 0, so it never equals its entry.
            let space = _mm512_shuffle_epi8(_mm512_broadcast_i32x4(table), bytes);
            _mm512_cmpneq_epi8_mask(bytes, space)
        }
    }
}

/// Adds the positions of `bits`; the first bit is at `base`.
///
/// # Safety
/// There is room in `positions` for a block, as [`Positions::tail`] requires.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,popcnt")]
unsafe fn unpack(bits: u64, base: usize, iota: __m512i, positions: &mut Positions) {
    let count = bits.count_ones() as usize;
    let places = _mm512_maskz_compress_epi8(bits, iota);
    let base = _mm512_set1_epi16(base as i16);
    // SAFETY: a block's room is two registers of 32 positions; `count` of them, at most 64, are
    // written: 32 by the first store and the rest by the second.
    unsafe {
        let to = positions.tail();
        let low = _mm512_cvtepu8_epi16(_mm512_castsi512_si256(places));
        _mm512_storeu_epi16(to.cast(), _mm512_add_epi16(low, base));
        if count > BLOCK / 2 {
            let high = _mm512_cvtepu8_epi16(_mm512_extracti64x4_epi64::<1>(places));
            _mm512_storeu_epi16(to.add(BLOCK / 2).cast(), _mm512_add_epi16(high, base));
        }
        positions.keep(count);
    }
}

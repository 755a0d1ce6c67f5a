//! Blocks are compressed where that saves time.

use std::time::Duration;
use tegula_pairs::partial::Compressor;

/// Writing a byte takes so long that compressing pays, under Miri, too.
const SLOW_NS: u64 = if cfg!(miri) { 100_000_000 } else { 1000 };

const BLOCKS: usize = if cfg!(miri) { 150 } else { 1000 };

/// Returns the number of blocks that are compressed if a byte takes `write_ns` to write.
fn compressed(payload: &[u8], write_ns: u64) -> usize {
    let mut compressor = Compressor::default();
    let blocks = (0..BLOCKS).filter(|_| {
        let mut out = Vec::new();
        let compressed = compressor.compress(payload, &mut out);
        let bytes = if compressed { out.len() } else { payload.len() };
        compressor.wrote(bytes, Duration::from_nanos(write_ns * bytes as u64));
        compressed
    });
    blocks.count()
}

#[test]
fn what_is_slow_to_write_is_compressed_and_what_does_not_shrink_is_not() {
    let text = b"a text that says the same again and again, ".repeat(200);
    assert!(compressed(&text, SLOW_NS) > BLOCKS / 10 * 9);
    let mut state = 1_u64;
    let noise = std::iter::repeat_with(|| {
        state = state.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23) ^ 0x5bd1;
        (state >> 56) as u8
    });
    let noise: Vec<u8> = noise.take(8000).collect();
    assert_eq!(compressed(&noise, SLOW_NS), 0);
    assert!(compressed(&text, 0) < BLOCKS / 10);
}

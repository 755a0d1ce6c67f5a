//! Inputs for the jobs: random bytes, and pictures of them in several layouts.

/// Random bytes of one seed.
pub(crate) fn random(seed: u64, bytes: usize) -> Vec<u8> {
    let mut state = seed;
    let mut draw = || {
        // SplitMix64.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let drawn = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let drawn = (drawn ^ drawn >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        drawn ^ drawn >> 31
    };
    let mut text = vec![0; bytes];
    text.chunks_mut(8).for_each(|chunk| {
        let drawn = draw().to_le_bytes();
        chunk.copy_from_slice(&drawn[..chunk.len()]);
    });
    text
}

/// A binary PPM: red, green, blue, no padding.
pub(crate) fn ppm(width: usize, height: usize, seed: u64) -> Vec<u8> {
    let mut bytes = format!("P6\n{width} {height}\n255\n").into_bytes();
    bytes.extend(random(seed, 3 * width * height));
    bytes
}

/// A 24-bit BMP: blue, green, red, rows padded to words, with bytes behind them.
pub(crate) fn bmp(width: usize, height: usize, seed: u64) -> Vec<u8> {
    let mut bytes = b"BM\0\0\0\0\0\0\0\0".to_vec();
    bytes.extend(61_u32.to_le_bytes());
    bytes.extend(40_u32.to_le_bytes());
    bytes.extend((width as i32).to_le_bytes());
    bytes.extend((height as i32).to_le_bytes());
    bytes.extend([1, 24].map(u16::to_le_bytes).concat());
    bytes.resize(61, 3);
    bytes[30..54].fill(0);
    // Padding and the bytes behind the rows are random, too.
    bytes.extend(random(seed, (3 * width).next_multiple_of(4) * height + 13));
    bytes
}

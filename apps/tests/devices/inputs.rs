//! Inputs for the jobs: random bytes, pictures of them in several layouts, and points.

use tegula_apps::Matrix;
use tegula_apps::matrix::Number;

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

/// Returns a binary PPM: red, green, blue, no padding.
pub(crate) fn ppm(width: usize, height: usize, seed: u64) -> Vec<u8> {
    let mut bytes = format!("P6\n{width} {height}\n255\n").into_bytes();
    bytes.extend(random(seed, 3 * width * height));
    bytes
}

/// Returns a 24-bit BMP: blue, green, red, rows padded to words, followed by other bytes.
pub(crate) fn bmp(width: usize, height: usize, seed: u64) -> Vec<u8> {
    let mut bytes = b"BM\0\0\0\0\0\0\0\0".to_vec();
    bytes.extend(61_u32.to_le_bytes());
    bytes.extend(40_u32.to_le_bytes());
    bytes.extend((width as i32).to_le_bytes());
    bytes.extend((height as i32).to_le_bytes());
    bytes.extend([1, 24].map(u16::to_le_bytes).concat());
    bytes.resize(61, 3);
    bytes[30..54].fill(0);
    // Padding and the bytes after the rows are random, too.
    bytes.extend(random(seed, (3 * width).next_multiple_of(4) * height + 13));
    bytes
}

/// The kind of numbers of points.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Numbers {
    /// Few tenths, so that many means are equally near except for rounding.
    Tenths,
    /// Between -1 and 1.
    Even,
    /// Of any magnitude whose square is finite, subnormal ones too.
    Any,
}

/// Points of one seed.
pub(crate) fn points<T: Number + FromBits>(
    numbers: Numbers,
    seed: u64,
    rows: usize,
    columns: usize,
) -> Matrix {
    let bytes = random(seed, 8 * rows * columns);
    let drawn = bytes.as_chunks().0.iter().map(|&bytes| u64::from_le_bytes(bytes));
    let numbers: Vec<T> = drawn
        .map(|drawn| match numbers {
            Numbers::Tenths => T::narrow((drawn % 21) as f64 * 0.1 - 1.0),
            Numbers::Even => T::narrow((drawn >> 11) as f64 / (1_u64 << 52) as f64 - 1.0),
            Numbers::Any => T::of_bits(drawn),
        })
        .collect();
    Matrix::of(columns, &numbers)
}

/// Numbers that are made of bits.
pub(crate) trait FromBits: Sized {
    fn narrow(value: f64) -> Self;
    /// Returns one of these bits, or of others if they are not those of a number whose square is finite.
    fn of_bits(bits: u64) -> Self;
}

impl FromBits for f64 {
    fn narrow(value: f64) -> f64 {
        value
    }

    fn of_bits(bits: u64) -> f64 {
        // One in eight is subnormal.
        let bits = if bits.is_multiple_of(8) { bits & !(0x7ff << 52) } else { bits };
        let value = f64::from_bits(bits);
        if value.abs() < 1e150 { value } else { f64::from_bits(bits & !(1 << 62)) }
    }
}

impl FromBits for f32 {
    fn narrow(value: f64) -> f32 {
        value as f32
    }

    fn of_bits(bits: u64) -> f32 {
        let low = bits as u32;
        let value = f32::from_bits(if bits >> 61 == 0 { low & !(0xff << 23) } else { low });
        if value.is_finite() { value } else { 0.0 }
    }
}

/// Returns `words` words, at most `different` different ones, mostly short, with bytes of all kinds between
/// and in them.
pub(crate) fn text(seed: u64, words: usize, different: u64, longest: usize) -> Vec<u8> {
    const BETWEEN: &[u8] = b" \n\t\r\x0b\x0c";
    const LETTERS: &[u8] = b"abcdeABCDE.,-'\0\xff1";
    let drawn = random(seed, 8 * words);
    let mut text = Vec::new();
    for (number, word) in drawn.as_chunks().0.iter().enumerate() {
        let word = u64::from_le_bytes(*word) % different;
        let letters = random(word, longest + 8);
        let length = 1 + usize::from(letters[0]) % (if letters[1] < 8 { longest } else { 8 });
        let letters = letters[8..].iter().take(length);
        text.extend(letters.map(|&byte| LETTERS[usize::from(byte) % LETTERS.len()]));
        text.extend(BETWEEN.iter().cycle().skip(number).take(1 + number % 3));
    }
    text
}

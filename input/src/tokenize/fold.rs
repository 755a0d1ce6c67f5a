//! Folds upper case to lower case in place. The compiler vectorises the loop, once per level.

use super::Simd;

/// Turns `A-Z` into `a-z` in place; all other bytes, also those from 0x80, stay.
pub fn fold_ascii(text: &mut [u8]) {
    fold_with(Simd::detect(), text);
}

/// Like [`fold_ascii`], at a level that the machine is known to have.
pub fn fold_with(simd: Simd, text: &mut [u8]) {
    match simd.or_portable() {
        // SAFETY: `or_portable` returns only levels of this machine.
        #[cfg(target_arch = "x86_64")]
        Simd::Avx512 => unsafe { avx512(text) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Simd::Avx2 => unsafe { avx2(text) },
        _ => fold(text),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw")]
fn avx512(text: &mut [u8]) {
    fold(text);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn avx2(text: &mut [u8]) {
    fold(text);
}

#[inline(always)]
fn fold(text: &mut [u8]) {
    for byte in text {
        *byte |= u8::from(byte.is_ascii_uppercase()) << 5;
    }
}

//! Parses whole numbers from decimal digits, eight at a time.

/// Returns the number of 1 to 18 digits, or `None` for any other text.
#[inline]
pub(crate) fn whole(text: &[u8]) -> Option<u64> {
    if !(1..=18).contains(&text.len()) {
        return None;
    }
    let (eights, rest) = text.as_chunks::<8>();
    let mut number = 0;
    for eight in eights {
        number = number * 100_000_000 + eight_digits(u64::from_le_bytes(*eight))?;
    }
    for digit in rest {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number * 10 + u64::from(digit);
    }
    Some(number)
}

/// Returns the number of eight digits, the first in the lowest byte: neighbours are joined to pairs, pairs
/// to fours, fours to the whole.
#[inline]
fn eight_digits(text: u64) -> Option<u64> {
    const HIGH_HALVES: u64 = u64::from_ne_bytes([0xf0; 8]);
    const ZEROS: u64 = u64::from_ne_bytes([b'0'; 8]);
    const SIXES: u64 = u64::from_ne_bytes([6; 8]);
    // The high half of a digit is 3, also after 6 is added. No sum carries once the first condition holds.
    let differs = (text & HIGH_HALVES) ^ ZEROS;
    let exceeds = (text.wrapping_add(SIXES) & HIGH_HALVES) ^ ZEROS;
    if differs | exceeds != 0 {
        return None;
    }
    let pairs = (text ^ ZEROS).wrapping_mul(10 << 8 | 1) >> 8 & 0x00ff_00ff_00ff_00ff;
    let fours = pairs.wrapping_mul(100 << 16 | 1) >> 16 & 0x0000_ffff_0000_ffff;
    Some(fours.wrapping_mul(10_000 << 32 | 1) >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_are_read_back(number in 0..10_u64.pow(18), width in 0..=18_usize) {
            prop_assert_eq!(whole(format!("{number}").as_bytes()), Some(number));
            prop_assert_eq!(whole(format!("{number:0width$}").as_bytes()), Some(number));
        }

        #[test]
        fn other_bytes_are_refused(
            mut text in "[0-9]{1,18}", at in any::<prop::sample::Index>(), byte in 0..0x80_u8,
        ) {
            let at = at.index(text.len());
            text.replace_range(at..=at, &char::from(byte).to_string());
            prop_assert_eq!(whole(text.as_bytes()).is_some(), byte.is_ascii_digit());
        }
    }

    #[test]
    fn too_few_and_too_many_digits_are_refused() {
        for text in ["", "1234567890123456789", "\u{662}2345678"] {
            assert_eq!(whole(text.as_bytes()), None, "{text}");
        }
    }
}

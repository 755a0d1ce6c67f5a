//! Word classes: the bytes that make up words. They do not change upper or lower case.

/// The bytes that belong to words; all others separate them. Words are as long as possible and never empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WordClass {
    /// All bytes but the six of ASCII white space: space, `\t`, `\n`, `\v`, `\f` and `\r`.
    /// NUL and bytes from 0x80 (so all of UTF-8 beyond ASCII) are word bytes.
    Whitespace,
    /// The ASCII letters `A-Z` and `a-z`; case is kept.
    Alpha,
    /// The ASCII letters, digits and the underscore, and all bytes from 0x80; case is kept. Words of Unicode text
    /// consist of such runs, and of marks between two of them.
    Name,
}

impl WordClass {
    /// Returns whether `byte` is a word byte.
    #[must_use]
    pub const fn contains(self, byte: u8) -> bool {
        match self {
            Self::Whitespace => !matches!(byte, b' ' | b'\t'..=b'\r'),
            Self::Alpha => byte.is_ascii_alphabetic(),
            Self::Name => byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80,
        }
    }
}

/// The classes as numbers, for functions that are compiled for each.
pub(super) const WHITESPACE: u8 = WordClass::Whitespace as u8;
pub(super) const ALPHA: u8 = WordClass::Alpha as u8;
pub(super) const NAME: u8 = WordClass::Name as u8;

/// For each low half of a byte: the white space byte with that low half, or if there is none, a byte with
/// another low half. So a byte is white space exactly if it equals the entry of its low half.
#[cfg(target_arch = "x86_64")]
pub(super) const SPACE_OF_LOW_HALF: [u8; 16] =
    [b' ', 0, 0, 0, 0, 0, 0, 0, 0, b'\t', b'\n', 0x0b, 0x0c, b'\r', 0, 0];

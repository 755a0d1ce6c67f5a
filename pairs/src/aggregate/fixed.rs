//! Values of a fixed byte form, as lists keep them and files store them.

use crate::relocation::Relocation;

/// A value whose byte form has one length and is the same on every machine. Implemented for the integers
/// and floats (little-endian), for arrays of bytes and for some pairs. Implement it for a small type of
/// your own to collect it.
pub trait Fixed: Copy + Send + Sync + 'static {
    /// The byte form: an array of bytes.
    type Bytes: ByteArray;

    /// Whether values contain the offsets of their records, so that [`relocate`](Fixed::relocate) must adjust
    /// them after the record has moved. A job whose `sees` is `Sees::Relocatable` then does not map a moved
    /// tile again. Default: `false`.
    const RELOCATES: bool = false;

    /// Returns the value's byte form.
    fn to_bytes(self) -> Self::Bytes;
    /// Reads a byte form back.
    fn from_bytes(bytes: Self::Bytes) -> Self;

    /// Returns the value that the map would have emitted if the record had been at its present place.
    /// Default: the value itself.
    fn relocate(self, by: Relocation) -> Self {
        let _ = by;
        self
    }
}

/// An array of bytes, of any length. Sealed, because any bytes must be valid.
pub trait ByteArray: sealed::Sealed + Copy + AsRef<[u8]> + AsMut<[u8]> + 'static {
    #[doc(hidden)]
    const ZERO: Self;
}

mod sealed {
    pub trait Sealed {}
}

impl<const N: usize> sealed::Sealed for [u8; N] {}

impl<const N: usize> ByteArray for [u8; N] {
    const ZERO: [u8; N] = [0; N];
}

impl<const N: usize> Fixed for [u8; N] {
    type Bytes = [u8; N];

    #[inline(always)]
    fn to_bytes(self) -> [u8; N] {
        self
    }

    #[inline(always)]
    fn from_bytes(bytes: [u8; N]) -> [u8; N] {
        bytes
    }
}

macro_rules! numbers {
    ($($number:ty)*) => {$(
        impl Fixed for $number {
            type Bytes = [u8; size_of::<$number>()];

            #[inline(always)]
            fn to_bytes(self) -> Self::Bytes {
                self.to_le_bytes()
            }

            #[inline(always)]
            fn from_bytes(bytes: Self::Bytes) -> $number {
                <$number>::from_le_bytes(bytes)
            }
        }
    )*};
}

numbers! { u8 u16 u32 u64 u128 i8 i16 i32 i64 i128 f32 f64 }

/// The first value's bytes, then the second's. They are moved as arrays, which is a load or a store each;
/// copies between slices remain calls.
macro_rules! pairs {
    ($($first:ty, $second:ty;)*) => {$(
        impl Fixed for ($first, $second) {
            type Bytes = [u8; size_of::<$first>() + size_of::<$second>()];

            #[inline(always)]
            fn to_bytes(self) -> Self::Bytes {
                let mut bytes = [0; size_of::<$first>() + size_of::<$second>()];
                if let Some(first) = bytes.first_chunk_mut() {
                    *first = self.0.to_le_bytes();
                }
                if let Some(second) = bytes.last_chunk_mut() {
                    *second = self.1.to_le_bytes();
                }
                bytes
            }

            #[inline(always)]
            fn from_bytes(bytes: Self::Bytes) -> ($first, $second) {
                let first = bytes.first_chunk().copied().unwrap_or_default();
                let second = bytes.last_chunk().copied().unwrap_or_default();
                (<$first>::from_le_bytes(first), <$second>::from_le_bytes(second))
            }
        }
    )*};
}

pairs! { u32, u32; u32, u64; u64, u32; u64, u64; i64, i64; u64, f64; f64, f64; f32, f32; }

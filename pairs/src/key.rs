//! Keys: the types that a map may emit, and the one byte form in which the engine holds them. Comparing the
//! byte forms compares the keys, so all code after the emitter knows bytes only.

/// A type of key. Implemented for `[u8]` (borrowed, of any length and content) and for the integers.
///
/// Sealed: a key of another type is emitted as bytes whose order is the wanted one.
pub trait Key: sealed::Sealed + 'static {
    /// The type that a map emits and an answer shows: `&[u8]`, or the integer itself.
    type Borrowed<'s>: Copy;

    /// Returns the key's byte form, as the emitter wants it.
    #[doc(hidden)]
    fn form<'s>(key: Self::Borrowed<'s>) -> KeyForm<'s>;
    /// Reads a byte form back.
    #[doc(hidden)]
    fn view<'b>(bytes: &'b [u8]) -> Self::Borrowed<'b>;

    /// Whether keys are integers, and so have a number.
    #[doc(hidden)]
    const IS_INTEGER: bool;
    /// The first and the last of all keys, as numbers, if they are few.
    #[doc(hidden)]
    const SMALL_RANGE: Option<(u64, u64)>;
    /// Returns an integer as a number that orders as the key does; `None` for other keys.
    #[doc(hidden)]
    fn number(key: Self::Borrowed<'_>) -> Option<u64>;
    /// Returns the byte form of the key of a number, and its length.
    #[doc(hidden)]
    fn bytes_of(number: u64) -> ([u8; 8], usize);
    /// Returns the key of a number, as people write it.
    #[doc(hidden)]
    fn text(number: u64) -> String;
}

/// A key on its way into a container.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub enum KeyForm<'s> {
    /// Bytes that stay where they are until the split is done.
    Bytes(&'s [u8]),
    /// At most 8 bytes, in the first `usize` places.
    Inline([u8; 8], usize),
}

mod sealed {
    pub trait Sealed {}
}

impl sealed::Sealed for [u8] {}

impl Key for [u8] {
    type Borrowed<'s> = &'s [u8];

    #[inline(always)]
    fn form<'s>(key: Self::Borrowed<'s>) -> KeyForm<'s> {
        KeyForm::Bytes(key)
    }

    #[inline(always)]
    fn view<'b>(bytes: &'b [u8]) -> Self::Borrowed<'b> {
        bytes
    }

    const IS_INTEGER: bool = false;
    const SMALL_RANGE: Option<(u64, u64)> = None;

    #[inline(always)]
    fn number(_: Self::Borrowed<'_>) -> Option<u64> {
        None
    }

    fn bytes_of(number: u64) -> ([u8; 8], usize) {
        (number.to_be_bytes(), 8)
    }

    fn text(number: u64) -> String {
        number.to_string()
    }
}

/// Big-endian bytes order as unsigned integers do; a signed integer's top bit is flipped first.
macro_rules! integer_key {
    ($($int:ty, $unsigned:ty, $flip:expr;)*) => {$(
        impl sealed::Sealed for $int {}

        impl Key for $int {
            type Borrowed<'s> = $int;

            #[inline(always)]
            fn form<'s>(key: Self::Borrowed<'s>) -> KeyForm<'s> {
                let (form, len) = Self::bytes_of(u64::from(key as $unsigned ^ $flip));
                KeyForm::Inline(form, len)
            }

            #[inline(always)]
            fn view<'b>(bytes: &'b [u8]) -> Self::Borrowed<'b> {
                let mut form = [0; size_of::<$int>()];
                form.copy_from_slice(bytes);
                (<$unsigned>::from_be_bytes(form) ^ $flip) as $int
            }

            const IS_INTEGER: bool = true;
            const SMALL_RANGE: Option<(u64, u64)> =
                if size_of::<$int>() <= 2 { Some((0, <$unsigned>::MAX as u64)) } else { None };

            #[inline(always)]
            fn number(key: Self::Borrowed<'_>) -> Option<u64> {
                Some(u64::from(key as $unsigned ^ $flip))
            }

            #[inline(always)]
            fn bytes_of(number: u64) -> ([u8; 8], usize) {
                let bytes = (number as $unsigned).to_be_bytes();
                let mut form = [0; 8];
                if let Some(first) = form.first_chunk_mut() {
                    *first = bytes;
                }
                (form, bytes.len())
            }

            fn text(number: u64) -> String {
                ((number as $unsigned ^ $flip) as $int).to_string()
            }
        }
    )*};
}

integer_key! {
    u8, u8, 0; u16, u16, 0; u32, u32, 0; u64, u64, 0;
    i8, u8, 1 << 7; i16, u16, 1 << 15; i32, u32, 1 << 31; i64, u64, 1 << 63;
}

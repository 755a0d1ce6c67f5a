//! The types whose values a list can keep: values of a fixed byte form, or bytes of any length, which are
//! borrowed from the split until the list copies them.

use super::fixed::{ByteArray, Fixed};
use crate::relocation::Relocation;
use std::ptr::NonNull;

/// A type that can be collected: a [`Fixed`] value, or `[u8]`. Sealed.
pub trait Element: sealed::Sealed + 'static {
    /// The type that a map emits and an answer shows.
    type Value<'s>: Copy;
    /// The same type without its lifetime.
    #[doc(hidden)]
    type Held: Copy;
    /// Bytes of each value in a list and in the byte form, if all values have the same length.
    #[doc(hidden)]
    const BYTES: Option<usize>;
    /// See [`Fixed::RELOCATES`].
    #[doc(hidden)]
    const RELOCATES: bool;

    #[doc(hidden)]
    fn hold(value: Self::Value<'_>) -> Self::Held;
    #[doc(hidden)]
    fn held_bytes(held: &Self::Held) -> usize;
    #[doc(hidden)]
    fn copy_held(held: Self::Held, copied: &mut Vec<u8>) -> Self::Held;
    /// Returns the bytes that `held` takes in a list.
    #[doc(hidden)]
    fn len(held: &Self::Held) -> usize;
    /// Writes `held` to `to`.
    ///
    /// # Safety
    /// `len` bytes can be written there, and the bytes that `held` borrows are still alive.
    #[doc(hidden)]
    unsafe fn write(held: Self::Held, to: NonNull<u8>);
    /// Reads the value that was written at `from`, and returns it with its length in bytes.
    ///
    /// # Safety
    /// `write` wrote there, and the bytes stay for `'a`.
    #[doc(hidden)]
    unsafe fn read<'a>(from: NonNull<u8>) -> (Self::Value<'a>, usize);
    /// Appends the byte form.
    #[doc(hidden)]
    fn encode(value: Self::Value<'_>, out: &mut Vec<u8>);
    /// Takes a byte form off the front. Returns `None` if the bytes are not one.
    #[doc(hidden)]
    fn decode<'b>(bytes: &mut &'b [u8]) -> Option<Self::Value<'b>>;
    /// Relocates a value in its byte form of [`BYTES`](Element::BYTES) bytes.
    #[doc(hidden)]
    fn relocate(bytes: &mut [u8], by: Relocation);
}

mod sealed {
    pub trait Sealed {}
}

impl<T: Fixed> sealed::Sealed for T {}

impl<T: Fixed> Element for T {
    type Value<'s> = T;
    type Held = T;
    const BYTES: Option<usize> = Some(size_of::<T::Bytes>());
    const RELOCATES: bool = T::RELOCATES;

    #[inline(always)]
    fn hold(value: T) -> T {
        value
    }

    #[inline(always)]
    fn held_bytes(_: &T) -> usize {
        0
    }

    #[inline(always)]
    fn copy_held(held: T, _: &mut Vec<u8>) -> T {
        held
    }

    #[inline(always)]
    fn len(_: &T) -> usize {
        size_of::<T::Bytes>()
    }

    #[inline(always)]
    unsafe fn write(held: T, to: NonNull<u8>) {
        // SAFETY: the caller provides that many bytes.
        unsafe { to.cast::<T::Bytes>().write_unaligned(held.to_bytes()) };
    }

    #[inline(always)]
    unsafe fn read<'a>(from: NonNull<u8>) -> (Self::Value<'a>, usize) {
        // SAFETY: the caller wrote an array of bytes there.
        let bytes = unsafe { from.cast::<T::Bytes>().read_unaligned() };
        (T::from_bytes(bytes), size_of::<T::Bytes>())
    }

    fn encode(value: T, out: &mut Vec<u8>) {
        out.extend_from_slice(value.to_bytes().as_ref());
    }

    fn decode(bytes: &mut &[u8]) -> Option<T> {
        let mut form = T::Bytes::ZERO;
        let (taken, rest) = bytes.split_at_checked(size_of::<T::Bytes>())?;
        form.as_mut().copy_from_slice(taken);
        *bytes = rest;
        Some(T::from_bytes(form))
    }

    #[inline(always)]
    fn relocate(bytes: &mut [u8], by: Relocation) {
        let mut form = T::Bytes::ZERO;
        form.as_mut().copy_from_slice(bytes);
        bytes.copy_from_slice(T::from_bytes(form).relocate(by).to_bytes().as_ref());
    }
}

/// Bytes of a split or of the emitter's copies.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct HeldBytes {
    start: NonNull<u8>,
    len: usize,
}

impl sealed::Sealed for [u8] {}

/// A record of a list is counted in 32 bits, and has a split's number and a length before the bytes.
const VALUE_BYTES_MOST: usize = u32::MAX as usize - 8;

/// In a list and in the byte form: the length as 4 bytes, then the bytes.
impl Element for [u8] {
    type Value<'s> = &'s [u8];
    type Held = HeldBytes;
    const BYTES: Option<usize> = None;
    const RELOCATES: bool = false;

    #[inline]
    fn hold(value: &[u8]) -> HeldBytes {
        assert!(value.len() <= VALUE_BYTES_MOST, "a collected value holds less than 4 GiB");
        HeldBytes { start: NonNull::from(value).cast(), len: value.len() }
    }

    #[inline]
    fn held_bytes(held: &HeldBytes) -> usize {
        held.len
    }

    fn copy_held(held: HeldBytes, copied: &mut Vec<u8>) -> HeldBytes {
        let start = copied.len();
        debug_assert!(copied.capacity() - start >= held.len);
        // SAFETY: `held` was just made of bytes that its maker still borrows.
        copied.extend_from_slice(unsafe {
            std::slice::from_raw_parts(held.start.as_ptr(), held.len)
        });
        HeldBytes { start: NonNull::from(&copied[start..]).cast(), len: held.len }
    }

    #[inline]
    fn len(held: &HeldBytes) -> usize {
        4 + held.len
    }

    #[inline]
    unsafe fn write(held: HeldBytes, to: NonNull<u8>) {
        // SAFETY: the caller has room for both, and promises the borrowed bytes; `hold` has checked that
        // the length fits.
        unsafe {
            to.cast::<[u8; 4]>().write_unaligned((held.len as u32).to_le_bytes());
            to.add(4).copy_from_nonoverlapping(held.start, held.len);
        }
    }

    #[inline]
    unsafe fn read<'a>(from: NonNull<u8>) -> (&'a [u8], usize) {
        // SAFETY: `write` wrote a length and that many bytes, which stay for `'a`.
        unsafe {
            let len = u32::from_le_bytes(from.cast::<[u8; 4]>().read_unaligned()) as usize;
            (std::slice::from_raw_parts(from.add(4).as_ptr(), len), 4 + len)
        }
    }

    fn encode(value: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(&(value.len() as u32).to_le_bytes());
        out.extend_from_slice(value);
    }

    fn decode<'b>(bytes: &mut &'b [u8]) -> Option<&'b [u8]> {
        let (len, rest) = bytes.split_first_chunk::<4>()?;
        let (value, rest) = rest.split_at_checked(u32::from_le_bytes(*len) as usize)?;
        *bytes = rest;
        Some(value)
    }

    fn relocate(_: &mut [u8], _: Relocation) {}
}

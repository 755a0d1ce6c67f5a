//! The byte forms that files of the engine share: numbers in LEB128, strings after their length, the
//! checksum of a header with its body, and frames of magic, length and checksum around a body.
//! `docs/state-format.md` and `docs/partial-format.md` draw the files.

use std::fmt;
use std::hash::Hasher;
use twox_hash::{XxHash3_64, XxHash3_128};

/// Bytes before a frame's body.
const FRAME_BYTES: usize = 20;

/// Appends a number in LEB128: 7 bits in a byte, the lowest first.
pub fn put_number(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Takes a number in LEB128 off the front; `None` if there is none.
pub fn take_number(bytes: &mut &[u8]) -> Option<u64> {
    let (mut number, mut shift) = (0_u64, 0);
    loop {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte < 0x80 {
            return Some(number);
        }
        shift += 7;
    }
}

/// Appends the length of bytes, then the bytes.
pub fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    put_number(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

/// Returns the checksum of a header's first bytes and the body after it: XXH3 (64 bits) of the body,
/// seeded with that of the header.
pub fn checksum(header: &[u8], body: &[u8]) -> u64 {
    XxHash3_64::oneshot_with_seed(XxHash3_64::oneshot(header), body)
}

/// Returns the checksum of bytes that lie in parts: XXH3 (64 bits).
pub fn checksum_of<const N: usize>(parts: [&[u8]; N]) -> u64 {
    let mut filled = parts.iter().filter(|part| !part.is_empty());
    if let (Some(whole), None) = (filled.next(), filled.next()) {
        return XxHash3_64::oneshot(whole);
    }
    let mut sum = XxHash3_64::new();
    parts.iter().for_each(|part| sum.write(part));
    sum.finish()
}

/// The checksum of a file, or of bytes that come in pieces: XXH3 (128 bits).
#[derive(Clone, Default)]
pub struct Digest(XxHash3_128);

impl Digest {
    /// Returns the checksum of bytes that are all there.
    pub fn of(bytes: &[u8]) -> u128 {
        XxHash3_128::oneshot(bytes)
    }

    pub fn add(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    /// Returns the checksum of all bytes so far.
    pub fn sum(&self) -> u128 {
        self.0.finish_128()
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({:032x})", self.sum())
    }
}

/// Returns a body between its magic, its length and its checksum.
pub fn framed(magic: [u8; 4], body: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(FRAME_BYTES + body.len());
    out.extend_from_slice(&magic);
    out.extend_from_slice(&(body.len() as u64).to_le_bytes());
    let sum = checksum(&out, body);
    out.extend_from_slice(&sum.to_le_bytes());
    out.extend_from_slice(body);
    out
}

/// Returns the body of a frame that is all of `bytes`, or the fault of the frame.
pub fn body_of(magic: [u8; 4], bytes: &[u8]) -> Result<&[u8], &'static str> {
    let Some((head, body)) = bytes.split_at_checked(FRAME_BYTES) else {
        return Err("it is cut short");
    };
    if head[..3] != magic[..3] {
        return Err("its magic number is another");
    }
    if head[3] != magic[3] {
        return Err("it is of another version");
    }
    let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| head[at + i]));
    if word(4) != body.len() as u64 {
        return Err("it is cut short, or bytes follow it");
    }
    if word(12) != checksum(&head[..12], body) {
        return Err("its checksum is another");
    }
    Ok(body)
}

/// A body while it is read. Each function takes a piece off the front; `None` if there is none.
pub struct Reading<'a>(&'a [u8]);

impl<'a> Reading<'a> {
    pub fn new(bytes: &'a [u8]) -> Reading<'a> {
        Reading(bytes)
    }

    pub fn number(&mut self) -> Option<u64> {
        take_number(&mut self.0)
    }

    pub fn fixed<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (piece, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*piece)
    }

    pub fn bytes(&mut self) -> Option<&'a [u8]> {
        let len = usize::try_from(self.number()?).ok()?;
        let (bytes, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(bytes)
    }

    pub fn text(&mut self) -> Option<String> {
        String::from_utf8(self.bytes()?.to_vec()).ok()
    }

    pub fn is_at_end(&self) -> bool {
        self.0.is_empty()
    }
}

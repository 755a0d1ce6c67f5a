//! The byte form of what a ledger and its nodes write down: a version, numbers in LEB128, bytes with their
//! length, and a checksum of all (FNV-1a, 64 bits) at the end.

use std::fmt;

const VERSION: u8 = 1;
const CHECKSUM_BYTES: usize = 8;

/// The error for bytes that are not a byte form of this version, or have been changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damaged;

impl fmt::Display for Damaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the bytes are damaged, or of another version of Tegula")
    }
}

impl std::error::Error for Damaged {}

pub(crate) struct Writer(Vec<u8>);

impl Writer {
    pub(crate) fn new() -> Writer {
        Writer(vec![VERSION])
    }

    pub(crate) fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    pub(crate) fn into_bytes(mut self) -> Vec<u8> {
        let sum = checksum(&self.0);
        self.bytes(&sum);
        self.0
    }
}

pub(crate) struct Reader<'b>(&'b [u8]);

impl<'b> Reader<'b> {
    pub(crate) fn new(bytes: &'b [u8]) -> Result<Reader<'b>, Damaged> {
        let (form, sum) = bytes.split_last_chunk::<CHECKSUM_BYTES>().ok_or(Damaged)?;
        let (&version, rest) = form.split_first().ok_or(Damaged)?;
        if version != VERSION || checksum(form) != *sum {
            return Err(Damaged);
        }
        Ok(Reader(rest))
    }

    pub(crate) fn number(&mut self) -> Result<u64, Damaged> {
        let mut number = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let (&byte, rest) = self.0.split_first().ok_or(Damaged)?;
            self.0 = rest;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                return Err(Damaged);
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(Damaged)
    }

    pub(crate) fn bytes(&mut self, count: u64) -> Result<&'b [u8], Damaged> {
        let count = usize::try_from(count).map_err(|_| Damaged)?;
        let (bytes, rest) = self.0.split_at_checked(count).ok_or(Damaged)?;
        self.0 = rest;
        Ok(bytes)
    }

    pub(crate) fn digest(&mut self) -> Result<u128, Damaged> {
        let (digest, rest) = self.0.split_first_chunk().ok_or(Damaged)?;
        self.0 = rest;
        Ok(u128::from_le_bytes(*digest))
    }

    pub(crate) fn end(&self) -> Result<(), Damaged> {
        if self.0.is_empty() { Ok(()) } else { Err(Damaged) }
    }
}

fn checksum(bytes: &[u8]) -> [u8; CHECKSUM_BYTES] {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step).to_le_bytes()
}

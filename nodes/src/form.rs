//! The byte form of messages: a kind, numbers in LEB128, texts after their length. There is no version and no checksum,
//! because both ends are of one version and whoever carries messages loses no byte.

use crate::peer::Address;
use std::fmt;
use std::ops::Range;

/// The error for bytes that are no message of this version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damaged;

impl fmt::Display for Damaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a message is damaged, or of another version of Tegula")
    }
}

impl std::error::Error for Damaged {}

pub(crate) struct Writer(Vec<u8>);

impl Writer {
    /// Begins a message of a kind.
    pub(crate) fn of(kind: u8) -> Writer {
        Writer(vec![kind])
    }

    pub(crate) fn number(mut self, mut number: u64) -> Writer {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
        self
    }

    /// Appends a text after its length.
    pub(crate) fn text(self, text: &str) -> Writer {
        self.number(text.len() as u64).bytes(text.as_bytes())
    }

    pub(crate) fn digest(self, digest: u128) -> Writer {
        self.bytes(&digest.to_le_bytes())
    }

    /// Appends where a node listens; without one, an empty text.
    pub(crate) fn address(self, address: Option<&Address>) -> Writer {
        match address {
            Some(Address { at, token }) => self.text(at).digest(*token),
            None => self.text(""),
        }
    }

    /// Appends partitions, and the nodes that have pairs of them.
    pub(crate) fn partitions(self, partitions: &Range<usize>, from: &[Address]) -> Writer {
        let out = self.number(partitions.start as u64).number(partitions.end as u64);
        let out = out.number(from.len() as u64);
        from.iter().fold(out, |out, address| out.address(Some(address)))
    }

    /// Appends bytes that end the message.
    pub(crate) fn bytes(mut self, bytes: &[u8]) -> Writer {
        self.0.extend_from_slice(bytes);
        self
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

pub(crate) struct Reader<'b>(&'b [u8]);

impl<'b> Reader<'b> {
    /// Returns the kind of a message, and a reader of the rest.
    pub(crate) fn of(bytes: &'b [u8]) -> Result<(u8, Reader<'b>), Damaged> {
        let (&kind, rest) = bytes.split_first().ok_or(Damaged)?;
        Ok((kind, Reader(rest)))
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

    /// Takes the number of a tile.
    pub(crate) fn tile(&mut self) -> Result<u32, Damaged> {
        u32::try_from(self.number()?).map_err(|_| Damaged)
    }

    /// Takes partitions, and the nodes that have pairs of them.
    pub(crate) fn partitions(&mut self) -> Result<(Range<usize>, Vec<Address>), Damaged> {
        let mut partition = || usize::try_from(self.number()?).map_err(|_| Damaged);
        let partitions = partition()?..partition()?;
        let from = (0..self.number()?).map(|_| self.address()?.ok_or(Damaged));
        Ok((partitions, from.collect::<Result<_, _>>()?))
    }

    pub(crate) fn text(&mut self) -> Result<String, Damaged> {
        let count = usize::try_from(self.number()?).map_err(|_| Damaged)?;
        let (bytes, rest) = self.0.split_at_checked(count).ok_or(Damaged)?;
        self.0 = rest;
        Ok(String::from_utf8_lossy(bytes).into_owned())
    }

    pub(crate) fn digest(&mut self) -> Result<u128, Damaged> {
        let (digest, rest) = self.0.split_first_chunk().ok_or(Damaged)?;
        self.0 = rest;
        Ok(u128::from_le_bytes(*digest))
    }

    pub(crate) fn address(&mut self) -> Result<Option<Address>, Damaged> {
        let at = self.text()?;
        if at.is_empty() { Ok(None) } else { Ok(Some(Address { at, token: self.digest()? })) }
    }

    /// Takes all that is left.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.0).to_vec()
    }

    pub(crate) fn end(&self) -> Result<(), Damaged> {
        if self.0.is_empty() { Ok(()) } else { Err(Damaged) }
    }
}

//! Stitches the decompressed bytes of one file into blocks of whole records. Buffers arrive in file order.
//! The bytes after the last border of a buffer are put in front of the next one. A record that is longer
//! than the headroom is assembled in a growing buffer.

use super::cutter::Fault;
use super::whole::{Part, Whole};
use crate::error::{Error, InputError, Result};
use crate::input::Cut;
use crate::memory::BlockPool;
use crate::memory::InputBuffer;
use crate::origin;
use crate::plan::Torn;
use crate::unit::{Piece, Unit};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

/// Room in front of the decompressed bytes of a buffer, for the beginning of a record.
pub(super) const HEADROOM: usize = 4 << 10;

/// Decompressed bytes, from [`HEADROOM`] on in their buffer.
pub(super) struct Decoded {
    pub(super) buffer: InputBuffer,
    pub(super) len: usize,
    /// The number of compressed bytes from which they were made.
    pub(super) compressed: u64,
}

/// The state of one file between its buffers.
pub(super) struct Stitch<'p> {
    cut: &'p Cut,
    torn: &'p Torn,
    blocks: &'p Arc<BlockPool>,
    part: usize,
    file: usize,
    carry: Carry,
    /// The offset of the carry in the decompressed file.
    offset: u64,
    newlines: Option<u64>,
    compressed: u64,
    /// The content whose length and checksum come after its last unit.
    whole: Whole,
    /// Numbers that are left for the file's blocks.
    numbers: Range<u64>,
}

/// The beginning of a record, without a border.
enum Carry {
    Short(Vec<u8>),
    Long(InputBuffer, usize),
}

impl Carry {
    fn len(&self) -> usize {
        match self {
            Carry::Short(carry) => carry.len(),
            Carry::Long(_, have) => *have,
        }
    }
}

/// The result of a buffer: perhaps a block, perhaps the buffer itself.
#[derive(Default)]
pub(super) struct Stitched {
    pub(super) block: Option<Unit>,
    pub(super) spare: Option<InputBuffer>,
}

impl<'p> Stitch<'p> {
    /// Creates the stitch of file `file` of part `part`, whose blocks get `numbers`.
    pub(super) fn new(
        (cut, torn): (&'p Cut, &'p Torn),
        blocks: &'p Arc<BlockPool>,
        (part, file): (usize, usize),
        numbers: Range<u64>,
    ) -> Stitch<'p> {
        Stitch {
            cut,
            torn,
            blocks,
            part,
            file,
            carry: Carry::Short(Vec::new()),
            offset: 0,
            newlines: cut.is_lines().then_some(0),
            compressed: 0,
            whole: Whole::new(),
            numbers,
        }
    }

    /// Verifies the next bytes against the file's length and checksum of their content.
    pub(super) fn check(&mut self, decoded: &Decoded, part: Part) -> Result<(), Fault> {
        let bytes = &decoded.buffer.bytes()[HEADROOM..HEADROOM + decoded.len];
        self.whole.take_in(bytes, part).map_err(|(at, cause)| Fault::Damaged(at, cause))
    }

    /// Takes the next bytes of the file; `last` if none follow.
    pub(super) fn take_in(&mut self, decoded: Decoded, last: bool) -> Result<Stitched> {
        let Decoded { mut buffer, len, compressed } = decoded;
        self.compressed += compressed;
        let (buffer, bytes, looked, spare) = match &mut self.carry {
            Carry::Short(carry) => {
                let start = HEADROOM - carry.len();
                buffer.bytes_mut()[start..HEADROOM].copy_from_slice(carry);
                let looked = carry.len();
                carry.clear();
                (buffer, start..HEADROOM + len, looked, None)
            }
            Carry::Long(long, have) => {
                long.reserve(*have + len, *have)?;
                let new = &buffer.bytes()[HEADROOM..HEADROOM + len];
                long.bytes_mut()[*have..*have + len].copy_from_slice(new);
                let looked = *have;
                let empty = Carry::Short(Vec::new());
                let Carry::Long(long, _) = std::mem::replace(&mut self.carry, empty) else {
                    unreachable!("it is matched as long just above")
                };
                (long, 0..looked + len, looked, Some(buffer))
            }
        };
        let border = match last {
            true => Some(bytes.len() - self.torn_of(bytes.len())),
            false => self.cut.find_last_border(&buffer.bytes()[bytes.clone()], looked),
        };
        let rest = bytes.start + border.unwrap_or(0)..bytes.end;
        let rest = &buffer.bytes()[rest];
        let (carry, buffer) = match border {
            Some(_) if rest.len() <= HEADROOM => (self.short(rest), Some(buffer)),
            None if rest.len() <= HEADROOM => {
                self.carry = self.short(rest);
                return Ok(Stitched { block: None, spare: spare.or(Some(buffer)) });
            }
            None if bytes.start == 0 && spare.is_some() => (Carry::Long(buffer, bytes.end), None),
            _ => (self.long(rest)?, Some(buffer)),
        };
        self.carry = carry;
        match (border, buffer) {
            (Some(border), Some(buffer)) if border > 0 => {
                let records = bytes.start..bytes.start + border;
                let block = self.block(buffer, records, spare.is_some())?;
                Ok(Stitched { block: Some(block), spare })
            }
            (_, buffer) => Ok(Stitched { block: None, spare: spare.or(buffer) }),
        }
    }

    /// Returns how many of the file's last `len` bytes are skipped, as less than a record.
    fn torn_of(&self, len: usize) -> usize {
        let len = len as u64;
        let torn = if self.torn.are_skipped() { len - self.cut.whole_bytes(len) } else { 0 };
        torn as usize
    }

    fn short(&mut self, rest: &[u8]) -> Carry {
        let mut carry = match std::mem::replace(&mut self.carry, Carry::Short(Vec::new())) {
            Carry::Short(used) => used,
            Carry::Long(..) => Vec::new(),
        };
        carry.extend_from_slice(rest);
        Carry::Short(carry)
    }

    fn long(&self, rest: &[u8]) -> Result<Carry> {
        let mut long = InputBuffer::new(self.blocks, 2 * rest.len())?;
        long.bytes_mut()[..rest.len()].copy_from_slice(rest);
        Ok(Carry::Long(long, rest.len()))
    }

    fn block(&mut self, buffer: InputBuffer, records: Range<usize>, extra: bool) -> Result<Unit> {
        let number = self.numbers.next().ok_or_else(numbers_used_up)?;
        let (offset, newlines) = (self.offset, self.newlines);
        let bytes = &buffer.bytes()[records.clone()];
        self.offset += bytes.len() as u64;
        self.newlines = newlines.map(|before| before + origin::newlines(bytes));
        let compressed = std::mem::take(&mut self.compressed);
        let unit =
            Unit::of(buffer, vec![Piece { file: self.file, records, offset }], newlines, number);
        Ok(Unit { stored_bytes: compressed, is_extra: extra, ..unit })
    }

    /// Returns the rest after the file has ended, if it was not known that its last bytes were the last.
    pub(super) fn finish(&mut self) -> Result<Option<Unit>> {
        match std::mem::replace(&mut self.carry, Carry::Short(Vec::new())) {
            Carry::Short(carry) if carry.is_empty() => Ok(None),
            carry if self.torn_of(carry.len()) > 0 => {
                self.carry = carry;
                Ok(None)
            }
            Carry::Short(carry) => {
                let mut buffer = InputBuffer::new(self.blocks, carry.len())?;
                buffer.bytes_mut()[..carry.len()].copy_from_slice(&carry);
                self.block(buffer, 0..carry.len(), true).map(Some)
            }
            Carry::Long(buffer, have) => self.block(buffer, 0..have, true).map(Some),
        }
    }

    /// Returns the length of the decompressed file after all of it was handed on. Fails if the file does
    /// not consist of whole records, and the rest is not skipped.
    pub(super) fn length(&self, path: impl FnOnce() -> PathBuf) -> Result<u64, InputError> {
        let length = self.offset + self.carry.len() as u64;
        self.torn.whole(self.cut, length, (self.part, self.file), path)?;
        Ok(length)
    }
}

fn numbers_used_up() -> Error {
    let cause =
        "a compressed file expands to more blocks than it has numbers for, beside all other \
                 input; give larger splits, or fewer files at once"
            .to_owned();
    Error::Option { option: "split_bytes", cause }
}

//! Buffers the compressed bytes of one file, in order, and counts the used ones, so that an error can name
//! its offset. Errors of the reads themselves are kept here, because the decoder in between only returns an
//! error without details.

use super::Decoder;
use crate::error::{Error, Result};
use std::io::{self, BufRead, Read};
use std::ops::Range;

/// Bytes per read: enough to make calls cheap, small beside a decoder's own memory.
const BUFFER_BYTES: usize = 64 << 10;

/// A reader of a file by offset. Each byte is requested once and in order.
pub trait ReadAt: Send {
    /// Copies bytes from `offset` on into `into` and returns their number; 0 at the end.
    fn read(&mut self, offset: u64, into: &mut [u8]) -> Result<usize>;

    /// Returns the number of bytes to request at a time, or `None` for the default.
    fn bytes_at_once(&self) -> Option<usize> {
        None
    }
}

/// Bytes of a file from an offset on.
pub struct Source<'p> {
    bytes: Box<dyn ReadAt + 'p>,
    buffer: Vec<u8>,
    /// The unused part of the buffer.
    unused: Range<usize>,
    /// The file offset after the buffer's last byte.
    offset: u64,
    /// The offset at which reading stops.
    end: u64,
    /// There are no more bytes.
    ended: bool,
    /// Bytes were requested, and there were none.
    starved: bool,
    fault: Option<Error>,
}

impl<'p> Source<'p> {
    /// Creates a source of the bytes of `range`, as far as they exist.
    pub fn new(bytes: impl ReadAt + 'p, range: Range<u64>) -> Source<'p> {
        let length = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        let at_once = bytes.bytes_at_once().unwrap_or(BUFFER_BYTES);
        Source {
            bytes: Box::new(bytes),
            buffer: vec![0; length.clamp(1, at_once)],
            unused: 0..0,
            offset: range.start,
            end: range.end,
            ended: false,
            starved: false,
            fault: None,
        }
    }

    /// Returns the first `count` unused bytes without using them: fewer only at the end. `count` is at most 512.
    pub fn peek(&mut self, count: usize) -> io::Result<&[u8]> {
        if self.buffer.len() < count {
            self.buffer.resize(count, 0);
        }
        while self.unused.len() < count && !self.ended {
            self.buffer.copy_within(self.unused.clone(), 0);
            self.unused = 0..self.unused.len();
            self.read_more()?;
        }
        let shown = self.unused.start..self.unused.end.min(self.unused.start + count);
        Ok(&self.buffer[shown])
    }

    /// Returns the file offset of the first unused byte.
    pub fn position(&self) -> u64 {
        self.offset - self.unused.len() as u64
    }

    /// Returns whether a decoder requested bytes when there were none.
    pub fn is_starved(&self) -> bool {
        self.starved
    }

    /// Makes the current read fail with `fault`.
    pub fn fail(&mut self, fault: impl Into<Error>) -> io::Error {
        self.fault = Some(fault.into());
        io::Error::other("the source failed")
    }

    /// Takes the error of a read.
    pub fn take_fault(&mut self) -> Option<Error> {
        self.fault.take()
    }

    /// Reads more bytes to the end of the buffer, which has room.
    fn read_more(&mut self) -> io::Result<()> {
        let room = self.buffer.len() - self.unused.end;
        let left = usize::try_from(self.end - self.offset).unwrap_or(usize::MAX);
        let to = self.unused.end + room.min(left);
        match self.bytes.read(self.offset, &mut self.buffer[self.unused.end..to]) {
            Ok(count) => {
                self.ended = count == 0 || self.offset + count as u64 == self.end;
                self.unused.end += count;
                self.offset += count as u64;
                Ok(())
            }
            Err(fault) => Err(self.fail(fault)),
        }
    }
}

impl BufRead for Source<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.unused.is_empty() && !self.ended {
            self.unused = 0..0;
            self.read_more()?;
        }
        self.starved |= self.unused.is_empty();
        Ok(&self.buffer[self.unused.clone()])
    }

    fn consume(&mut self, count: usize) {
        self.unused.start += count;
    }
}

impl Read for Source<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = copy_first(self.fill_buf()?, into);
        self.consume(count);
        Ok(count)
    }
}

/// A plain file among compressed ones.
impl<'p> Decoder<'p> for Source<'p> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        Read::read(self, into)
    }

    fn source(&mut self) -> &mut Source<'p> {
        self
    }
}

/// Copies as many of the first bytes as have room in `into`; returns their number.
pub(crate) fn copy_first(bytes: &[u8], into: &mut [u8]) -> usize {
    let count = bytes.len().min(into.len());
    into[..count].copy_from_slice(&bytes[..count]);
    count
}

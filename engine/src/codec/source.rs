//! The compressed bytes of one file, in order, through a small buffer; and how far they were used, so
//! that a fault can be named by its place. What reading itself runs into is kept here, while the
//! decoder in between sees an error of no kind.

use crate::error::{Error, Result};
use std::io::{self, BufRead, Read};
use std::ops::Range;

/// Read at a time: large enough that a call costs little, small beside a decoder's own memory.
const BUFFER_BYTES: usize = 64 << 10;

/// Something that gives a file's bytes by offset, each asked for once and in order.
pub(crate) trait Feed: Send {
    /// Puts some bytes, those from `offset` on, into `into`; none at the end.
    fn read(&mut self, offset: u64, into: &mut [u8]) -> Result<usize>;

    /// How many bytes to ask for at a time, if not as many as usual.
    fn bytes_at_once(&self) -> Option<usize> {
        None
    }
}

/// Bytes of a file from an offset on.
pub(crate) struct Source<'p> {
    feed: Box<dyn Feed + 'p>,
    buffer: Vec<u8>,
    /// What of the buffer is not used yet.
    unused: Range<usize>,
    /// Where the buffer's last byte ends in the file.
    offset: u64,
    /// Nothing is read from here on.
    end: u64,
    /// The feed has no more.
    ended: bool,
    /// Bytes were asked for, and there were none.
    starved: bool,
    fault: Option<Error>,
}

impl<'p> Source<'p> {
    /// The bytes of `range`, as far as there are.
    pub(crate) fn new(feed: impl Feed + 'p, range: Range<u64>) -> Source<'p> {
        let bytes = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        let at_once = feed.bytes_at_once().unwrap_or(BUFFER_BYTES);
        Source {
            feed: Box::new(feed),
            buffer: vec![0; bytes.clamp(1, at_once)],
            unused: 0..0,
            offset: range.start,
            end: range.end,
            ended: false,
            starved: false,
            fault: None,
        }
    }

    /// The first `count` bytes not used yet, without using them: fewer only at the end. `count` is at
    /// most 512.
    pub(crate) fn peek(&mut self, count: usize) -> io::Result<&[u8]> {
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

    /// Where the first byte not used yet stands in the file.
    pub(crate) fn position(&self) -> u64 {
        self.offset - self.unused.len() as u64
    }

    /// Whether a decoder asked for bytes when there were none.
    pub(crate) fn is_starved(&self) -> bool {
        self.starved
    }

    /// Makes `fault` what the read that is under way fails with.
    pub(crate) fn fail(&mut self, fault: impl Into<Error>) -> io::Error {
        self.fault = Some(fault.into());
        io::Error::other("the source failed")
    }

    /// What reading ran into.
    pub(crate) fn take_fault(&mut self) -> Option<Error> {
        self.fault.take()
    }

    /// Reads behind what is in the buffer, which has room.
    fn read_more(&mut self) -> io::Result<()> {
        let room = self.buffer.len() - self.unused.end;
        let left = usize::try_from(self.end - self.offset).unwrap_or(usize::MAX);
        let to = self.unused.end + room.min(left);
        match self.feed.read(self.offset, &mut self.buffer[self.unused.end..to]) {
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
        let have = self.fill_buf()?;
        let count = have.len().min(into.len());
        into[..count].copy_from_slice(&have[..count]);
        self.consume(count);
        Ok(count)
    }
}

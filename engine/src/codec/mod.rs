//! Compressed files: how they are recognised, decompressed and cut at records.
//!
//! `sniff` and `recognise` say which files of an input are compressed; one file per format gives their
//! bytes in order; `supply` hands those to workers as blocks of whole records. Decompression is done
//! by the workers themselves, between the blocks they map, so nothing runs ahead of them by more than
//! a fixed set of buffers, however far a file expands.

mod ahead;
mod bgzf;
mod bzip2;
mod bzip2_blocks;
mod cutter;
mod feed;
mod gzip;
mod lane;
mod lz4;
mod lz4_frames;
mod plain;
mod recognise;
mod sniff;
mod source;
mod stitch;
mod supply;
mod tally;
mod whole;
mod zstd;
mod zstd_frames;

pub(crate) use feed::FileFeed;
pub(crate) use recognise::recognise;
pub(crate) use sniff::{HEAD_BYTES, Head, may_become, sniff};
pub(crate) use source::{Feed, Source};
pub(crate) use stitch::Unpacked;
pub(crate) use supply::Supply;
pub use tally::FormatFigures;
pub(crate) use tally::Tally;

use crate::error::{Error, InputError, Result};
use crate::memory::BlockPool;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The form of a file's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Format {
    /// As they are.
    Plain,
    /// RFC 1952, of any number of members.
    Gzip,
    /// RFC 8878, of any number of frames.
    Zstd,
    /// Of any number of streams.
    Bzip2,
    /// The LZ4 frame format, of any number of frames.
    Lz4,
}

impl Format {
    pub(crate) const ALL: [Format; 5] =
        [Format::Plain, Format::Gzip, Format::Zstd, Format::Bzip2, Format::Lz4];

    /// What messages and figures call it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Format::Plain => "plain",
            Format::Gzip => "gzip",
            Format::Zstd => "zstd",
            Format::Bzip2 => "bzip2",
            Format::Lz4 => "lz4",
        }
    }

    /// What the end of a file's name says, letters of any case.
    pub(crate) fn of_name(path: &Path) -> Option<Format> {
        let ending = path.extension()?.to_ascii_lowercase();
        match ending.as_encoded_bytes() {
            b"gz" | b"bgz" => Some(Format::Gzip),
            b"zst" | b"zstd" => Some(Format::Zstd),
            b"bz2" => Some(Format::Bzip2),
            b"lz4" => Some(Format::Lz4),
            _ => None,
        }
    }
}

/// Gives the decompressed bytes of a file, or of a part of one, in order. Its memory is counted.
pub(crate) trait Decoder<'p>: Send {
    /// Puts some bytes, at least one, into `into`, which is not empty; none at the end.
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize>;

    /// What it reads from.
    fn source(&mut self) -> &mut Source<'p>;
}

/// A decoder of a file, and what its messages call the file.
pub(crate) struct Reading<'p> {
    decoder: Box<dyn Decoder<'p> + 'p>,
    format: Format,
    /// Where the decoder's source begins in the file, if it does not say.
    base: u64,
    /// Whether the source's end is that of the file.
    to_end: bool,
}

impl<'p> Reading<'p> {
    /// Begins to decompress what `source` gives.
    ///
    /// # Errors
    /// Of the source, and [`MemoryError`](crate::MemoryError) if the decoder's memory is refused.
    pub(crate) fn new(
        format: Format,
        source: Source<'p>,
        blocks: &Arc<BlockPool>,
    ) -> Result<Reading<'p>> {
        Reading::of_part(format, source, blocks, 0, true)
    }

    /// As [`Reading::new`], for a source that gives a part of the file that stands `base` bytes behind
    /// where it says it does, and is the last one if it goes `to_end`.
    fn of_part(
        format: Format,
        source: Source<'p>,
        blocks: &Arc<BlockPool>,
        base: u64,
        to_end: bool,
    ) -> Result<Reading<'p>> {
        let decoder: Box<dyn Decoder<'p> + 'p> = match format {
            Format::Plain => Box::new(plain::Plain::new(source)),
            Format::Gzip => Box::new(gzip::Gzip::new(source, blocks)?),
            Format::Zstd => Box::new(zstd::Zstd::new(source, blocks)?),
            Format::Bzip2 => Box::new(bzip2::Bzip2::new(source, blocks)?),
            Format::Lz4 => Box::new(lz4::Lz4::new(source, blocks)?),
        };
        Ok(Reading { decoder, format, base, to_end })
    }

    /// Puts some bytes into `into`; none at the end. `path` is for messages.
    pub(crate) fn read(&mut self, into: &mut [u8], path: impl Fn() -> PathBuf) -> Result<usize> {
        self.decoder.read(into).map_err(|cause| {
            let source = self.decoder.source();
            let offset = self.base + source.position();
            if let Some(fault) = source.take_fault() {
                return fault;
            }
            let (path, format) = (path(), self.format.name());
            let fault = match cause.kind() {
                io::ErrorKind::UnexpectedEof if self.to_end => {
                    InputError::Truncated { path, format, offset }
                }
                _ => InputError::Damaged { path, format, offset, cause: cause.to_string() },
            };
            Error::from(fault)
        })
    }

    /// Compressed bytes used so far, counted from anywhere.
    pub(crate) fn position(&mut self) -> u64 {
        self.decoder.source().position()
    }
}

/// Says that bytes are missing.
fn ended_early() -> io::Error {
    io::Error::from(io::ErrorKind::UnexpectedEof)
}

/// Says what is wrong with bytes that are there.
fn damaged(cause: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, cause)
}

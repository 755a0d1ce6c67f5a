//! Compressed files: recognition, decompression, and cutting at records.
//!
//! `sniff` and `recognise` find the compressed files of an input. One file per format decompresses its
//! bytes in order. `supply` hands them to workers as blocks of whole records. The workers themselves
//! decompress between the blocks that they map. So the decompressed bytes never exceed a fixed set of
//! buffers, however far a file expands.

mod ahead;
mod bgzf;
mod bzip2;
mod bzip2_blocks;
mod cutter;
mod file_bytes;
mod gzip;
mod lane;
mod lz4;
mod lz4_frames;
mod recognise;
mod sniff;
mod source;
mod stitch;
mod supply;
mod whole;
mod zstd;
mod zstd_frames;

use file_bytes::FileBytes;
pub use recognise::{recognise, stretches};
pub use sniff::{HEAD_BYTES, Head, may_become, sniff};
pub(crate) use source::copy_first;
pub use source::{ReadAt, Source};
pub(crate) use supply::Supply;
pub use zstd::window_bytes;

use crate::error::{Error, InputError, Result};
use crate::input::Format;
use crate::memory::BlockPool;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// Decompresses a file, or a part of one, in order. Its memory is counted.
pub trait Decoder<'p>: Send {
    /// Writes at least one byte into `into`, which is not empty, and returns the number; 0 at the end.
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize>;

    /// Returns the source of compressed bytes.
    fn source(&mut self) -> &mut Source<'p>;
}

/// A decoder of a file, with the file's name in messages.
pub struct Reading<'p> {
    decoder: Box<dyn Decoder<'p> + 'p>,
    format: Format,
    /// The offset of the decoder's source in the file, if the source does not know it.
    base: u64,
    /// Whether the source ends at the end of the file.
    to_end: bool,
}

impl<'p> Reading<'p> {
    /// Starts to decompress the bytes of `source`.
    ///
    /// # Errors
    /// Fails if the source fails, and with [`MemoryError`](crate::error::MemoryError) if the decoder's memory is
    /// refused.
    pub fn new(format: Format, source: Source<'p>, blocks: &Arc<BlockPool>) -> Result<Reading<'p>> {
        Reading::of_part(format, source, blocks, 0, true)
    }

    /// Like [`Reading::new`], for a source of a part of the file. The part is `base` bytes further in the
    /// file than the source's offsets, and it is the last one if `to_end` is set.
    fn of_part(
        format: Format,
        source: Source<'p>,
        blocks: &Arc<BlockPool>,
        base: u64,
        to_end: bool,
    ) -> Result<Reading<'p>> {
        let decoder: Box<dyn Decoder<'p> + 'p> = match format {
            Format::Plain => Box::new(source),
            Format::Gzip => Box::new(gzip::Gzip::new(source, blocks)?),
            Format::Zstd => Box::new(zstd::Zstd::new(source, blocks)?),
            Format::Bzip2 => Box::new(bzip2::Bzip2::new(source, blocks)?),
            Format::Lz4 => Box::new(lz4::Lz4::new(source, blocks)?),
        };
        Ok(Reading { decoder, format, base, to_end })
    }

    /// Writes bytes into `into` and returns the number; 0 at the end. `path` is for messages.
    pub fn read(&mut self, into: &mut [u8], path: impl Fn() -> PathBuf) -> Result<usize> {
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

    /// Returns the number of compressed bytes used so far, from an arbitrary start.
    pub fn position(&mut self) -> u64 {
        self.decoder.source().position()
    }
}

/// Returns the error for missing bytes.
fn ended_early() -> io::Error {
    io::Error::from(io::ErrorKind::UnexpectedEof)
}

/// Returns the error for damaged bytes.
fn damaged(cause: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, cause)
}

//! Bzip2: a sequence of streams, each of blocks with checksums.

use super::{Decoder, Source};
use crate::error::MemoryError;
use crate::memory::{BlockPool, Reserved};
use bzip2::bufread::MultiBzDecoder;
use std::io::{self, Read};
use std::sync::Arc;

/// Magic numbers of a block's start and of a stream's end: 48 bits each, not aligned to bytes.
pub(super) const BLOCK_MAGIC: u64 = 0x3141_5926_5359;
pub(super) const END_MAGIC: u64 = 0x1772_4538_5090;

/// Four bytes for each of a block's 900,000, plus tables and a compressed block.
const DECODER_BYTES: usize = 4700 << 10;

/// Decompresses streams.
pub(super) struct Bzip2<'p> {
    decoder: MultiBzDecoder<Source<'p>>,
    _memory: Reserved,
}

impl<'p> Bzip2<'p> {
    pub(super) fn new(
        source: Source<'p>,
        blocks: &Arc<BlockPool>,
    ) -> Result<Bzip2<'p>, MemoryError> {
        let memory = Reserved::new(blocks, DECODER_BYTES, "the decoder of a bzip2 file")?;
        Ok(Bzip2 { decoder: MultiBzDecoder::new(source), _memory: memory })
    }
}

impl<'p> Decoder<'p> for Bzip2<'p> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.decoder.read(into)
    }

    fn source(&mut self) -> &mut Source<'p> {
        self.decoder.get_mut()
    }
}

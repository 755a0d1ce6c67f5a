//! Zstandard: a sequence of frames. A frame declares its window. The window is counted in the budget before
//! it is allocated, so no file can request memory that was not granted.

use super::{Decoder, Source, ended_early};
use crate::error::{Error, Result};
use crate::memory::{BlockPool, Reserved};
use std::io::{self, BufRead};
use std::sync::Arc;
use zstd::zstd_safe::{DCtx, DParameter, InBuffer, OutBuffer, get_error_name};

/// The decoder's tables, and a block of 128 KiB for input and output each.
const CONTEXT_BYTES: u64 = 512 << 10;
/// The largest possible window. Memory is limited by the budget, not by this.
const WINDOW_LOG_MOST: u32 = 31;
/// The longest header of a frame, with its magic number.
const HEADER_BYTES: usize = 18;

/// Decompresses frames.
pub(super) struct Zstd<'p> {
    context: DCtx<'static>,
    source: Source<'p>,
    /// Inside a frame.
    open: bool,
    frames: u64,
    memory: Reserved,
}

impl<'p> Zstd<'p> {
    pub(super) fn new(mut source: Source<'p>, blocks: &Arc<BlockPool>) -> Result<Zstd<'p>> {
        let mut memory = Reserved::none(blocks, "the window of a zstd file");
        let header = source.peek(HEADER_BYTES).map(window_bytes);
        match header {
            Ok(window) => cover(&mut memory, window)?,
            Err(_) => return Err(source.take_fault().unwrap_or(Error::Cancelled)),
        }
        let mut context = DCtx::create();
        // Every version that has the parameter accepts this value.
        let _ = context.set_parameter(DParameter::WindowLogMax(WINDOW_LOG_MOST));
        Ok(Zstd { context, source, open: false, frames: 0, memory })
    }
}

/// Counts the memory for a window. The decoder refuses larger ones than the largest.
fn cover(memory: &mut Reserved, window: u64) -> Result<()> {
    let window = window.min(1 << WINDOW_LOG_MOST);
    let bytes = usize::try_from(window.saturating_add(CONTEXT_BYTES)).unwrap_or(usize::MAX);
    Ok(memory.cover(bytes)?)
}

impl<'p> Decoder<'p> for Zstd<'p> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.open {
                let header = self.source.peek(HEADER_BYTES)?;
                if header.is_empty() && self.frames > 0 {
                    return Ok(0);
                }
                let window = window_bytes(header);
                cover(&mut self.memory, window).map_err(|refused| self.source.fail(refused))?;
                (self.open, self.frames) = (true, self.frames + 1);
            }
            let input = self.source.fill_buf()?;
            let starved = input.is_empty();
            let (mut from, mut to) = (InBuffer::around(input), OutBuffer::around(&mut *into));
            let hint = self.context.decompress_stream(&mut to, &mut from);
            let (used, made) = (from.pos(), to.pos());
            self.source.consume(used);
            let hint = hint
                .map_err(|code| io::Error::new(io::ErrorKind::InvalidData, get_error_name(code)))?;
            self.open = hint != 0;
            if made > 0 {
                return Ok(made);
            }
            if starved && self.open {
                return Err(ended_early());
            }
        }
    }

    fn source(&mut self) -> &mut Source<'p> {
        &mut self.source
    }
}

/// The lengths in bytes of the fields after a frame's descriptor: RFC 8878, section 3.1.1.1.
pub(super) struct Fields {
    /// 0 in a frame of a single segment.
    pub(super) window_bytes: usize,
    pub(super) id_bytes: usize,
    pub(super) size_bytes: usize,
}

impl Fields {
    pub(super) fn of(descriptor: u8) -> Fields {
        let is_single = descriptor & 0x20 != 0;
        let size_bytes = match descriptor >> 6 {
            0 => usize::from(is_single),
            code => 1 << code,
        };
        let id_bytes = [0, 1, 2, 4][usize::from(descriptor & 3)];
        Fields { window_bytes: usize::from(!is_single), id_bytes, size_bytes }
    }
}

/// Returns the memory of a frame's window; 0 if there is no frame.
pub fn window_bytes(header: &[u8]) -> u64 {
    let [0x28, 0xb5, 0x2f, 0xfd, descriptor, rest @ ..] = header else { return 0 };
    let Fields { window_bytes, id_bytes, size_bytes } = Fields::of(*descriptor);
    if window_bytes > 0 {
        let window = rest.first().copied().unwrap_or(0);
        let base = 1_u64 << (10 + (window >> 3));
        return base + base / 8 * u64::from(window & 7);
    }
    // A single segment: the window is the whole content.
    let field = rest.iter().skip(id_bytes).take(size_bytes);
    let size = field.rev().fold(0_u64, |size, &byte| size << 8 | u64::from(byte));
    if size_bytes == 2 { size + 256 } else { size }
}

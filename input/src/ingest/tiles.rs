//! A caller's tiles, copied split by split into the buffers of a stream: then the tile can be released, and
//! its bytes are within reach of every worker, with room after them. Runs on the calling thread, at the speed
//! of memory.

use super::stream::StreamQueue;
use crate::error::{InputError, Result};
use crate::input::{Cut, TileStream};
use crate::origin;
use crate::plan::Torn;
use std::path::Path;

/// Copies tiles to their end into `queue`.
pub(super) fn read_tiles(
    name: &Path,
    tiles: &TileStream,
    cut: &Cut,
    queue: &StreamQueue<'_>,
) -> Result<()> {
    let (mut offset, mut newlines) = (0, cut.is_lines().then_some(0));
    let mut copy = |mut rest: &[u8]| -> Result<()> {
        while !rest.is_empty() {
            let mut buffer = queue.take_free()?;
            let split;
            (split, rest) = rest.split_at(split_end(name, cut, rest, buffer.capacity())?);
            buffer.reserve(split.len(), 0)?;
            buffer.bytes_mut()[..split.len()].copy_from_slice(split);
            queue.push(buffer, split.len(), offset, newlines);
            offset += split.len() as u64;
            newlines = newlines.map(|before| before + origin::newlines(split));
        }
        Ok(())
    };
    loop {
        queue.check()?;
        let mut copied = Ok(());
        let next = tiles.next(&mut |tile| copied = copy(tile));
        copied?;
        if next.map_err(|cause| InputError::from_io(name, cause))?.is_none() {
            return Ok(());
        }
    }
}

/// Where a split of the first `nominal` bytes of a tile ends: the border there or the next.
fn split_end(name: &Path, cut: &Cut, bytes: &[u8], nominal: usize) -> Result<usize, InputError> {
    // A caller's tiles are of whole records, so nothing is torn.
    Torn::default().whole(cut, bytes.len() as u64, (0, 0), || name.to_path_buf())?;
    if let Cut::Fixed(record) = *cut {
        let whole = (nominal as u64).next_multiple_of(record);
        return Ok(bytes.len().min(usize::try_from(whole).unwrap_or(usize::MAX)));
    }
    Ok(cut.find_border(bytes, nominal.max(1), bytes.len()).unwrap_or(bytes.len()))
}

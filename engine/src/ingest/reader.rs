//! A worker's reader: preads one extent at a time into its buffer and settles where the extent's
//! records really begin and end. A record belongs to the extent in which it begins.
//!
//! Each extent looks for its first border in itself only; an extent without one belongs to a record
//! that began earlier and is skipped. So a record of any length is read by one worker, and the
//! looking is linear in the input.

use super::buffer::Buffer;
use crate::error::{InputError, Result};
use crate::input::{Cut, open_file};
use crate::memory::BlockPool;
use crate::plan::{Extent, Material, Ranged};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// Read behind an extent's nominal end at first, to find its last record's end: more than most words
/// and lines, less than a page.
const LOOKAHEAD_BYTES: u64 = 1024;

/// Reads extents into one buffer.
pub(crate) struct Reader {
    buffer: Buffer,
    /// The file read last, by part of the plan and number: consecutive splits of a big file spare its
    /// opening.
    open: Option<((usize, usize), File)>,
}

/// Where an extent's records lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Records {
    /// In the reader's buffer.
    pub(crate) bytes: Range<usize>,
    /// In the file.
    pub(crate) offset: u64,
}

impl Reader {
    /// A reader for splits of about `split_bytes`; longer ones make its buffer grow.
    pub(crate) fn new(blocks: &Arc<BlockPool>, split_bytes: u64) -> Result<Reader> {
        // A large split size over small files should not cost memory that no file fills.
        let first = split_bytes.min(1 << 20) + LOOKAHEAD_BYTES + 1;
        Ok(Reader { buffer: Buffer::new(blocks, first as usize)?, open: None })
    }

    /// The buffer that `read` fills.
    pub(crate) fn buffer(&mut self) -> &mut Buffer {
        &mut self.buffer
    }

    /// Reads the records that begin in an extent; `None` if none does.
    pub(crate) fn read(
        &mut self,
        ranged: &Ranged,
        extent: &Extent,
        cut: &Cut,
    ) -> Result<Option<Records>> {
        let length = ranged.material.bytes(extent.file);
        let Range { start, end } = extent.bytes;
        if let Cut::Fixed(record) = *cut {
            let (start, end) = (start.next_multiple_of(record), end.next_multiple_of(record));
            let bytes = self.fill(ranged, extent.file, start, 0, end)?;
            return Ok((bytes > 0).then_some(Records { bytes: 0..bytes, offset: start }));
        }
        // One byte before the extent says whether a record begins at its start.
        let base = start.saturating_sub(1);
        let ahead = if end < length { length.min(end + LOOKAHEAD_BYTES) } else { length };
        let mut have = self.fill(ranged, extent.file, base, 0, ahead)?;
        let nominal_end = (end - base) as usize;
        let first = if start == 0 {
            0
        } else {
            match cut.find_border(&self.buffer.bytes()[..have], 1, nominal_end.min(have)) {
                Some(first) => first,
                None => return Ok(None),
            }
        };
        let mut looked = nominal_end;
        let last = loop {
            if end == length {
                break have;
            }
            if let Some(last) = cut.find_border(&self.buffer.bytes()[..have], looked, have) {
                break last;
            }
            looked = have;
            let more = length.min(base + 2 * have as u64);
            if more == base + have as u64 {
                break have;
            }
            have = self.fill(ranged, extent.file, base, have, more)?;
        };
        Ok(Some(Records { bytes: first..last, offset: base + first as u64 }))
    }

    /// Reads the file's bytes from `base + have` to `to` behind the `have` bytes that the buffer
    /// holds from `base` on. Returns the bytes it holds then.
    fn fill(
        &mut self,
        ranged: &Ranged,
        file: usize,
        base: u64,
        have: usize,
        to: u64,
    ) -> Result<usize> {
        let want = to.saturating_sub(base) as usize;
        self.buffer.reserve(want, have)?;
        let into = &mut self.buffer.bytes_mut()[have..want];
        let from = base + have as u64;
        match &ranged.material {
            Material::Memory(bytes) => {
                into.copy_from_slice(&bytes[from as usize..from as usize + into.len()]);
            }
            Material::Files(_) => self.fill_from_file(ranged, file, from, have..want)?,
        }
        Ok(want)
    }

    fn fill_from_file(
        &mut self,
        ranged: &Ranged,
        file: usize,
        from: u64,
        into: Range<usize>,
    ) -> Result<(), InputError> {
        let (material, wanted) = (&ranged.material, (ranged.number, file));
        let handle = match &self.open {
            Some((open, handle)) if *open == wanted => handle,
            _ => &self.open.insert((wanted, open(material, file)?)).1,
        };
        let mut into = &mut self.buffer.bytes_mut()[into];
        let mut offset = from;
        while !into.is_empty() {
            match handle.read_at(into, offset) {
                Ok(0) => {
                    return Err(InputError::Shrank {
                        path: material.path(file),
                        planned: material.bytes(file),
                        found: handle.metadata().map_or(offset, |now| now.len().min(offset)),
                    });
                }
                Ok(count) => {
                    into = &mut into[count..];
                    offset += count as u64;
                }
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
                Err(cause) => return Err(InputError::from_io(material.path(file), cause)),
            }
        }
        Ok(())
    }
}

fn open(material: &Material, file: usize) -> Result<File, InputError> {
    let path = material.path(file);
    open_file(&path).map_err(|cause| {
        match cause.kind() {
            // It was there when the job was planned.
            io::ErrorKind::NotFound => InputError::Vanished { path },
            _ => InputError::from_io(path, cause),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::ByteSet;
    use crate::memory::Budget;
    use crate::plan::Layout;
    use proptest::prelude::*;

    fn pieces(text: &[u8], cut: &Cut, tile: u64, split: u64) -> Vec<Vec<u8>> {
        let material = Material::Memory(Arc::new(text.to_vec()));
        let whole = matches!(cut, Cut::Whole);
        let layout = Layout::new([text.len() as u64].into_iter(), tile, split.min(tile), whole);
        let ranged = Ranged { number: 0, material, layout };
        let mut reader = Reader::new(&BlockPool::new(Budget::new(None)), split).unwrap();
        let mut pieces = Vec::new();
        for split in 0..ranged.layout.splits() {
            for extent in ranged.layout.extents(split) {
                if let Some(records) = reader.read(&ranged, &extent, cut).unwrap() {
                    let piece = reader.buffer().bytes()[records.bytes].to_vec();
                    assert_eq!(piece, text[records.offset as usize..][..piece.len()]);
                    pieces.push(piece);
                }
            }
        }
        pieces
    }

    fn bytes_of_few_kinds() -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec(prop::sample::select(vec![b'a', b'b', b' ', b'\n', 0]), 0..5000)
    }

    proptest! {
        #[test]
        fn pieces_put_together_are_the_text_and_end_at_borders(
            text in bytes_of_few_kinds(),
            tile in 1u64..6000,
            split in 1u64..6000,
            which in 0usize..4,
        ) {
            let cut = [
                Cut::Lines,
                Cut::After(ByteSet::of(b" \n")),
                Cut::Between(|a, b| a == b'a' && b == b'b'),
                Cut::Whole,
            ][which];
            let pieces = pieces(&text, &cut, tile, split);
            prop_assert_eq!(pieces.concat(), &text[..]);
            let mut end = 0;
            for piece in &pieces {
                end += piece.len();
                let is_border = end == text.len() || cut.find_border(&text, end, end + 1).is_some();
                prop_assert!(is_border && !piece.is_empty());
            }
        }

        #[test]
        fn fixed_records_are_never_torn(
            records in 0usize..300, record in 1u64..40, tile in 1u64..900, split in 1u64..900,
        ) {
            let text: Vec<u8> = (0..records * record as usize).map(|i| i as u8).collect();
            let pieces = pieces(&text, &Cut::Fixed(record), tile, split);
            prop_assert_eq!(pieces.concat(), &text[..]);
            prop_assert!(pieces.iter().all(|piece| (piece.len() as u64).is_multiple_of(record)));
        }
    }

    #[test]
    fn one_record_over_many_splits_is_read_once() {
        let mut text = vec![b'x'; 300_000];
        text.extend(b" tail");
        let pieces = pieces(&text, &Cut::After(ByteSet::of(b" ")), 1000, 100);
        assert_eq!(pieces.iter().map(Vec::len).collect::<Vec<_>>(), [300_001, 4]);
    }
}

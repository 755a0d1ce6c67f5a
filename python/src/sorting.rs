//! Sorted and distinct records: the answer's pairs as the records that they came of.

use crate::answer::Reading;
use crate::batch::Batch;
use crate::dynamic::{Column, Number};
use std::path::Path;
use tegula::output::AtomicFile;

/// Bytes that are written at a time.
const WRITE_BYTES: usize = 1 << 20;

/// Writes the records of an answer, each followed by `end`: a key as often as it was counted, or the values of each
/// key. `last_first` goes from the last key to the first; records with equal keys stay in the order of the input.
pub(crate) fn write(
    read: &Reading,
    path: &Path,
    end: &[u8],
    is_each_once: bool,
    last_first: bool,
) -> tegula::Result<()> {
    let file = AtomicFile::create(path)?;
    let (mut at, mut out) = (0, Vec::with_capacity(2 * WRITE_BYTES));
    let count = read.output.portions();
    for portion in 0..count {
        let mut batch = read.batch();
        read.output.read(if last_first { count - 1 - portion } else { portion }, &mut batch)?;
        for place in 0..batch.len() {
            let place = if last_first { batch.len() - 1 - place } else { place };
            each(&batch, place, is_each_once, |record| {
                out.extend_from_slice(record);
                out.extend_from_slice(end);
                if out.len() >= WRITE_BYTES {
                    file.write_all_at(&out, at)?;
                    at += out.len() as u64;
                    out.clear();
                }
                Ok(())
            })?;
        }
    }
    file.write_all_at(&out, at)?;
    file.commit()?;
    Ok(())
}

/// Shows the records of a pair.
pub(crate) fn each(
    batch: &Batch,
    place: usize,
    is_each_once: bool,
    mut see: impl FnMut(&[u8]) -> tegula::Result<()>,
) -> tegula::Result<()> {
    match &batch.columns[0] {
        Column::Lists { list_ends, ends, bytes } => {
            let begin = place.checked_sub(1).map_or(0, |before| list_ends[before]);
            for value in begin..list_ends[place] {
                let begin = value.checked_sub(1).map_or(0, |before| ends[before]);
                see(&bytes[begin..ends[value]])?;
            }
            Ok(())
        }
        column => {
            let times = match column.number(place) {
                Some(Number::Int(count)) if !is_each_once => count,
                _ => 1,
            };
            (0..times).try_for_each(|_| see(batch.key(place)))
        }
    }
}

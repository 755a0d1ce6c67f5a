//! Checks that records of the TeraSort benchmark are in order, and computes the figures by which a lost,
//! doubled or changed record shows: the number of records, and the sum of their CRC-32s, as Hadoop's
//! TeraValidate and gensort's valsort do.

mod stretch;

pub use stretch::{Stretch, Stretches};

use crate::ROW_BYTES;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use tegula::{Cut, Emit, Identity, Job, Output, Result, Resumable, Split};

/// Checks the records of each split. A file may be named once. Emits a pair per split, whose key is the file's path and the split's
/// offset in it, so that pairs are in the order of the files' names and of the records in them.
#[derive(Clone, Copy, Debug, Default)]
pub struct TeraValidate;

impl Job for TeraValidate {
    type Key = [u8];
    type Combine = Stretches;

    fn cut(&self) -> Cut {
        Cut::Fixed(ROW_BYTES as u64)
    }

    fn state(&self) -> Option<&dyn Resumable> {
        Some(self)
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        let mut key = split.path().as_os_str().as_bytes().to_vec();
        key.push(0);
        key.extend_from_slice(&split.offset().to_be_bytes());
        emit.emit_copied(&key, Stretch::of(split.bytes()));
        Ok(())
    }
}

impl Resumable for TeraValidate {
    fn identity(&self) -> Identity {
        Identity::new("teravalidate", 1)
    }
}

/// The result for all files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TeraReport {
    /// The number of records.
    pub records: u64,
    /// The sum of the CRC-32 of each.
    pub checksum: u128,
    /// Records with the key of the one before.
    pub duplicates: u64,
    /// The first record with a lesser key than the one before.
    pub misplaced: Option<Misplaced>,
}

/// A record that is out of order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misplaced {
    /// Its file.
    pub path: PathBuf,
    /// Its offset there, in bytes.
    pub offset: u64,
    /// Its number among all records, from 0.
    pub record: u64,
}

impl TeraReport {
    /// Joins the answers of the splits, which must be in the order of their keys.
    ///
    /// # Errors
    /// [`StorageError`](tegula::StorageError) if the answer went to disk and cannot be read back.
    pub fn new(output: &Output<TeraValidate>) -> Result<TeraReport> {
        let (mut all, mut misplaced) = (Stretch::NONE, None);
        output.for_each(|key, stretch| {
            let before = all.records;
            all.append(&stretch);
            if let (None, Some(record)) = (&misplaced, all.misplaced) {
                misplaced = Some(place(key, record, before));
            }
        })?;
        let Stretch { records, checksum, duplicates, .. } = all;
        Ok(TeraReport { records, checksum, duplicates, misplaced })
    }
}

/// Returns the place of a record in the stretch of a key, with `before` records before the stretch.
fn place(key: &[u8], record: u64, before: u64) -> Misplaced {
    let (path, offset) = key.split_at(key.len().saturating_sub(8));
    let path = path.strip_suffix(b"\0").unwrap_or(path);
    let start = offset.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
    let offset = start + (record - before) * ROW_BYTES as u64;
    Misplaced { path: PathBuf::from(OsStr::from_bytes(path)), offset, record }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TeraRows;
    use tegula::{Engine, Input, Options};

    fn report(rows: &[u8], split_bytes: u64) -> TeraReport {
        let engine = Engine::builder().workers(2).build().unwrap();
        let options = Options { split_bytes: Some(split_bytes), ..Options::default() };
        let output = engine.job(&TeraValidate).options(&options).run(Input::bytes(rows)).unwrap();
        TeraReport::new(&output).unwrap()
    }

    fn sorted_rows(count: usize) -> Vec<u8> {
        let mut rows = vec![0; count * ROW_BYTES];
        TeraRows::Binary.fill(0, &mut rows);
        let mut rows: Vec<&[u8]> = rows.chunks(ROW_BYTES).collect();
        rows.sort_unstable();
        rows.concat()
    }

    /// The sum that valsort reports for the first million records of gensort.
    #[test]
    fn the_checksum_of_a_million_rows_is_that_of_valsort() {
        let mut rows = vec![0; 1_000_000 * ROW_BYTES];
        TeraRows::Binary.fill(0, &mut rows);
        let found = report(&rows, 1 << 20);
        assert_eq!((found.records, found.checksum), (1_000_000, 0x7_a27e_2d0d_55de));
        assert_eq!(found.misplaced.map(|misplaced| misplaced.record), Some(2));
    }

    #[test]
    fn sorted_records_are_in_order_however_they_are_split() {
        let rows = sorted_rows(1000);
        let reports: Vec<_> = [100, 700, 1 << 20].map(|split| report(&rows, split)).into();
        assert!(reports.iter().all(|found| *found == reports[0]));
        assert_eq!((reports[0].records, reports[0].duplicates), (1000, 0));
        assert_eq!(reports[0].misplaced, None);
    }

    #[test]
    fn the_first_misplaced_record_and_equal_keys_are_found() {
        let mut rows = sorted_rows(1000);
        rows.copy_within(300 * ROW_BYTES..301 * ROW_BYTES, 301 * ROW_BYTES);
        for split in [100, 1000, 1 << 20] {
            let found = report(&rows, split);
            assert_eq!((found.duplicates, found.misplaced), (1, None));
        }
        rows.copy_within(..ROW_BYTES, 501 * ROW_BYTES);
        rows.copy_within(..ROW_BYTES, 777 * ROW_BYTES);
        for split in [100, 1000, 1 << 20] {
            let misplaced = report(&rows, split).misplaced.unwrap();
            assert_eq!((misplaced.record, misplaced.offset), (501, 50_100));
        }
    }
}

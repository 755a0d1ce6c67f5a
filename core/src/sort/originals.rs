//! Originals: the input's files, mapped into memory. A pile then keeps the place of a record, 8 bytes, and the record
//! is copied from its file into the cache when its range is sorted. The first touch of memory for all records is the
//! dearest part of a sort in memory, and so is spared.
//!
//! The records of a range are read a second time then. A file that another program changes in between is found out: by
//! lengths that no longer fit, by a page that is gone, by ranges that are not in order, and by its time of change.

use super::records::{Form, Kind};
use super::source::{Section, Source};
use super::store::{RECORD_BYTES_MOST, too_long};
use crate::error::{InputError, MemoryError, Result};
use crate::failure::Failure;
use crate::ingest::Means;
use crate::input::{Material, open_listed};
use crate::memory::{BlockPool, MappedFiles, Reserved};
use crate::plan::Ranged;
use crate::schedule::{Pool, for_each};
use crate::sync::Mutex;
use std::collections::HashMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;

/// A place in a pile, and the bytes of it.
pub(super) type Place = u64;
pub(super) const PLACE_BYTES: usize = size_of::<Place>();
/// The lower bits of a place: the length of the record, or this most if it is longer.
const LENGTH_BITS: u32 = 24;
const LENGTH_MOST: u64 = (1 << LENGTH_BITS) - 1;
/// The upper bits of a place reach further, by much more than the rest of each file's last page.
const BYTES_MOST: u64 = 1 << (u64::BITS - LENGTH_BITS - 1);
/// Pages are mapped in pieces of this size.
const TOUCHED_BYTES: usize = 8 << 20;
/// Each file takes a mapping, of which a process has some ten thousand.
const FILES_MOST: usize = 1 << 10;
/// Records that are fetched ahead of the one that is copied.
const AHEAD: usize = 24;
const STAGE: &str = "mapping the input into memory";

/// Returns the place that a pile has in these bytes.
pub(super) fn place_in(bytes: &[u8]) -> Place {
    bytes.first_chunk().map_or(0, |bytes| Place::from_ne_bytes(*bytes))
}

/// The files of an input in memory, to copy records from.
pub(super) struct Originals {
    files: MappedFiles,
    kept: Vec<Kept>,
    /// By the part's number, the first of its files among all.
    firsts: Vec<usize>,
    /// The lengths of records that are too long for a place.
    long: Mutex<HashMap<u64, u64>>,
    /// Of each range that was written: where it begins in the output, and its first and its last key, cut short.
    seams: Mutex<Vec<Seam>>,
    _counted: Reserved,
}

/// A file as it was when it was mapped.
struct Kept {
    path: PathBuf,
    start: u64,
    length: u64,
    was: Metadata,
}

struct Seam {
    offset: u64,
    first: Box<[u8]>,
    last: Box<[u8]>,
}

/// The bytes of a key that a seam keeps.
const SEAM_KEY_BYTES: usize = 64;

impl Originals {
    /// Maps the files of a source, if all of it is files on disk and if that takes at most `most_bytes`. Otherwise, and
    /// where the system refuses, piles keep records.
    pub(super) fn of(
        source: &Source<'_>,
        means: Means<'_>,
        most_bytes: u64,
    ) -> Result<Option<Originals>> {
        let parts: Option<Vec<&Ranged>> =
            source.sections().map(|(_, section)| mappable(section)).collect();
        let Some(parts) = parts else { return Ok(None) };
        let files: usize = parts.iter().map(|part| part.material.files()).sum();
        let lengths = || {
            let of = |part: &&Ranged| {
                let material = &part.material;
                (0..material.files()).map(|file| material.bytes(file)).collect::<Vec<_>>()
            };
            parts.iter().flat_map(of)
        };
        let bytes: u64 = lengths().sum();
        if files == 0 || files > FILES_MOST || bytes > most_bytes || bytes > BYTES_MOST {
            return Ok(None);
        }
        let Ok(counted) = counted(means.blocks, bytes) else { return Ok(None) };
        let Ok(mapped) = MappedFiles::for_lengths(lengths()) else { return Ok(None) };
        let mut originals = Originals {
            files: mapped,
            kept: Vec::new(),
            firsts: vec![0; means.plan.parts.len()],
            long: Mutex::default(),
            seams: Mutex::default(),
            _counted: counted,
        };
        for part in parts {
            originals.firsts[part.number] = originals.kept.len();
            for file in 0..part.material.files() {
                if !originals.add(&part.material, file)? {
                    return Ok(None);
                }
            }
        }
        Ok(Some(originals))
    }

    fn add(&mut self, material: &Material, file: usize) -> Result<bool> {
        let (path, length) = (material.path(file), material.bytes(file));
        let open = open_listed(path.clone())?;
        let was = open.metadata().map_err(|cause| InputError::of_listed(path.clone(), cause))?;
        let Ok(start) = self.files.add(&open, length) else { return Ok(false) };
        self.kept.push(Kept { path, start, length, was });
        Ok(true)
    }

    /// Maps all pages, which the cache has since they were read.
    pub(super) fn touch(&self, pool: &Pool, failure: &Failure) -> Result<()> {
        let count = self.files.bytes().div_ceil(TOUCHED_BYTES);
        for_each(pool, failure, STAGE, count, |_, number| {
            self.files.touch(number * TOUCHED_BYTES, TOUCHED_BYTES);
            Ok(())
        })
    }

    /// Returns the place of byte `offset` of a part's file.
    pub(super) fn place_of(&self, part: usize, file: usize, offset: u64) -> u64 {
        self.kept[self.firsts[part] + file].start + offset
    }

    /// Returns a record's place with its length.
    ///
    /// # Errors
    /// [`Error::Record`](crate::error::Error::Record) if it has 4 GiB or more.
    #[inline(always)]
    pub(super) fn note(&self, at: u64, length: usize) -> Result<Place> {
        let length = match length as u64 {
            short if short < LENGTH_MOST => short,
            long => self.note_long(at, long)?,
        };
        Ok(at << LENGTH_BITS | length)
    }

    #[cold]
    fn note_long(&self, at: u64, length: u64) -> Result<u64> {
        // A line without its newline gets one.
        if length >= RECORD_BYTES_MOST as u64 {
            return Err(too_long(length as usize));
        }
        self.long.lock().insert(at, length);
        Ok(LENGTH_MOST)
    }

    /// Returns where a noted record begins, and its length.
    #[inline(always)]
    fn look(&self, place: Place) -> (u64, usize) {
        let (at, length) = (place >> LENGTH_BITS, place & LENGTH_MOST);
        if length < LENGTH_MOST {
            return (at, length as usize);
        }
        (at, self.long.lock().get(&at).map_or(0, |&length| length as usize))
    }

    /// Copies a record; a line gets its newline if it has none.
    pub(super) fn read(&self, place: Place, form: &Form, into: &mut Vec<u8>) {
        let (at, length) = self.look(place);
        into.resize(length, 0);
        self.files.copy(at, into);
        if form.kind == Kind::Lines && into.last() != Some(&b'\n') {
            into.push(b'\n');
        }
    }

    /// Copies the records of a range to `into`, which they fill: one after the other. Shows where each ends.
    ///
    /// # Errors
    /// [`InputError::Changed`] if their lengths are no longer those that were noted.
    pub(super) fn copy(
        &self,
        places: &[Place],
        form: &Form,
        into: &mut [u8],
        mut end_at: impl FnMut(usize, usize),
    ) -> Result<()> {
        let are_lines = form.kind == Kind::Lines;
        let mut end = 0;
        for (number, &place) in places.iter().enumerate() {
            if let Some(&ahead) = places.get(number + AHEAD) {
                self.files.prefetch(ahead >> LENGTH_BITS, (ahead & LENGTH_MOST) as usize);
            }
            let (at, length) = self.look(place);
            let Some(record) = into.get_mut(end..end + length) else {
                return self.are_changed(places);
            };
            self.files.copy(at, record);
            let has_end = record.last() == Some(&b'\n');
            end += length;
            if are_lines && !has_end {
                let Some(newline) = into.get_mut(end) else { return self.are_changed(places) };
                *newline = b'\n';
                end += 1;
            }
            end_at(number, end);
        }
        if end == into.len() { Ok(()) } else { self.are_changed(places) }
    }

    /// Notes the keys between which a range was written from `offset` on.
    pub(super) fn written(&self, offset: u64, first: &[u8], last: &[u8]) {
        let short = |key: &[u8]| key[..key.len().min(SEAM_KEY_BYTES)].into();
        self.seams.lock().push(Seam { offset, first: short(first), last: short(last) });
    }

    /// Checks, when all ranges are written, that what was read the second time is what was read the first time.
    ///
    /// # Errors
    /// [`InputError::Shrank`], [`InputError::Changed`].
    pub(super) fn check(self, form: &Form) -> Result<()> {
        for Kept { path, length, was, .. } in &self.kept {
            // A file that has another name now, or none, is still mapped.
            let Ok(now) = std::fs::metadata(path) else { continue };
            if (now.dev(), now.ino()) != (was.dev(), was.ino()) {
                continue;
            }
            let (path, planned, found) = (path.clone(), *length, now.len());
            if found < planned {
                return Err(InputError::Shrank { path, planned, found }.into());
            }
            // One that has grown need not have changed before that.
            let times = |of: &Metadata| (of.mtime(), of.mtime_nsec());
            if found == was.len() && times(&now) != times(was) {
                return Err(InputError::Changed { path }.into());
            }
        }
        let mut seams = self.seams.lock();
        // Ranges without a byte of their own are where they were written.
        seams.sort_by_key(|seam| seam.offset);
        let is_before = |a: &Seam, b: &Seam| {
            let (a, b) = if form.reverse { (&b.first, &a.last) } else { (&a.last, &b.first) };
            a <= b
        };
        let is_torn = self.files.is_torn() || !seams.is_sorted_by(is_before);
        if is_torn { self.are_changed(&[]) } else { Ok(()) }
    }

    /// Returns the error of a file that was changed: that of the first of these records.
    #[cold]
    fn are_changed(&self, places: &[Place]) -> Result<()> {
        let at = places.first().map_or(0, |place| place >> LENGTH_BITS);
        let file = self.kept.partition_point(|kept| kept.start <= at).saturating_sub(1);
        Err(InputError::Changed { path: self.kept[file].path.clone() }.into())
    }
}

fn counted(blocks: &Arc<BlockPool>, bytes: u64) -> Result<Reserved, MemoryError> {
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    Reserved::new(blocks, bytes, "the input's files in memory")
}

/// Returns files that can be mapped, if a section is such.
fn mappable<'p>(section: &'p Section<'p>) -> Option<&'p Ranged> {
    match section {
        Section::Ranged(ranged) if !ranged.direct.wanted => {
            matches!(ranged.material, Material::Files(_)).then_some(*ranged)
        }
        Section::Ranged(_) | Section::Spool(_) => None,
    }
}

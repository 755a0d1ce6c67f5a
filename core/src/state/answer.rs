//! The file that holds a run's answer, as far as its state knows: a note beside the manifest. A run that finds its input
//! as it was, and that file as it was written, has nothing to do, whatever the number of its keys.
//!
//! The note names the state by a digest of its manifest and its list of tiles, which any other run changes. It need not
//! last: without it, the next run makes the answer again.

use super::State;
use super::folder::StateFolder;
use super::manifest::{Figures, Manifest};
use crate::bad::Found;
use crate::encoding::{Digest, Reading, body_of, framed, put_number};
use crate::error::{Result, StorageError};
use crate::storage::Storage;
use rustix::time::{ClockId, clock_gettime};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

pub(super) const NAME: &str = "answer";
pub(super) const NEXT: &str = "answer.next";
const MAGIC: [u8; 4] = *b"TgA\x01";
/// The step of a file system's clock, in nanoseconds, at most. One that is ahead of the system's by more is another clock,
/// for which nothing waits.
const TICK: i64 = 10_000_000;
/// The next step comes later where the host gives the machine's processors to others.
const PATIENCE: Duration = Duration::from_secs(1);
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// A file that an answer is written to.
#[derive(Clone, Copy, Debug)]
pub struct AnswerFile<'a> {
    /// Where it is.
    pub path: &'a Path,
    /// The program that writes it with its version, and the options of its form. They decide its bytes together with the
    /// pairs and the options of the run.
    pub form: &'a [u8],
}

/// An answer that a run may find in place.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    path: &'a Path,
    form: u128,
}

/// An answer that stands: the counts of the run that made it.
pub(crate) struct FoundAnswer {
    /// Of the maps, whose pieces are still in the state.
    pub(crate) figures: Figures,
    pub(crate) bad: Found,
    /// The tiles that were found again, if tiles are.
    pub(crate) tiles: Option<u64>,
    pub(crate) keys: u64,
    pub(crate) key_value_bytes: u64,
}

/// The note.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Note {
    /// The state from which the answer was made.
    of: u128,
    form: u128,
    file: FileMark,
    pub(super) keys: u64,
    pub(super) key_value_bytes: u64,
}

/// The identity of a file's contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileMark {
    device: u64,
    number: u64,
    bytes: u64,
    /// Nanoseconds since 1970. Any change moves the second one, and no program can set it.
    modified: i64,
    changed: i64,
}

impl<'a> Asked<'a> {
    /// Returns an answer for a file, of which `options` says the run's options that decide it.
    pub(crate) fn new(AnswerFile { path, form }: AnswerFile<'a>, options: &str) -> Asked<'a> {
        Asked { path, form: Digest::of(&[options.as_bytes(), b"\n", form].concat()) }
    }
}

impl Note {
    /// Reads the note of a state; `None` if there is none that can be read, or if the file is another now.
    pub(super) fn standing(storage: &dyn Storage, asked: Asked<'_>) -> Option<Note> {
        let file = storage.open(NAME).ok()?;
        let bytes = super::folder::read_all(&*file).ok()?;
        let note = Note::decode(&mut Reading::new(body_of(MAGIC, &bytes).ok()?))?;
        let stands = note.form == asked.form && FileMark::of(asked.path) == Some(note.file);
        stands.then_some(note)
    }

    /// Returns whether it is of a state as it is now.
    pub(super) fn is_of(&self, manifest: &Manifest, list: u128) -> bool {
        self.of == digest_of(manifest, list)
    }

    fn encode(&self) -> Vec<u8> {
        let Note { of, form, file, keys, key_value_bytes } = self;
        let FileMark { device, number, bytes, modified, changed } = *file;
        let mut out = [of.to_le_bytes(), form.to_le_bytes()].concat();
        [device, number, bytes].into_iter().for_each(|number| put_number(number, &mut out));
        [modified, changed].into_iter().for_each(|time| out.extend_from_slice(&time.to_le_bytes()));
        [*keys, *key_value_bytes].into_iter().for_each(|number| put_number(number, &mut out));
        out
    }

    fn decode(from: &mut Reading<'_>) -> Option<Note> {
        let (of, form) = (from.fixed()?, from.fixed()?);
        let (device, number, bytes) = (from.number()?, from.number()?, from.number()?);
        let (modified, changed) = (from.fixed()?, from.fixed()?);
        let [modified, changed] = [modified, changed].map(i64::from_le_bytes);
        let note = Note {
            of: u128::from_le_bytes(of),
            form: u128::from_le_bytes(form),
            file: FileMark { device, number, bytes, modified, changed },
            keys: from.number()?,
            key_value_bytes: from.number()?,
        };
        from.is_at_end().then_some(note)
    }
}

/// Returns the digest of a state's pairs and where they are from.
pub(super) fn digest_of(manifest: &Manifest, list: u128) -> u128 {
    let mut bytes = Vec::new();
    manifest.encode_contents(&mut bytes);
    bytes.extend_from_slice(&list.to_le_bytes());
    Digest::of(&bytes)
}

/// Notes that a file holds the answer of a state that was `of` this digest, if the file stays as it is until its file
/// system would show a change.
pub(crate) fn note(
    state: &State,
    of: u128,
    Asked { path, form }: Asked<'_>,
    (keys, key_value_bytes): (u64, u64),
) -> Result<()> {
    let Some(file) = FileMark::settled(path) else { return Ok(()) };
    let folder = state.open()?;
    let body = Note { of, form, file, keys, key_value_bytes }.encode();
    write(&folder, &framed(MAGIC, &body))?;
    folder.end();
    Ok(())
}

fn write(folder: &StateFolder, bytes: &[u8]) -> Result<(), StorageError> {
    let storage = &*folder.storage;
    let file = match storage.create(NEXT) {
        Err(StorageError::Exists { .. }) => {
            storage.remove(NEXT)?;
            storage.create(NEXT)?
        }
        created => created?,
    };
    file.write_all_at(bytes, 0)?;
    // Storage elsewhere has a file from then on.
    file.sync()?;
    storage.rename(NEXT, NAME)
}

impl FileMark {
    /// `None` if it is no file, or its times cannot be told.
    fn of(path: &Path) -> Option<FileMark> {
        let found = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
        let time =
            |seconds: i64, nanos: i64| seconds.checked_mul(1_000_000_000)?.checked_add(nanos);
        Some(FileMark {
            device: found.dev(),
            number: found.ino(),
            bytes: found.len(),
            modified: time(found.mtime(), found.mtime_nsec())?,
            changed: time(found.ctime(), found.ctime_nsec())?,
        })
    }

    /// As `of`, of a file that would show another time if it were changed from now on.
    fn settled(path: &Path) -> Option<FileMark> {
        let mark = FileMark::of(path)?;
        let since = Instant::now();
        loop {
            let ahead = mark.changed.saturating_sub(coarse_now()?);
            if ahead < 0 {
                break;
            }
            if ahead > TICK || since.elapsed() > PATIENCE {
                return None;
            }
            sleep(LOOK_EVERY);
        }
        (FileMark::of(path) == Some(mark)).then_some(mark)
    }
}

/// The clock of file systems, in nanoseconds since 1970.
fn coarse_now() -> Option<i64> {
    let now = clock_gettime(ClockId::RealtimeCoarse);
    now.tv_sec.checked_mul(1_000_000_000)?.checked_add(now.tv_nsec)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_read_as_it_was_made_and_no_cut_of_it() {
        let file =
            FileMark { device: 1, number: 2, bytes: 1 << 40, modified: -3, changed: i64::MAX };
        let note = Note { of: u128::MAX - 1, form: 7, file, keys: 8, key_value_bytes: 1 << 50 };
        let bytes = note.encode();
        assert_eq!(Note::decode(&mut Reading::new(&bytes)), Some(note));
        for end in 0..bytes.len() {
            assert_eq!(Note::decode(&mut Reading::new(&bytes[..end])), None);
        }
        assert_eq!(Note::decode(&mut Reading::new(&[&bytes[..], b"\0"].concat())), None);
    }
}

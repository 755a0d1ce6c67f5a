//! The fingerprint of an input: the name, length and time of change of each file. A run resumes from a state
//! only if the fingerprint is the same, so that earlier and later maps read one input. It costs a look at
//! each file and no reading, except that bytes in memory are hashed.

use super::folder::{read_all, replace};
use crate::encoding::{Digest, Reading, put_bytes, put_number};
use crate::error::{Error, Result, StateError, StorageError};
use crate::input::{FileList, Material};
use crate::plan::{Part, Plan};
use crate::storage::Storage;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use twox_hash::XxHash3_64;

/// The name of its file, from which messages take the changed input file.
pub(super) const NAME: &str = "input";
pub(super) const NEXT: &str = "input.next";
/// Bytes that are written and read at a time.
const PIECE_BYTES: usize = 256 << 10;

/// The digest of an input that a manifest holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    pub(crate) files: u64,
    pub(crate) digest: u128,
}

/// One file of it.
#[derive(Debug, PartialEq, Eq)]
struct Known<'a> {
    name: &'a [u8],
    bytes: u64,
    /// Nanoseconds since 1970 at which it was changed; of bytes in memory, their hash; 0 where nobody
    /// knows.
    stamp: u64,
}

impl<'a> Known<'a> {
    fn encode(&self, out: &mut Vec<u8>) {
        put_bytes(self.name, out);
        put_number(self.bytes, out);
        put_number(self.stamp, out);
    }

    fn decode(from: &mut Reading<'a>) -> Option<Known<'a>> {
        Some(Known { name: from.bytes()?, bytes: from.number()?, stamp: from.number()? })
    }
}

/// Decodes the names and lengths of a listing's files; `None` if it is cut short.
pub(crate) fn listed(listing: &[u8]) -> Option<Vec<(PathBuf, u64)>> {
    let (mut from, mut files) = (Reading::new(listing), Vec::new());
    while !from.is_at_end() {
        let Known { name, bytes, .. } = Known::decode(&mut from)?;
        files.push((OsStr::from_bytes(name).into(), bytes));
    }
    Some(files)
}

/// Gives `see` the name, length and time of change of each file of the plan.
fn each(plan: &Plan, mut see: impl FnMut(Known<'_>) -> Result<(), StorageError>) -> Result<()> {
    for part in &plan.parts {
        let material = match part {
            Part::Ranged(ranged) => &ranged.material,
            Part::Packed(packed) => &packed.material,
            Part::Stream(stream) => {
                return Err(StateError::Stream { name: stream.name.clone() }.into());
            }
        };
        for file in 0..material.files() {
            let path = material.path(file);
            let stamp = match material {
                Material::Files(_) => fs::metadata(&path).map_or(0, |found| {
                    (found.mtime() as u64).wrapping_mul(1_000_000_000) + found.mtime_nsec() as u64
                }),
                Material::Ranges(source, _) => source.stamp(&path),
                Material::Memory(bytes) => XxHash3_64::oneshot(bytes),
            };
            let (name, bytes) = (path.as_os_str().as_bytes(), material.bytes(file));
            see(Known { name, bytes, stamp })?;
        }
    }
    Ok(())
}

/// Returns the listing of a state, whose manifest has this digest of it.
///
/// # Errors
/// [`StorageError::Damaged`] if it has another, and others of the disk.
pub(super) fn kept(storage: &dyn Storage, digest: u128) -> Result<Vec<u8>, StorageError> {
    let file = storage.open(NAME)?;
    let listing = read_all(&*file)?;
    if Digest::of(&listing) == digest {
        return Ok(listing);
    }
    let (path, cause) = (file.path().to_path_buf(), "its checksum is another");
    Err(StorageError::Damaged { path, offset: 0, cause })
}

/// Returns the input's files, as they were when a state was begun whose manifest has this digest.
pub(super) fn files(storage: &dyn Storage, digest: u128) -> Result<FileList> {
    let mut files = FileList::default();
    let listed = listed(&kept(storage, digest)?).unwrap_or_default();
    listed.iter().for_each(|(name, bytes)| files.add_path(name.as_os_str(), *bytes));
    Ok(files)
}

impl Fingerprint {
    pub(crate) fn of(plan: &Plan) -> Result<Fingerprint> {
        Fingerprint::with(plan, |stamp| stamp)
    }

    /// Returns the fingerprint of names and lengths alone, which a machine has that reads the files through another.
    pub(crate) fn of_names(plan: &Plan) -> Result<Fingerprint> {
        Fingerprint::with(plan, |_| 0)
    }

    fn with(plan: &Plan, stamp: impl Fn(u64) -> u64) -> Result<Fingerprint> {
        let (mut files, mut hash, mut bytes) = (0, Digest::default(), Vec::new());
        each(plan, |known| {
            bytes.clear();
            Known { stamp: stamp(known.stamp), ..known }.encode(&mut bytes);
            hash.add(&bytes);
            files += 1;
            Ok(())
        })?;
        Ok(Fingerprint { files, digest: hash.sum() })
    }

    /// Writes the names, lengths and times of change of the plan's files, in their order. Returns the fingerprint of what
    /// is written: a file may have changed since it was last looked at.
    pub(super) fn write(plan: &Plan, storage: &dyn Storage) -> Result<Fingerprint> {
        let (mut files, mut hash) = (0, Digest::default());
        replace(storage, NEXT, NAME, |file| {
            let (mut at, mut bytes) = (0, Vec::with_capacity(PIECE_BYTES));
            let mut put = |bytes: &mut Vec<u8>| {
                file.write_all_at(bytes, at)?;
                hash.add(bytes);
                at += bytes.len() as u64;
                bytes.clear();
                Ok(())
            };
            each(plan, |known| {
                known.encode(&mut bytes);
                files += 1;
                if bytes.len() < PIECE_BYTES { Ok(()) } else { put(&mut bytes) }
            })?;
            put(&mut bytes).map_err(Error::from)
        })?;
        Ok(Fingerprint { files, digest: hash.sum() })
    }

    /// Returns the data of the digest.
    pub(crate) fn listing(plan: &Plan) -> Result<Vec<u8>> {
        let mut listing = Vec::new();
        each(plan, |known| {
            known.encode(&mut listing);
            Ok(())
        })?;
        Ok(listing)
    }

    /// Returns the first difference of the input from that of the manifest in `storage`, in words.
    pub(super) fn difference(&self, plan: &Plan, storage: &dyn Storage) -> Result<String> {
        let listing = kept(storage, self.digest)?;
        let difference = Fingerprint::difference_from(plan, &listing)?;
        Ok(difference.unwrap_or_else(|| "files at its end are gone".to_owned()))
    }

    /// Returns the first difference of the input from that of a [`listing`](Fingerprint::listing), in words; `None`
    /// if that has no more than files at its end.
    pub(crate) fn difference_from(plan: &Plan, listing: &[u8]) -> Result<Option<String>> {
        let mut before = Reading::new(listing);
        let mut found = None;
        each(plan, |now| {
            if found.is_some() {
                return Ok(());
            }
            let show = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
            found = match Known::decode(&mut before) {
                None => Some(format!("{} is new", show(now.name))),
                Some(then) if then.name != now.name => {
                    Some(format!("{} is in the place of {}", show(now.name), show(then.name)))
                }
                Some(then) if then.bytes != now.bytes => {
                    let name = show(now.name);
                    Some(format!("{name} had {} bytes and has {}", then.bytes, now.bytes))
                }
                Some(then) if then.stamp != now.stamp => {
                    Some(format!("{} was changed since", show(now.name)))
                }
                Some(_) => None,
            };
            Ok(())
        })?;
        Ok(found)
    }
}

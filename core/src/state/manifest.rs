//! The manifest of a state: its job, its input, and which splits are in which snapshot. It alone decides
//! which files count: the next manifest replaces it at once, when all files that it names are on disk.

use super::answer;
use super::fingerprint;
use super::folder::{read_all, replace};
use super::folds::Fold;
use super::pieces;
use super::snapshot::HEAD_BYTES;
use crate::bad::Found;
use crate::coverage::Coverage;
use crate::encoding::{Digest, Reading, body_of, framed, put_bytes, put_number};
use crate::error::{Result, StorageError};
use crate::identity::Identity;
use crate::relocation::Standing;
use crate::reuse::Print;
use crate::storage::{Storage, StoredFile};
use std::ops::Range;

/// Its first bytes; the last one is the version.
const MAGIC: [u8; 4] = *b"TgM\x05";
/// Bytes that are read at a time.
const READ_BYTES: usize = 1 << 20;
/// The name of the manifest, and of the next one while it is written.
pub(super) const NAME: &str = "manifest";
pub(super) const NEXT: &str = "manifest.next";

/// The contents of a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    pub identity: Identity,
    /// Data that the caller keeps with it.
    pub about: Vec<u8>,
    /// Files of the input, their bytes, and a digest of their names, lengths and times of change.
    pub files: u64,
    pub input_bytes: u64,
    pub input_digest: u128,
    /// The number of the next snapshot.
    pub next: u64,
    /// Whether all of the input is covered.
    pub done: bool,
    /// The list of tiles that snapshots name, if tiles are found again: the number of its file.
    pub tiles: Option<u64>,
    /// The combined pairs of several tiles.
    pub folds: Vec<Fold>,
    pub snapshots: Vec<Snapshot>,
}

/// A file of blocks, complete and on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    pub number: u64,
    pub bytes: u64,
    /// XXH3 (128 bits) of the whole file.
    pub digest: u128,
    /// The parts of it that count, in the order of its blocks.
    pub pieces: Vec<Piece>,
}

/// Consecutive blocks in a snapshot, and the tiles or splits of their pairs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Piece {
    /// The range of the blocks in the file, in bytes.
    pub blocks: Range<u64>,
    pub pairs: u64,
    /// Empty if the pieces after it in its save cover it, too.
    pub coverage: Coverage,
    pub figures: Figures,
    /// Records that were refused and skipped.
    pub bad: Found,
    /// The print of its tile, if it is all of a tile that is found again by that.
    pub print: Option<Print>,
    /// The fold that it is a part of. Then it covers nothing by itself.
    pub fold: Option<u64>,
    /// The position of its tile when the pairs were made, if they are lists of values, which may contain
    /// positions, or if records were refused. The files of those are numbered as in it, through all parts of the plan.
    pub stood: Option<Standing>,
}

/// The counts of maps, for the statistics of the run that resumes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    pub bytes: u64,
    pub splits: u64,
    pub emitted: u64,
}

impl Figures {
    pub fn add(&mut self, other: Figures) {
        self.bytes += other.bytes;
        self.splits += other.splits;
        self.emitted += other.emitted;
    }
}

impl Snapshot {
    /// Returns whether all of the file counts.
    pub(super) fn is_whole(&self) -> bool {
        let mut end = HEAD_BYTES as u64;
        self.pieces
            .iter()
            .all(|piece| std::mem::replace(&mut end, piece.blocks.end) == piece.blocks.start)
            && end == self.bytes
    }

    /// Reads all of the file and compares its checksum.
    ///
    /// # Errors
    /// [`StorageError::Damaged`], and others of the disk.
    pub(super) fn verify(&self, file: &dyn StoredFile) -> Result<(), StorageError> {
        let damaged = |cause| {
            let path = file.path().to_path_buf();
            Err(StorageError::Damaged { path, offset: 0, cause })
        };
        if file.bytes()? != self.bytes {
            return damaged("it has another length than the manifest says");
        }
        let (mut digest, mut at, mut read) = (Digest::default(), 0, vec![0; READ_BYTES]);
        while at < self.bytes {
            let len = (self.bytes - at).min(READ_BYTES as u64) as usize;
            file.read_exact_at(&mut read[..len], at)?;
            digest.add(&read[..len]);
            at += len as u64;
        }
        if digest.sum() != self.digest {
            return damaged("its checksum is another");
        }
        Ok(())
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        let Snapshot { number, bytes, digest, pieces } = self;
        put_number(*number, out);
        put_number(*bytes, out);
        out.extend_from_slice(&digest.to_le_bytes());
        put_number(pieces.len() as u64, out);
        pieces.iter().for_each(|piece| piece.encode(out));
    }

    pub(super) fn decode(from: &mut Reading<'_>) -> Option<Snapshot> {
        Some(Snapshot {
            number: from.number()?,
            bytes: from.number()?,
            digest: u128::from_le_bytes(from.fixed()?),
            pieces: {
                let count = from.number()?;
                (0..count).map(|_| Piece::decode(from)).collect::<Option<_>>()?
            },
        })
    }

    /// Pairs of all pieces.
    pub(super) fn pairs(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.pairs).sum()
    }
}

impl Piece {
    fn encode(&self, out: &mut Vec<u8>) {
        let Piece { blocks, pairs, coverage, figures, bad, print, fold, stood } = self;
        [blocks.start, blocks.end - blocks.start, *pairs]
            .into_iter()
            .for_each(|number| put_number(number, out));
        coverage.encode(out);
        let Figures { bytes, splits, emitted } = *figures;
        [bytes, splits, emitted].into_iter().for_each(|figure| put_number(figure, out));
        bad.encode(out);
        out.push(u8::from(print.is_some()));
        print.iter().for_each(|print| out.extend_from_slice(&print.to_bytes()));
        // 0 is none.
        put_number(fold.map_or(0, |number| number + 1), out);
        out.push(u8::from(stood.is_some()));
        if let Some(Standing { split, file, offset }) = *stood {
            [split, file, offset].into_iter().for_each(|number| put_number(number, out));
        }
    }

    fn decode(from: &mut Reading<'_>) -> Option<Piece> {
        let start = from.number()?;
        let end = start.checked_add(from.number()?)?;
        Some(Piece {
            blocks: start..end,
            pairs: from.number()?,
            coverage: Coverage::decode(from)?,
            figures: Figures {
                bytes: from.number()?,
                splits: from.number()?,
                emitted: from.number()?,
            },
            bad: Found::decode(from)?,
            print: match from.fixed()? {
                [0] => None,
                _ => Some(Print::from_bytes(from.fixed()?)),
            },
            fold: from.number()?.checked_sub(1),
            stood: match from.fixed()? {
                [0] => None,
                _ => Some(Standing {
                    split: from.number()?,
                    file: from.number()?,
                    offset: from.number()?,
                }),
            },
        })
    }
}

/// Returns the name of a snapshot's file.
pub(super) fn snapshot_name(number: u64) -> String {
    format!("snapshot-{number:08}")
}

/// Returns the name of a list of tiles.
pub(super) fn tiles_name(number: u64) -> String {
    format!("tiles-{number:08}")
}

/// Returns whether a file of that name is a state's own.
pub(super) fn is_ours(name: &str) -> bool {
    let numbered = ["snapshot-", "tiles-"];
    let number = numbered.iter().find_map(|kind| name.strip_prefix(kind));
    number.is_some_and(|number| number.parse::<u64>().is_ok())
        || [NAME, NEXT, fingerprint::NAME, fingerprint::NEXT, pieces::NAME, pieces::NEXT]
            .contains(&name)
        || [answer::NAME, answer::NEXT].contains(&name)
}

impl Manifest {
    /// Returns a manifest that is never written, whose next snapshot has a number.
    pub(super) fn nothing(next: u64) -> Manifest {
        Manifest {
            identity: Identity::new("", 0),
            about: Vec::new(),
            files: 0,
            input_bytes: 0,
            input_digest: 0,
            next,
            done: false,
            tiles: None,
            folds: Vec::new(),
            snapshots: Vec::new(),
        }
    }

    /// Reads the manifest of a folder; `None` if there is none.
    pub fn read(storage: &dyn Storage) -> Result<Option<Manifest>, StorageError> {
        let file = match storage.open(NAME) {
            Ok(file) => file,
            Err(StorageError::Missing { .. }) => return Ok(None),
            Err(fault) => return Err(fault),
        };
        let bytes = read_all(&*file)?;
        let damaged =
            |cause| StorageError::Damaged { path: file.path().to_path_buf(), offset: 0, cause };
        let body = body_of(MAGIC, &bytes).map_err(damaged)?;
        Manifest::decode(body).map(Some).ok_or(damaged("its contents are inconsistent"))
    }

    /// Makes this the folder's manifest, at once and for good. Whatever it names must be synced.
    pub fn write(&self, storage: &dyn Storage) -> Result<(), StorageError> {
        let mut body = Vec::new();
        self.encode(&mut body);
        replace(storage, NEXT, NAME, |file| file.write_all_at(&framed(MAGIC, &body), 0))
    }

    /// Returns all that is covered; `Err` if two snapshots cover the same.
    pub fn coverage(&self) -> Result<Coverage, &'static str> {
        let mut all = Coverage::default();
        for piece in self.pieces() {
            if all.add_all(&piece.coverage) {
                return Err("two snapshots cover the same splits");
            }
        }
        Ok(all)
    }

    /// Returns the names of the manifest and of the files that it names.
    pub(super) fn files_named(&self) -> Vec<String> {
        let beside = [NAME, fingerprint::NAME, pieces::NAME, answer::NAME];
        let mut files = beside.map(str::to_owned).to_vec();
        files.extend(self.tiles.map(tiles_name));
        files.extend(self.snapshots.iter().map(|snapshot| snapshot_name(snapshot.number)));
        files
    }

    /// Returns all pieces that count.
    pub fn pieces(&self) -> impl Iterator<Item = &Piece> {
        self.snapshots.iter().flat_map(|snapshot| &snapshot.pieces)
    }

    fn encode(&self, out: &mut Vec<u8>) {
        self.identity.encode(out);
        put_bytes(&self.about, out);
        put_number(self.files, out);
        put_number(self.input_bytes, out);
        out.extend_from_slice(&self.input_digest.to_le_bytes());
        self.encode_pieces(out);
    }

    /// Encodes what decides the answer: all but what the caller keeps, and the times of the input's files.
    pub(super) fn encode_contents(&self, out: &mut Vec<u8>) {
        self.identity.encode(out);
        self.encode_pieces(out);
    }

    fn encode_pieces(&self, out: &mut Vec<u8>) {
        put_number(self.next, out);
        out.push(u8::from(self.done));
        // 0 is none.
        put_number(self.tiles.map_or(0, |number| number + 1), out);
        put_number(self.folds.len() as u64, out);
        self.folds.iter().for_each(|fold| fold.encode(out));
        put_number(self.snapshots.len() as u64, out);
        self.snapshots.iter().for_each(|snapshot| snapshot.encode(out));
    }

    fn decode(body: &[u8]) -> Option<Manifest> {
        let from = &mut Reading::new(body);
        let identity = Identity::decode(from)?;
        let about = from.bytes()?.to_vec();
        let (files, input_bytes) = (from.number()?, from.number()?);
        let input_digest = u128::from_le_bytes(from.fixed()?);
        let next = from.number()?;
        let done = from.fixed::<1>()? == [1];
        let tiles = from.number()?.checked_sub(1);
        let count = from.number()?;
        let folds = (0..count).map(|_| Fold::decode(from)).collect::<Option<_>>()?;
        let count = from.number()?;
        let snapshots = (0..count).map(|_| Snapshot::decode(from)).collect::<Option<_>>()?;
        let manifest = Manifest {
            identity,
            about,
            files,
            input_bytes,
            input_digest,
            next,
            done,
            tiles,
            folds,
            snapshots,
        };
        from.is_at_end().then_some(manifest)
    }
}

//! The record of a run: its files and tiles, and their byte form, drawn in `docs/state-format.md`. As in the
//! [form](crate::partial) of partials, every flipped bit and every cut is found.

use super::{Hashing, KeptTile, Place, Print, Sources, Stamps, Tile};
use crate::encoding::{Reading, checksum};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;

/// The files and tiles of a run that is over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remembered {
    /// Paths, end to end.
    paths: Vec<u8>,
    files: Vec<KeptFile>,
    /// In the order of the files and of their bytes.
    tiles: Vec<KeptTile>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct KeptFile {
    path_end: usize,
    bytes: u64,
    changed: Option<i64>,
}

/// The fault of damaged bytes.
type Damage = &'static str;

/// The first bytes; the last one is the version.
const MAGIC: [u8; 4] = *b"TgT\x01";
const HEADER_BYTES: usize = 48;
const FILE_BYTES: usize = 20;
const TILE_BYTES: usize = 64;
/// No time of the last change.
const UNKNOWN: i64 = i64::MIN;
/// Of a pack, the bit beside its number of files.
const PACK: u32 = 1 << 31;

impl Remembered {
    /// Returns the record of a run: its files, and of each tile, in order, its print (which may still be
    /// [unknown](Print::UNKNOWN)) and number.
    pub fn of(
        sources: &Sources<'_>,
        stamps: &Stamps,
        tiles: impl IntoIterator<Item = (Tile, Print, u64)>,
    ) -> Remembered {
        let mut remembered = Remembered::default();
        for file in 0..sources.files() {
            let path = sources.path(file);
            remembered.paths.extend_from_slice(path.as_os_str().as_bytes());
            remembered.files.push(KeptFile {
                path_end: remembered.paths.len(),
                bytes: sources.bytes(file),
                changed: stamps.get(file),
            });
        }
        let kept =
            |(tile, print, number): (Tile, _, _)| KeptTile { place: tile.place, print, number };
        remembered.tiles.extend(tiles.into_iter().map(kept));
        remembered
    }

    /// Fills in the prints that were taken after this was written, by the numbers of tiles. A tile of
    /// which none is known is forgotten.
    pub fn learn(&mut self, print_of: impl Fn(u64) -> Option<Print>) {
        self.tiles.retain_mut(|tile| {
            if tile.print == Print::UNKNOWN {
                tile.print = print_of(tile.number).unwrap_or(Print::UNKNOWN);
            }
            tile.print != Print::UNKNOWN
        });
    }

    /// Returns whether another run had the same files and tiles, whenever the files were changed. Empty tiles, which have
    /// no print that could be found again, are left out.
    pub fn is_alike(&self, other: &Remembered) -> bool {
        let is_alike = |(one, other): (&KeptFile, &KeptFile)| {
            (one.path_end, one.bytes) == (other.path_end, other.bytes)
        };
        self.files.len() == other.files.len()
            && self.files.iter().zip(&other.files).all(is_alike)
            && self.paths == other.paths
            && self.filled().eq(other.filled())
    }

    fn filled(&self) -> impl Iterator<Item = &KeptTile> {
        self.tiles.iter().filter(|tile| tile.place.bytes() > 0)
    }

    pub fn tiles(&self) -> &[KeptTile] {
        &self.tiles
    }

    pub fn files(&self) -> usize {
        self.files.len()
    }

    /// Returns the path of a file, as it was given.
    pub fn path(&self, file: usize) -> &[u8] {
        let start = if file == 0 { 0 } else { self.files[file - 1].path_end };
        &self.paths[start..self.files[file].path_end]
    }

    /// Returns the length that a file had, in bytes.
    pub fn bytes(&self, file: usize) -> u64 {
        self.files[file].bytes
    }

    /// When a file was last changed, if that can be relied on.
    pub(super) fn changed(&self, file: usize) -> Option<i64> {
        self.files[file].changed
    }

    /// Returns the tiles that are of a file, or of a pack with it.
    pub(super) fn tiles_of(&self, file: usize) -> Range<usize> {
        let start = self.tiles.partition_point(|tile| tile.place.files().end <= file);
        let end = self.tiles.partition_point(|tile| tile.place.files().start <= file);
        start..end.max(start)
    }

    /// Memory that it takes, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.paths.capacity()
            + self.files.capacity() * size_of::<KeptFile>()
            + self.tiles.capacity() * size_of::<KeptTile>()
    }

    /// Returns the bytes in which it is kept.
    pub fn encode(&self, hashing: Hashing) -> Vec<u8> {
        let payload_bytes =
            self.paths.len() + self.files.len() * FILE_BYTES + self.tiles.len() * TILE_BYTES;
        let mut out = Vec::with_capacity(HEADER_BYTES + payload_bytes);
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&(hashing as u32).to_le_bytes());
        let counts = [payload_bytes, self.files.len(), self.tiles.len(), self.paths.len()];
        counts.iter().for_each(|&count| out.extend_from_slice(&(count as u64).to_le_bytes()));
        out.extend_from_slice(&[0; 8]);
        let mut path_start = 0;
        for file in &self.files {
            let path_bytes =
                (file.path_end - std::mem::replace(&mut path_start, file.path_end)) as u32;
            out.extend_from_slice(&path_bytes.to_le_bytes());
            out.extend_from_slice(&file.bytes.to_le_bytes());
            out.extend_from_slice(&file.changed.unwrap_or(UNKNOWN).to_le_bytes());
        }
        for tile in &self.tiles {
            let files = tile.place.files();
            let pack = match &tile.place {
                Place::Stretch { .. } => 0,
                Place::Pack { .. } => PACK,
            };
            out.extend_from_slice(&(files.start as u32).to_le_bytes());
            out.extend_from_slice(&(files.len() as u32 | pack).to_le_bytes());
            out.extend_from_slice(&tile.place.offset().to_le_bytes());
            out.extend_from_slice(&tile.place.bytes().to_le_bytes());
            out.extend_from_slice(&tile.number.to_le_bytes());
            out.extend_from_slice(&tile.print.to_bytes());
        }
        out.extend_from_slice(&self.paths);
        let sum = checksum_of(&out);
        out[40..HEADER_BYTES].copy_from_slice(&sum.to_le_bytes());
        out
    }

    /// Decodes [encoded](Remembered::encode) bytes with hashes of this kind.
    pub fn decode(bytes: &[u8], hashing: Hashing) -> Result<Remembered, Damage> {
        const SHORT: Damage = "the list of tiles is cut short";
        const WRONG: Damage = "the list of tiles is inconsistent";
        if !bytes.starts_with(&MAGIC[..3]) {
            return Err("no list of tiles begins there");
        }
        if bytes.len() < HEADER_BYTES {
            return Err(SHORT);
        }
        if bytes[3] != MAGIC[3] {
            return Err("the list of tiles is of another version");
        }
        let count = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i])) as usize;
        let [payload_bytes, files, tiles, path_bytes] = [8, 16, 24, 32].map(count);
        match bytes.len() - HEADER_BYTES {
            have if have < payload_bytes => return Err(SHORT),
            have if have > payload_bytes => {
                return Err("more follows the list of tiles than it says");
            }
            _ => {}
        }
        if checksum_of(bytes).to_le_bytes() != bytes[40..HEADER_BYTES] {
            return Err("the checksum of the list of tiles is another");
        }
        if bytes[4..8] != (hashing as u32).to_le_bytes() {
            return Err("the tiles were hashed by another hash");
        }
        let sizes =
            [files.checked_mul(FILE_BYTES), tiles.checked_mul(TILE_BYTES), Some(path_bytes)];
        let sum = sizes.into_iter().try_fold(0_usize, |sum, size| sum.checked_add(size?));
        if sum != Some(payload_bytes) {
            return Err(WRONG);
        }
        let paths = bytes[bytes.len() - path_bytes..].to_vec();
        let mut remembered = Remembered { paths, ..Remembered::default() };
        let payload = &mut Reading::new(&bytes[HEADER_BYTES..]);
        remembered.fill(files, tiles, payload).ok_or(WRONG)?;
        Ok(remembered)
    }

    /// Takes files and tiles; `None` if they contradict each other.
    fn fill(&mut self, files: usize, tiles: usize, from: &mut Reading<'_>) -> Option<()> {
        self.files.reserve_exact(files);
        self.tiles.reserve_exact(tiles);
        let mut path_end = 0;
        for _ in 0..files {
            path_end += u32::from_le_bytes(from.fixed()?) as usize;
            let bytes = u64::from_le_bytes(from.fixed()?);
            let changed = Some(i64::from_le_bytes(from.fixed()?)).filter(|&at| at != UNKNOWN);
            self.files.push(KeptFile { path_end, bytes, changed });
        }
        for _ in 0..tiles {
            let tile = KeptTile::decode(from)?;
            let files = tile.place.files();
            let is_empty = files.is_empty() || tile.place.is_empty();
            let is_next = self.tiles.last().is_none_or(|last| last.place.is_before(&tile.place));
            if is_empty || files.end > self.files.len() || !is_next {
                return None;
            }
            self.tiles.push(tile);
        }
        (path_end == self.paths.len()).then_some(())
    }
}

impl Place {
    /// Returns whether it is a stretch of no bytes, which is not valid.
    fn is_empty(&self) -> bool {
        matches!(self, Place::Stretch { bytes, .. } if bytes.is_empty())
    }

    /// Returns whether it ends before another begins.
    fn is_before(&self, other: &Place) -> bool {
        match (self, other) {
            (Place::Stretch { file, bytes }, Place::Stretch { file: of, bytes: next }) => {
                file < of || file == of && bytes.end <= next.start
            }
            _ => self.files().end <= other.files().start,
        }
    }
}

impl KeptTile {
    fn decode(from: &mut Reading<'_>) -> Option<KeptTile> {
        let [first, files] = [from.fixed()?, from.fixed()?].map(u32::from_le_bytes);
        let words = [from.fixed()?, from.fixed()?, from.fixed()?];
        let [offset, bytes, number] = words.map(u64::from_le_bytes);
        let (first, print) = (first as usize, Print::from_bytes(from.fixed()?));
        let place = match files & PACK {
            0 => Place::Stretch { file: first, bytes: offset..offset.saturating_add(bytes) },
            _ => Place::Pack { files: first..first + (files & !PACK) as usize, bytes },
        };
        Some(KeptTile { place, print, number })
    }
}

/// Returns the checksum of all bytes but itself, the header's last 8.
fn checksum_of(bytes: &[u8]) -> u64 {
    checksum(&bytes[..40], &bytes[HEADER_BYTES..])
}

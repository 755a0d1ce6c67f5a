//! The files of a run as tiles see them: all parts of the plan in one row of numbers, which can be cut
//! inside and which are read whole, and their bytes as they are stored.

use super::{Hashing, Place, Print, TilePrint};
use crate::error::{InputError, Result};
use crate::input::{Cut, Material, OpenFile};
use crate::plan::{Part, Plan};
use std::io;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// The files of a plan, numbered through all of its parts; a stream counts as one, which no tile is of.
pub struct Sources<'p> {
    parts: Vec<Files<'p>>,
    files: usize,
}

/// The files of a part.
struct Files<'p> {
    /// The number of the first.
    first: usize,
    part: &'p Part,
    /// Whether they are cut inside.
    cut: bool,
}

impl<'p> Sources<'p> {
    pub fn of(plan: &'p Plan) -> Sources<'p> {
        let mut sources = Sources { parts: Vec::new(), files: 0 };
        for part in &plan.parts {
            let cut = matches!(part, Part::Ranged(_))
                && !matches!(plan.cut, Cut::Whole)
                && !plan.cut.is_in_order();
            sources.parts.push(Files { first: sources.files, part, cut });
            sources.files += part.files();
        }
        sources
    }

    /// Returns the number of files.
    pub fn files(&self) -> usize {
        self.files
    }

    /// Returns the numbers of the files of each part that is not a stream, and whether they are cut inside.
    pub(super) fn runs(&self) -> impl Iterator<Item = (Range<usize>, bool)> {
        let ends = self.parts.iter().skip(1).map(|next| next.first).chain([self.files]);
        let runs =
            self.parts.iter().zip(ends).filter(|(of, _)| !matches!(of.part, Part::Stream(_)));
        runs.map(|(of, end)| (of.first..end, of.cut))
    }

    /// Returns the part of the plan that a file is of, and its number there.
    pub fn place(&self, file: usize) -> (usize, usize) {
        let part = self.parts.partition_point(|of| of.first <= file) - 1;
        (part, file - self.parts[part].first)
    }

    /// Returns the number of a part's first file.
    pub fn first_file(&self, part: usize) -> usize {
        self.parts[part].first
    }

    fn material(&self, file: usize) -> (Option<&'p Material>, usize) {
        let (part, file) = self.place(file);
        (self.parts[part].part.material(), file)
    }

    /// Length of a file as it is stored, in bytes; 0 for a stream.
    pub fn bytes(&self, file: usize) -> u64 {
        let (material, file) = self.material(file);
        material.map_or(0, |material| material.bytes(file))
    }

    pub fn path(&self, file: usize) -> PathBuf {
        match self.material(file) {
            (Some(material), file) => material.path(file),
            (None, _) => PathBuf::new(),
        }
    }

    /// Returns whether a file has that path, as it was named.
    pub fn is_called(&self, file: usize, path: &[u8]) -> bool {
        self.path(file).as_os_str().as_bytes() == path
    }

    /// Returns whether the file is one of the file system, with a time of its last change.
    pub(super) fn is_local(&self, file: usize) -> bool {
        matches!(self.material(file), (Some(Material::Files(_)), _))
    }

    /// Returns the format in which its bytes are read, because a compressed file gives other records than the
    /// same bytes read as stored.
    pub fn format(&self, file: usize) -> u8 {
        let (part, file) = self.place(file);
        match self.parts[part].part {
            Part::Packed(packed) => packed.format(file) as u8,
            Part::Ranged(_) | Part::Stream(_) => 0,
        }
    }

    /// Returns the number of bytes to read at a time: as many as stay in a cache while they are hashed, or as
    /// are worth a request.
    pub(super) fn piece_bytes(&self, file: usize) -> usize {
        match self.material(file) {
            (Some(Material::Ranges(..)), _) => PIECE_BYTES_MOST,
            _ => 256 << 10,
        }
    }
}

/// See [`Sources::piece_bytes`].
pub(super) const PIECE_BYTES_MOST: usize = 1 << 20;

/// Reads any bytes of the files.
pub(super) struct SourceReader<'s> {
    sources: &'s Sources<'s>,
    open: OpenFile,
    /// Bytes read so far.
    pub(super) read_bytes: u64,
}

impl<'s> SourceReader<'s> {
    pub(super) fn new(sources: &'s Sources<'s>) -> SourceReader<'s> {
        SourceReader { sources, open: OpenFile::of_many(), read_bytes: 0 }
    }

    /// Fills `into` with the bytes of a file from `offset` on; the file had all of them when it was listed.
    pub(super) fn read(&mut self, file: usize, offset: u64, into: &mut [u8]) -> Result<()> {
        self.read_bytes += into.len() as u64;
        let (part, number) = self.sources.place(file);
        match self.sources.parts[part].part.material() {
            Some(material) => Ok(self.open.read(part, material, number, offset, into)?),
            None => Err(stream_has_no_offsets(self.sources.path(file)).into()),
        }
    }
}

/// Reads a tile to take its print.
pub fn print_of(sources: &Sources<'_>, place: &Place, hashing: Hashing) -> Result<Print> {
    let (mut reader, mut print, mut piece) =
        (SourceReader::new(sources), TilePrint::new(hashing), Vec::new());
    for file in place.files() {
        let mut bytes = match place {
            Place::Stretch { bytes, .. } => bytes.clone(),
            Place::Pack { .. } => 0..sources.bytes(file),
        };
        while !bytes.is_empty() {
            let to = bytes.end.min(bytes.start + sources.piece_bytes(file) as u64);
            piece.resize((to - bytes.start) as usize, 0);
            reader.read(file, bytes.start, &mut piece)?;
            print.update(&piece);
            bytes.start = to;
        }
        if matches!(place, Place::Pack { .. }) {
            print.end_file(sources.format(file));
        }
    }
    Ok(print.finish())
}

fn stream_has_no_offsets(path: PathBuf) -> InputError {
    InputError::Read { path, cause: io::ErrorKind::Unsupported.into() }
}

//! The plan: the input cut into tiles (sub-jobs, the unit of identity) and tiles into splits (map
//! tasks, the unit of a worker's work). Tiles are a pure function of the input and the options: never
//! of the number of workers, of memory, or of time. Splits are free to change from run to run.
//!
//! Cuts here are nominal byte offsets; which bytes a split really covers is settled when it is read,
//! at the borders that the job's [`Cut`] names. So planning reads no data.
//!
//! # Identity and work
//! The unit of identity is not the unit of work. A tile is the unit that is saved, found again or handed to
//! another machine, and no measurement moves its borders. A worker takes several neighbouring splits of one
//! tile at a time; their number changes while the job runs and may differ from worker to worker. Nothing
//! after the reader sees it: records belong to the split in which they begin, and a key's values to the key.
//! Where order matters, a piece of work counts as the first of its splits, and numbers of splits ascend with
//! the input.

mod layout;
mod packed;
mod reads;
mod tally;
mod tiles;
mod torn;

pub use layout::{Extent, Fullest, Layout};
pub use packed::Packed;
pub use reads::DirectReads;
pub use reads::Reads;
pub use tally::FormatFigures;
pub use tally::Tally;
pub use torn::Torn;

use crate::bad::{BadRecord, BadRecords};
use crate::error::{InputError, Result};
use crate::input::{
    Cut, FileList, Format, Input, MEMORY, Material, PackedFiles, Source, StreamSource,
};
use crate::memory::{Reserved, available_bytes};
use crate::origin::{Origin, OriginKind};
use std::path::PathBuf;

/// The tile that every run starts from: 32 MiB.
pub const DEFAULT_TILE_BYTES: u64 = 32 << 20;
/// The size of a tile, about, in runs that find tiles of earlier runs again: 2 MiB, because a changed byte
/// costs a whole tile.
pub const INCREMENTAL_TILE_BYTES: u64 = 2 << 20;

/// The bytes of an input at most, of which a multiple can still be counted.
const BYTES_MOST: u64 = 1 << 60;
/// The tiles of an input at most: the plan of so many takes 400 MB.
const TILES_MOST: u64 = 1 << 24;

/// The options of cutting and reading an input.
#[derive(Clone, Copy, Debug)]
pub struct Cutting {
    pub tile_bytes: u64,
    /// Size of a split; no split is longer than a tile.
    pub split_bytes: u64,
    /// The bytes that a worker takes at first.
    pub unit_bytes: u64,
    pub reads: Reads,
    /// Whether a file may end within a record of a fixed size; else that is an error.
    pub skip_torn: bool,
}

/// The files to read, and how they are cut.
pub struct Plan {
    pub parts: Vec<Part>,
    pub cut: Cut,
    pub tile_bytes: u64,
    /// Size of a split, in which tiles are counted.
    pub split_bytes: u64,
    /// The bytes that a worker takes at first: one split or a few; one if the caller gave their size.
    pub unit_bytes: u64,
    /// Files in all; a stream counts as one.
    pub files: u64,
    /// Bytes in all as files hold them, compressed or not; 0 if there is a stream.
    pub bytes: u64,
    pub passed_over: u64,
    /// The counts of decompressed files.
    pub tally: Tally,
    pub torn: Torn,
}

/// The likely expansion of compressed text, for sizes that need not be exact.
const LIKELY_EXPANSION: u64 = 4;

/// A part of the input that is read in one way.
pub enum Part {
    /// Bytes that can be read at any offset.
    Ranged(Box<Ranged>),
    /// Files that are decompressed, each in order.
    Packed(Box<Packed>),
    /// Bytes that come in order.
    Stream(StreamSource),
}

/// Files or memory, and their layout in tiles and splits.
pub struct Ranged {
    /// Its place among the plan's parts.
    pub number: usize,
    pub material: Material,
    pub layout: Layout,
    pub direct: DirectReads,
}

impl Plan {
    /// Plans a run over `input`, whose records `cut` tells apart.
    ///
    /// # Errors
    /// [`InputError::Ragged`] for a file that is not whole records of a fixed size.
    pub fn new(input: Input, cut: Cut, cutting: Cutting) -> Result<Plan> {
        let Cutting { tile_bytes, reads, skip_torn, .. } = cutting;
        let unit_bytes = cutting.unit_bytes.min(tile_bytes);
        let split_bytes = cutting.split_bytes.min(tile_bytes);
        let mut plan = Plan {
            parts: Vec::new(),
            cut,
            tile_bytes,
            split_bytes,
            unit_bytes,
            files: 0,
            bytes: 0,
            passed_over: input.passed_over,
            tally: Tally::default(),
            torn: Torn::new(skip_torn),
        };
        for source in input.sources {
            plan.add(source)?;
        }
        plan.choose_reads(reads);
        if plan.parts.iter().any(|part| matches!(part, Part::Stream(_))) {
            plan.bytes = 0;
        }
        let amounts = plan.packed().map(Packed::amount);
        let all = amounts.fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
        for part in &mut plan.parts {
            if let Part::Packed(packed) = part {
                packed.number_beside(all);
            }
        }
        Ok(plan)
    }

    /// Checks the lengths of files, of which tiles will be cut if `is_cut`. A length may be what a server says, or that
    /// of a file with holes.
    ///
    /// # Errors
    /// [`InputError::Refused`] for the first file with which the input has more bytes, or tiles, than can be planned.
    fn check_bytes(&self, material: &Material, is_cut: bool) -> Result<(), InputError> {
        let tiles_most = if is_cut { TILES_MOST } else { u64::MAX };
        let most = BYTES_MOST.min(tiles_most.saturating_mul(self.tile_bytes));
        let mut all = self.bytes;
        for file in 0..material.files() {
            let bytes = material.bytes(file);
            all = all.saturating_add(bytes);
            if all > most {
                let path = material.path(file);
                let cause = format!("it has {bytes} bytes, and the input may have {most} in all");
                let advice = match most {
                    BYTES_MOST => "see whether it is that long".to_owned(),
                    _ => format!("give larger tiles than of {} bytes", self.tile_bytes),
                };
                return Err(InputError::Refused { path, cause, advice });
            }
        }
        Ok(())
    }

    /// Settles whether files are read past the page cache.
    fn choose_reads(&mut self, reads: Reads) {
        let wanted = reads.are_direct(self.bytes, available_bytes);
        for part in &mut self.parts {
            if let Part::Ranged(ranged) = part {
                ranged.direct.wanted = wanted && matches!(ranged.material, Material::Files(_));
            }
        }
    }

    /// Bytes that were read past the page cache.
    pub fn direct_bytes(&self) -> u64 {
        self.ranged().map(|ranged| ranged.direct.bytes()).sum()
    }

    /// Returns the origin of a file of a part, of which `newlines` were read if it cannot be read again.
    pub fn origin(&self, part: usize, file: usize, newlines: Option<u64>) -> Origin<'_> {
        match &self.parts[part] {
            Part::Ranged(ranged) => ranged.origin(file),
            Part::Packed(packed) => packed.origin(file, newlines),
            Part::Stream(stream) => {
                let kind = OriginKind::Stream { name: &stream.name, newlines };
                Origin { part, kind }
            }
        }
    }

    /// Returns the number of bad records, and the earliest of them with their places. If lines are numbered, reads the
    /// file of each of these again, up to the last of them.
    pub fn bad_records(&self, bad: &BadRecords) -> (u64, Vec<BadRecord>) {
        bad.finish(|part, file| self.origin(part, file, None))
    }

    /// Tiles of the parts whose length is known.
    pub fn tiles(&self) -> u64 {
        self.ranged().map(|ranged| ranged.layout.tiles() as u64).sum()
    }

    /// Returns the names of the files, after all reading; `counted` is their memory.
    pub fn into_names(self, counted: Reserved) -> FileNames {
        let names_of = |material| match material {
            Material::Files(files) | Material::Ranges(_, files) => Names::Files(files),
            Material::Memory(_) => Names::One(MEMORY.into()),
        };
        let names = self.parts.into_iter().map(|part| match part {
            Part::Ranged(ranged) => names_of(ranged.material),
            Part::Packed(packed) => names_of(packed.material),
            Part::Stream(stream) => Names::One(stream.name),
        });
        FileNames { names: names.collect(), _counted: counted }
    }

    /// Returns whether the input's length is known: not of a stream.
    pub fn is_of_known_length(&self) -> bool {
        !self.parts.iter().any(|part| matches!(part, Part::Stream(_)))
    }

    /// Returns the path of a file by its number in the whole input.
    pub fn name(&self, number: u32) -> Option<PathBuf> {
        let mut number = number as usize;
        for part in &self.parts {
            if number < part.files() {
                return Some(match part {
                    Part::Stream(stream) => stream.name.clone(),
                    Part::Ranged(ranged) => ranged.material.path(number),
                    Part::Packed(packed) => packed.path(number),
                });
            }
            number -= part.files();
        }
        None
    }

    fn ranged(&self) -> impl Iterator<Item = &Ranged> {
        self.parts.iter().filter_map(|part| match part {
            Part::Ranged(ranged) => Some(&**ranged),
            Part::Packed(_) | Part::Stream(_) => None,
        })
    }

    fn packed(&self) -> impl Iterator<Item = &Packed> {
        self.parts.iter().filter_map(|part| match part {
            Part::Packed(packed) => Some(&**packed),
            Part::Ranged(_) | Part::Stream(_) => None,
        })
    }

    /// Bytes that will be mapped, as far as that can be guessed; 0 if there is a stream.
    pub fn likely_bytes(&self) -> u64 {
        let packed: u64 = self.packed().map(|packed| packed.bytes).sum();
        self.bytes + packed.min(self.bytes) * (LIKELY_EXPANSION - 1)
    }

    fn add(&mut self, source: Source) -> Result<()> {
        let material = match source {
            Source::Files(files) => Material::Files(files),
            Source::Ranges(source, files) => Material::Ranges(source, files),
            Source::Memory(bytes) => Material::Memory(bytes),
            Source::Packed(PackedFiles { from, files, formats }) => {
                let material = match from {
                    Some(from) => Material::Ranges(from, files),
                    None => Material::Files(files),
                };
                return Ok(self.add_packed(material, formats)?);
            }
            Source::Stream(stream) => {
                self.files += 1;
                self.parts.push(Part::Stream(stream));
                return Ok(());
            }
        };
        let number = self.parts.len();
        for file in 0..material.files() {
            let path = || material.path(file);
            self.torn.whole(&self.cut, material.bytes(file), (number, file), path)?;
        }
        let in_memory = matches!(material, Material::Memory(_));
        if self.cut.is_in_order() && !in_memory && material.files() > 0 {
            // Read like compressed files: each file in order.
            let formats = vec![Format::Plain; material.files()];
            return Ok(self.add_packed(material, formats)?);
        }
        let whole = matches!(self.cut, Cut::Whole) || self.cut.is_in_order();
        self.check_bytes(&material, !whole)?;
        let lengths = (0..material.files()).map(|file| self.cut.whole_bytes(material.bytes(file)));
        let layout = Layout::new(lengths, self.tile_bytes, self.split_bytes, whole);
        self.files += material.files() as u64;
        self.bytes += layout.bytes();
        self.parts.push(Part::Ranged(Box::new(Ranged {
            number,
            material,
            layout,
            direct: DirectReads::default(),
        })));
        Ok(())
    }

    fn add_packed(&mut self, material: Material, formats: Vec<Format>) -> Result<(), InputError> {
        self.check_bytes(&material, false)?;
        let packed = Packed::new(self.parts.len(), material, formats);
        self.files += packed.files() as u64;
        self.bytes += packed.bytes;
        self.parts.push(Part::Packed(Box::new(packed)));
        Ok(())
    }
}

/// The names of all files that were read, in order.
pub struct FileNames {
    names: Vec<Names>,
    _counted: Reserved,
}

enum Names {
    Files(FileList),
    One(PathBuf),
}

impl FileNames {
    /// Of files that are named by a list and not read.
    pub fn of(files: FileList, counted: Reserved) -> FileNames {
        FileNames { names: vec![Names::Files(files)], _counted: counted }
    }

    /// Returns the path of a file by its number.
    pub fn get(&self, number: u32) -> Option<PathBuf> {
        let mut number = number as usize;
        for names in &self.names {
            match names {
                Names::Files(files) if number < files.len() => return Some(files.path(number)),
                Names::One(path) if number == 0 => return Some(path.clone()),
                Names::Files(files) => number -= files.len(),
                Names::One(_) => number -= 1,
            }
        }
        None
    }
}

impl Part {
    /// Returns the number of its files; a stream counts as one.
    pub fn files(&self) -> usize {
        match self {
            Part::Ranged(ranged) => ranged.material.files(),
            Part::Packed(packed) => packed.files(),
            Part::Stream(_) => 1,
        }
    }

    /// Returns the holder of its bytes, unless they come in order.
    pub fn material(&self) -> Option<&Material> {
        match self {
            Part::Ranged(ranged) => Some(&ranged.material),
            Part::Packed(packed) => Some(&packed.material),
            Part::Stream(_) => None,
        }
    }
}

impl Ranged {
    pub fn origin(&self, file: usize) -> Origin<'_> {
        let kind = match &self.material {
            Material::Files(files) => OriginKind::File { files, file },
            Material::Ranges(source, files) => OriginKind::Range { source: &**source, files, file },
            Material::Memory(bytes) => OriginKind::Memory(bytes),
        };
        Origin { part: self.number, kind }
    }
}

//! The tiles of a run: tiles of the last run that are found again, and new ones between them. The phases,
//! each shared by all workers: finding the old version of each big file; old tiles in stretches of big files,
//! and the hashes of files that are read whole; borders of new stretches.

use super::borders::{packs, places, weight};
use super::index::Index;
use super::packs::{self as old_packs, Known};
use super::record::Remembered;
use super::stretches::{Finder, Found, Old, TILES_PER_STRETCH};
use super::twins::Twins;
use super::{Anchor, Hashing, Place, Sources, Stamps, Tile};
use crate::error::Result;
use crate::failure::Failure;
use crate::input::Cut;
use crate::memory::{BlockPool, Reserved};
use crate::schedule::{PerWorker, Pool, for_each};
use crate::sync::Mutex;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

/// The files that may be taken for unchanged without reading them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trust {
    /// Files only grow: the old part of a file is checked by its length and by its first and last tile. A
    /// file that fails the check is looked through as if nothing were trusted.
    pub appends: bool,
    /// A file of the same path, length and time of change has the same bytes.
    pub times: bool,
}

/// The options and inputs for finding the tiles of a run.
pub struct Reuse<'r> {
    pub sources: &'r Sources<'r>,
    pub cut: &'r Cut,
    pub hashing: Hashing,
    /// Nominal size of a new tile in bytes, at least 1.
    pub tile_bytes: u64,
    pub trust: Trust,
    pub pool: &'r Pool,
    pub blocks: &'r Arc<BlockPool>,
    pub failure: &'r Failure,
}

/// The tiles of a run, in the order of the input: each byte of each file is in exactly one.
pub struct Tiling {
    pub tiles: Vec<Tile>,
    /// Bytes of all tiles, and of those that the last run had.
    pub bytes: u64,
    pub same_bytes: u64,
    /// Bytes that were read to find them.
    pub read_bytes: u64,
    _counted: Reserved,
}

/// A part of a file, or of a row of small files: an old tile or pack, or new bytes or files.
struct Section {
    /// Of bytes, or of files.
    span: Range<u64>,
    weight: u64,
    same_as: Option<usize>,
}

/// Neighbours below this part of a tile become one, lest a state fall to dust over many runs.
const PARTS_LEAST: u64 = 4;
/// Files that are hashed by a worker at a time.
const FILES_PER_STEP: usize = 128;
const PURPOSE: &str = "the list of tiles";

/// Files that are treated alike: one that is cut inside, or some that are not.
enum Segment {
    Cut(usize),
    Packs(Range<usize>),
}

/// The work that a worker takes at a time.
enum Unit {
    Stretch {
        file: usize,
        bytes: Range<u64>,
        twin: Option<usize>,
    },
    Hash(Range<usize>),
    /// A pack that is unchanged if its first file is.
    Check {
        files: Range<usize>,
        tile: usize,
    },
}

/// The old tiles in each file that is cut inside, and the facts about each other file.
type Before = (Vec<(usize, Found)>, Vec<Option<Known>>);

enum Seen {
    Found(usize, Vec<Found>),
    Known(usize, Vec<Known>),
}

impl<'r> Reuse<'r> {
    /// Returns the tiles of this run. Tiles that `remembered` contains are found again; the first run
    /// remembers none, and reads only windows around borders.
    pub fn tiles(&self, remembered: &Remembered, stamps: &Stamps) -> Result<Tiling> {
        let (old, files) = (remembered.tiles().len(), self.sources.files());
        let bytes = remembered.memory_bytes()
            + Index::memory_bytes(old)
            + Twins::memory_bytes(remembered.files())
            + files * (size_of::<Option<Known>>() + size_of::<Unit>() / FILES_PER_STEP);
        let mut counted = Reserved::new(self.blocks, bytes, PURPOSE)?;
        let index = Index::new(remembered);
        let old = Old { reuse: self, remembered, index: &index };
        let finders = PerWorker::new(self.pool.workers());
        let segments = self.segments();
        let (mut found, known) = match remembered.tiles() {
            [] => (Vec::new(), vec![None; files]),
            _ => self.find(old, &finders, &segments, stamps)?,
        };
        found.sort_unstable_by_key(|(file, found)| (*file, found.offset));

        let mut tiles = Vec::new();
        let mut rest = &found[..];
        for segment in &segments {
            match segment {
                Segment::Cut(file) => {
                    let count = rest.partition_point(|(of, _)| of <= file);
                    self.add_stretches(*file, &rest[..count], remembered, &mut tiles);
                    rest = &rest[count..];
                }
                Segment::Packs(files) => {
                    let known: Vec<Known> =
                        known[files.clone()].iter().flatten().copied().collect();
                    let found = match known.len() == files.len() {
                        true => old_packs::find(
                            files.clone(),
                            &known,
                            self.sources,
                            (remembered, &index),
                            self.hashing,
                        ),
                        false => Vec::new(),
                    };
                    self.add_packs(files, &found, remembered, &mut tiles);
                }
            }
        }
        let mut tiles = self.cut_new(old, &finders, tiles)?;
        claim(&mut tiles, &index);
        counted.cover(bytes + tiles.capacity() * size_of::<Tile>())?;
        let of =
            |tiles: &mut dyn Iterator<Item = &Tile>| tiles.map(|tile| tile.place.bytes()).sum();
        Ok(Tiling {
            bytes: of(&mut tiles.iter()),
            same_bytes: of(&mut tiles.iter().filter(|tile| tile.same_as.is_some())),
            read_bytes: finders
                .into_values()
                .iter()
                .map(|finder| finder.look.reader.read_bytes)
                .sum(),
            tiles,
            _counted: counted,
        })
    }

    /// Returns the files that are cut inside, and the rows of files for packs, in order.
    fn segments(&self) -> Vec<Segment> {
        let mut segments = Vec::new();
        for (files, cut) in self.sources.runs() {
            let mut first = files.start;
            for file in files.clone() {
                if cut && self.sources.bytes(file) >= self.tile_bytes {
                    segments.push(Segment::Packs(first..file));
                    segments.push(Segment::Cut(file));
                    first = file + 1;
                }
            }
            segments.push(Segment::Packs(first..files.end));
        }
        segments.retain(|segment| !matches!(segment, Segment::Packs(files) if files.is_empty()));
        segments
    }

    /// Does `work` for each number below `count`, on all workers. Results come in order.
    fn each<'s, R: Send>(
        &self,
        old: Old<'s>,
        finders: &PerWorker<Finder<'s>>,
        count: usize,
        work: impl Fn(&mut Finder<'s>, usize) -> Result<R> + Sync,
    ) -> Result<Vec<R>> {
        let done = Mutex::new(Vec::with_capacity(count));
        for_each(self.pool, self.failure, "the plan stage", count, |worker, number| {
            let make = || Finder::new(old);
            let result = finders.with(worker, make, |finder| work(finder, number))?;
            done.lock().push((number, result));
            Ok(())
        })?;
        let mut done = done.into_inner();
        done.sort_unstable_by_key(|(number, _)| *number);
        Ok(done.into_iter().map(|(_, result)| result).collect())
    }

    /// Returns the old tiles in files that are cut, and the facts about all others.
    fn find<'s>(
        &self,
        old: Old<'s>,
        finders: &PerWorker<Finder<'s>>,
        segments: &[Segment],
        stamps: &Stamps,
    ) -> Result<Before> {
        let twins = Twins::new(old.remembered);
        let big: Vec<usize> = segments
            .iter()
            .filter_map(|segment| match segment {
                Segment::Cut(file) => Some(*file),
                Segment::Packs(_) => None,
            })
            .collect();
        let likely = self.each(old, finders, big.len(), |finder, number| {
            self.likely(&twins, finder, big[number], stamps)
        })?;
        let (mut found, mut known) = (Vec::new(), vec![None; self.sources.files()]);
        let mut units = Vec::new();
        for (file, likely) in big.into_iter().zip(likely) {
            match likely {
                Likely::Is(tiles) => found.extend(tiles.into_iter().map(|tile| (file, tile))),
                Likely::Was(twin) => units.extend(self.stretches(file, twin)),
            }
        }
        for segment in segments {
            if let Segment::Packs(files) = segment {
                self.add_packed(&twins, files.clone(), stamps, &mut known, &mut units);
            }
        }
        let seen = self.each(old, finders, units.len(), |finder, number| match &units[number] {
            Unit::Stretch { file, bytes, twin } => {
                Ok(Seen::Found(*file, finder.find(*file, bytes, *twin)?))
            }
            Unit::Hash(files) => Ok(Seen::Known(files.start, self.hashes(finder, files)?)),
            Unit::Check { files, tile } => {
                let first = files.start..files.start + 1;
                let hash = self.hashes(finder, &first)?;
                let anchor = old.remembered.tiles()[*tile].print.anchor;
                let known = match hash[..] {
                    [Known::Hash(hash)] if Anchor::of_pack(hash) == anchor => trusted(*tile, files),
                    _ => self.hashes(finder, files)?,
                };
                Ok(Seen::Known(files.start, known))
            }
        })?;
        for seen in seen {
            match seen {
                Seen::Found(file, tiles) => {
                    found.extend(tiles.into_iter().map(|tile| (file, tile)));
                }
                Seen::Known(first, files) => {
                    for (file, is) in (first..).zip(files) {
                        known[file] = Some(is);
                    }
                }
            }
        }
        Ok((found, known))
    }

    fn likely(
        &self,
        twins: &Twins<'_>,
        finder: &mut Finder<'_>,
        file: usize,
        stamps: &Stamps,
    ) -> Result<Likely> {
        let of = (file, self.sources.bytes(file));
        let named = twins.by_path(self.sources, file);
        if let Some(twin) = named.filter(|_| self.trust.times)
            && let Some(tiles) = twins.unchanged(of, stamps, twin)
        {
            return Ok(Likely::Is(twins.found(tiles)));
        }
        if let Some(twin) = named.filter(|_| self.trust.appends)
            && let Some(found) = twins.appended(finder, of, twin)?
        {
            return Ok(Likely::Is(found));
        }
        Ok(Likely::Was(twins.likely(finder, of, named)?))
    }

    /// Returns the stretches in which a file is looked through.
    fn stretches(&self, file: usize, twin: Option<usize>) -> impl Iterator<Item = Unit> + use<> {
        let length = self.sources.bytes(file);
        let step = self.tile_bytes.saturating_mul(TILES_PER_STRETCH);
        let starts = (0..length).step_by(usize::try_from(step).unwrap_or(usize::MAX));
        starts.map(move |start| {
            let bytes = start..length.min(start.saturating_add(step));
            Unit::Stretch { file, bytes, twin }
        })
    }

    /// Adds the work of identifying files that are read whole.
    fn add_packed(
        &self,
        twins: &Twins<'_>,
        files: Range<usize>,
        stamps: &Stamps,
        known: &mut [Option<Known>],
        units: &mut Vec<Unit>,
    ) {
        let mut first = files.start;
        let mut next = files.start;
        let mut sum = 0;
        let end = |first: &mut usize, next: usize, units: &mut Vec<Unit>| {
            if *first < next {
                units.push(Unit::Hash(*first..next));
            }
            *first = next;
        };
        while next < files.end {
            let rest = next..files.end;
            let of_times = || twins.pack(self.sources, rest.clone(), Some(stamps));
            let of_names = || twins.pack(self.sources, rest.clone(), None);
            let unchanged = self.trust.times.then(of_times).flatten();
            let appended =
                if unchanged.is_none() && self.trust.appends { of_names() } else { None };
            if let Some((tile, count)) = unchanged.or(appended) {
                end(&mut first, next, units);
                let pack = next..next + count;
                if unchanged.is_some() {
                    for (known, is) in known[pack.clone()].iter_mut().zip(trusted(tile, &pack)) {
                        *known = Some(is);
                    }
                } else {
                    units.push(Unit::Check { files: pack.clone(), tile });
                }
                (first, next, sum) = (pack.end, pack.end, 0);
                continue;
            }
            sum += weight(self.sources.bytes(next));
            next += 1;
            if sum >= self.tile_bytes || next - first >= FILES_PER_STEP {
                end(&mut first, next, units);
                sum = 0;
            }
        }
        end(&mut first, files.end, units);
    }

    fn hashes(&self, finder: &mut Finder<'_>, files: &Range<usize>) -> Result<Vec<Known>> {
        let hash = |file| Ok(Known::Hash(finder.hash(file, 0..self.sources.bytes(file))?));
        files.clone().map(hash).collect()
    }

    /// Adds a file's tiles: the found ones, and the new stretches between them, not yet cut.
    fn add_stretches(
        &self,
        file: usize,
        found: &[(usize, Found)],
        remembered: &Remembered,
        tiles: &mut Vec<Tile>,
    ) {
        let spans = found.iter().map(|(_, Found { offset, tile })| {
            (*offset..*offset + remembered.tiles()[*tile].place.bytes(), *tile)
        });
        let whole = 0..self.sources.bytes(file);
        let sections = sections(whole, spans, |span| span.end - span.start);
        for Section { span, same_as, .. } in joined(sections, self.tile_bytes / PARTS_LEAST) {
            tiles.push(Tile { place: Place::Stretch { file, bytes: span }, same_as });
        }
    }

    /// Adds the packs of a run of files, old and new.
    fn add_packs(
        &self,
        files: &Range<usize>,
        found: &[(usize, usize)],
        remembered: &Remembered,
        tiles: &mut Vec<Tile>,
    ) {
        let bytes = |files: &Range<usize>| files.clone().map(|file| self.sources.bytes(file));
        let spans = found.iter().map(|&(first, tile)| {
            let count = remembered.tiles()[tile].place.files().len();
            (first as u64..(first + count) as u64, tile)
        });
        let numbers = |span: &Range<u64>| span.start as usize..span.end as usize;
        let whole = files.start as u64..files.end as u64;
        let sections = sections(whole, spans, |span| bytes(&numbers(span)).map(weight).sum());
        for Section { span, same_as, .. } in joined(sections, self.tile_bytes / PARTS_LEAST) {
            let mut push = |files: Range<usize>| {
                let bytes = bytes(&files).sum();
                tiles.push(Tile { place: Place::Pack { files, bytes }, same_as });
            };
            match same_as {
                Some(_) => push(numbers(&span)),
                None => packs(numbers(&span), self.tile_bytes, |file| self.sources.bytes(file))
                    .for_each(push),
            }
        }
    }

    /// Cuts stretches that are new and long.
    fn cut_new<'s>(
        &self,
        old: Old<'s>,
        finders: &PerWorker<Finder<'s>>,
        tiles: Vec<Tile>,
    ) -> Result<Vec<Tile>> {
        let wanted: Vec<(usize, u64)> = tiles
            .iter()
            .enumerate()
            .filter_map(|(number, tile)| match &tile.place {
                Place::Stretch { bytes, .. } if tile.same_as.is_none() => Some((number, bytes)),
                _ => None,
            })
            .flat_map(|(number, bytes)| {
                places(bytes, self.tile_bytes).map(move |place| (number, place))
            })
            .collect();
        let borders = self.each(old, finders, wanted.len(), |finder, at| {
            let (number, place) = wanted[at];
            match &tiles[number].place {
                Place::Stretch { file, bytes } => finder.look.choose(*file, place, bytes),
                Place::Pack { .. } => Ok(None),
            }
        })?;
        let mut cuts = wanted.iter().zip(borders).filter_map(|(of, border)| Some((of.0, border?)));
        let mut next = cuts.next();
        let mut all = Vec::with_capacity(tiles.len() + wanted.len());
        for (number, mut tile) in tiles.into_iter().enumerate() {
            if let Place::Stretch { file, bytes } = &mut tile.place {
                while let Some((_, border)) = next.filter(|(of, _)| *of == number) {
                    let place = Place::Stretch { file: *file, bytes: bytes.start..border };
                    all.push(Tile { place, same_as: None });
                    bytes.start = border;
                    next = cuts.next();
                }
            }
            all.push(tile);
        }
        Ok(all)
    }
}

/// The likely contents of a big file before it is looked through.
enum Likely {
    /// These tiles; all other bytes are new.
    Is(Vec<Found>),
    /// A version of this old file.
    Was(Option<usize>),
}

/// Returns the facts about the files of a pack that is trusted to be unchanged.
fn trusted(tile: usize, files: &Range<usize>) -> Vec<Known> {
    let mut known = vec![Known::Covered; files.len()];
    known[0] = Known::Trusted(tile);
    known
}

/// Returns the found sections, in order, and the gaps between them. Of overlapping ones the first counts.
fn sections(
    whole: Range<u64>,
    found: impl Iterator<Item = (Range<u64>, usize)>,
    weight: impl Fn(&Range<u64>) -> u64,
) -> Vec<Section> {
    let mut sections = Vec::new();
    let mut end = whole.start;
    let mut push = |span: Range<u64>, same_as| {
        if !span.is_empty() {
            sections.push(Section { weight: weight(&span), span, same_as });
        }
    };
    for (span, tile) in found {
        if span.start >= end {
            push(end..span.start, None);
            end = span.end;
            push(span, Some(tile));
        }
    }
    push(end..whole.end, None);
    sections
}

/// Joins small neighbours of which one is new into one new section.
fn joined(sections: Vec<Section>, least: u64) -> Vec<Section> {
    let mut joined: Vec<Section> = Vec::with_capacity(sections.len());
    for mut section in sections {
        while let Some(last) = joined.pop_if(|last| {
            let is_new = |section: &Section| section.same_as.is_none();
            let is_small = |section: &Section| section.weight < least;
            is_new(last) && is_new(&section)
                || (is_new(last) || is_new(&section)) && is_small(last) && is_small(&section)
        }) {
            let weight = last.weight + section.weight;
            section = Section { span: last.span.start..section.span.end, weight, same_as: None };
        }
        joined.push(section);
    }
    joined
}

/// Gives equal tiles different old ones, as far as there are enough.
fn claim(tiles: &mut [Tile], index: &Index) {
    let mut claimed: HashMap<u32, Vec<usize>> = HashMap::new();
    let mut taken = HashSet::new();
    let mut late = Vec::new();
    for (number, tile) in tiles.iter().enumerate() {
        match tile.same_as {
            Some(old) if !taken.insert(old) => late.push(number),
            _ => {}
        }
    }
    for number in late {
        let Some(old) = tiles[number].same_as else { continue };
        let class = index.class_of(old);
        let free = claimed.entry(class).or_insert_with(|| {
            let members = index.members(class).iter().rev().map(|&tile| tile as usize);
            members.filter(|tile| !taken.contains(tile)).collect()
        });
        tiles[number].same_as = free.pop().or(Some(old));
    }
}

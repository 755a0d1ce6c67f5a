//! Measures the cost of finding old tiles again: for benches that compare ways to do so, and for users who
//! want to know beforehand the work that a state would save. A job needs none of it.

use crate::cancel::Cancel;
use crate::engine::Engine;
use crate::error::{Error, Result, StorageError};
use crate::failure::Failure;
use crate::input::{Cut, Input};
use crate::options::Options;
use crate::plan::Plan;
use crate::process::process_cpu;
use crate::reuse::{Hashing, Remembered, Reuse, Sources, Stamps, Tiling, Trust, print_of};
use crate::sizing::SPLIT_BYTES;
use std::time::Duration;

/// The part of an input that was found again in a later one.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Trial {
    /// Tiles of the later input, and how many of them are new.
    pub tiles: u64,
    /// Tiles whose bytes are not those of a tile of the earlier input.
    pub new_tiles: u64,
    /// Bytes of the later input.
    pub bytes: u64,
    /// Bytes in tiles that are not new.
    pub same_bytes: u64,
    /// Bytes that were read to find that out.
    pub read_bytes: u64,
    /// Bytes that a state needs for the list of the earlier input's tiles.
    pub list_bytes: u64,
    /// Processor time of all threads to cut the earlier input into tiles.
    pub cut_cpu: Duration,
    /// Processor time to read and hash the tiles of the earlier input, which a first run does as it maps them.
    pub hash_cpu: Duration,
    /// Processor time to find the tiles of the later input.
    pub find_cpu: Duration,
}

/// Cuts `old` into tiles of about `tile_bytes`, then looks for them in `new`.
///
/// # Errors
/// As a run over them would have; and [`Error::Option`] for a tile of no bytes.
pub fn trial(
    engine: &Engine,
    (old, new): (Input, Input),
    cut: Cut,
    hashing: Hashing,
    tile_bytes: u64,
) -> Result<Trial> {
    if tile_bytes == 0 {
        return Err(Error::Option {
            option: "tile_bytes",
            cause: "0 bytes; give at least 1".into(),
        });
    }
    let failure = Failure::new(&Cancel::default());
    let tiles = |sources: &Sources<'_>, stamps: &Stamps, remembered: &Remembered| {
        let reuse = Reuse {
            sources,
            cut: &cut,
            hashing,
            tile_bytes,
            trust: Trust::default(),
            pool: engine.core().pool(),
            blocks: engine.core().blocks(),
            failure: &failure,
        };
        reuse.tiles(remembered, stamps)
    };
    let plan = |input| {
        let cutting = Options::default().cutting(SPLIT_BYTES, SPLIT_BYTES);
        Plan::new(input, cut, cutting)
    };
    let looked = |sources: &Sources<'_>| Stamps::look(sources, engine.core().pool(), &failure);

    let old = plan(old)?;
    let sources = Sources::of(&old);
    let stamps = looked(&sources)?;
    let (tiling, cut_cpu) = timed(|| tiles(&sources, &stamps, &Remembered::default()))?;
    let (prints, hash_cpu) = timed(|| {
        let tiles = tiling.tiles.iter();
        tiles.map(|tile| print_of(&sources, &tile.place, hashing)).collect::<Result<Vec<_>>>()
    })?;
    let numbered = tiling.tiles.into_iter().zip(prints).zip(0..);
    let numbered = numbered.map(|((tile, print), number)| (tile, print, number));
    let list = Remembered::of(&sources, &stamps, numbered).encode(hashing);
    let remembered = Remembered::decode(&list, hashing).map_err(|cause| StorageError::Damaged {
        path: "the list of tiles".into(),
        offset: 0,
        cause,
    })?;

    let new = plan(new)?;
    let sources = Sources::of(&new);
    let stamps = looked(&sources)?;
    let (found, find_cpu) = timed(|| tiles(&sources, &stamps, &remembered))?;
    let Tiling { tiles, bytes, same_bytes, read_bytes, .. } = &found;
    Ok(Trial {
        tiles: tiles.len() as u64,
        new_tiles: tiles.iter().filter(|tile| tile.same_as.is_none()).count() as u64,
        bytes: *bytes,
        same_bytes: *same_bytes,
        read_bytes: *read_bytes,
        list_bytes: list.len() as u64,
        cut_cpu,
        hash_cpu,
        find_cpu,
    })
}

/// Returns the result of some work, and the process's processor time for it.
fn timed<R>(work: impl FnOnce() -> Result<R>) -> Result<(R, Duration)> {
    let before = process_cpu();
    let result = work()?;
    Ok((result, process_cpu().saturating_sub(before)))
}

//! Run again only what changed: the input side. Given what is remembered of the tiles of the last run,
//! and the files of this one: which tiles have the same bytes, and which stretches are new?
//!
//! `Reuse::tiles` answers, for a first run (nothing is remembered, all is new) as for any later one.
//! What it gives covers each byte of each file exactly once, in tiles of whole records; whoever maps a tile
//! that is new takes its print as its bytes pass (`Passing`); and `Remembered::of` all that is what the
//! next run remembers.
//!
//! The essay is in `docs/reuse.md`.

mod borders;
mod fingerprint;
mod index;
mod matching;
mod packs;
mod passing;
mod record;
mod sources;
mod stamps;
mod stretches;
#[cfg(test)]
mod tests;
mod tile;
mod twins;

pub use fingerprint::Hashing;
pub(crate) use fingerprint::{Anchor, Print, TilePrint};
#[cfg(any(test, feature = "testing"))]
pub(crate) use matching::Tiling;
pub(crate) use matching::{Reuse, Trust};
pub(crate) use passing::Passing;
pub(crate) use record::Remembered;
pub(crate) use sources::{Sources, print_of};
pub(crate) use stamps::Stamps;
pub(crate) use tile::{KeptTile, Place, Tile};

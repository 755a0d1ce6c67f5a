//! The input side of mapping only the changed part of an input. Given the remembered tiles of the last run
//! and the files of this one, it finds the tiles with the same bytes and the new stretches.
//!
//! `Reuse::tiles` does this for a first run (nothing is remembered, all is new) as for any later one. Its
//! tiles cover each byte of each file exactly once, in whole records. The worker that maps a new tile takes
//! its print as its bytes pass (`Passing`); `Remembered::of` makes the record for the next run.
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
pub(crate) use matching::{Reuse, Tiling, Trust};
pub(crate) use passing::Passing;
pub(crate) use record::Remembered;
pub(crate) use sources::{Sources, print_of};
pub(crate) use stamps::Stamps;
pub(crate) use tile::{KeptTile, Place, Tile};

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
mod tile;
mod twins;

pub use borders::least_unlike;
pub use fingerprint::Hashing;
pub use fingerprint::{Anchor, Print, TilePrint};
pub use matching::{Reuse, Tiling, Trust};
pub use passing::Passing;
pub use record::Remembered;
pub use sources::{Sources, print_of};
pub use stamps::Stamps;
pub use tile::{KeptTile, Place, Tile};

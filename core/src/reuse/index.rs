//! The last run's tiles by their first bytes, so that they are found at any place. Equal tiles are one class,
//! so that repeated bytes are looked at once.

use super::fingerprint::{HEAD_BYTES, start};
use super::record::Remembered;
use super::{Anchor, KeptTile, Place};
use std::collections::HashMap;
use std::ops::Range;

/// The last run's tiles, by class and by anchor.
pub(super) struct Index {
    /// All tiles, class by class, those of one anchor together.
    order: Vec<u32>,
    /// Where each class begins in `order`; one more entry for the end.
    classes: Vec<u32>,
    /// Of each tile.
    class_of: Vec<u32>,
    /// The classes of stretches, and of packs, by their anchors.
    stretches: HashMap<Anchor, Range<u32>>,
    packs: HashMap<Anchor, Range<u32>>,
    /// A bit for each stretch's [`Anchor::start`], so that few places are looked at more closely.
    filter: Vec<u64>,
    shift: u32,
}

const FILTER_BITS_PER_KEY: usize = 64;
const FILTER_BITS_LEAST: usize = 1 << 12;
/// A larger one would not stay in a cache.
const FILTER_BITS_MOST: usize = 1 << 23;

/// Returns the key of a tile's class; classes of one anchor are adjacent.
fn class(tile: &KeptTile) -> (bool, Anchor, u64, u128, usize) {
    let is_pack = matches!(tile.place, Place::Pack { .. });
    (is_pack, tile.print.anchor, tile.place.bytes(), tile.print.hash, tile.place.files().len())
}

impl Index {
    pub(super) fn new(remembered: &Remembered) -> Index {
        let tiles = remembered.tiles();
        let of = |tile: u32| &tiles[tile as usize];
        let mut order: Vec<u32> = (0..tiles.len() as u32).collect();
        order.sort_by(|&a, &b| class(of(a)).cmp(&class(of(b))).then(a.cmp(&b)));
        let mut index = Index {
            classes: Vec::new(),
            class_of: vec![0; tiles.len()],
            stretches: HashMap::new(),
            packs: HashMap::new(),
            filter: Vec::new(),
            shift: 0,
            order,
        };
        for (at, &tile) in index.order.iter().enumerate() {
            if at == 0 || class(of(tile)) != class(of(index.order[at - 1])) {
                index.classes.push(at as u32);
            }
            index.class_of[tile as usize] = index.classes.len() as u32 - 1;
        }
        index.classes.push(tiles.len() as u32);
        for class in 0..index.classes.len() as u32 - 1 {
            let tile = of(index.members(class)[0]);
            let anchor = tile.print.anchor;
            let classes = match tile.place {
                Place::Pack { .. } => &mut index.packs,
                // So small a tile is found only where it is expected.
                Place::Stretch { .. } if tile.place.bytes() < HEAD_BYTES as u64 => continue,
                Place::Stretch { .. } => &mut index.stretches,
            };
            classes.entry(anchor).or_insert(class..class).end = class + 1;
        }
        let bits = (index.stretches.len() * FILTER_BITS_PER_KEY).next_power_of_two();
        let bits = bits.clamp(FILTER_BITS_LEAST, FILTER_BITS_MOST);
        (index.filter, index.shift) = (vec![0; bits / 64], 64 - bits.ilog2());
        for anchor in index.stretches.keys() {
            let bit = (anchor.start >> index.shift) as usize;
            index.filter[bit / 64] |= 1 << (bit % 64);
        }
        index
    }

    /// Returns the memory of an index of `tiles` tiles, in bytes.
    pub(super) fn memory_bytes(tiles: usize) -> usize {
        let map = size_of::<(Anchor, Range<u32>)>() + 1;
        let filter = (tiles * FILTER_BITS_PER_KEY / 4).min(FILTER_BITS_MOST / 8);
        tiles * (4 + 4 + 4 + 2 * map) + filter.max(FILTER_BITS_LEAST / 8)
    }

    pub(super) fn class_of(&self, tile: usize) -> u32 {
        self.class_of[tile]
    }

    /// Returns the tiles of a class, in order.
    pub(super) fn members(&self, class: u32) -> &[u32] {
        let class = class as usize;
        &self.order[self.classes[class] as usize..self.classes[class + 1] as usize]
    }

    /// Returns whether there is any stretch to look for.
    pub(super) fn has_stretches(&self) -> bool {
        !self.stretches.is_empty()
    }

    /// Returns the classes of stretches that begin with these bytes, at least [`HEAD_BYTES`].
    #[inline(always)]
    pub(super) fn stretches(&self, bytes: &[u8]) -> Range<u32> {
        let Some(first) = bytes.first_chunk() else { return 0..0 };
        let bit = (start(first) >> self.shift) as usize;
        if self.filter[bit / 64] >> (bit % 64) & 1 == 0 {
            return 0..0;
        }
        self.stretches.get(&Anchor::of(bytes)).cloned().unwrap_or(0..0)
    }

    /// Returns the classes of packs whose first file has this hash.
    pub(super) fn packs(&self, first: u128) -> Range<u32> {
        self.packs.get(&Anchor::of_pack(first)).cloned().unwrap_or(0..0)
    }
}

//! Other ways to cut a text into tiles and to find them again: all know a tile by its hash alone.

use crate::{Outcome, TILE_BYTES};
use std::collections::HashSet;
use std::ops::Range;
use std::time::Duration;
use tegula::process_cpu;
use twox_hash::{XxHash3_64, XxHash3_128};

/// A way to cut.
#[derive(Clone, Copy)]
pub(crate) enum Way {
    /// FastCDC over every byte: 1 to 16 MiB, a mean of 4. It knows of no records.
    FastCdc,
    /// The line border in the 16 KiB before each fixed offset whose following bytes have the least hash.
    Windows,
    /// The first line border after each fixed offset.
    Offsets,
}

const WINDOW_BYTES: usize = 16 << 10;

impl Way {
    pub(crate) const ALL: [Way; 3] = [Way::FastCdc, Way::Windows, Way::Offsets];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Way::FastCdc => "FastCDC",
            Way::Windows => "windows",
            Way::Offsets => "offsets",
        }
    }

    pub(crate) fn measure(self, old: &[u8], new: &[u8]) -> Outcome {
        let (tiles, cut_cpu) = timed(|| self.tiles(old));
        let (known, hash_cpu) = timed(|| hashes(old, &tiles).collect::<HashSet<u128>>());
        let ((tiles, hashes), next_cpu) = timed(|| {
            let tiles = self.tiles(new);
            let hashes: Vec<u128> = hashes(new, &tiles).collect();
            (tiles, hashes)
        });
        let is_new = |(_, hash): &(&Range<usize>, &u128)| !known.contains(hash);
        let new_tiles: Vec<_> = tiles.iter().zip(&hashes).filter(is_new).collect();
        let new_bytes: usize = new_tiles.iter().map(|(tile, _)| tile.len()).sum();
        Outcome {
            cut_cpu,
            hash_cpu,
            next_cpu,
            new_tiles: new_tiles.len() as u64,
            same_part: 1.0 - new_bytes as f64 / new.len() as f64,
        }
    }

    fn tiles(self, text: &[u8]) -> Vec<Range<usize>> {
        let tile = TILE_BYTES as usize;
        let ends: Vec<usize> = match self {
            Way::FastCdc => {
                let chunks = fastcdc::v2020::FastCDC::new(text, tile / 4, tile, 4 * tile);
                chunks.map(|chunk| chunk.offset + chunk.length).collect()
            }
            Way::Windows => {
                let inner = (tile..text.len()).step_by(tile);
                inner.map(|place| window(text, place)).chain([text.len()]).collect()
            }
            Way::Offsets => {
                let inner = (tile..text.len()).step_by(tile);
                let behind = |place| line_behind(text, place).unwrap_or(text.len());
                inner.map(behind).chain([text.len()]).collect()
            }
        };
        let starts = [0].into_iter().chain(ends.iter().copied());
        starts.zip(ends.iter().copied()).map(|(start, end)| start..end).collect()
    }
}

fn hashes(text: &[u8], tiles: &[Range<usize>]) -> impl Iterator<Item = u128> {
    tiles.iter().map(|tile| XxHash3_128::oneshot(&text[tile.clone()]))
}

fn line_behind(text: &[u8], place: usize) -> Option<usize> {
    text[place..].iter().position(|&byte| byte == b'\n').map(|at| place + at + 1)
}

fn window(text: &[u8], place: usize) -> usize {
    let window = place - WINDOW_BYTES..place;
    let borders = window.filter(|&at| text[at - 1] == b'\n');
    borders
        .min_by_key(|&at| XxHash3_64::oneshot(&text[at..text.len().min(at + 32)]))
        .unwrap_or(place)
}

fn timed<R>(work: impl FnOnce() -> R) -> (R, Duration) {
    let before = process_cpu();
    let result = work();
    (result, process_cpu().saturating_sub(before))
}

//! Input that is in no file: a source generates tiles of numbers, of four bytes each, and the job counts the
//! last digits. `cargo run --release --example own_tiles -- TILES`

use std::io;
use tegula::{Count, Cut, Emit, Engine, Input, Job, Result, Split, TileSource};

const NUMBERS_PER_TILE: u32 = 1 << 16;

/// Ascending numbers, a tile at a time.
struct Numbers {
    tile: u32,
    tiles: u32,
}

impl TileSource for Numbers {
    type Tile = Vec<u8>;

    fn acquire(&mut self) -> io::Result<Option<Vec<u8>>> {
        if self.tile == self.tiles {
            return Ok(None);
        }
        let first = self.tile * NUMBERS_PER_TILE;
        self.tile += 1;
        Ok(Some((first..first + NUMBERS_PER_TILE).flat_map(u32::to_le_bytes).collect()))
    }
}

struct Digits;

impl Job for Digits {
    type Key = u8;
    type Combine = Count;

    fn cut(&self) -> Cut {
        Cut::Fixed(4)
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        for number in split.bytes().as_chunks().0 {
            emit.emit((u32::from_le_bytes(*number) % 10) as u8, ());
        }
        Ok(())
    }
}

fn main() -> Result<()> {
    let tiles = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(4);
    let input = Input::tiles("numbers", Numbers { tile: 0, tiles });
    for (digit, count) in Engine::new()?.job(&Digits).run(input)?.iter()? {
        println!("{digit}\t{count}");
    }
    Ok(())
}

//! The state of each tile of a run's input, which anyone may read at any time. A word a tile: its state, and its
//! splits that are still to be mapped and to be saved. Workers change it once per unit of work, and nothing of it influences the run.

use crate::sync::Mutex;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The most cells of a reading.
pub const CELLS_MOST: usize = 4096;

/// The state of a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum TileState {
    /// Nobody has begun it.
    Waiting,
    /// It was begun.
    Running,
    /// Workers have mapped it.
    Mapped,
    /// It was mapped, and is saved in the state of the run.
    Saved,
    /// It was found in the state, so this run does not map it.
    Found,
    /// It was mapped, and a device did a part of it.
    Device,
}

impl TileState {
    /// All states.
    pub const ALL: [TileState; 6] = [
        TileState::Waiting,
        TileState::Running,
        TileState::Mapped,
        TileState::Saved,
        TileState::Found,
        TileState::Device,
    ];

    /// Returns the state's name.
    pub fn name(self) -> &'static str {
        match self {
            TileState::Waiting => "waiting",
            TileState::Running => "running",
            TileState::Mapped => "mapped",
            TileState::Saved => "saved",
            TileState::Found => "found",
            TileState::Device => "device",
        }
    }
}

/// The tiles of a run, or of several one after another: each begins them anew. Share it (`Arc`) with the run through
/// `Options::grid`, and read it from another thread. Holds 8 bytes a tile.
#[derive(Debug, Default)]
pub struct TileGrid {
    tiles: Mutex<Arc<Tiles>>,
}

/// One reading of a [`TileGrid`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GridReading {
    /// Tiles of the input; those of streams and compressed files are not known.
    pub tiles: u64,
    /// Tiles of a cell; the last cell may have fewer.
    pub tiles_per_cell: u64,
    /// The number of tiles in each state, by [`TileState::ALL`].
    pub counts: [u64; TileState::ALL.len()],
    /// The state of each cell, at most [`CELLS_MOST`]. A cell of several tiles runs if one of them does, or if some
    /// are done and others wait; else it is as most of them are.
    pub cells: Vec<TileState>,
}

/// Where each cell of a [`TileGrid`] begins in the input; it ends where the next one begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GridPlaces {
    /// Bytes of the whole input.
    pub bytes: u64,
    /// The files in which cells begin, in order.
    pub paths: Vec<PathBuf>,
    /// The cells.
    pub cells: Vec<CellPlace>,
}

/// Where a cell begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellPlace {
    /// The place of its file among [`GridPlaces::paths`].
    pub path: usize,
    /// The byte of that file.
    pub byte: u64,
    /// The number of that file in the whole input.
    pub file: u64,
}

impl TileGrid {
    /// Returns a grid without tiles.
    pub fn new() -> TileGrid {
        TileGrid::default()
    }

    /// Returns the present states. Tiles are read one by one, not as a snapshot. Costs a read a tile.
    pub fn read(&self) -> GridReading {
        let tiles = Arc::clone(&self.tiles.lock());
        let tiles = &tiles.words;
        let per_cell = tiles.len().div_ceil(CELLS_MOST).max(1);
        let mut reading = GridReading {
            tiles: tiles.len() as u64,
            tiles_per_cell: per_cell as u64,
            ..GridReading::default()
        };
        reading.cells.reserve(tiles.len().div_ceil(per_cell));
        for cell in tiles.chunks(per_cell) {
            let mut counts = [0; TileState::ALL.len()];
            for word in cell {
                counts[Word::of(word.load(Ordering::Relaxed)).state as usize] += 1;
            }
            reading.cells.push(state_of_cell(&counts));
            reading.counts.iter_mut().zip(counts).for_each(|(all, count)| *all += count);
        }
        reading
    }

    /// Returns the places of the cells.
    pub fn places(&self) -> Arc<GridPlaces> {
        Arc::clone(&self.tiles.lock().places)
    }

    /// Begins a run, whose tiles have these numbers of splits, and whose cells begin at these places.
    #[doc(hidden)]
    pub fn begin(&self, splits: impl Iterator<Item = u64>, places: GridPlaces) -> Arc<Tiles> {
        let word = |splits: u64| Word { left: splits, unsaved: splits, ..Word::default() }.pack();
        let words = splits.map(|splits| AtomicU64::new(word(splits))).collect();
        let tiles = Arc::new(Tiles { words, places: Arc::new(places) });
        *self.tiles.lock() = Arc::clone(&tiles);
        tiles
    }
}

/// The tiles of one run.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct Tiles {
    words: Box<[AtomicU64]>,
    places: Arc<GridPlaces>,
}

/// The parts of a tile's word.
#[derive(Clone, Copy)]
struct Word {
    /// Splits that are to be mapped, and splits that are to be saved; at most `COUNT`.
    left: u64,
    unsaved: u64,
    /// Whether a device has mapped some.
    by_device: bool,
    state: TileState,
}

/// The bits of a count.
const BITS: u32 = 28;
const COUNT: u64 = (1 << BITS) - 1;

impl Default for Word {
    fn default() -> Word {
        Word { left: 0, unsaved: 0, by_device: false, state: TileState::Waiting }
    }
}

impl Word {
    fn pack(self) -> u64 {
        let (left, unsaved) = (self.left.min(COUNT), self.unsaved.min(COUNT));
        left | unsaved << BITS | u64::from(self.by_device) << 56 | (self.state as u64) << 57
    }

    fn of(word: u64) -> Word {
        let state = TileState::ALL.get((word >> 57) as usize).copied();
        Word {
            left: word & COUNT,
            unsaved: word >> BITS & COUNT,
            by_device: word >> 56 & 1 == 1,
            state: state.unwrap_or(TileState::Waiting),
        }
    }

    /// Settles the state after some splits were mapped or saved.
    fn settled(self) -> Word {
        let state = match self {
            Word { left: 1.., .. } => TileState::Running,
            Word { unsaved: 0, .. } => TileState::Saved,
            Word { by_device: true, .. } => TileState::Device,
            _ => TileState::Mapped,
        };
        Word { state, ..self }
    }
}

impl Tiles {
    /// A worker begins a part of a tile.
    pub fn run(&self, tile: usize) {
        let waits = |word: &Word| word.state == TileState::Waiting;
        if self.words.get(tile).is_some_and(|word| waits(&Word::of(word.load(Ordering::Relaxed)))) {
            self.change(tile, |word| match word.state {
                TileState::Waiting => Word { state: TileState::Running, ..word },
                _ => word,
            });
        }
    }

    /// Splits of a tile are mapped.
    pub fn mapped(&self, tile: usize, splits: u64, by_device: bool) {
        self.change(tile, |word| {
            let left = word.left.saturating_sub(splits);
            Word { left, by_device: word.by_device | by_device, ..word }.settled()
        });
    }

    /// Splits of a tile need not be mapped, because the state has them.
    pub fn found(&self, tile: usize, splits: u64) {
        self.change(tile, |word| {
            let left = word.left.saturating_sub(splits);
            let unsaved = word.unsaved.saturating_sub(splits);
            let state = if left == 0 { TileState::Found } else { TileState::Running };
            Word { left, unsaved, state, ..word }
        });
    }

    /// Splits of a tile are saved.
    pub fn saved(&self, tile: usize, splits: u64) {
        self.change(tile, |word| match word.state {
            TileState::Found => word,
            _ => Word { unsaved: word.unsaved.saturating_sub(splits), ..word }.settled(),
        });
    }

    /// The whole answer is saved.
    pub fn saved_all(&self) {
        (0..self.words.len()).for_each(|tile| self.saved(tile, COUNT));
    }

    /// All of a tile is in a state, whatever it was in. Of a run that counts no splits.
    pub fn set(&self, tile: usize, state: TileState) {
        self.change(tile, |word| Word { state, ..word });
    }

    fn change(&self, tile: usize, change: impl Fn(Word) -> Word) {
        let Some(word) = self.words.get(tile) else { return };
        let (relaxed, change) = (Ordering::Relaxed, |now| Some(change(Word::of(now)).pack()));
        // The function always gives a word, so this succeeds.
        let _ = word.fetch_update(relaxed, relaxed, change);
    }
}

fn state_of_cell(counts: &[u64; TileState::ALL.len()]) -> TileState {
    let all: u64 = counts.iter().sum();
    let waiting = counts[TileState::Waiting as usize];
    if counts[TileState::Running as usize] > 0 || (waiting > 0 && waiting < all) {
        return TileState::Running;
    }
    let most = TileState::ALL.into_iter().max_by_key(|&state| counts[state as usize]);
    most.unwrap_or(TileState::Waiting)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tile_goes_from_waiting_to_saved() {
        let grid = TileGrid::new();
        assert_eq!(grid.read().cells, []);
        let tiles = grid.begin([3, 1, 2, 2].into_iter(), GridPlaces::default());
        tiles.run(0);
        tiles.mapped(0, 2, false);
        tiles.found(1, 1);
        tiles.mapped(2, 1, true);
        tiles.mapped(2, 1, false);
        use TileState::{Device, Found, Mapped, Running, Saved, Waiting};
        assert_eq!(grid.read().cells, [Running, Found, Device, Waiting]);
        tiles.saved(0, 2);
        tiles.saved(1, 1);
        tiles.saved(2, 1);
        assert_eq!(grid.read().cells, [Running, Found, Device, Waiting]);
        tiles.mapped(0, 1, false);
        assert_eq!(grid.read().cells[0], Mapped);
        tiles.run(0);
        tiles.saved(0, 1);
        assert_eq!(grid.read().cells, [Saved, Found, Device, Waiting]);
        assert_eq!(grid.read().counts, [1, 0, 0, 1, 1, 1]);
        tiles.mapped(3, 2, false);
        tiles.saved_all();
        assert_eq!(grid.read().cells, [Saved, Found, Saved, Saved]);
        tiles.set(2, Waiting);
        assert_eq!(grid.read().cells, [Saved, Found, Waiting, Saved]);
    }

    #[test]
    fn many_tiles_are_few_cells() {
        let grid = TileGrid::new();
        let tiles = grid.begin(std::iter::repeat_n(1, 100_000), GridPlaces::default());
        let reading = grid.read();
        assert_eq!((reading.cells.len(), reading.tiles_per_cell), (4000, 25));
        tiles.mapped(0, 1, false);
        assert_eq!(grid.read().cells[..2], [TileState::Running, TileState::Waiting]);
        (0..100_000).for_each(|tile| tiles.mapped(tile, 1, false));
        let reading = grid.read();
        assert!(reading.cells.iter().all(|&cell| cell == TileState::Mapped));
        assert_eq!(reading.counts, [0, 0, 100_000, 0, 0, 0]);
    }
}

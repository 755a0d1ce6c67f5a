//! A grid shows the state of each tile while a run lasts: in the end all are mapped, saved, found again or done by a
//! device, whatever the number of tiles, and reading it changes nothing.

use crate::jobs::{Words, mapping};
use crate::support::{count_line, engine, engines, sample_text, text_of};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use tegula::{
    Engine, GridReading, Incremental, Input, Options, SaveEvery, State, TileGrid, TileState,
    WordClass,
};

const JOB: Words = Words(WordClass::Whitespace);

/// Runs a job with a grid; returns the answer and the last reading.
fn seen(engine: &Engine, text: &[u8], options: Options) -> (Vec<u8>, GridReading) {
    let grid = Arc::new(TileGrid::new());
    let options = Options { grid: Some(Arc::clone(&grid)), ..options };
    let ended = AtomicBool::new(false);
    let answer = thread::scope(|scope| {
        scope.spawn(|| {
            let mut done = 0;
            while !ended.load(Ordering::Relaxed) {
                let GridReading { tiles, counts, .. } = grid.read();
                assert_eq!(counts.iter().sum::<u64>(), tiles);
                // A tile that is done stays so.
                let now: u64 = counts[2..].iter().sum();
                assert!(now >= done);
                done = now;
            }
        });
        let input = Input::bytes(text.to_vec());
        let output = engine.job(&JOB).options(&options).run(input).unwrap();
        ended.store(true, Ordering::Relaxed);
        text_of(&output, count_line)
    });
    (answer, grid.read())
}

fn tiles_of(tile_bytes: u64) -> Options {
    let split_bytes = Some(tile_bytes.min(1000));
    Options { tile_bytes: Some(tile_bytes), split_bytes, ..Options::default() }
}

fn count(reading: &GridReading, state: TileState) -> u64 {
    reading.counts[state as usize]
}

#[test]
fn all_tiles_are_mapped_in_the_end() {
    let text = sample_text(40_000);
    let (answer, reading) = seen(&engine(1), &text, tiles_of(1 << 30));
    assert_eq!((reading.tiles, reading.cells), (1, vec![TileState::Mapped]));
    for engine in engines() {
        for tile_bytes in [2_000, 30_000] {
            let (other, reading) = seen(engine, &text, tiles_of(tile_bytes));
            assert!(other == answer);
            assert_eq!(reading.tiles, (text.len() as u64).div_ceil(tile_bytes));
            assert_eq!(reading.cells, vec![TileState::Mapped; reading.tiles as usize]);
        }
    }
}

#[test]
fn a_hundred_thousand_tiles_are_a_few_thousand_cells() {
    let text = "a b ".repeat(50_000);
    let (_, reading) = seen(&engine(2), text.as_bytes(), tiles_of(2));
    assert_eq!((reading.tiles, reading.tiles_per_cell, reading.cells.len()), (100_000, 25, 4_000));
    assert_eq!(count(&reading, TileState::Mapped), 100_000);
    assert!(reading.cells.iter().all(|&cell| cell == TileState::Mapped));
}

#[test]
fn empty_input_and_streams_have_no_tiles() {
    let (_, reading) = seen(&engine(2), b"", Options::default());
    assert_eq!((reading.tiles, reading.cells), (0, vec![]));
}

#[test]
fn a_grid_begins_anew_with_each_run() {
    let grid = Arc::new(TileGrid::new());
    let running = Arc::clone(&grid);
    let job = mapping(move |_, _| {
        assert!(count(&running.read(), TileState::Running) >= 1);
        Ok(())
    });
    for text in ["a b c", "a b c d e f g h"] {
        let options = Options { grid: Some(Arc::clone(&grid)), ..tiles_of(2) };
        engine(1).job(&job).options(&options).run(Input::bytes(text)).unwrap();
        assert_eq!(grid.read().tiles, (text.len() as u64).div_ceil(2));
    }
}

#[test]
fn cells_have_places_in_their_files() {
    let folder = tempfile::tempdir().unwrap();
    // A file of three tiles, an empty one, small ones that are one tile, and one that is one tile alone.
    let files = [("a", 25), ("b", 0), ("c", 3), ("d", 4), ("e", 10)];
    for (name, bytes) in files {
        std::fs::write(folder.path().join(name), "x ".repeat(bytes).as_bytes()).unwrap();
    }
    let grid = Arc::new(TileGrid::new());
    let options = Options { grid: Some(Arc::clone(&grid)), ..tiles_of(20) };
    let paths = files.map(|(name, _)| folder.path().join(name));
    engine(2).job(&JOB).options(&options).run(Input::paths(&paths).unwrap()).unwrap();
    let places = grid.places();
    let cells: Vec<_> = places.cells.iter().map(|cell| (cell.path, cell.byte, cell.file)).collect();
    assert_eq!(cells, [(0, 0, 0), (0, 20, 0), (0, 40, 0), (1, 0, 2), (2, 0, 4)]);
    assert_eq!(places.paths, [0, 2, 4].map(|file: usize| paths[file].clone()));
    assert_eq!(places.bytes, 84);

    let options = Options { grid: Some(Arc::clone(&grid)), ..tiles_of(2) };
    engine(2).job(&JOB).options(&options).run(Input::bytes("a b ".repeat(50_000))).unwrap();
    let places = grid.places();
    assert_eq!((places.cells.len(), places.cells[1].byte), (4_000, 50));
}

#[test]
fn saved_tiles_are_shown_and_found_again() {
    let text = sample_text(40_000);
    let folder = tempfile::tempdir().unwrap();
    for (number, engine) in engines().iter().enumerate() {
        let state = |id: &str| State::new(folder.path(), format!("{id}-{number}"));
        let plain = state("plain").save_every(SaveEvery::Tiles(1));
        let options = Options { state: Some(plain), ..tiles_of(5_000) };
        let (answer, reading) = seen(engine, &text, options.clone());
        assert_eq!(count(&reading, TileState::Saved), reading.tiles);
        let (again, reading) = seen(engine, &text, options);
        assert!(again == answer);
        assert_eq!(count(&reading, TileState::Found), reading.tiles);

        let incremental = state("incremental").incremental(Incremental::default());
        let options = Options { state: Some(incremental), ..tiles_of(5_000) };
        let (again, reading) = seen(engine, &text, options.clone());
        assert!(again == answer);
        assert_eq!(count(&reading, TileState::Saved), reading.tiles);
        let mut changed = text.clone();
        changed[50_000..50_003].copy_from_slice(b"new");
        let (_, reading) = seen(engine, &changed, options);
        let found = count(&reading, TileState::Found);
        assert!(found > 0 && found < reading.tiles, "{found} of {}", reading.tiles);
        assert_eq!(count(&reading, TileState::Saved), reading.tiles - found);
    }
}

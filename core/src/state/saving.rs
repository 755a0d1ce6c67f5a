//! Saving from the run's side: the state that it finds, the pairs that each worker adds, and the result that
//! stays.

use super::answer::{self, Asked, FoundAnswer, Note};
use super::fingerprint::Fingerprint;
use super::folder::StateFolder;
use super::folds::{Choice, Taking, tile_of};
use super::manifest::{Figures, Manifest, Piece};
use super::pace::Pace;
use super::restoring::restore;
use super::saver::{Saver, SaverThread};
use super::snapshot::{Keeps, SnapshotReader, SnapshotWriter};
use super::stock::Stock;
use super::terms::{Terms, digest_of, identity_of, is_by_place, is_same_job};
use super::tiles::{EngineParts, TILES, TileTable, Tiles};
use super::{Keep, SaveEvery, State};
use crate::aggregate::Aggregate;
use crate::bad::Found;
use crate::coverage::{ALL_FILES, Coverage, Ranges};
use crate::error::{Result, StateError, StorageError};
use crate::facts::JobFacts;
use crate::identity::Identity;
use crate::map::{Mapped, Tiling};
use crate::memory::ChunkPool;
use crate::partial::Partial;
use crate::plan::{Part, Plan};
use crate::progress::Progress;
use crate::reuse::Print;
use crate::stats::Stats;
use crate::storage::Storage;
use crate::sync::{Mutex, MutexGuard};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The state of one run.
pub(crate) struct Saving<C: Aggregate> {
    // Dropped in this order: writers may remove files, then the saver ends, then the lock goes.
    pub(super) writers: Vec<Mutex<SnapshotWriter<C>>>,
    pub(super) covering: Vec<Mutex<Covering>>,
    _thread: SaverThread,
    pub(super) saver: Arc<Saver>,
    found: FoundState,
    /// Whether all of the input was covered when the run began.
    pub(super) was_done: bool,
    pub(super) keep: Keep,
    /// Set if tiles are found again.
    pub(super) tiles: Option<TileTable>,
    pub(super) block_bytes: usize,
    pub(super) folder: StateFolder,
}

/// The contents of the state when the run began.
pub(crate) struct FoundState {
    /// The pieces that are taken in.
    takings: Vec<Taking>,
    /// Their splits, the counts of their maps, and the records that those refused.
    pub(crate) coverage: Coverage,
    pub(crate) figures: Figures,
    pub(crate) bad: Found,
    /// Of the bytes of `figures`, those of compressed files, which are read again, though not mapped.
    packed_bytes: u64,
}

/// Why a state is refused that knows its tiles in the other way.
const INCREMENTAL: &str = "this state is incremental, so it knows tiles by their content; run the job as incremental again";
const UNFINISHED: &str = "this state was begun by a run that is not incremental and has not ended, so it knows tiles \
                          by their places; let that run go on to its end first";

/// The work of a worker since its last save.
pub(super) struct Covering {
    pub(super) coverage: Coverage,
    /// The coverage of pieces that are written and not yet given to the saver, if the run has a grid.
    written: Coverage,
    figures: Figures,
    emitted_before: u64,
    pace: Pace,
    /// Whether it is time to save.
    is_due: bool,
    /// Time spent on saving since snapshots were last given to the saver.
    saving: Duration,
}

impl FoundState {
    /// `Err` if two pieces cover the same.
    fn of(
        manifest: &Manifest,
        plan: &Plan,
        tiles: Option<&TileTable>,
        has_inverse: bool,
    ) -> Result<FoundState, &'static str> {
        let mut coverage = manifest.coverage()?;
        let packed_bytes = packed_bytes(plan, &coverage);
        // Tiles that a node mapped without saving them are in the result, and in no coverage.
        if manifest.done {
            coverage = all_of(plan);
        }
        let mut takings = Vec::new();
        if let Some(tiles) = tiles {
            coverage = tiles.in_plan(&coverage);
            let there = tiles.in_order().into_iter().collect();
            let stock = Stock::of(manifest);
            let choice = Choice::of(&stock, &there, has_inverse);
            takings = choice.takings(&stock, |number| tiles.standing(number));
        } else {
            takings.extend(manifest.snapshots.iter().map(Taking::whole));
        }
        let (mut figures, mut bad) = (Figures::default(), Found::default());
        let counts = |piece: &&Piece| match tiles {
            Some(tiles) => tile_of(piece).is_some_and(|tile| tiles.has(tile)),
            None => true,
        };
        for piece in manifest.pieces().filter(counts) {
            figures.add(piece.figures);
            bad.add(&tiles.map_or_else(|| piece.bad.clone(), |tiles| tiles.bad_of(piece)));
        }
        Ok(FoundState { takings, coverage, figures, bad, packed_bytes })
    }

    /// Returns the bytes that are mapped and not read again.
    pub(crate) fn unread_bytes(&self) -> u64 {
        self.figures.bytes.saturating_sub(self.packed_bytes)
    }
}

/// Returns the covered bytes of compressed files, when these are decompressed.
fn packed_bytes(plan: &Plan, coverage: &Coverage) -> u64 {
    let packed = plan.parts.iter().enumerate().filter(|(_, part)| matches!(part, Part::Packed(_)));
    let files = packed
        .flat_map(|(part, _)| coverage.files(part).filter_map(move |file| coverage.of(part, file)));
    files.flat_map(Ranges::iter).map(|range| range.end - range.start).sum()
}

/// Returns the coverage of a whole input, which is no stream.
fn all_of(plan: &Plan) -> Coverage {
    let mut all = Coverage::default();
    for (number, part) in plan.parts.iter().enumerate() {
        if let Part::Ranged(ranged) = part {
            all.add(number, ALL_FILES, 0..ranged.layout.splits());
        } else {
            // The length of a compressed file is known when it was read.
            for file in 0..part.files() as u64 {
                all.add(number, file, 0..u64::MAX);
            }
        }
    }
    all
}

/// A state that was opened for a run.
pub(crate) enum Opening<S> {
    /// There is work, or an answer to be made.
    Open(S),
    /// The answer of the last run is where it was asked for.
    Stands(FoundAnswer),
}

/// The parts of an opened state that do not depend on the aggregate.
struct Opened {
    folder: StateFolder,
    saver: Arc<Saver>,
    found: FoundState,
    was_done: bool,
    tiles: Option<TileTable>,
    /// Those who save: workers, and devices.
    workers: usize,
}

impl Opened {
    /// Opens a state, as [`Saving::open`] says. An aggregate may keep all values, `in_order`, and it may have an
    /// inverse.
    fn of(
        (state, asked): (&State, Option<Asked<'_>>),
        facts: &JobFacts,
        plan: &mut Plan,
        terms: Terms,
        (in_order, has_inverse): (bool, bool),
        parts: EngineParts<'_>,
    ) -> Result<Opening<Opened>> {
        let Some(identity) = &facts.identity else { return Err(StateError::NoIdentity.into()) };
        let identity = identity_of(identity, plan, terms, state.incremental);
        if in_order && plan.parts.iter().any(|part| matches!(part, Part::Packed(_))) {
            return Err(StateError::InOrder.into());
        }
        let (folder, mut manifest) = find(state, &identity, plan)?;
        let storage = Arc::clone(&folder.storage);
        let asked = asked.filter(|_| manifest.done);
        let note = asked.and_then(|asked| Note::standing(&*storage, asked));
        let mut tiles = None;
        if let Some(incremental) = state.incremental {
            let noted = (&*storage, note.as_ref());
            let found = TileTable::find(facts, plan, incremental, &mut manifest, noted, parts)?;
            let found = match (found, note) {
                (Tiles::Placed(found), _) => found,
                (Tiles::Same(table, tiles), Some(note)) => {
                    return Ok(stands(&folder, &manifest, Some((&table, tiles)), &note));
                }
                (Tiles::Same(..), None) => unreachable!("they are the same as those of a note"),
            };
            manifest.done = false;
            manifest.write(&*storage)?;
            folder.tidy(Some(&manifest))?;
            tiles = Some(found);
        } else if let Some(note) = note.filter(|note| note.is_of(&manifest, NO_LIST)) {
            return Ok(stands(&folder, &manifest, None, &note));
        }
        let found = FoundState::of(&manifest, plan, tiles.as_ref(), has_inverse);
        let found = found.map_err(|cause| {
            let path = storage.path().to_path_buf();
            StorageError::Damaged { path, offset: 0, cause }
        })?;
        // Where tiles are found again, devices do nothing.
        let devices = if tiles.is_some() { 0 } else { terms.devices };
        let workers = parts.pool.workers() + devices;
        let was_done = manifest.done;
        let saver = Arc::new(Saver::new(storage, manifest, digest_of(&identity)));
        Ok(Opening::Open(Opened { folder, saver, found, was_done, tiles, workers }))
    }
}

/// The digest of the list of tiles where there is none.
const NO_LIST: u128 = 0;

/// Leaves a state as it is, whose answer stands.
fn stands(
    folder: &StateFolder,
    manifest: &Manifest,
    tiles: Option<(&TileTable, u64)>,
    note: &Note,
) -> Opening<Opened> {
    let (mut figures, mut bad) = (Figures::default(), Found::default());
    let is_mapped = |piece: &&Piece| tiles.is_none() || tile_of(piece).is_some();
    for piece in manifest.pieces().filter(is_mapped) {
        figures.add(piece.figures);
        bad.add(&tiles.map_or_else(|| piece.bad.clone(), |(table, _)| table.bad_of(piece)));
    }
    folder.end();
    let Note { keys, key_value_bytes, .. } = *note;
    let tiles = tiles.map(|(_, count)| count);
    Opening::Stands(FoundAnswer { figures, bad, tiles, keys, key_value_bytes })
}

impl Covering {
    fn of_workers(workers: usize, save_every: SaveEvery, tile_bytes: u64) -> Vec<Mutex<Covering>> {
        let now = Instant::now();
        let covering = |_| {
            let (coverage, written, figures) = Default::default();
            let pace = Pace::new(save_every, tile_bytes, now);
            let (is_due, saving) = (false, Duration::ZERO);
            let emitted_before = 0;
            Mutex::new(Covering {
                coverage,
                written,
                figures,
                emitted_before,
                pace,
                is_due,
                saving,
            })
        };
        (0..workers).map(covering).collect()
    }
}

impl<C: Aggregate> Saving<C> {
    /// As `open_unless`, where no answer is asked for that could stand.
    pub(crate) fn open(
        state: &State,
        facts: &JobFacts,
        plan: &mut Plan,
        terms: Terms,
        chunks: &Arc<ChunkPool>,
        block_bytes: usize,
        parts: EngineParts<'_>,
    ) -> Result<Saving<C>> {
        let state = (state, None);
        match Saving::open_unless(state, facts, plan, terms, chunks, block_bytes, parts)? {
            Opening::Open(saving) => Ok(saving),
            Opening::Stands(_) => unreachable!("no answer was asked for"),
        }
    }

    /// Opens a state for a run: empty, or with the pairs of an earlier run of the same job over the same
    /// input; unless the answer that is asked for stands.
    ///
    /// # Errors
    /// [`StateError`] if the state is in use or of something else, [`StorageError`].
    pub(crate) fn open_unless(
        (state, asked): (&State, Option<Asked<'_>>),
        facts: &JobFacts,
        plan: &mut Plan,
        terms: Terms,
        chunks: &Arc<ChunkPool>,
        block_bytes: usize,
        parts: EngineParts<'_>,
    ) -> Result<Opening<Saving<C>>> {
        let aggregate = (C::KEEPS_VALUES, C::INVERSE.is_some());
        let opened = Opened::of((state, asked), facts, plan, terms, aggregate, parts)?;
        let Opened { folder, saver, found, was_done, tiles, workers } = match opened {
            Opening::Open(opened) => opened,
            Opening::Stands(answer) => return Ok(Opening::Stands(answer)),
        };
        let keeps = if tiles.is_some() { Keeps::Together } else { Keeps::Apart };
        // A run that goes on was killed before and may be again.
        let is_timed = state.save_every == SaveEvery::Auto;
        let keeps_nothing = state.keep == Keep::Nothing && tiles.is_none();
        let is_late = keeps_nothing && is_timed && found.coverage.is_empty();
        let writer = |_| {
            let writer = SnapshotWriter::new(&saver, chunks, block_bytes, keeps)?;
            Ok(Mutex::new(if is_late { writer.beginning_late() } else { writer }))
        };
        let covering = Covering::of_workers(workers, state.save_every, plan.tile_bytes);
        if is_late {
            covering.iter().for_each(|each| lock(each).pace.late(Instant::now()));
        }
        Ok(Opening::Open(Saving {
            writers: (0..workers).map(writer).collect::<Result<_>>()?,
            covering,
            _thread: saver.start()?,
            saver,
            found,
            was_done,
            // The pieces of tiles are all that an incremental state has.
            keep: if tiles.is_some() { Keep::Partials } else { state.keep },
            tiles,
            block_bytes,
            folder,
        }))
    }

    /// Returns the digest of the state, if it is that of a run that is done.
    pub(crate) fn digest(&self) -> Option<u128> {
        let list = self.tiles.as_ref().map_or(NO_LIST, TileTable::list);
        let manifest = self.saver.manifest();
        manifest.done.then(|| answer::digest_of(&manifest, list))
    }

    /// Adds the figures of the state to those of its run.
    pub(crate) fn count_in(&self, stats: &mut Stats) {
        stats.restored_bytes = self.found.figures.bytes;
        stats.saved_bytes = self.saver.saved_bytes();
    }

    /// Tells the grid of the run's tiles what is saved from now on.
    pub(crate) fn tell(&self, tiling: &Arc<Tiling>) {
        self.saver.tell(tiling);
    }

    /// Returns the contents of the state when the run began.
    pub(crate) fn found(&self) -> &FoundState {
        &self.found
    }

    pub(super) fn read(&self, taking: &Taking, chunks: &Arc<ChunkPool>) -> Result<SnapshotReader> {
        let (storage, identity) = (self.saver.storage(), self.saver.identity_digest());
        SnapshotReader::open(storage, taking, identity, chunks, self.block_bytes)
    }

    /// Takes in the pairs of the state.
    pub(crate) fn restore(
        &self,
        into: (&Partial<C::Accumulator>, &Arc<ChunkPool>),
        progress: &Progress,
        parts: EngineParts<'_>,
    ) -> Result<()> {
        let open = |taking: &Taking| self.read(taking, into.1);
        restore::<C>(&self.found.takings, &open, into, progress, parts)
    }

    /// Returns whether a worker must save as soon as it has mapped `bytes` beside its noted work.
    pub(super) fn is_due(&self, worker: usize, bytes: u64) -> bool {
        let mut covering = lock(&self.covering[worker]);
        covering.is_due |= covering.pace.is_due(bytes, Instant::now()) && self.saver.has_room();
        covering.is_due
    }

    /// Returns the bytes that a worker may map between saves, if it is not a matter of time.
    pub(crate) fn bytes_between(&self) -> Option<u64> {
        self.covering.first().and_then(|covering| lock(covering).pace.bytes_between())
    }

    /// Notes the work of a worker; returns whether it must save now.
    pub(super) fn mapped(&self, worker: usize, mapped: &Mapped<'_>) -> Result<bool> {
        self.saver.check()?;
        let mut covering = lock(&self.covering[worker]);
        let &Mapped { part, file, ranges, bytes, splits, .. } = mapped;
        for range in ranges {
            covering.coverage.add(part, file, range.clone());
        }
        covering.figures.add(Figures { bytes, splits, emitted: 0 });
        // Pairs for which the saver has no time join the next save.
        covering.is_due |= covering.pace.mapped(bytes, Instant::now()) && self.saver.has_room();
        // With tiles that are found again, a save waits for the end of the tile.
        Ok(covering.is_due && self.tiles.is_none())
    }

    /// Saves the work of a worker since its last save; if this `is_last`, the worker saves no more. All pairs
    /// were handed over, beginning at `began`. `emitted` counts from the run's begin. With `print`, the work
    /// is all of a tile.
    pub(super) fn save(
        &self,
        worker: usize,
        emitted: u64,
        mut bad: Found,
        print: Option<Print>,
        (began, is_last): (Instant, bool),
    ) -> Result<()> {
        let mut covering = lock(&self.covering[worker]);
        if covering.coverage.is_empty() {
            return Ok(());
        }
        let mut coverage = std::mem::take(&mut covering.coverage);
        let mut writer = lock(&self.writers[worker]);
        if writer.begin() {
            // What was mapped so far would be mapped again.
            (covering.figures, covering.emitted_before) = (Figures::default(), emitted);
            covering.is_due = false;
            covering.pace.late(Instant::now());
            return Ok(());
        }
        if self.saver.tells() {
            covering.written.add_all(&coverage);
        }
        let mut stood = None;
        if let Some(tiles) = &self.tiles {
            coverage = tiles.by_tiles(&coverage);
            bad = tiles.bad_to_save(&bad);
            let moves = C::KEEPS_VALUES || !bad.is_empty();
            let tile = coverage.files(TILES).next().filter(|_| moves);
            stood = tile.and_then(|number| tiles.standing(number));
        }
        let figures = Figures {
            emitted: emitted - covering.emitted_before,
            ..std::mem::take(&mut covering.figures)
        };
        covering.emitted_before = emitted;
        writer.end_piece(Piece { coverage, figures, bad, print, stood, ..Piece::default() })?;
        let now = Instant::now();
        covering.saving += now - began;
        if self.tiles.is_none() || covering.is_due || is_last || writer.is_full() {
            self.saver.save(writer.take_written(), &std::mem::take(&mut covering.written));
            covering.is_due = false;
            let took = std::mem::take(&mut covering.saving);
            covering.pace.saved(took, now);
        }
        Ok(())
    }

    /// Where each tile lies, if each piece that is saved is of one.
    pub(crate) fn tiles(&self) -> Option<&TileTable> {
        self.tiles.as_ref()
    }
}

pub(super) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}

/// Opens the folder of a state, with the manifest that a run of this identity goes on with or begins.
pub(super) fn find(
    state: &State,
    identity: &Identity,
    plan: &Plan,
) -> Result<(StateFolder, Manifest)> {
    check_parts(plan, state)?;
    let folder = state.open()?;
    let storage = &*folder.storage;
    let fingerprint = Fingerprint::of(plan)?;
    let found = Manifest::read(storage)?;
    folder.tidy(found.as_ref())?;
    let manifest = match found {
        Some(found) if is_replaced(&found, state, identity) => {
            let begun = begin(state, identity, fingerprint, plan, storage)?;
            Manifest { next: found.next, ..begun }
        }
        Some(found) => go_on(found, state, identity, fingerprint, plan, &folder)?,
        None => begin(state, identity, fingerprint, plan, storage)?,
    };
    Ok((folder, manifest))
}

/// Refuses a plan with parts that the state cannot be of, before there is a folder.
fn check_parts(plan: &Plan, state: &State) -> Result<()> {
    plan.parts.iter().try_for_each(|part| match part {
        Part::Packed(_) if state.is_incremental() => Err(StateError::Packed.into()),
        Part::Stream(stream) => Err(StateError::Stream { name: stream.name.clone() }.into()),
        Part::Ranged(_) | Part::Packed(_) => Ok(()),
    })
}

/// Whether the run begins the state anew: it finds tiles again, and the state is of a run of the same job that did not
/// and is done. That has nothing that could be found again, and all that is lost is an answer. The manifest is replaced
/// when the new tiles are known; until then the old result counts.
fn is_replaced(found: &Manifest, state: &State, identity: &Identity) -> bool {
    state.incremental.is_some() && is_by_place(found) && found.done && is_same_job(found, identity)
}

/// Returns the manifest that a run goes on with, if it is of this job and, unless tiles are found again, of this
/// input.
fn go_on(
    mut found: Manifest,
    state: &State,
    identity: &Identity,
    fingerprint: Fingerprint,
    plan: &Plan,
    folder: &StateFolder,
) -> Result<Manifest> {
    let path = || folder.storage.path().to_path_buf();
    if is_by_place(&found) == state.incremental.is_some() && is_same_job(&found, identity) {
        let cause = if is_by_place(&found) { UNFINISHED } else { INCREMENTAL };
        return Err(StateError::OtherTiles { path: path(), cause }.into());
    }
    if let Some(difference) = found.identity.difference(identity) {
        return Err(StateError::OtherJob { path: path(), difference }.into());
    }
    found.about = state.about.clone().unwrap_or(found.about);
    let known = Fingerprint { files: found.files, digest: found.input_digest };
    if state.incremental.is_none() && known != fingerprint {
        let difference = known.difference(plan, &*folder.storage)?;
        return Err(StateError::OtherInput { path: path(), difference }.into());
    }
    let Fingerprint { files, digest } = fingerprint;
    (found.files, found.input_bytes, found.input_digest) = (files, plan.bytes, digest);
    Ok(found)
}

/// Returns the manifest of a run that nothing was found of. Unless tiles are found again, it is written.
fn begin(
    state: &State,
    identity: &Identity,
    fingerprint: Fingerprint,
    plan: &Plan,
    storage: &dyn Storage,
) -> Result<Manifest> {
    // The list of tiles that are found again has their files, too.
    let Fingerprint { files, digest } = match state.is_incremental() {
        true => fingerprint,
        false => Fingerprint::write(plan, storage)?,
    };
    let manifest = Manifest {
        identity: identity.clone(),
        about: state.about.clone().unwrap_or_default(),
        files,
        input_bytes: plan.bytes,
        input_digest: digest,
        next: 0,
        done: false,
        tiles: None,
        folds: Vec::new(),
        snapshots: Vec::new(),
    };
    if !state.is_incremental() {
        manifest.write(storage)?;
    }
    Ok(manifest)
}

//! The engine's way: a run over the old text and one over the new with the same state, of a job that emits
//! nothing. The plan stage cuts the text or finds its tiles again; the map stage of the first run hashes.

use crate::{Outcome, TILE_BYTES};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tegula::reuse::Hashing;
use tegula::{
    Count, Emit, Engine, Identity, Incremental, Input, Job, Options, Result, Resumable, Sees,
    Split, Stage, State, Stats, StorageError,
};

/// Counts the splits that are mapped.
#[derive(Default)]
struct Splits(AtomicU64);

impl Job for Splits {
    type Key = [u8];
    type Combine = Count;

    fn state(&self) -> Option<&dyn Resumable> {
        Some(self)
    }

    fn map<'s>(&self, _: Split<'s>, _: &mut impl Emit<'s, Self>) -> Result<()> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

impl Resumable for Splits {
    fn identity(&self) -> Identity {
        Identity::new("splits", 1)
    }

    fn sees(&self) -> Sees {
        Sees::Records
    }
}

pub(crate) fn measure(
    engine: &Engine,
    old: &Arc<Vec<u8>>,
    new: &Arc<Vec<u8>>,
    hashing: Hashing,
) -> Result<Outcome> {
    let folder = tempfile::tempdir();
    let folder = folder.map_err(|cause| StorageError::Folder { path: "state".into(), cause })?;
    let incremental = Incremental { hashing, ..Incremental::default() };
    let state = State::new(folder.path(), "state").incremental(incremental);
    let with_state =
        Options { state: Some(state), tile_bytes: Some(TILE_BYTES), ..Options::default() };
    // A tile is then one split.
    let by_tile = Options { split_bytes: Some(u64::MAX), ..with_state.clone() };
    let splits = Splits::default();
    let run = |text: &Arc<Vec<u8>>, options: &Options| -> Result<Stats> {
        splits.0.store(0, Ordering::Relaxed);
        let output = engine.job(&splits).options(options).run(Input::shared(Arc::clone(text)))?;
        Ok(output.stats().clone())
    };
    let without_state = run(old, &Options::default())?;
    let first = run(old, &with_state)?;
    let next = run(new, &by_tile)?;
    Ok(Outcome {
        cut_cpu: cpu(&first, Stage::Plan),
        hash_cpu: cpu(&first, Stage::Map).saturating_sub(cpu(&without_state, Stage::Map)),
        next_cpu: cpu(&next, Stage::Plan),
        new_tiles: splits.0.load(Ordering::Relaxed),
        same_part: next.restored_bytes as f64 / next.bytes as f64,
    })
}

fn cpu(stats: &Stats, stage: Stage) -> Duration {
    stats.stages.iter().find(|time| time.stage == stage).map_or(Duration::ZERO, |time| time.cpu)
}

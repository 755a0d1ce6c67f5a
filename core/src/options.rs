//! The options of a run: the choices that a caller may make, each with a default that suits most.

use crate::cancel::Cancel;
use crate::container::Container;
use crate::device::{Accelerator, Alone};
use crate::error::{Error, Result};
use crate::facts::JobFacts;
use crate::map::DeviceTerms;
use crate::plan::{Cutting, DEFAULT_TILE_BYTES, INCREMENTAL_TILE_BYTES, Reads};
use crate::progress::{Progress, TileGrid};
use crate::schedule::Share;
use crate::state::State;
use crate::timeline::Timeline;
use std::sync::Arc;

/// Order of the answer's pairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// By key, bytes ascending (integers by value).
    #[default]
    Key,
    /// As [`Job::compare`](crate::Job::compare) says: by value, largest first, unless the job says
    /// otherwise; ties by key.
    Value,
    /// The order in which partitions hold them: the same on every run, but of no meaning.
    None,
}

/// The order of tiles over time (Ostrich, section 5.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pipeline {
    /// A worker begins the next tile at once, and combines when it has something to combine.
    #[default]
    On,
    /// All workers end a tile, hand over its pairs and wait for each other before the next: to measure the
    /// gain of overlapping. Streams have no tiles to wait for.
    Off,
}

/// Options of one run. Every field has a default; write
/// `Options { order: Order::Value, ..Options::default() }`.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Order of the answer. Default: by key.
    pub order: Order,
    /// Keep only the N pairs that come first by value (ties: the smaller key), found by selection.
    /// They come in `order`. Default: keep all.
    pub top: Option<usize>,
    /// Size of a tile in bytes, at least 1. Default ([`DEFAULT_TILE_BYTES`]): the same on every machine,
    /// because later runs recognise tiles.
    pub tile_bytes: Option<u64>,
    /// Size of a split in bytes, at least 1; a worker then takes one at a time. Default: small ones, of which
    /// a worker takes the number that is measured to be best.
    pub split_bytes: Option<u64>,
    /// Where workers keep their pairs. Default: [`Container::Adaptive`].
    pub container: Container,
    /// Whether workers map the next tile while pairs of the last one are still combined.
    pub pipeline: Pipeline,
    /// Count the records that the map refuses ([`Split::bad`](crate::split::Split::bad)) and continue,
    /// instead of failing at the first; [`Stats`](crate::Stats) has their number and the places of the first
    /// ones. A sort of records of a fixed size skips the end of a file that is less than one.
    pub skip_bad: bool,
    /// Read every file as stored, even a compressed one. Default: files and streams that are gzip, zstd,
    /// bzip2 or LZ4 data, by their name or their first bytes, are decompressed. Bytes in memory never are.
    pub plain: bool,
    /// Whether files are read past the page cache. Compressed ones never are.
    pub reads: Reads,
    /// The state in which partials are saved, so that the same run can resume after a kill. Default: none.
    pub state: Option<State>,
    /// Memory that the job's map holds beside the engine's while the run lasts, in bytes: buffers that other
    /// processes share, tables of its own. It is counted in the engine's limit. Default: none.
    pub beside_bytes: usize,
    /// Live counters, for a progress bar.
    pub progress: Option<Arc<Progress>>,
    /// The state of each tile of the input while the run lasts, for a picture of it.
    pub grid: Option<Arc<TileGrid>>,
    /// The workers that may take new work of the map stage; it may change during the run. The stages after it use all.
    /// It changes no byte of the answer. Default: all.
    pub share: Option<Arc<Share>>,
    /// Devices that work beside the cores on the part of the job that they can do: input of known length that
    /// is not compressed, in runs that find no tiles again ([`State::incremental`]) and make no shows in the
    /// order of the input. They change no byte of the answer, and a run with other devices may resume from a
    /// state; their work is counted in [`Stats::devices`](crate::Stats::devices). A device that fails gives
    /// its work back to the cores. Default: none.
    pub devices: Vec<Arc<Accelerator>>,
    /// Leave the cores out of the part that devices can do: devices then do all of the input, as for a job
    /// without a map ([`Offloadable::alone`](crate::Offloadable::alone)), and the run fails where it would
    /// continue with the cores. Default: no.
    pub devices_alone: bool,
    /// Records the work of each thread over time.
    pub timeline: Option<Timeline>,
    /// The flag by which the run can be stopped.
    pub cancel: Cancel,
    /// A flag that the run raises when it fails, for a map that waits for other processes: the run ends with its error when
    /// all maps have returned. One that returns [`Error::Cancelled`] then changes nothing of that error; where it had yet to
    /// find a bad record, a fault later in the input is told of. Default: none.
    pub failed: Option<Cancel>,
}

impl Options {
    pub(crate) fn check(&self) -> Result<()> {
        let zero = |option, value: Option<u64>| match value {
            Some(0) => Err(Error::Option { option, cause: "0 bytes; give at least 1".into() }),
            _ => Ok(()),
        };
        zero("tile_bytes", self.tile_bytes)?;
        zero("split_bytes", self.split_bytes)
    }

    /// Returns what these options say about devices, for a run that finds no tiles again and makes no shows in the
    /// order of the input.
    pub(crate) fn device_terms(&self, facts: &JobFacts) -> DeviceTerms<'_> {
        DeviceTerms {
            devices: &self.devices,
            alone: facts.alone.or_else(|| self.devices_alone.then(Alone::default)),
            overlaps: self.pipeline == Pipeline::On,
            in_order: false,
            tiles_apart: false,
        }
    }

    /// Returns how the input is to be cut and read: in splits of `split_bytes`, of which a worker takes
    /// `unit_bytes` at first, unless the options name a size.
    pub(crate) fn cutting(&self, split_bytes: u64, unit_bytes: u64) -> Cutting {
        let is_incremental = self.state.as_ref().is_some_and(State::is_incremental);
        let usual = if is_incremental { INCREMENTAL_TILE_BYTES } else { DEFAULT_TILE_BYTES };
        Cutting {
            tile_bytes: self.tile_bytes.unwrap_or(usual),
            split_bytes: self.split_bytes.unwrap_or(split_bytes),
            unit_bytes: self.split_bytes.unwrap_or(unit_bytes),
            reads: self.reads,
            skip_torn: false,
        }
    }
}

//! The statistics of a finished run: per stage seconds, bytes, tiles, distinct keys, peak memory.

use crate::bad::{BAD_RECORDS_SHOWN, BadRecord};
use crate::device::DeviceFigures;
use crate::plan::FormatFigures;
use crate::progress::Stage;
use crate::schedule::GroupShare;
use std::time::Duration;

/// Figures of one run. Times of a stage are wall time from its first to its last moment; the
/// `*_cpu` and `*_busy` figures are summed over workers.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Stats {
    /// Wall time of each stage, in order. (`Output` is absent until the answer is written.)
    pub stages: Vec<StageTime>,
    /// Part of the map stage that workers spent reading, summed over workers.
    pub ingest_busy: Duration,
    /// Most threads that read ahead of the workers at once; 0 if workers read themselves all along.
    pub readers: usize,
    /// Input bytes that they read, rounded up to whole splits.
    pub read_ahead_bytes: u64,
    /// Time they spent reading, summed over them.
    pub read_ahead_busy: Duration,
    /// Input bytes that were read past the page cache, by workers or readers.
    pub direct_bytes: u64,
    /// Part of the map stage that workers spent handing tables over, summed over workers.
    pub hand_over_busy: Duration,
    /// Part of the map stage that workers spent folding partials, summed over workers.
    pub compress_busy: Duration,
    /// Workers that served the run.
    pub workers: usize,
    /// Vector instructions the tokenizers used (`avx512`, `avx2`, `portable`).
    pub simd: &'static str,
    /// Files read.
    pub files: u64,
    /// Symbolic links and special files in the given folders, which were not read.
    pub files_passed_over: u64,
    /// Input bytes, decompressed.
    pub bytes: u64,
    /// The compressed part of the input, by format.
    pub compressed: Vec<FormatFigures>,
    /// Tiles (sub-jobs) the input was cut into.
    pub tiles: u64,
    /// Size of a tile, in bytes.
    pub tile_bytes: u64,
    /// Splits; workers took one or more at a time, and blocks of a stream count as one each.
    pub splits: u64,
    /// Size of a split, in bytes.
    pub split_bytes: u64,
    /// The bytes that workers took at a time at the end of the map stage.
    pub unit_bytes: u64,
    /// Pairs that maps emitted.
    pub pairs: u64,
    /// Pairs handed over from tables to partials: `pairs` less those that were combined in the tables.
    pub pairs_handed_over: u64,
    /// Records that the map refused and that were skipped ([`Options::skip_bad`](crate::Options)).
    pub bad_records: u64,
    /// The earliest of them in the input, at most [`BAD_RECORDS_SHOWN`].
    pub bad_first: Vec<BadRecord>,
    /// Distinct keys.
    pub keys: u64,
    /// Bytes of the distinct keys and their values: the size of the answer itself.
    pub key_value_bytes: u64,
    /// Bytes that were written to scratch files because memory had no room for them.
    pub spilled_bytes: u64,
    /// Input bytes that this run did not map because their partials were in its state.
    pub restored_bytes: u64,
    /// Bytes that it saved in its state.
    pub saved_bytes: u64,
    /// The most bytes that the engine's counted memory held at once.
    pub memory_counted_peak: u64,
    /// Peak resident memory of the whole process so far, in bytes (0 where the system does not say).
    pub memory_resident_peak: u64,
    /// The counts of each group of workers, for input of known length (streams are shared by all).
    pub groups: Vec<GroupShare>,
    /// For each worker the time without work while others mapped.
    pub map_idle: Vec<Duration>,
    /// The counts of each device, in the order of [`Options::devices`](crate::Options::devices).
    pub devices: Vec<DeviceFigures>,
}

/// One stage's time.
#[derive(Clone, Copy, Debug)]
pub struct StageTime {
    /// The stage.
    pub stage: Stage,
    /// Wall time.
    pub wall: Duration,
    /// Processor time of the whole process during the stage (other jobs of the process included).
    pub cpu: Duration,
}

impl Stats {
    /// Adds the figures of a run that followed this one: times and amounts add up, sizes and peaks are
    /// the larger of both, and the answer's weight is the later run's.
    pub fn add(&mut self, later: &Stats) {
        later.stages.iter().for_each(|time| self.add_time(*time));
        add_shares(&mut self.groups, &later.groups);
        add_times(&mut self.map_idle, &later.map_idle);
        add_figures(&mut self.devices, &later.devices);
        let bad_first = self.bad_first.iter().chain(&later.bad_first).cloned();
        let mut compressed = std::mem::take(&mut self.compressed);
        later.compressed.iter().for_each(|figures| figures.add_to(&mut compressed));
        *self = Stats {
            stages: std::mem::take(&mut self.stages),
            ingest_busy: self.ingest_busy + later.ingest_busy,
            readers: self.readers.max(later.readers),
            read_ahead_bytes: self.read_ahead_bytes + later.read_ahead_bytes,
            read_ahead_busy: self.read_ahead_busy + later.read_ahead_busy,
            direct_bytes: self.direct_bytes + later.direct_bytes,
            hand_over_busy: self.hand_over_busy + later.hand_over_busy,
            compress_busy: self.compress_busy + later.compress_busy,
            workers: self.workers.max(later.workers),
            simd: later.simd,
            files: self.files + later.files,
            files_passed_over: self.files_passed_over + later.files_passed_over,
            bytes: self.bytes + later.bytes,
            compressed,
            tiles: self.tiles + later.tiles,
            tile_bytes: self.tile_bytes.max(later.tile_bytes),
            splits: self.splits + later.splits,
            split_bytes: self.split_bytes.max(later.split_bytes),
            unit_bytes: later.unit_bytes,
            pairs: self.pairs + later.pairs,
            pairs_handed_over: self.pairs_handed_over + later.pairs_handed_over,
            bad_records: self.bad_records + later.bad_records,
            bad_first: bad_first.take(BAD_RECORDS_SHOWN).collect(),
            keys: later.keys,
            key_value_bytes: later.key_value_bytes,
            spilled_bytes: self.spilled_bytes + later.spilled_bytes,
            restored_bytes: self.restored_bytes + later.restored_bytes,
            saved_bytes: self.saved_bytes + later.saved_bytes,
            memory_counted_peak: self.memory_counted_peak.max(later.memory_counted_peak),
            memory_resident_peak: self.memory_resident_peak.max(later.memory_resident_peak),
            groups: std::mem::take(&mut self.groups),
            map_idle: std::mem::take(&mut self.map_idle),
            devices: std::mem::take(&mut self.devices),
        };
    }

    /// Adds the time of one more stretch of a stage.
    pub fn add_time(&mut self, time: StageTime) {
        match self.stages.iter_mut().find(|known| known.stage == time.stage) {
            Some(known) => {
                known.wall += time.wall;
                known.cpu += time.cpu;
            }
            None => self.stages.push(time),
        }
    }

    /// Adds the times of earlier stretches, and brings all stages into their order.
    pub(crate) fn add_earlier(&mut self, times: &[StageTime]) {
        times.iter().for_each(|time| self.add_time(*time));
        self.stages.sort_by_key(|time| time.stage);
    }
}

/// Adds later shares to those of the same groups.
pub(crate) fn add_shares(shares: &mut Vec<GroupShare>, later: &[GroupShare]) {
    shares.resize(shares.len().max(later.len()), GroupShare::default());
    shares.iter_mut().zip(later).for_each(|(share, later)| share.add(later));
}

/// Adds later figures to those of the same devices.
pub(crate) fn add_figures(devices: &mut Vec<DeviceFigures>, later: &[DeviceFigures]) {
    devices.resize(devices.len().max(later.len()), DeviceFigures::default());
    devices.iter_mut().zip(later).for_each(|(device, later)| device.add(later));
}

/// Adds later times to those of the same workers.
pub(crate) fn add_times(times: &mut Vec<Duration>, later: &[Duration]) {
    times.resize(times.len().max(later.len()), Duration::ZERO);
    times.iter_mut().zip(later).for_each(|(time, later)| *time += *later);
}

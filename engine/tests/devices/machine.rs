//! A machine in a simulation: cores of a given speed and one emulated device on one hand-out of splits,
//! by the clock of the device. It counts how often each split is done, and runs on one thread.

use std::ops::Range;
use std::time::Duration;
use tegula::device::{
    Accelerator, Driver, Emulated, Kernel, Launch, Model, Offload, Outlook, Piece, Read, Shape,
    Turn, Work,
};
use tegula::device::{DeviceError, DeviceFigures, EmulatedKernel, FaultAt};
use tegula_machine::schedule::{HandOut, Placement};

/// Draws of one seed (SplitMix64).
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn of(seed: u64) -> Chance {
        Chance(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut drawn = self.0;
        drawn = (drawn ^ drawn >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        drawn = (drawn ^ drawn >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        drawn ^ drawn >> 31
    }

    /// Returns a number below `end`, which is not 0.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

/// Where a device may fail while a job runs, or seem to.
pub(crate) const PLACES: [FaultAt; 8] = [
    FaultAt::Compile,
    FaultAt::Open,
    FaultAt::Stage,
    FaultAt::Submit,
    FaultAt::Kernel,
    FaultAt::Snapshot,
    FaultAt::Reset,
    FaultAt::Overflow,
];

/// A simulated machine.
pub(crate) struct Machine {
    pub(crate) splits: u64,
    pub(crate) split_bytes: u64,
    pub(crate) tile_splits: u64,
    pub(crate) cores: usize,
    /// Of one core.
    pub(crate) core_bytes_s: f64,
    /// The speed of a core while the device works, in terms of its own.
    pub(crate) beside: f64,
    /// Bytes per second of one thread that fills slots; each but the first occupies a core. `None`: slots
    /// take no time.
    pub(crate) feeder_bytes_s: Option<f64>,
    pub(crate) model: Model,
    pub(crate) partial: Shape,
    pub(crate) kernel: EmulatedKernel,
    /// Splits that no device can do.
    pub(crate) unfit: Option<u64>,
    /// Bytes of a split that the device is given: splits are numbers, so a simulation needs few of them.
    pub(crate) shown_bytes: usize,
    /// The size of units; `None`: as is found.
    pub(crate) unit_bytes: Option<u64>,
    /// Splits after which the device's partial is fetched, at most; `None`: as the driver sees fit.
    pub(crate) fetched_every: Option<u64>,
}

/// The sums of a histogram: those of three channels.
pub(crate) const SUMS: usize = 768;

impl Machine {
    /// Returns a histogram over `gb` gigabytes, by cores of a gigabyte a second each beside a device.
    pub(crate) fn histogram(gb: f64, split_bytes: u64, cores: usize, model: Model) -> Machine {
        Machine {
            splits: (gb * 1e9) as u64 / split_bytes,
            split_bytes,
            tile_splits: 512,
            cores,
            core_bytes_s: 1e9,
            beside: 1.0,
            feeder_bytes_s: None,
            model,
            partial: Shape::Dense(SUMS),
            kernel: dense,
            unfit: None,
            shown_bytes: 8,
            unit_bytes: None,
            fetched_every: None,
        }
    }
}

/// The result of a simulation.
#[derive(Default)]
pub(crate) struct Outcome {
    pub(crate) seconds: f64,
    pub(crate) device: DeviceFigures,
    /// The number of times that each split was counted.
    pub(crate) counted: Vec<u32>,
    /// The sum of all partials, word by word; of tables, of each key's count.
    pub(crate) sums: Vec<u64>,
    /// The splits read into slots, by the number of threads that read them.
    pub(crate) fed: Vec<u64>,
}

/// Adds 1 to the place of each number in the unit.
pub(crate) fn dense(launch: &Launch<'_>, partial: &mut [u64]) {
    for number in launch.bytes.as_chunks().0 {
        let number = u64::from_le_bytes(*number) as usize;
        partial[number % partial.len()] += 1;
    }
}

/// Counts each number in a table of pairs after the first word.
pub(crate) fn table(launch: &Launch<'_>, partial: &mut [u64]) {
    if partial[0] != 0 {
        return;
    }
    for number in launch.bytes.as_chunks().0 {
        let key = u64::from_le_bytes(*number) + 1;
        let (full, slots) = partial.split_at_mut(1);
        let slots = slots.as_chunks_mut::<2>().0;
        match slots.iter_mut().find(|[known, _]| *known == key || *known == 0) {
            Some(slot) => *slot = [key, slot[1] + 1],
            None => full[0] = 1,
        }
    }
}

struct Run<'m> {
    machine: &'m Machine,
    hand_out: &'m HandOut<'m>,
    given_back: Vec<Range<u64>>,
    outcome: Outcome,
    others_splits: u64,
    others_splits_s: f64,
    /// Threads that fill slots, how long the last slot took, and how many splits each number of them read.
    feeders: usize,
    filling: Duration,
    fed: Vec<u64>,
}

impl Work for Run<'_> {
    fn feeders_most(&self) -> usize {
        if self.machine.feeder_bytes_s.is_some() { self.machine.cores.max(1) } else { 1 }
    }

    fn feed_by(&mut self, feeders: usize) {
        self.feeders = feeders;
    }

    fn take(&mut self, splits: u64) -> Option<Range<u64>> {
        self.hand_out.take_last(splits)
    }

    fn give_back(&mut self, splits: Range<u64>) {
        self.given_back.push(splits);
    }

    fn read(
        &mut self,
        splits: &Range<u64>,
        slot: &mut [u8],
        pieces: &mut Vec<Piece>,
    ) -> tegula::Result<Read> {
        let bytes = (splits.end - splits.start) * self.machine.split_bytes;
        assert!(bytes <= slot.len() as u64, "{bytes} bytes in a slot of {}", slot.len());
        if self.machine.unfit.is_some_and(|split| splits.contains(&split)) {
            return Ok(Read::Unfit);
        }
        for (split, place) in splits.clone().zip(slot.chunks_mut(self.machine.shown_bytes)) {
            place.as_chunks_mut().0.fill(split.to_le_bytes());
        }
        if let Some(bytes_s) = self.machine.feeder_bytes_s {
            let seconds = bytes as f64 / bytes_s / self.feeders as f64;
            self.filling += Duration::from_secs_f64(seconds);
        }
        self.fed[self.feeders] += splits.end - splits.start;
        // The device is as busy as with the whole split, and looks at the shown bytes.
        let shown = (splits.end - splits.start) as usize * self.machine.shown_bytes;
        pieces.push(Piece { start: 0, bytes: shown, arguments: [0; 6] });
        Ok(Read::Filled(bytes as usize))
    }

    fn is_due(&mut self, splits: u64) -> tegula::Result<bool> {
        Ok(self.machine.fetched_every.is_some_and(|every| splits >= every))
    }

    fn merge(
        &mut self,
        partial: &[u64],
        splits: &[Range<u64>],
        _idle: Duration,
    ) -> tegula::Result<()> {
        // Units in flight at that moment come too, which are fewer.
        let count: u64 = splits.iter().map(|splits| splits.end - splits.start).sum();
        let most = self.machine.fetched_every.map_or(u64::MAX, |every| 2 * every);
        assert!(count <= most, "{count} splits of at most {most}");
        splits.iter().cloned().flatten().for_each(|split| self.count(split));
        match self.machine.partial {
            Shape::Dense(_) => {
                self.outcome.sums.iter_mut().zip(partial).for_each(|(sum, word)| *sum += word);
            }
            Shape::Table(_) => {
                for [key, count] in partial[1..].as_chunks().0 {
                    if *key > 0 {
                        self.outcome.sums[*key as usize - 1] += count;
                    }
                }
            }
        }
        Ok(())
    }

    fn outlook(&mut self) -> Outlook {
        let splits_left = self.hand_out.left();
        let (others_splits, others_splits_s) = (self.others_splits, self.others_splits_s);
        let mapping = self.machine.cores - self.feeders.saturating_sub(1);
        let others_at_a_time = mapping as u64 * self.machine.core_splits();
        Outlook { splits_left, others_splits, others_at_a_time, others_splits_s }
    }
}

impl Run<'_> {
    fn count(&mut self, split: u64) {
        self.outcome.counted[split as usize] += 1;
    }

    /// A core maps splits.
    fn map(&mut self, splits: Range<u64>) {
        let numbers = (self.machine.shown_bytes / 8) as u64;
        for split in splits {
            self.count(split);
            let place = match self.machine.partial {
                Shape::Dense(words) => split as usize % words,
                Shape::Table(_) => split as usize,
            };
            self.outcome.sums[place] += numbers;
        }
    }
}

/// As in the engine, so that units are a part of the work between fetches.
const UNITS_PER_FETCH: u64 = 4;
/// The bytes that a core takes at a time: the engine's maximum.
const CORE_BYTES: u64 = 4 << 20;

impl Machine {
    pub(crate) fn offload(&self) -> Offload {
        let kernel = Kernel {
            entry: "count".into(),
            file: "count.c".into(),
            source: "".into(),
            defines: Vec::new(),
            emulated: Some(self.kernel),
        };
        Offload { kernel, partial: self.partial, broadcast: Vec::new(), residence: None }
    }

    /// Returns the splits that a core takes at a time.
    fn core_splits(&self) -> u64 {
        (CORE_BYTES / self.split_bytes).max(1)
    }

    /// Returns the time that a core needs for splits, with the device at work or not.
    fn time_of_core(&self, splits: &Range<u64>, is_beside: bool) -> Duration {
        let bytes = (splits.end - splits.start) * self.split_bytes;
        let speed = if is_beside { self.beside } else { 1.0 };
        Duration::from_secs_f64(bytes as f64 / self.core_bytes_s / speed)
    }

    /// Returns the first time at which each core is free. Where slots take time, cores begin at different
    /// times, because the rate is measured by the splits that they take.
    fn first_free(&self) -> Vec<Duration> {
        let at_a_time_s = match self.feeder_bytes_s {
            None => 0.0,
            Some(_) => CORE_BYTES as f64 / self.core_bytes_s,
        };
        let begin = |core| at_a_time_s * core as f64 / self.cores as f64;
        (0..self.cores).map(|core| Duration::from_secs_f64(begin(core))).collect()
    }

    /// Starts the device.
    fn start(&self) -> Result<Driver, DeviceError> {
        let bytes = self.splits * self.split_bytes;
        let accelerator = Accelerator::new(Emulated::new(self.model.clone()));
        let accelerator = match self.unit_bytes {
            Some(bytes) => accelerator.unit_bytes(bytes),
            None => accelerator,
        };
        let driver = accelerator.start(&self.offload(), self.split_bytes, bytes, u64::MAX)?;
        Ok(match self.fetched_every {
            Some(every) => driver.within(every * self.split_bytes / UNITS_PER_FETCH),
            None => driver,
        })
    }

    /// Runs until every split is counted. Where the device cannot be started, the cores do all.
    pub(crate) fn run(&self) -> Outcome {
        let placement = Placement::flat(self.cores.max(1));
        let tiles = self.splits.div_ceil(self.tile_splits);
        let ends = (1..=tiles).map(|tile| (tile * self.tile_splits).min(self.splits));
        let hand_out = HandOut::new(ends, &placement);
        let words = match self.partial {
            Shape::Dense(words) => words,
            Shape::Table(_) => self.splits as usize,
        };
        let others_splits_s = self.cores as f64 * self.core_bytes_s / self.split_bytes as f64;
        let outcome = Outcome {
            counted: vec![0; self.splits as usize],
            sums: vec![0; words],
            ..Outcome::default()
        };
        let given_back = Vec::new();
        let mut run = Run {
            machine: self,
            hand_out: &hand_out,
            given_back,
            outcome,
            others_splits: 0,
            others_splits_s,
            feeders: 0,
            filling: Duration::ZERO,
            fed: vec![0; self.cores.max(1) + 1],
        };
        let started = self.start();
        let mut driver = started.map_err(|error: DeviceError| {
            run.outcome.device.fault = Some(error.to_string());
        });
        let mut at_work = driver.is_ok();
        let mut free = self.first_free();
        let mut end = Duration::ZERO;
        let mut lent = 0;
        loop {
            let device_now = driver.as_ref().map_or(Duration::MAX, Driver::now);
            let lent_before = lent;
            lent = if at_work { run.feeders.saturating_sub(1) } else { 0 };
            // Cores that come back from filling slots do so now.
            let back = self.cores - lent_before.min(self.cores)..self.cores - lent;
            free.get_mut(back).into_iter().flatten().for_each(|free| *free = device_now.max(*free));
            let first = (0..free.len() - lent).min_by_key(|&core| free[core]);
            let core = first.filter(|&core| !at_work || free[core] <= device_now);
            if let Some(core) = core {
                let splits = run.given_back.pop();
                let splits = splits.or_else(|| hand_out.take(core, self.core_splits()));
                match splits {
                    Some(splits) => {
                        let is_beside =
                            at_work && driver.as_ref().is_ok_and(|one| !one.is_resting());
                        free[core] += self.time_of_core(&splits, is_beside);
                        run.others_splits += splits.end - splits.start;
                        end = end.max(free[core]);
                        run.map(splits);
                    }
                    // Something may still come back.
                    None if at_work => free[core] = device_now + Duration::from_nanos(1),
                    None => break,
                }
                continue;
            }
            let Ok(driver) = &mut driver else { break };
            if !at_work {
                break;
            }
            let turn = driver.step(&mut run).unwrap_or(Turn::Lost);
            driver.pass(std::mem::take(&mut run.filling));
            match turn {
                Turn::More => {}
                Turn::Idle | Turn::Lost => {
                    at_work = false;
                }
            }
        }
        if let Ok(driver) = driver {
            end = end.max(driver.figures().span);
            run.outcome.device = driver.figures();
        }
        run.outcome.fed = run.fed;
        run.outcome.seconds = end.as_secs_f64();
        run.outcome
    }
}

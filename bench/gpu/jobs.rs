//! The timed jobs: the input of each, its run as a whole, its kernel over units of a pattern, and the rates
//! that it must reach. A further job is an entry in [`all`].

use crate::Fault;
use crate::patterns::{COLUMNS, PATTERN_BYTES, noise, points, text};
use crate::tally::{Tally, count};
use crate::units::{From, Units};
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tegula::device::{ARGUMENTS, DeviceFigures, Kernel, Offload, Shape};
use tegula::{Accelerator, Engine, Input, Offloadable, Options};
use tegula_apps::histogram::Histogram;
use tegula_apps::kmeans::{KMeans, Start};
use tegula_apps::linreg::{Line, Points};
use tegula_apps::matrix::Element;
use tegula_apps::{Matrix, Runs, WordCount};
use twox_hash::XxHash3_128;

/// A row of 1024 pixels.
const ROW_BYTES: u64 = 3072;

/// The number of patterns that a file repeats, of one seed each.
const SEEDS: u64 = 16;

/// Groups of k-means, and passes after the first.
const GROUPS: usize = 8;
const LATER: u32 = 4;

/// Who works.
pub(crate) enum Work {
    /// The device over units that do not come from the file.
    Units(Box<Units>),
    Cores,
    Device(Arc<Accelerator>),
    Both(Arc<Accelerator>),
}

/// A way to do a job.
pub(crate) struct Way {
    pub(crate) from: &'static str,
    pub(crate) work: Work,
    /// The part of the link's rate that it must reach.
    pub(crate) asked: Option<f64>,
}

/// The input of a job.
pub(crate) enum Given {
    File(PathBuf),
    Points(Matrix),
}

pub(crate) struct Job {
    pub(crate) name: &'static str,
    /// Set if it follows the job of this name and takes this number of passes more over the same input.
    pub(crate) behind: Option<(&'static str, u32)>,
    /// The header before the patterns; `None` if they are points in memory.
    header: Option<fn(u64) -> Vec<u8>>,
    pattern: fn(u64) -> Vec<u8>,
    /// The job as a whole; its answer as text.
    whole: fn(&mut Runs<'_>, &Given) -> tegula::Result<String>,
    /// The size of split that suits the job.
    split_bytes: Option<u64>,
    offload: fn(&[u8]) -> Offload,
    arguments: [u64; ARGUMENTS],
    /// Returns the tally that the kernel makes of a pattern.
    expected: fn(&[u8]) -> Tally,
    /// The sources of units, and the part of the link's rate that each must reach.
    units: &'static [(&'static str, From, Option<f64>)],
    /// The part of the rate that the device must reach over the whole; `None` if it does not do it alone.
    alone: Option<Option<f64>>,
}

pub(crate) fn all() -> [Job; 5] {
    let histogram = histogram();
    let linreg = linreg(&histogram);
    let first_pass = first_pass(&linreg);
    let later_passes = later_passes(&first_pass);
    let word_count = word_count(&linreg);
    [histogram, linreg, first_pass, later_passes, word_count]
}

fn histogram() -> Job {
    Job {
        name: "histogram",
        behind: None,
        header: Some(|bytes| format!("P6\n1024 {}\n255\n", bytes / ROW_BYTES).into_bytes()),
        pattern: noise,
        whole: |runs, given| {
            let input = given.input()?;
            let job = Histogram::of(&input)?;
            Ok(format!("{:?}", Histogram::levels(&runs.job(&job, input)?)?))
        },
        split_bytes: Some(Histogram::SPLIT_BYTES),
        offload: |_| {
            let text = include_str!("../../apps/src/histogram/histogram.c");
            dense("histogram", text, &[], 768)
        },
        // Red, green, blue, in rows without padding.
        arguments: [0, ROW_BYTES, ROW_BYTES, u32::MAX as u64, 0b10_01_00, 0],
        expected: |pattern| {
            let mut words = vec![0; 768];
            for pixel in pattern.as_chunks::<3>().0 {
                for (channel, &level) in pixel.iter().enumerate() {
                    words[256 * channel + usize::from(level)] += 1;
                }
            }
            Tally::Dense { words, sums: 768 }
        },
        units: &[("pinned", From::Pinned, Some(0.9)), ("staged", From::Staged, None)],
        alone: Some(Some(0.75)),
    }
}

fn linreg(base: &Job) -> Job {
    Job {
        name: "linreg",
        header: Some(|_| Vec::new()),
        whole: |runs, given| {
            let line = Line::fit(runs, given.input()?, Points::Bytes)?;
            Ok(format!("{line:?}"))
        },
        split_bytes: None,
        offload: |_| dense("linreg", include_str!("../../apps/src/linreg/linreg.c"), &[], 6),
        arguments: [0; ARGUMENTS],
        expected: |pattern| {
            let mut sums = [0_i64; 6];
            for point in pattern.as_chunks::<2>().0 {
                let [x, y] = point.map(|byte| i64::from(byte.cast_signed()));
                for (sum, more) in sums.iter_mut().zip([1, x, y, x * x, x * y, y * y]) {
                    *sum += more;
                }
            }
            Tally::Dense { words: sums.map(i64::cast_unsigned).to_vec(), sums: 6 }
        },
        ..*base
    }
}

fn first_pass(base: &Job) -> Job {
    Job {
        name: "kmeans",
        header: None,
        pattern: points,
        whole: |runs, given| grouped(runs, given, 1),
        offload: |pattern| {
            let text = include_str!("../../apps/src/kmeans/kmeans.c");
            let defines = [("COLUMNS", COLUMNS as u64), ("WIDTH", 4)];
            let broadcast = numbers(pattern).take(GROUPS * COLUMNS).map(f64::to_bits).collect();
            let words = GROUPS * (1 + 2 * COLUMNS);
            Offload { broadcast, ..dense("kmeans", text, &defines, words) }
        },
        // All bits of the numbers lie in one bin.
        arguments: [GROUPS as u64, 1, BIN, COLUMNS as u64, 4, 0],
        expected: sums_of_groups,
        units: &[("pinned", From::Pinned, Some(0.85)), ("staged", From::Staged, None)],
        alone: Some(None),
        ..*base
    }
}

/// A job that devices do alone leaves nothing there: who would do it if one was lost?
fn later_passes(base: &Job) -> Job {
    Job {
        name: "kmeans later",
        behind: Some(("kmeans", LATER)),
        whole: |runs, given| grouped(runs, given, 1 + LATER),
        units: &[("resident", From::Device, Some(1.0))],
        alone: None,
        ..*base
    }
}

fn word_count(base: &Job) -> Job {
    Job {
        name: "wordcount",
        header: Some(|_| Vec::new()),
        pattern: text,
        whole: |runs, given| {
            let output = runs.job(&WordCount::default(), given.input()?)?;
            let (mut hash, mut words) = (XxHash3_128::new(), 0_u64);
            output.for_each(|word, count| {
                words += 1;
                hash.write(&(word.len() as u64).to_le_bytes());
                hash.write(word);
                hash.write(&count.to_le_bytes());
            })?;
            Ok(format!("{words} words, {:x}", hash.finish_128()))
        },
        offload: |_| WordCount::default().offload(),
        arguments: [0; ARGUMENTS],
        expected: |pattern| {
            let mut counts = HashMap::new();
            let words = pattern.split(|&byte| byte == b' ').filter(|word| !word.is_empty());
            words.for_each(|word| count(&mut counts, word, 1));
            Tally::Words(counts)
        },
        units: &[("pinned", From::Pinned, Some(0.5)), ("staged", From::Staged, None)],
        alone: Some(None),
        ..*base
    }
}

/// A kernel that adds to an array of words.
fn dense(
    name: &'static str,
    text: &'static str,
    defines: &[(&'static str, u64)],
    words: usize,
) -> Offload {
    let kernel = Kernel {
        entry: name.into(),
        file: format!("{name}.c").into(),
        source: text.into(),
        defines: defines.iter().map(|&(name, value)| (name.into(), value)).collect(),
        emulated: None,
    };
    Offload { kernel, partial: Shape::Dense(words), broadcast: Vec::new(), residence: None }
}

/// The bin of 32 bits in which numbers from 1 to 255 have theirs, the lowest being of 2^-1074; and that of 1.
const BIN: u64 = 1074 / 32;
const ONE: u64 = 1 << (1074 % 32);

fn numbers(points: &[u8]) -> impl Iterator<Item = f64> {
    points.as_chunks().0.iter().map(|&number| f32::from_le_bytes(number).into())
}

/// Returns the tally that the kernel makes of points: the points of each group, sums, and the highest bins.
fn sums_of_groups(pattern: &[u8]) -> Tally {
    let numbers: Vec<f64> = numbers(pattern).collect();
    let (points, means) = (numbers.as_chunks::<COLUMNS>().0, &numbers[..GROUPS * COLUMNS]);
    let sums = GROUPS * (1 + COLUMNS);
    let mut words = vec![0; sums + GROUPS * COLUMNS];
    for point in points {
        let apart = |mean: &[f64; COLUMNS]| -> f64 {
            mean.iter().zip(point).map(|(mean, number)| (mean - number) * (mean - number)).sum()
        };
        // Of equally near ones the first.
        let nearer = |(a, of_a): &(usize, f64), (b, of_b): &(usize, f64)| {
            of_a.total_cmp(of_b).then(a.cmp(b))
        };
        let all = means.as_chunks::<COLUMNS>().0.iter().map(apart).enumerate();
        let group = all.min_by(nearer).map_or(0, |(group, _)| group);
        words[group] += 1;
        for (column, &number) in point.iter().enumerate() {
            words[GROUPS + group * COLUMNS + column] += number as u64 * ONE;
            words[sums + group * COLUMNS + column] = BIN + 1;
        }
    }
    Tally::Dense { words, sums }
}

fn grouped(runs: &mut Runs<'_>, given: &Given, passes: u32) -> tegula::Result<String> {
    let Given::Points(points) = given else { unreachable!("k-means is given points") };
    let kmeans =
        KMeans { groups: GROUPS, rounds_most: passes as usize, seed: 1, start: Start::Random };
    Ok(format!("{:?}", kmeans.group(runs, points)?))
}

impl Given {
    fn input(&self) -> tegula::Result<Input> {
        match self {
            Given::File(path) => Input::paths([path]),
            Given::Points(points) => Ok(Input::shared(Arc::clone(&points.bytes))),
        }
    }
}

impl Drop for Given {
    /// Removes a file when its jobs are done, because there may be room for one only.
    fn drop(&mut self) {
        if let Given::File(path) = self {
            let _ = fs::remove_file(path);
        }
    }
}

impl Job {
    /// Makes an input of about `bytes` bytes, in `folder` if it is a file.
    pub(crate) fn given(&self, folder: &Path, bytes: u64) -> Result<Given, Fault> {
        let bytes = bytes / ROW_BYTES * ROW_BYTES;
        let patterns: Vec<Vec<u8>> = (1..=SEEDS).map(self.pattern).collect();
        let write = |to: &mut dyn Write| {
            let mut left = bytes as usize;
            for pattern in patterns.iter().cycle() {
                let part = &pattern[..left.min(PATTERN_BYTES)];
                to.write_all(part)?;
                left -= part.len();
                if left == 0 {
                    break;
                }
            }
            to.flush()
        };
        let Some(header) = self.header else {
            let mut all = Vec::with_capacity(bytes as usize);
            write(&mut all)?;
            let (element, row_bytes) = (Element::F32, 4 * COLUMNS);
            let (rows, bytes) = (all.len() / row_bytes, Arc::new(all));
            return Ok(Given::Points(Matrix { element, rows, columns: COLUMNS, bytes }));
        };
        let path = folder.join(self.name);
        let mut file = BufWriter::new(File::create(&path)?);
        let given = Given::File(path);
        file.write_all(&header(bytes))?;
        write(&mut file)?;
        Ok(given)
    }

    /// Returns units of its kernel from one source.
    pub(crate) fn units_from(&self, from: From) -> Units {
        let pattern = (self.pattern)(1);
        let (offload, arguments) = ((self.offload)(&pattern), self.arguments);
        Units { offload, arguments, pattern, expected: self.expected, from }
    }

    /// Returns the ways to do it.
    pub(crate) fn ways(&self, device: &Arc<Accelerator>) -> Vec<Way> {
        let units = self.units.iter().map(|&(name, from, asked)| Way {
            from: name,
            work: Work::Units(Box::new(self.units_from(from))),
            asked,
        });
        let mut ways: Vec<Way> = units.collect();
        ways.push(Way { from: "cores", work: Work::Cores, asked: None });
        ways.extend(self.alone.map(|asked| {
            let work = Work::Device(Arc::clone(device));
            Way { from: "device", work, asked }
        }));
        ways.push(Way { from: "both", work: Work::Both(Arc::clone(device)), asked: None });
        ways
    }

    /// Returns the answer of the job as a whole, and the work of devices in it. The caller times it.
    pub(crate) fn run(
        &self,
        engine: &Engine,
        given: &Given,
        work: &Work,
    ) -> Result<(String, Vec<DeviceFigures>), Fault> {
        let (devices, devices_alone) = match work {
            Work::Units(_) | Work::Cores => (Vec::new(), false),
            Work::Device(device) => (vec![Arc::clone(device)], true),
            Work::Both(device) => (vec![Arc::clone(device)], false),
        };
        let split_bytes = self.split_bytes;
        let options = Options { split_bytes, devices, devices_alone, ..Options::default() };
        let mut runs = Runs::new(engine, options);
        let answer = (self.whole)(&mut runs, given)?;
        Ok((answer, runs.stats().devices.clone()))
    }
}

//! The jobs that are timed: each with a file of its own, how it is run as a whole, and its kernel over units
//! of that file's pattern. A job more is an entry in [`all`].

use crate::Fault;
use crate::pinned::Units;
use std::path::Path;
use std::sync::Arc;
use tegula::device::ARGUMENTS;
use tegula::{Accelerator, Engine, Input, Options};
use tegula_apps::Runs;
use tegula_apps::histogram::Histogram;
use tegula_apps::linreg::{Line, Points};

/// The bytes that a file repeats: a multiple of a pixel, a point and what kernels load at once.
pub(crate) const PATTERN_BYTES: usize = 192 << 10;

/// A row of 1024 pixels.
const ROW_BYTES: u64 = 3072;

/// Who works.
pub(crate) enum Work {
    /// The device over units that do not come from the file.
    Units(Units),
    Cores,
    Device(Arc<Accelerator>),
    Both(Arc<Accelerator>),
}

pub(crate) struct Job {
    pub(crate) name: &'static str,
    /// What stands before the pattern.
    header: fn(u64) -> Vec<u8>,
    /// The job as a whole; its answer as text.
    whole: fn(&mut Runs<'_>, &Path) -> tegula::Result<String>,
    /// The size of split that suits the job.
    split_bytes: Option<u64>,
    kernel: &'static str,
    words: usize,
    arguments: [u64; ARGUMENTS],
    /// What the kernel adds for the pattern.
    expected: fn(&[u8]) -> Vec<u64>,
}

pub(crate) fn all() -> [Job; 2] {
    [
        Job {
            name: "histogram",
            header: |bytes| format!("P6\n1024 {}\n255\n", bytes / ROW_BYTES).into_bytes(),
            whole: |runs, path| {
                let input = Input::paths([path])?;
                let job = Histogram::of(&input)?;
                Ok(format!("{:?}", Histogram::levels(&runs.job(&job, input)?)?))
            },
            split_bytes: Some(Histogram::SPLIT_BYTES),
            kernel: include_str!("../../apps/src/histogram/histogram.c"),
            words: 768,
            // Red, green, blue, in rows without padding.
            arguments: [0, ROW_BYTES, ROW_BYTES, u32::MAX as u64, 0b10_01_00, 0],
            expected: |pattern| {
                let mut counts = vec![0; 768];
                for pixel in pattern.as_chunks::<3>().0 {
                    for (channel, &level) in pixel.iter().enumerate() {
                        counts[256 * channel + usize::from(level)] += 1;
                    }
                }
                counts
            },
        },
        Job {
            name: "linreg",
            header: |_| Vec::new(),
            whole: |runs, path| {
                let line = Line::fit(runs, Input::paths([path])?, Points::Bytes)?;
                Ok(format!("{line:?}"))
            },
            split_bytes: None,
            kernel: include_str!("../../apps/src/linreg/linreg.c"),
            words: 6,
            arguments: [0; ARGUMENTS],
            expected: |pattern| {
                let mut sums = [0_i64; 6];
                for point in pattern.as_chunks::<2>().0 {
                    let [x, y] = point.map(|byte| i64::from(byte.cast_signed()));
                    for (sum, more) in sums.iter_mut().zip([1, x, y, x * x, x * y, y * y]) {
                        *sum += more;
                    }
                }
                sums.map(i64::cast_unsigned).to_vec()
            },
        },
    ]
}

/// Bytes that no kernel can foresee, the same on every machine.
fn pattern() -> Vec<u8> {
    let mut state = 1_u64;
    let draw = |_| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (state >> 33) as u8
    };
    (0..PATTERN_BYTES).map(draw).collect()
}

impl Job {
    /// A file of about so many bytes.
    pub(crate) fn file(&self, bytes: u64) -> Vec<u8> {
        let mut file = (self.header)(bytes);
        let pattern = pattern();
        // Whole rows of pixels: a picture has no more.
        let length = file.len() + (bytes / ROW_BYTES * ROW_BYTES) as usize;
        while file.len() < length {
            file.extend_from_slice(&pattern);
        }
        file.truncate(length);
        file
    }

    /// The ways to do it, by name.
    pub(crate) fn ways(&self, device: &Arc<Accelerator>, bytes: u64) -> Vec<(&'static str, Work)> {
        let units = |is_staged| {
            let pattern = pattern();
            let expected = (self.expected)(&pattern);
            let (name, kernel, arguments) = (self.name, self.kernel, self.arguments);
            Work::Units(Units {
                name,
                kernel,
                words: self.words,
                arguments,
                pattern,
                expected,
                is_staged,
                bytes,
            })
        };
        vec![
            ("pinned", units(false)),
            ("staged", units(true)),
            ("cores", Work::Cores),
            ("device", Work::Device(Arc::clone(device))),
            ("both", Work::Both(Arc::clone(device))),
        ]
    }

    /// The answer of the job over a file. The caller times it.
    pub(crate) fn run(&self, engine: &Engine, path: &Path, work: &Work) -> Result<String, Fault> {
        let (devices, devices_alone) = match work {
            Work::Units(_) | Work::Cores => (Vec::new(), false),
            Work::Device(device) => (vec![Arc::clone(device)], true),
            Work::Both(device) => (vec![Arc::clone(device)], false),
        };
        let split_bytes = self.split_bytes;
        let options = Options { split_bytes, devices, devices_alone, ..Options::default() };
        Ok((self.whole)(&mut Runs::new(engine, options), path)?)
    }
}

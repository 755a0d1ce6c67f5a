//! A kernel of somebody's own, done by devices alone: there is no map for the cores beside it. Takes the
//! kernel's text and a [`Spec`] of its records, its partial and its answer; hands on the values that it
//! combined, by index or by value.

mod job;
mod spec;

pub use spec::{By, ByOrder, Number, Records, Spec, VALUES_MOST};

use crate::Runs;
use job::KernelJob;
use std::path::Path;
use tegula::device::{EmulatedKernel, Kernel};
use tegula::{Input, Max, Result, Sum};

/// A kernel with all that must be known to run it.
///
/// Its text is OpenCL C 1.2 and CUDA C++ at once, by the names of `prelude.h`. It is launched for each
/// piece of a work unit, whole records of one file; `arg0` is where in the file these begin, in bytes, and
/// `arg1` the number of the file. It hands values on by `COMBINE(index, value)`, in any order and any
/// number, which adds them up or keeps the least or greatest, as the spec says. A piece is as large as
/// goes best, so nothing may depend on where pieces begin.
///
/// ```
/// use tegula::device::{Emulated, Launch, Model};
/// use tegula::{Accelerator, Engine, Input, Options};
/// use tegula_apps::Runs;
/// use tegula_apps::offload::{OwnKernel, Records, Spec};
///
/// // How often each byte occurs.
/// const TEXT: &str = "
/// KERNEL void levels(OFFLOAD) {
///   for (u64 i = GID; i < bytes; i += GSIZE) COMBINE(UNIT[i], 1);
/// }";
/// // The same in Rust, for the emulated device: without it, that one cannot run the kernel.
/// fn levels(launch: &Launch<'_>, partial: &mut [u64]) {
///     launch.bytes.iter().for_each(|&byte| partial[usize::from(byte)] += 1);
/// }
///
/// # fn main() -> tegula::Result<()> {
/// let spec = Spec { values: 256, records: Records::Fixed(1), skip_empty: true, ..Spec::default() };
/// let kernel = OwnKernel::new(spec, "levels.c", TEXT)?.emulated(levels);
/// let device = Accelerator::new(Emulated::new(Model::default()));
/// let options = Options { devices: vec![device.into()], ..Options::default() };
/// let engine = Engine::new()?;
/// let values = kernel.run(&mut Runs::new(&engine, options), Input::bytes("abca"))?;
/// assert_eq!(values.pairs(), [(97, 2), (98, 1), (99, 1)]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct OwnKernel {
    spec: Spec,
    kernel: Kernel,
}

/// What a kernel combines with.
const COMBINE: &str = include_str!("combine.h");

impl OwnKernel {
    /// A kernel of this text; `file` is its name in messages of compilers.
    ///
    /// # Errors
    /// [`Error::Option`](tegula::Error::Option) for a spec that cannot be meant, or that has no entry where the name of the file
    /// is none of a function.
    pub fn new(spec: Spec, file: impl AsRef<Path>, text: &str) -> Result<OwnKernel> {
        let file = file.as_ref();
        let stem = || file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let spec = Spec { entry: spec.entry.clone().or_else(stem), ..spec };
        spec.check()?;
        let file = file.display().to_string();
        let own = [("VALUES", spec.values), ("SIGNED", (spec.number == Number::I64).into())];
        let by = ("COMBINE_BY", spec.combine as u64);
        let own = own.into_iter().chain([by]).map(|(name, value)| (name.into(), value));
        let defines = spec.defines.iter().map(|(name, value)| (name.clone().into(), *value));
        let kernel = Kernel {
            entry: spec.entry.clone().unwrap_or_default().into(),
            source: format!(
                "{}{COMBINE}{}{text}",
                Kernel::line_mark("combine.h"),
                Kernel::line_mark(&file)
            )
            .into(),
            file: file.into(),
            defines: own.chain(defines).collect(),
            emulated: None,
        };
        Ok(OwnKernel { spec, kernel })
    }

    /// With the same in Rust, for the emulated device. Its words are values of a sum, and of a least or
    /// greatest what [`Spec::rank`] makes of these, of which the greatest counts.
    pub fn emulated(mut self, twin: EmulatedKernel) -> OwnKernel {
        self.kernel.emulated = Some(twin);
        self
    }

    /// Runs it over an input. Memory holds the values a few times.
    ///
    /// # Errors
    /// [`DeviceError::Alone`](tegula::DeviceError::Alone), in [`Error::Device`](tegula::Error::Device), if the devices did not do
    /// it, with each one's reason; [`Error::Option`](tegula::Error::Option) if there is none;
    /// [`Error::Record`](tegula::Error::Record) for a record that
    /// is too long, and for a kernel that combines at an index or writes to a word that is not there.
    pub fn run(&self, runs: &mut Runs<'_>, input: Input) -> Result<Values> {
        let words = match (self.spec.combine, self.spec.number) {
            (By::Sum, Number::U64) => self.words::<Sum<u64>>(runs, input),
            (By::Sum, Number::I64) => self.words::<Sum<i64>>(runs, input),
            (By::Min | By::Max, _) => self.words::<Max<u64>>(runs, input),
        }?;
        Ok(Values { spec: self.spec.clone(), words })
    }

    fn words<C: job::Words>(&self, runs: &mut Runs<'_>, input: Input) -> Result<Vec<u64>> {
        let mut words = vec![0; self.spec.values as usize];
        let output = runs.job(&KernelJob::<C>::new(self), input)?;
        output.for_each(|index, value| words[index as usize] = C::word(value))?;
        Ok(words)
    }
}

impl Spec {
    /// The word that stands for a value in the partial of a least or greatest.
    pub fn rank(&self, value: i128) -> u64 {
        let word = match self.number {
            Number::U64 => value as u64,
            Number::I64 => (value as u64) ^ SIGN,
        };
        if self.combine == By::Min { !word } else { word }
    }

    /// The value that a word stands for.
    fn value(&self, word: u64) -> i128 {
        let word = if self.combine == By::Min { !word } else { word };
        match (self.number, self.combine) {
            (Number::U64, _) => word.into(),
            (Number::I64, By::Sum) => word.cast_signed().into(),
            (Number::I64, _) => (word ^ SIGN).cast_signed().into(),
        }
    }
}

const SIGN: u64 = 1 << 63;

/// The answer of a kernel.
#[derive(Clone, Debug)]
pub struct Values {
    spec: Spec,
    words: Vec<u64>,
}

impl Values {
    /// Indices with their values, those and in the order that the spec says. Linear in the values, but for
    /// sorting.
    pub fn pairs(&self) -> Vec<(u64, i128)> {
        let all = self.words.iter().enumerate();
        let shown = all.filter(|&(_, &word)| !(self.spec.skip_empty && word == 0));
        let mut pairs: Vec<_> =
            shown.map(|(index, &word)| (index as u64, self.spec.value(word))).collect();
        if self.spec.order == ByOrder::Value {
            pairs.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
        }
        pairs
    }

    /// What values are divided by when they are shown.
    pub fn scale(&self) -> Option<u64> {
        self.spec.scale
    }
}

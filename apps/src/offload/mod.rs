//! A kernel of somebody's own, done by devices alone: there is no map for the cores beside it. Takes the
//! kernel's text and a [`Spec`] of its records, its partial and its answer; hands on the values that it
//! combined, by index, by key or by value.

mod answer;
mod job;
mod spec;
mod table;

pub use answer::{Answer, Key, Value};
pub use spec::{By, ByOrder, Keys, Number, Records, Spec, VALUES_MOST};
pub use table::Table;

use crate::Runs;
use answer::Words;
use job::Word as _;
use std::path::Path;
use tegula::device::{EmulatedKernel, Kernel};
use tegula::{Input, Max, Result, Sum};

/// A kernel with all that must be known to run it.
///
/// Its text is OpenCL C 1.2 and CUDA C++ at once, by the names of `prelude.h`. It is launched for each
/// piece of a work unit, whole records of one file; `arg0` is where in the file these begin, in bytes, and
/// `arg1` the number of the file. It hands values on by `COMBINE(index, value)`, or by `COMBINE_KEY(key, value)` or
/// `COMBINE_BYTES(place, length, value)` if the spec has keys, in any order and any
/// number, which adds them up or keeps the least or greatest, as the spec says. A piece is as large as
/// goes best, so nothing may depend on where pieces begin.
///
/// ```
/// use tegula::device::{Emulated, Launch, Model};
/// use tegula::{Accelerator, Engine, Input, Options};
/// use tegula_apps::Runs;
/// use tegula_apps::offload::{Key, OwnKernel, Records, Spec, Value};
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
/// let answer = kernel.run(&mut Runs::new(&engine, options), Input::bytes("abca"))?;
/// let pairs = [(97, 2), (98, 1), (99, 1)];
/// assert_eq!(answer.pairs(), pairs.map(|(byte, count)| (Key::Number(byte), Value::Whole(count))));
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
        let own = [
            ("VALUES", spec.values),
            ("SIGNED", (spec.number == Number::I64).into()),
            ("FLOAT", spec.number.float_bits().into()),
            ("KEYED", spec.keys.map_or(0, |keys| if keys == Keys::Bytes { 1 } else { 2 })),
            ("LONGEST_KEY", spec.key_bytes()),
            ("COMBINE_BY", spec.combine as u64),
        ];
        let own = own.map(|(name, value)| (name.into(), value)).into_iter();
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
    /// greatest what [`Spec::rank`] makes of these, of which the greatest counts; those of a table are a
    /// [`Table`]'s.
    pub fn emulated(mut self, twin: EmulatedKernel) -> OwnKernel {
        self.kernel.emulated = Some(twin);
        self
    }

    /// Runs it over an input. Memory holds the answer a few times.
    ///
    /// # Errors
    /// [`DeviceError::Alone`](tegula::DeviceError::Alone), in [`Error::Device`](tegula::Error::Device), if the devices did not do
    /// it, with each one's reason; [`Error::Option`](tegula::Error::Option) if there is none;
    /// [`Error::Record`](tegula::Error::Record) for a record that
    /// is too long, and for a kernel that combines at an index, a key or a value that may not be, or writes to a
    /// word that is not there.
    pub fn run(&self, runs: &mut Runs<'_>, input: Input) -> Result<Answer> {
        let words = match (self.spec.combine, self.spec.number) {
            (By::Sum, Number::I64) => self.words::<Sum<i64>>(runs, input),
            (By::Sum, _) => self.words::<Sum<u64>>(runs, input),
            (By::Min | By::Max, _) => self.words::<Max<u64>>(runs, input),
        }?;
        Ok(Answer::new(&self.spec, words))
    }

    fn words<C: job::Words>(&self, runs: &mut Runs<'_>, input: Input) -> Result<Words> {
        if self.spec.keys.is_some() {
            let (output, mut pairs) = (runs.job(&self.table_job::<C>(), input)?, Vec::new());
            output.for_each(|key, value| pairs.push((key.to_vec(), value.word())))?;
            return Ok(Words::Table(pairs));
        }
        let mut words = vec![0; self.spec.values as usize];
        let output = runs.job(&self.array_job::<C>(), input)?;
        output.for_each(|index, value| words[index as usize] = value.word())?;
        Ok(Words::Array(words))
    }
}

//! A user's kernel that runs on devices alone, without a map for the cores. Takes the kernel's text and a
//! [`Spec`] of its records, partial and answer; hands on the combined values by index, by key or by value.

mod answer;
mod job;
mod spec;
mod table;

pub use answer::{Answer, Key, Value};
pub use spec::{By, ByOrder, Keys, Number, Records, Spec, VALUES_MOST};
pub use table::Table;

use crate::Runs;
use crate::extreme::Extreme;
use answer::Words;
use job::Word as _;
use std::path::Path;
use tegula::device::{EmulatedKernel, Kernel};
use tegula::{Input, Options, Order, Result, Sum};

/// A kernel with everything that is needed to run it.
///
/// Its text is OpenCL C 1.2 and CUDA C++ at once, by the names of `prelude.h`. It is launched for each
/// piece of a work unit, whole records of one file; `arg0` is the offset of the piece in the file in bytes,
/// and `arg1` the number of the file. It combines values by `COMBINE(index, value)`, or by
/// `COMBINE_KEY(key, value)` or `COMBINE_BYTES(place, length, value)` if the spec has keys, in any order
/// and number. Values are added up, or the least or greatest is kept, as the spec says. The size of a piece
/// varies, so the result must not depend on where pieces begin.
/// ```
/// use tegula::device::{Emulated, Launch, Model};
/// use tegula::{Accelerator, Engine, Input, Options};
/// use tegula_apps::Runs;
/// use tegula_apps::offload::{Key, OwnKernel, Records, Spec, Value};
///
/// // Counts each byte.
/// const TEXT: &str = "
/// KERNEL void levels(OFFLOAD) {
///   for (u64 i = GID; i < bytes; i += GSIZE) COMBINE(UNIT[i], 1);
/// }";
/// // Its twin in Rust, which the emulated device needs.
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
/// assert_eq!(answer.pairs()?, pairs.map(|(byte, count)| (Key::Number(byte), Value::Whole(count))));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct OwnKernel {
    spec: Spec,
    kernel: Kernel,
}

/// The functions with which a kernel combines.
const COMBINE: &str = include_str!("combine.h");

impl OwnKernel {
    /// Creates a kernel from its text; `file` is its name in messages of compilers.
    ///
    /// # Errors
    /// Returns [`Error::Option`](tegula::Error::Option) for an invalid spec, and for a spec without an
    /// entry if the name of the file is not that of a function.
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

    /// Adds its twin in Rust, for the emulated device. The twin's words are values for a sum; for a least
    /// or greatest they are the [`Spec::rank`] of values, and the greatest counts; for a table they are a
    /// [`Table`]'s.
    pub fn emulated(mut self, twin: EmulatedKernel) -> OwnKernel {
        self.kernel.emulated = Some(twin);
        self
    }

    /// Runs the kernel over an input. The engine holds the answer, within its limit on memory;
    /// [`Answer::for_each`] shows it from there.
    ///
    /// # Errors
    /// Returns [`DeviceError::Alone`](tegula::DeviceError::Alone), in
    /// [`Error::Device`](tegula::Error::Device), with each device's reason if the devices did not complete
    /// it; [`Error::Option`](tegula::Error::Option) if there is no device;
    /// [`Error::Record`](tegula::Error::Record) for a record that is too long, and for a kernel that
    /// combines at an invalid index, key or value, or writes to a word that does not exist.
    pub fn run(&self, runs: &mut Runs<'_>, input: Input) -> Result<Answer> {
        let words = match (self.spec.combine, self.spec.number) {
            (By::Sum, Number::I64) => self.words::<Sum<i64>>(runs, input),
            (By::Sum, _) => self.words::<Sum<u64>>(runs, input),
            (By::Min | By::Max, _) => self.words::<Extreme>(runs, input),
        }?;
        Ok(Answer::new(&self.spec, words))
    }

    fn words<C: job::Words>(&self, runs: &mut Runs<'_>, input: Input) -> Result<Words> {
        let marks_bytes = self.spec.mark_words() * size_of::<u64>();
        let order = match self.spec.order {
            ByOrder::Index => Order::Key,
            ByOrder::Value => Order::Value,
        };
        let change = |options: &Options| Options {
            order,
            beside_bytes: options.beside_bytes + marks_bytes,
            ..options.clone()
        };
        runs.with(change, |runs| match self.spec.keys {
            Some(_) => {
                let output = runs.job(&self.table_job::<C>(), input)?;
                Ok(Words::Table(Box::new(move |see| {
                    output.portions().into_iter().try_for_each(|portion| {
                        output.for_each_in(portion, |key, value| see(key, value.word()))
                    })
                })))
            }
            None => {
                let output = runs.job(&self.array_job::<C>(), input)?;
                Ok(Words::Array(Box::new(move |see| {
                    output.portions().into_iter().try_for_each(|portion| {
                        output.for_each_in(portion, |index, value| see(index, value.word()))
                    })
                })))
            }
        })
    }
}

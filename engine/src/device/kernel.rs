//! Kernels: what a device does with a unit. Takes the text and the shape of the partial from the job;
//! back-ends compile the text, the emulated device calls the Rust function that stands beside it.

use super::{DeviceError, Residence};
use std::borrow::Cow;
use std::sync::Arc;

/// Numbers that come with each launch.
pub const ARGUMENTS: usize = 6;

/// What a job lets a device do instead of its map ([`Job::offload`](crate::Job::offload)).
#[derive(Clone, Debug)]
pub struct Offload {
    /// What is launched for each piece of a unit.
    pub kernel: Kernel,
    /// What it adds to. It comes back before 2^33 bytes of the input are in it, of splits up to 2^32.
    pub partial: Shape,
    /// What every launch sees.
    pub broadcast: Vec<u64>,
    /// The job's input, if other jobs of this kernel run over the same bytes: what devices have of it
    /// stays with them in between. `None`: each run sends it.
    pub residence: Option<Arc<Residence>>,
}

/// A kernel: OpenCL C and CUDA C++ in one text, by the names of the prelude.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// The name of its function, which takes `OFFLOAD`.
    pub entry: Cow<'static, str>,
    /// The name of its file, for the compiler's messages.
    pub file: Cow<'static, str>,
    /// Its text, without the prelude.
    pub source: Cow<'static, str>,
    /// Numbers that the text uses by name.
    pub defines: Vec<(Cow<'static, str>, u64)>,
    /// The same in Rust, for the emulated device. `None`: that one cannot run it.
    pub emulated: Option<EmulatedKernel>,
}

/// What makes a kernel's text valid OpenCL C and CUDA C++.
const PRELUDE: &str = include_str!("prelude.h");

impl Kernel {
    /// All that a compiler is given: the prelude, the numbers by name, the text. Messages name the
    /// kernel's file and its lines.
    pub fn text(&self) -> String {
        let mut text = format!("#line 1 \"prelude.h\"\n{PRELUDE}");
        for (name, value) in &self.defines {
            text.push_str(&format!("#define {name} {value}UL\n"));
        }
        text.push_str(&Kernel::line_mark(&self.file));
        text.push_str(&self.source);
        text
    }

    /// The line by which a compiler's messages name a file, and count its lines from the next one on.
    pub fn line_mark(file: &str) -> String {
        let name = file.replace('\\', "\\\\").replace('"', "\\\"").replace(['\n', '\r'], " ");
        format!("#line 1 \"{name}\"\n")
    }

    /// What tells it from others: all that the compiler sees.
    pub(super) fn told(&self) -> String {
        format!("{} {:?} {}", self.entry, self.defines, self.source)
    }

    /// That it was refused for a device, in the compiler's words.
    pub(super) fn refused(&self, device: &str, log: &str) -> DeviceError {
        let (device, file) = (device.to_owned(), self.file.to_string());
        DeviceError::Compile { device, file, log: log.trim().to_owned() }
    }
}

/// A kernel of the emulated device: adds a piece to the partial.
pub type EmulatedKernel = fn(&Launch<'_>, &mut [u64]);

/// What a launch sees.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    /// The piece.
    pub bytes: &'a [u8],
    /// The numbers that came with it.
    pub arguments: [u64; ARGUMENTS],
    /// What all launches see.
    pub broadcast: &'a [u64],
}

/// The shape of a device's partial: 64-bit words, all zeros at first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// So many words, each a sum or a maximum of its own. There is always room.
    Dense(usize),
    /// So many words that are a table, or fewer where memory is small: a quarter of it at most. Its first word is 0 as long as there was room for all that was to
    /// be put in; a kernel that finds no room, or the first word other than 0, makes it other than 0.
    Table(usize),
}

impl Shape {
    /// Its words.
    pub fn words(self) -> usize {
        match self {
            Shape::Dense(words) | Shape::Table(words) => words,
        }
    }

    /// Whether a partial had no room for what was to be put in.
    pub fn overflowed(self, partial: &[u64]) -> bool {
        matches!(self, Shape::Table(_)) && partial.first().is_some_and(|&word| word != 0)
    }
}

/// A piece of a unit, for which the kernel is launched: records of one file, in the unit's slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Where it begins in the slot, a multiple of [`Piece::ALIGNMENT`].
    pub start: usize,
    /// Its bytes.
    pub bytes: usize,
    /// Numbers that the job has for it ([`Job::launch`](crate::Job::launch)).
    pub arguments: [u64; ARGUMENTS],
}

impl Piece {
    /// Where pieces may begin, so that a kernel can load words.
    pub const ALIGNMENT: usize = 64;
}

//! Kernels: the code that a device runs over a unit. Takes the text and the shape of the partial from the
//! job. Back-ends compile the text; the emulated device calls its twin in Rust.

use super::{DeviceError, Outcome, Residence};
use std::borrow::Cow;
use std::sync::Arc;

/// The number of arguments of each launch.
pub const ARGUMENTS: usize = 6;

/// The work of a device in place of the job's map (`Offloadable::offload`).
#[derive(Clone, Debug)]
pub struct Offload {
    /// The kernel that is launched for each piece of a unit.
    pub kernel: Kernel,
    /// The partial to which it adds. It is fetched before it has 2^33 bytes of the input, for splits up to
    /// 2^32.
    pub partial: Shape,
    /// Words that every launch sees.
    pub broadcast: Vec<u64>,
    /// The job's input, if other jobs of this kernel run over the same bytes. Its units then stay on
    /// devices between jobs. `None`: each run sends them.
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
    /// Its twin in Rust for the emulated device. `None`: that device cannot run it.
    pub emulated: Option<EmulatedKernel>,
}

/// Makes a kernel's text valid OpenCL C and CUDA C++.
const PRELUDE: &str = include_str!("prelude.h");

impl Kernel {
    /// Returns the compiler's input: the prelude, the numbers by name, the text. Messages name the kernel's
    /// file and its lines.
    pub fn text(&self) -> String {
        let mut text = format!("#line 1 \"prelude.h\"\n{PRELUDE}");
        for (name, value) in &self.defines {
            text.push_str(&format!("#define {name} {value}UL\n"));
        }
        text.push_str(&Kernel::line_mark(&self.file));
        text.push_str(&self.source);
        text
    }

    /// Returns the line that makes a compiler's messages name a file, and count its lines from the next one
    /// on.
    pub fn line_mark(file: &str) -> String {
        let name = file.replace('\\', "\\\\").replace('"', "\\\"").replace(['\n', '\r'], " ");
        format!("#line 1 \"{name}\"\n")
    }

    /// Returns the kernel's identity: all that the compiler sees.
    pub(super) fn told(&self) -> String {
        format!("{} {:?} {}", self.entry, self.defines, self.source)
    }

    /// Returns the error that a device's compiler refused it, with the compiler's message.
    pub(super) fn refused(&self, device: &str, log: &str) -> DeviceError {
        let (device, file) = (device.to_owned(), self.file.to_string());
        DeviceError::Compile { device, file, log: log.trim().to_owned() }
    }
}

/// A kernel of the emulated device: adds a piece to the partial.
pub type EmulatedKernel = fn(&Launch<'_>, &mut [u64]);

/// The input of a launch.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    /// The piece.
    pub bytes: &'a [u8],
    /// The arguments of the piece.
    pub arguments: [u64; ARGUMENTS],
    /// Words that all launches see.
    pub broadcast: &'a [u64],
}

/// The shape of a device's partial: 64-bit words, all zeros at first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// This number of words, each a sum or a maximum of its own. There is always room.
    Dense(usize),
    /// A table of this number of words, or of fewer if memory is small: a quarter of it at most. Its first
    /// word is 0 as long as all entries had room; a kernel that finds no room, or a first word other than
    /// 0, sets it to another value.
    Table(usize),
}

impl Shape {
    /// Returns the number of words.
    pub fn words(self) -> usize {
        match self {
            Shape::Dense(words) | Shape::Table(words) => words,
        }
    }

    /// Returns the result of a unit after which the partial begins with these words.
    pub(super) fn outcome(self, partial: &[u64]) -> Outcome {
        if self.overflowed(partial) { Outcome::Overflow } else { Outcome::Ok }
    }

    /// Returns whether a partial has overflowed.
    pub fn overflowed(self, partial: &[u64]) -> bool {
        matches!(self, Shape::Table(_)) && partial.first().is_some_and(|&word| word != 0)
    }
}

/// A piece of a unit, for which the kernel is launched: records of one file, in the unit's slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Its offset in the slot, a multiple of [`Piece::ALIGNMENT`].
    pub start: usize,
    /// Its length in bytes.
    pub bytes: usize,
    /// The job's arguments for it (`Offloadable::launch`).
    pub arguments: [u64; ARGUMENTS],
}

impl Piece {
    /// The alignment of pieces, so that a kernel can load words.
    pub const ALIGNMENT: usize = 64;
}

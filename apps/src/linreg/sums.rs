//! The jobs of linear regression: sums over points of two bytes or of text. Take points; hand on six sums,
//! exact for bytes and reproducible for text.

use crate::double;
use crate::matrix::{no_number, numbers};
use multiversion::multiversion;
use tegula::device::{Kernel, Launch, Offload, Shape};
use tegula::{Cut, Emit, Identity, Job, Offloadable, Result, Resumable, Sees, Split, Sum};

/// The sums over all points; each is a key of the jobs.
#[derive(Clone, Copy)]
pub(super) enum Of {
    One,
    X,
    Y,
    XX,
    XY,
    YY,
}

pub(super) const ALL: [Of; 6] = [Of::One, Of::X, Of::Y, Of::XX, Of::XY, Of::YY];

/// Sums over points of two signed bytes.
#[derive(Clone, Copy, Debug)]
pub struct BytePoints;

impl Job for BytePoints {
    type Key = u8;
    type Combine = Sum<i64>;

    fn cut(&self) -> Cut {
        Cut::Fixed(2)
    }

    fn state(&self) -> Option<&dyn Resumable> {
        Some(self)
    }

    fn device(&self) -> Option<&dyn Offloadable<Self>> {
        Some(self)
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        let sums = sums_of_bytes(split.bytes().as_chunks().0);
        ALL.iter().zip(sums).for_each(|(&of, sum)| emit.emit(of as u8, sum));
        Ok(())
    }
}

impl Resumable for BytePoints {
    fn identity(&self) -> Identity {
        Identity::new("linreg", 1).with("points", "bytes")
    }

    fn sees(&self) -> Sees {
        Sees::Records
    }
}

impl Offloadable for BytePoints {
    fn offload(&self) -> Offload {
        let kernel = Kernel {
            entry: "linreg".into(),
            file: "linreg.c".into(),
            source: include_str!("linreg.c").into(),
            defines: Vec::new(),
            emulated: Some(emulated),
        };
        let (partial, broadcast) = (Shape::Dense(ALL.len()), Vec::new());
        Offload { kernel, partial, broadcast, residence: None }
    }

    fn unload(&self, partial: &[u64], emit: &mut dyn Emit<'_, Self>) -> Result<()> {
        let sums = partial.iter().map(|sum| sum.cast_signed());
        ALL.iter().zip(sums).for_each(|(&of, sum)| emit.emit(of as u8, sum));
        Ok(())
    }
}

/// The twin of `linreg.c` in Rust.
fn emulated(launch: &Launch<'_>, partial: &mut [u64]) {
    let sums = sums_of_bytes(launch.bytes.as_chunks().0);
    let words = partial.iter_mut().zip(sums);
    words.for_each(|(word, sum)| *word = word.wrapping_add(sum.cast_unsigned()));
}

/// The most points whose sums stay within 32 bits.
const BLOCK_POINTS: usize = 1 << 14;

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl", "x86_64+avx2"))]
fn sums_of_bytes(points: &[[u8; 2]]) -> [i64; ALL.len()] {
    let mut sums = [0; ALL.len()];
    for block in points.chunks(BLOCK_POINTS) {
        let mut of_block = [0_i32; ALL.len()];
        for &point in block {
            // Both bytes are shifted out of one word: the compiler makes this one instruction for many
            // points, and one more to multiply 16-bit numbers and add their products.
            let word = u16::from_le_bytes(point);
            let (x, y) = ((word << 8).cast_signed() >> 8, word.cast_signed() >> 8);
            let (x, y) = (i32::from(x), i32::from(y));
            for (sum, more) in of_block.iter_mut().zip([1, x, y, x * x, x * y, y * y]) {
                *sum += more;
            }
        }
        sums.iter_mut().zip(of_block).for_each(|(sum, more)| *sum += i64::from(more));
    }
    sums
}

/// Sums over points of text.
#[derive(Clone, Copy, Debug)]
pub struct TextPoints;

impl Job for TextPoints {
    type Key = u8;
    type Combine = double::Total;

    fn cut(&self) -> Cut {
        Cut::Lines
    }

    fn state(&self) -> Option<&dyn Resumable> {
        Some(self)
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        for line in split.lines().filter(|line| !line.trim_ascii().is_empty()) {
            let mut words = numbers(line);
            let (x, y) = match (words.next(), words.next(), words.next()) {
                (Some(Ok(x)), Some(Ok(y)), None) => (x, y),
                (Some(Err(word)), ..) | (_, Some(Err(word)), _) => {
                    split.bad(word, no_number(word))?;
                    continue;
                }
                _ => {
                    split.bad(line, "not a point; write two numbers a line")?;
                    continue;
                }
            };
            let exact = |value| (value, 0.0);
            let squares = [double::product(x, x), double::product(x, y), double::product(y, y)];
            let values = [1.0, x, y].map(exact).into_iter().chain(squares);
            ALL.iter().zip(values).for_each(|(&of, value)| emit.emit(of as u8, value));
        }
        Ok(())
    }
}

impl Resumable for TextPoints {
    fn identity(&self) -> Identity {
        Identity::new("linreg", 3).with("points", "text")
    }

    fn sees(&self) -> Sees {
        Sees::Records
    }
}

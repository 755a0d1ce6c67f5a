//! Linear regression: the line that lies nearest to many points, by least squares. Takes points of two
//! bytes, as Phoenix does, or points as text; hands on the line, with what it was made of.

use crate::matrix::{fault, no_number, numbers};
use crate::{Runs, double};
use multiversion::multiversion;
use tegula::{Cut, Emit, Input, Job, Result, Split, Sum};

/// How points are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Points {
    /// A point a line: x and y, with white space or a comma between.
    #[default]
    Text,
    /// A point in two bytes: x, then y, both signed.
    Bytes,
}

/// The line y = intercept + slope x, and how well it fits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// Number of points.
    pub points: u64,
    /// Rise of y for each unit of x.
    pub slope: f64,
    /// y where x is 0.
    pub intercept: f64,
    /// Pearson's correlation of x and y; NaN if all y are equal.
    pub correlation: f64,
    /// Mean of x.
    pub mean_x: f64,
    /// Mean of y.
    pub mean_y: f64,
}

/// What is summed over all points; each is a key of the jobs.
#[derive(Clone, Copy)]
enum Of {
    One,
    X,
    Y,
    XX,
    XY,
    YY,
}

const ALL: [Of; 6] = [Of::One, Of::X, Of::Y, Of::XX, Of::XY, Of::YY];

impl Line {
    /// The line through the points of an input. Linear in its bytes; memory does not grow with it.
    /// Sums of byte points are exact; those of text are to about 2^-64 of the largest square.
    ///
    /// # Errors
    /// [`Error::Record`](tegula::Error::Record) for a text line that is no point, and if the points
    /// are fewer than two or have all the same x; those of reading.
    pub fn fit(runs: &mut Runs<'_>, input: Input, points: Points) -> Result<Line> {
        match points {
            Points::Text => {
                let output = runs.job(&TextPoints, input)?;
                let mut sums = [(0.0, 0.0); ALL.len()];
                output.for_each(|key, sum| sums[usize::from(key)] = sum)?;
                Line::from_sums(sums)
            }
            Points::Bytes => {
                let output = runs.job(&BytePoints, input)?;
                let mut sums = [(0.0, 0.0); ALL.len()];
                output.for_each(|key, sum| sums[usize::from(key)] = double::of_integer(sum))?;
                Line::from_sums(sums)
            }
        }
    }

    /// The line that these sums make.
    fn from_sums(sums: [double::Double; ALL.len()]) -> Result<Line> {
        let [n, x, y, xx, xy, yy] = sums;
        let fault = |cause| fault("the points", cause);
        if n.0 < 2.0 {
            return Err(fault("fewer than two; a line needs two"));
        }
        // n times the sums of squares about the means.
        let about = |ab, a, b| double::minus(double::times(n, ab), double::times(a, b)).0;
        let (sxx, sxy, syy) = (about(xx, x, x), about(xy, x, y), about(yy, y, y));
        if !(sxx.is_finite() && sxy.is_finite() && syy.is_finite()) {
            return Err(fault("squares beyond the largest number; scale x and y down"));
        }
        if sxx <= 0.0 {
            return Err(fault("all have the same x; no line of y over x goes through them"));
        }
        let slope = sxy / sxx;
        let rise = double::minus(y, double::times((slope, 0.0), x)).0;
        let correlation = if syy <= 0.0 { f64::NAN } else { sxy / sxx.sqrt() / syy.sqrt() };
        Ok(Line {
            points: n.0 as u64,
            slope,
            intercept: rise / n.0,
            correlation: correlation.clamp(-1.0, 1.0),
            mean_x: x.0 / n.0,
            mean_y: y.0 / n.0,
        })
    }
}

/// Sums over points of two signed bytes.
struct BytePoints;

impl Job for BytePoints {
    type Key = u8;
    type Combine = Sum<i64>;

    fn cut(&self) -> Cut {
        Cut::Fixed(2)
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        let sums = sums_of_bytes(split.bytes().as_chunks().0);
        ALL.iter().zip(sums).for_each(|(&of, sum)| emit.emit(of as u8, sum));
        Ok(())
    }
}

/// Points whose sums stay within 32 bits.
const BLOCK_POINTS: usize = 1 << 14;

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl", "x86_64+avx2"))]
fn sums_of_bytes(points: &[[u8; 2]]) -> [i64; ALL.len()] {
    let mut sums = [0; ALL.len()];
    for block in points.chunks(BLOCK_POINTS) {
        let mut of_block = [0_i32; ALL.len()];
        for &point in block {
            // Both bytes shifted out of one word: the compiler makes this one instruction for many
            // points, and multiplies 16-bit numbers and adds their products in one more.
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
struct TextPoints;

impl Job for TextPoints {
    type Key = u8;
    type Combine = double::Total;

    fn cut(&self) -> Cut {
        Cut::Lines
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

//! Linear regression: the line nearest to many points, by least squares. Takes points of two bytes, as
//! Phoenix does, or points as text; hands on the line and its statistics.

mod sums;

use crate::{Runs, double, fault};
use sums::ALL;
pub use sums::{BytePoints, TextPoints};
use tegula::{Input, Result};

/// The sums that a line is made of: the pairs of an answer of [`TextPoints`] or [`BytePoints`], whole or so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sums([double::Summed; ALL.len()]);

impl Sums {
    /// Adds a pair of an answer of [`TextPoints`].
    pub fn add(&mut self, key: u8, sum: double::Summed) {
        self.0[usize::from(key)] = sum;
    }

    /// Adds a pair of an answer of [`BytePoints`]. These sums are exact, so they alone tell whether all values are equal.
    pub fn add_integer(&mut self, key: u8, sum: i64) {
        self.add(key, double::Summed { sum: double::of_integer(sum), are_equal: false });
    }

    /// Returns the line.
    ///
    /// # Errors
    /// [`Error::Record`](tegula::Error::Record) if there are fewer than two points or all have the same x.
    pub fn line(&self) -> Result<Line> {
        Line::from_sums(self.0)
    }
}

/// The form of points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Points {
    /// A point per line: x and y, separated by white space or a comma.
    #[default]
    Text,
    /// A point in two bytes: x, then y, both signed.
    Bytes,
}

/// The line y = intercept + slope x, and the quality of the fit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// Number of points.
    pub points: u64,
    /// Rise of y for each unit of x.
    pub slope: f64,
    /// The value of y where x is 0.
    pub intercept: f64,
    /// Pearson's correlation of x and y; NaN if all y are equal.
    pub correlation: f64,
    /// Mean of x.
    pub mean_x: f64,
    /// Mean of y.
    pub mean_y: f64,
}

impl Line {
    /// Fits a line to the points of an input. Linear in its bytes; memory does not grow with it. Sums of
    /// byte points are exact; the error of sums of text is about 2^-64 of the largest square.
    ///
    /// # Errors
    /// Returns [`Error::Record`](tegula::Error::Record) for a text line that is not a point, and if there
    /// are fewer than two points or all have the same x; and errors of reading.
    pub fn fit(runs: &mut Runs<'_>, input: Input, points: Points) -> Result<Line> {
        let mut sums = Sums::default();
        match points {
            Points::Text => {
                runs.job(&TextPoints, input)?.for_each(|key, sum| sums.add(key, sum))?;
            }
            Points::Bytes => {
                runs.job(&BytePoints, input)?.for_each(|key, sum| sums.add_integer(key, sum))?;
            }
        }
        sums.line()
    }

    /// Computes the line from the sums.
    fn from_sums(sums: [double::Summed; ALL.len()]) -> Result<Line> {
        let [_, same_x, same_y, ..] = sums.map(|of| of.are_equal);
        let [n, x, y, xx, xy, yy] = sums.map(|of| of.sum);
        let fault = |cause| fault("the points", cause);
        if n.0 < 2.0 {
            return Err(fault("fewer than two; a line needs two"));
        }
        // n times the sums of squares about the means.
        let about = |ab, a, b| double::minus(double::times(n, ab), double::times(a, b)).0;
        let (sxx, mut sxy, mut syy) = (about(xx, x, x), about(xy, x, y), about(yy, y, y));
        if !(sxx.is_finite() && sxy.is_finite() && syy.is_finite()) {
            return Err(fault("squares beyond the largest number; scale x and y down"));
        }
        if same_x || sxx <= 0.0 {
            return Err(fault("all have the same x; no line of y over x goes through them"));
        }
        if same_y {
            (sxy, syy) = (0.0, 0.0);
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

//! The least, mean and greatest temperature of each weather station, from lines of `name;temperature`, as
//! the One Billion Row Challenge asks. Temperatures are whole tenths, so sums are exact. `docs/stations.md`
//! has the formats.

mod extremes;
mod generate;

pub use extremes::{Extremes, Seen, Temperatures};
pub use generate::{ListError, Measurements};

use tegula::{Emit, Identity, Job, Output, Result, Resumable, Sees, Split};

/// The most bytes of a station's name.
const NAME_BYTES_MOST: usize = 100;

/// Temperatures by station.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stations;

impl Job for Stations {
    type Key = [u8];
    type Combine = Extremes;

    fn state(&self) -> Option<&dyn Resumable> {
        Some(self)
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        // Far cheaper at once than name by name; names are checked one by one only if that finds an error.
        let is_text = simdutf8::basic::from_utf8(split.bytes()).is_ok();
        let is_name = |name: &[u8]| {
            (1..=NAME_BYTES_MOST).contains(&name.len()) && (is_text || str::from_utf8(name).is_ok())
        };
        for record in split.records::<2>(b';') {
            match record {
                Ok([name, text]) if is_name(name) => match tenths(text) {
                    Some(tenths) => emit.emit(name, tenths),
                    None => split.bad(name, BAD_TEMPERATURE)?,
                },
                Ok([name, _]) => split.bad(name, BAD_NAME)?,
                Err(line) => split.bad(line, BAD_LINE)?,
            }
        }
        Ok(())
    }
}

impl Resumable for Stations {
    fn identity(&self) -> Identity {
        Identity::new("stations", 1)
    }

    fn sees(&self) -> Sees {
        Sees::Records
    }
}

const BAD_LINE: &str = "a line must be a station's name, one semicolon and a temperature";
const BAD_NAME: &str = "a station's name must be UTF-8 of 1 to 100 bytes";
const BAD_TEMPERATURE: &str =
    "a temperature must be -99.9 to 99.9 with one decimal, as 7.0 or -12.3";

/// Parses a temperature in tenths of a degree: an optional minus, one or two digits, a point, one digit.
/// The form of a line is as good as random, so it decides no branch.
#[inline(always)]
fn tenths(text: &[u8]) -> Option<i16> {
    let len = text.len();
    if !(3..=5).contains(&len) {
        return None;
    }
    let is_negative = text[0] == b'-';
    let digits = len - usize::from(is_negative);
    let has_tens = u8::from(digits == 4);
    let digit = |at: usize| text[at].wrapping_sub(b'0');
    let tens = digit(len.saturating_sub(4)) & 0_u8.wrapping_sub(has_tens);
    let (ones, tenth) = (digit(len - 3), digit(len - 1));
    let is_number = (digits == 3) | (digits == 4);
    let is_number = is_number & (text[len - 2] == b'.') & (tens.max(ones).max(tenth) <= 9);
    let tenths = i16::from(tens) * 100 + i16::from(ones) * 10 + i16::from(tenth);
    let negative = i16::from(is_negative);
    is_number.then_some((tenths ^ -negative) + negative)
}

/// An answer in the challenge's form: `{Abha=-23.0/18.0/59.2, Abidjan=...}` and a newline.
#[derive(Clone, Debug, Default)]
pub struct Text(Vec<u8>);

impl Text {
    /// Adds a station, in the order of names.
    pub fn add(&mut self, name: &[u8], temperatures: Temperatures) {
        self.0.extend_from_slice(if self.0.is_empty() { b"{" } else { b", " });
        self.0.extend_from_slice(name);
        self.0.extend_from_slice(format!("={temperatures}").as_bytes());
    }

    /// Returns the whole text.
    pub fn end(mut self) -> Vec<u8> {
        self.0.extend_from_slice(if self.0.is_empty() { b"{}\n" } else { b"}\n" });
        self.0
    }
}

/// Returns the answer in the challenge's form.
///
/// # Errors
/// Returns the errors of [`Output::for_each`].
pub fn answer(output: &Output<Stations>) -> Result<Vec<u8>> {
    let mut text = Text::default();
    output.for_each(|name, temperatures| text.add(name, temperatures))?;
    Ok(text.end())
}

//! One pair of an answer as one line of named fields.
//!
//! TSV has the fields' bytes unchanged, with tabs between. JSON has no byte strings, so a field that is
//! not UTF-8 is in hexadecimal, under its name with `_hex`.

use crate::flags::Format;
use std::io::Write;
use tegula::{Estimate, Estimates};

/// A line that is being appended to a text.
pub struct Line<'o> {
    format: Format,
    out: &'o mut Vec<u8>,
    is_first: bool,
    /// Estimates the totals, if there are estimates.
    estimates: Option<&'o mut Estimates>,
    begin: usize,
    /// Where the first field ends, if there is a second.
    key_end: Option<usize>,
}

impl<'o> Line<'o> {
    /// Begins a line at the end of a text.
    pub fn begin(format: Format, out: &'o mut Vec<u8>) -> Line<'o> {
        let begin = out.len();
        Line { format, out, is_first: true, estimates: None, begin, key_end: None }
    }

    /// Returns a line in which two fields follow each total: its likely value over the whole input, and
    /// the error of that estimate.
    pub fn estimated(mut self, estimates: &'o mut Estimates) -> Line<'o> {
        self.estimates = Some(estimates);
        self
    }

    /// Adds a whole number that is a total over the input, a count or a sum.
    pub fn total(&mut self, name: &str, value: impl itoa::Integer) -> &mut Self {
        let mut text = itoa::Buffer::new();
        let text = text.format(value);
        self.name(name, "");
        self.out.extend_from_slice(text.as_bytes());
        self.estimate(name, || text.parse().unwrap_or(f64::NAN))
    }

    /// Adds a total that need not be a whole number.
    pub fn float_total(&mut self, name: &str, value: f64) -> &mut Self {
        self.float(name, value).estimate(name, || value)
    }

    fn estimate(&mut self, name: &str, value: impl FnOnce() -> f64) -> &mut Self {
        let Some(estimates) = self.estimates.as_deref_mut() else { return self };
        let mut key = self.out[self.begin..self.key_end.unwrap_or(self.begin)].to_vec();
        key.extend_from_slice(name.as_bytes());
        let Estimate { total, within } = estimates.estimate(&key, value());
        self.rounded(name, "_estimate", Some(total)).rounded(name, "_within", within)
    }

    /// Adds a number, rounded to a whole one.
    fn rounded(&mut self, name: &str, suffix: &str, value: Option<f64>) -> &mut Self {
        self.name(name, suffix);
        // Writing to a vector cannot fail.
        let _ = match (value.filter(|value| value.is_finite()), self.format) {
            (Some(value), _) => write!(self.out, "{value:.0}"),
            (None, Format::Tsv) => write!(self.out, "?"),
            (None, Format::Jsonl) => write!(self.out, "null"),
        };
        self
    }

    /// Adds a field of any bytes.
    pub fn bytes(&mut self, name: &str, bytes: &[u8]) -> &mut Self {
        match self.format {
            Format::Tsv => {
                self.name(name, "");
                self.out.extend_from_slice(bytes);
            }
            Format::Jsonl => self.json_bytes(name, bytes),
        }
        self
    }

    fn json_bytes(&mut self, name: &str, bytes: &[u8]) {
        if let Ok(text) = std::str::from_utf8(bytes) {
            self.name(name, "");
            // A string always has a JSON form, and the vector takes it.
            let _ = serde_json::to_writer(&mut *self.out, text);
            return;
        }
        self.name(name, "_hex");
        self.out.push(b'"');
        for byte in bytes {
            // Writing to a vector cannot fail.
            let _ = write!(self.out, "{byte:02x}");
        }
        self.out.push(b'"');
    }

    /// Adds a field that is a whole number.
    pub fn integer(&mut self, name: &str, value: impl itoa::Integer) -> &mut Self {
        self.name(name, "");
        self.out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
        self
    }

    /// Adds a field that is a list of whole numbers: in TSV with commas between.
    #[inline]
    pub fn integers<I: itoa::Integer>(
        &mut self,
        name: &str,
        values: impl Iterator<Item = I>,
    ) -> &mut Self {
        let (begin, end): (&[u8], &[u8]) = match self.format {
            Format::Tsv => (b"", b""),
            Format::Jsonl => (b"[", b"]"),
        };
        self.name(name, "");
        self.out.extend_from_slice(begin);
        let mut text = itoa::Buffer::new();
        for (place, value) in values.enumerate() {
            if place > 0 {
                self.out.push(b',');
            }
            self.out.extend_from_slice(text.format(value).as_bytes());
        }
        self.out.extend_from_slice(end);
        self
    }

    /// Adds a field that is a number, in the fewest digits that identify it. NaN and infinity are null in
    /// JSON.
    pub fn float(&mut self, name: &str, value: f64) -> &mut Self {
        self.name(name, "");
        // Writing to a vector cannot fail.
        let _ = match self.format {
            Format::Jsonl if !value.is_finite() => write!(self.out, "null"),
            _ => write!(self.out, "{value}"),
        };
        self
    }

    /// Ends the line.
    pub fn end(self) {
        self.out.extend_from_slice(match self.format {
            Format::Tsv => b"\n",
            Format::Jsonl => b"}\n",
        });
    }

    /// Ends the line, and takes its first field away.
    pub(crate) fn end_without_key(self) {
        let second = self.key_end.map_or(self.out.len(), |key_end| key_end + 1);
        self.out.drain(self.begin..second);
        self.out.push(b'\n');
    }

    /// Appends the separator and the name of a field. Names are plain letters and need no escapes.
    fn name(&mut self, name: &str, suffix: &str) {
        let before = self.out.len();
        match self.format {
            Format::Tsv if self.is_first => {}
            Format::Tsv => self.out.push(b'\t'),
            Format::Jsonl => {
                self.out.extend_from_slice(if self.is_first { b"{\"" } else { b",\"" });
                self.out.extend_from_slice(name.as_bytes());
                self.out.extend_from_slice(suffix.as_bytes());
                self.out.extend_from_slice(b"\":");
            }
        }
        if !self.is_first {
            self.key_end.get_or_insert(before);
        }
        self.is_first = false;
    }
}

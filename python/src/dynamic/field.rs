//! Pairs of two fields of each line.

use super::packed::Given;
use tegula::{Result, Split};

/// A field as the key, and another as the value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FieldPairs {
    /// The byte between fields, not a newline.
    pub(crate) separator: u8,
    /// The field that is the key, from 1.
    pub(crate) by: usize,
    /// The field that is the value, from 1.
    pub(crate) value: usize,
    /// Whether values are numbers.
    pub(crate) is_number: bool,
}

impl FieldPairs {
    /// Passes each line's pair to `put`, and refuses lines that have none.
    pub(crate) fn map(
        &self,
        split: &Split<'_>,
        mut put: impl FnMut(&[u8], Given<'_>) -> Result<()>,
    ) -> Result<()> {
        for line in split.lines() {
            let field = |number| field(line, self.separator, number);
            let missing = |number| split.bad(line, format!("there is no field {number}"));
            match (field(self.by), field(self.value)) {
                (Some(key), Some(value)) if !self.is_number => put(key, Given::Bytes(value))?,
                (Some(key), Some(value)) => match number(value) {
                    Some(value) => put(key, Given::Float(value))?,
                    None => split.bad(line, format!("field {} is no number", self.value))?,
                },
                (None, _) => missing(self.by)?,
                (_, None) => missing(self.value)?,
            }
        }
        Ok(())
    }
}

pub(super) fn field(line: &[u8], separator: u8, number: usize) -> Option<&[u8]> {
    let mut rest = line;
    for _ in 1..number {
        rest = &rest[memchr::memchr(separator, rest)? + 1..];
    }
    Some(&rest[..memchr::memchr(separator, rest).unwrap_or(rest.len())])
}

/// Parses a finite decimal number, with or without white space around it.
pub(super) fn number(text: &[u8]) -> Option<f64> {
    let value: f64 = std::str::from_utf8(text.trim_ascii()).ok()?.parse().ok()?;
    value.is_finite().then_some(value)
}

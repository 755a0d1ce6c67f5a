//! Counts lines, or sums a field, by another field. The engine's selection
//! ([`Options::top`](tegula::Options)) then keeps the N largest.

use tegula::{Count, Emit, Identity, Job, Result, Resumable, Sees, Split, Sum};

/// Counts the occurrences of each value of a field.
#[derive(Clone, Copy, Debug)]
pub struct FieldCounts {
    /// The byte between fields, not a newline.
    pub separator: u8,
    /// The field, from 1.
    pub by: usize,
}

/// Sums a field's numbers by the value of another field.
#[derive(Clone, Copy, Debug)]
pub struct FieldSums {
    /// The byte between fields, not a newline.
    pub separator: u8,
    /// The field that is the key, from 1.
    pub by: usize,
    /// The field that is summed, from 1: decimal numbers. A whole sum below 2^53 is exact; any other is the
    /// nearest float of the sum of the nearest floats, in whatever order the lines come.
    pub sum: usize,
}

impl Job for FieldCounts {
    type Key = [u8];
    type Combine = Count;

    const LARGEST_FIRST: bool = true;

    fn state(&self) -> Option<&dyn Resumable> {
        Some(self)
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        for line in split.lines() {
            match field(line, self.separator, self.by) {
                Some(key) => emit.emit(key, ()),
                None => split.bad(line, missing(self.by))?,
            }
        }
        Ok(())
    }
}

impl Resumable for FieldCounts {
    fn identity(&self) -> Identity {
        let identity = Identity::new("top", 1).with("separator", self.separator);
        identity.with("by", self.by)
    }

    fn sees(&self) -> Sees {
        Sees::Records
    }
}

impl Job for FieldSums {
    type Key = [u8];
    type Combine = Sum<f64>;

    fn state(&self) -> Option<&dyn Resumable> {
        Some(self)
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        for line in split.lines() {
            let Some(key) = field(line, self.separator, self.by) else {
                split.bad(line, missing(self.by))?;
                continue;
            };
            match field(line, self.separator, self.sum).map(number) {
                Some(Some(value)) => emit.emit(key, value),
                Some(None) => split.bad(line, format!("field {} is no number", self.sum))?,
                None => split.bad(line, missing(self.sum))?,
            }
        }
        Ok(())
    }
}

impl Resumable for FieldSums {
    fn identity(&self) -> Identity {
        let identity = Identity::new("top", 1).with("separator", self.separator);
        identity.with("by", self.by).with("sum", self.sum)
    }

    fn sees(&self) -> Sees {
        Sees::Records
    }
}

fn field(line: &[u8], separator: u8, number: usize) -> Option<&[u8]> {
    let mut rest = line;
    for _ in 1..number {
        rest = &rest[memchr::memchr(separator, rest)? + 1..];
    }
    Some(&rest[..memchr::memchr(separator, rest).unwrap_or(rest.len())])
}

/// Parses a finite decimal number, with or without white space around it.
fn number(text: &[u8]) -> Option<f64> {
    let value: f64 = std::str::from_utf8(text.trim_ascii()).ok()?.parse().ok()?;
    value.is_finite().then_some(value)
}

fn missing(field: usize) -> String {
    format!("the line has no field {field}")
}

//! Records as they are, and the bytes by which they are put in order.

use super::field::{field, number};
use super::packed::Given;
use crate::csv;
use std::ops::Range;
use tegula::{Cut, Result, Split};

/// Each record, as a key or as a value below what it is ordered by.
#[derive(Clone, Debug)]
pub(crate) struct RecordPairs {
    pub(crate) cut: Cut,
    pub(crate) by: OrderBy,
}

/// The key by which records are ordered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OrderBy {
    /// All of their bytes: they are the keys, and have no values.
    All,
    /// Some of their bytes, of those that there are.
    Bytes(Range<usize>),
    /// A field, from 1, by its bytes or as a number.
    Field { separator: u8, number: usize, is_numeric: bool },
}

impl RecordPairs {
    /// Passes each record's pair to `put`, and refuses records without the field.
    pub(crate) fn map(
        &self,
        split: &Split<'_>,
        mut put: impl FnMut(&[u8], Given<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut one = |record: &[u8]| match &self.by {
            OrderBy::All => put(record, Given::Nothing),
            OrderBy::Bytes(Range { start, end }) => {
                let key = &record[*start.min(&record.len())..*end.min(&record.len())];
                put(key, Given::Bytes(record))
            }
            OrderBy::Field { separator, number: place, is_numeric } => {
                let Some(key) = field(record, *separator, *place) else {
                    return split.bad(record, format!("there is no field {place}"));
                };
                if !is_numeric {
                    return put(key, Given::Bytes(record));
                }
                match number(key) {
                    Some(number) => put(&ordered(number, exact(key, number)), Given::Bytes(record)),
                    None => split.bad(record, format!("field {place} is no number")),
                }
            }
        };
        match self.cut {
            Cut::Fixed(bytes) => {
                let bytes = usize::try_from(bytes).unwrap_or(usize::MAX).max(1);
                split.bytes().chunks(bytes).try_for_each(one)
            }
            Cut::Delimiter(delimiter) => split.delimited(&delimiter).try_for_each(one),
            Cut::After(_) => split.fields().try_for_each(one),
            Cut::Framed(_) => csv::records(split.bytes()).try_for_each(one),
            Cut::Whole => one(split.bytes()),
            _ => split.lines().try_for_each(one),
        }
    }
}

/// Returns how far an integer is from the float that it is read as; 0 of what is no integer of 64 bits.
fn exact(text: &[u8], float: f64) -> i64 {
    let int = std::str::from_utf8(text.trim_ascii()).ok().and_then(|text| text.parse::<i64>().ok());
    int.map_or(0, |int| i64::try_from(i128::from(int) - float as i128).unwrap_or(0))
}

/// Returns bytes that are in the order of numbers: a float, and what an integer is more than it.
fn ordered(float: f64, more: i64) -> [u8; 16] {
    let bits = (float + 0.0).to_bits();
    let bits = if bits >> 63 == 1 { !bits } else { bits ^ 1 << 63 };
    let mut key = [0; 16];
    key[..8].copy_from_slice(&bits.to_be_bytes());
    key[8..].copy_from_slice(&(more.cast_unsigned() ^ 1 << 63).to_be_bytes());
    key
}

//! Pairs of two fields of each line of JSON.

use super::packed::Given;
use std::borrow::Cow;
use tegula::{Result, Split};
use tegula_apps::json::{JsonLine, JsonPath};

/// A field as the key, and another as the value.
#[derive(Clone, Debug)]
pub(crate) struct JsonPairs {
    pub(crate) by: JsonPath,
    pub(crate) value: JsonPath,
    /// Whether values are numbers.
    pub(crate) is_number: bool,
}

enum Value<'s> {
    Number(f64),
    Bytes(Cow<'s, [u8]>),
}

impl JsonPairs {
    /// Passes each line's pair to `put`, and refuses lines that have none.
    pub(crate) fn map(
        &self,
        split: &Split<'_>,
        mut put: impl FnMut(&[u8], Given<'_>) -> Result<()>,
    ) -> Result<()> {
        for line in split.lines() {
            let pair = JsonLine::read(line).and_then(|line| {
                let key = line.bytes(&self.by)?;
                let value = match self.is_number {
                    true => Value::Number(line.number(&self.value)?),
                    false => Value::Bytes(line.bytes(&self.value)?),
                };
                Ok((key, value))
            });
            match pair {
                Ok((key, Value::Number(number))) => put(&key, Given::Float(number))?,
                Ok((key, Value::Bytes(bytes))) => put(&key, Given::Bytes(&bytes))?,
                Err(cause) => split.bad(line, cause)?,
            }
        }
        Ok(())
    }
}

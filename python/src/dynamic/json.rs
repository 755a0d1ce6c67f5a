//! Pairs of two fields of each line of JSON.

use super::packed::Given;
use std::borrow::Cow;
use tegula::{Result, Split};
use tegula_apps::json::{JsonLines, JsonPath};

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
        let lines = JsonLines::of(split.bytes());
        for line in split.lines() {
            let pair = lines.fields(line, [&self.by, &self.value]).and_then(|[key, value]| {
                let value = match self.is_number {
                    true => Value::Number(value.number()?),
                    false => Value::Bytes(value.bytes()?),
                };
                Ok((key.bytes()?, value))
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

//! Objects of JSON whose values keep the text in which they came. The key of a pair is its first field, and its numbers
//! may have more digits than a float: `serde_json::Value` keeps neither.

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt;

/// An object, whose own fields are in the order of their names.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Fields(BTreeMap<String, Box<RawValue>>);

impl Fields {
    /// Sets a field. A value that JSON cannot hold is left out.
    pub(crate) fn insert(&mut self, name: &str, value: &impl Serialize) {
        self.0.extend(to_raw_value(value).ok().map(|text| (name.to_owned(), text)));
    }

    /// Sets all fields of another object.
    pub(crate) fn extend(&mut self, other: Fields) {
        self.0.extend(other.0);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<Map<String, Value>> for Fields {
    fn from(fields: Map<String, Value>) -> Fields {
        let mut all = Fields::default();
        fields.iter().for_each(|(name, value)| all.insert(name, value));
        all
    }
}

impl fmt::Display for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

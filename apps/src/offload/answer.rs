//! The answer of a kernel: the values of its words, in the order of the spec.

use super::{By, ByOrder, Keys, Number, Spec};
use crate::extreme::word;
use std::cmp::Ordering;

/// The key by which values were combined.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// An index, or the number that is a key of a table.
    Number(i128),
    /// The bytes that are a key of a table.
    Bytes(Vec<u8>),
}

/// A value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A whole number.
    Whole(i128),
    /// A float; floats of 32 bits are exact in it.
    Float(f64),
}

impl Value {
    /// Compares two values; floats by number, and 0 is greater than -0.
    fn order(&self, other: &Value) -> Ordering {
        match (self, other) {
            (Value::Whole(a), Value::Whole(b)) => a.cmp(b),
            (Value::Float(a), Value::Float(b)) => a.total_cmp(b),
            (Value::Whole(_), Value::Float(_)) => Ordering::Less,
            (Value::Float(_), Value::Whole(_)) => Ordering::Greater,
        }
    }
}

/// The answer of a kernel.
#[derive(Clone, Debug)]
pub struct Answer {
    spec: Spec,
    words: Words,
}

/// The words of an answer.
#[derive(Clone, Debug)]
pub(super) enum Words {
    Array(Vec<u64>),
    Table(Vec<(Vec<u8>, u64)>),
}

impl Number {
    /// Returns the bits of a float type; 0 for whole numbers.
    pub(super) fn float_bits(self) -> u32 {
        match self {
            Number::U64 | Number::I64 => 0,
            Number::F32 => 32,
            Number::F64 => 64,
        }
    }
}

impl Spec {
    /// Returns the word for a value in the partial of a least or greatest. A float of 32 bits is given as
    /// one of 64, which must be finite.
    pub fn rank(&self, value: Value) -> u64 {
        let word = match (self.number, value) {
            (Number::U64, Value::Whole(value)) => value as u64,
            (Number::I64, Value::Whole(value)) => word::of_int(value as i64),
            (Number::F32, value) => {
                let bits = (value.float() as f32).to_bits();
                u64::from(if bits >> 31 == 1 { !bits } else { bits | 1 << 31 })
            }
            (Number::F64, value) | (_, value @ Value::Float(_)) => word::of_float(value.float()),
        };
        if self.combine == By::Min { !word } else { word }
    }

    /// Returns the value of a word.
    fn value(&self, word: u64) -> Value {
        let word = if self.combine == By::Min { !word } else { word };
        match (self.number, self.combine) {
            (Number::U64, _) => Value::Whole(word.into()),
            (Number::I64, By::Sum) => Value::Whole(word.cast_signed().into()),
            (Number::I64, _) => Value::Whole(word::int(word).into()),
            (Number::F32, _) => {
                let word = word as u32;
                let bits = if word >> 31 == 1 { word & !(1 << 31) } else { !word };
                Value::Float(f32::from_bits(bits).into())
            }
            (Number::F64, _) => Value::Float(word::float(word)),
        }
    }

    /// Returns the key of a table entry's bytes.
    fn key(&self, bytes: &[u8]) -> Key {
        match (self.keys, bytes.try_into().map(u64::from_le_bytes)) {
            (Some(Keys::U64), Ok(number)) => Key::Number(number.into()),
            (Some(Keys::I64), Ok(number)) => Key::Number(number.cast_signed().into()),
            _ => Key::Bytes(bytes.to_vec()),
        }
    }

    /// Returns whether an index is left out, because its word shows that no value was combined there.
    fn is_left_out(&self, word: u64) -> bool {
        // No float has this word.
        word == 0 && (self.skip_empty || self.number.float_bits() > 0)
    }
}

impl Value {
    fn float(self) -> f64 {
        match self {
            Value::Whole(value) => value as f64,
            Value::Float(value) => value,
        }
    }
}

impl Answer {
    pub(super) fn new(spec: &Spec, words: Words) -> Answer {
        Answer { spec: spec.clone(), words }
    }

    /// Returns indices or keys with their values, selected and ordered as the spec says. Linear in the
    /// values, plus sorting.
    pub fn pairs(&self) -> Vec<(Key, Value)> {
        let Answer { spec, words } = self;
        let mut pairs: Vec<(Key, Value)> = match words {
            Words::Array(words) => {
                let shown = words.iter().zip(0..).filter(|&(&word, _)| !spec.is_left_out(word));
                shown.map(|(&word, index)| (Key::Number(index), spec.value(word))).collect()
            }
            Words::Table(pairs) => {
                let mut pairs: Vec<_> =
                    pairs.iter().map(|(key, word)| (spec.key(key), spec.value(*word))).collect();
                pairs.sort_by(|a, b| a.0.cmp(&b.0));
                pairs.retain(|(_, value)| !spec.skip_empty || *value != spec.value(0));
                pairs
            }
        };
        if spec.order == ByOrder::Value {
            pairs.sort_by(|a, b| b.1.order(&a.1).then_with(|| a.0.cmp(&b.0)));
        }
        pairs
    }

    /// Returns whether the answer is that of a table.
    pub fn is_table(&self) -> bool {
        self.spec.keys.is_some()
    }

    /// Returns the divisor of values in the output.
    pub fn scale(&self) -> Option<u64> {
        self.spec.scale
    }
}

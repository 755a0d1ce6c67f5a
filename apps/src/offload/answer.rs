//! The answer of a kernel: the values of its words, in the order of the spec. The engine holds it, so nothing here has
//! as many bytes as it has keys.

use super::{By, ByOrder, Keys, Number, Spec};
use crate::extreme::word;
use std::cmp::Ordering;
use std::fmt;
use tegula::Result;

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

/// The answer of a kernel, in the order of its spec.
pub struct Answer {
    spec: Spec,
    words: Words,
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer").field("spec", &self.spec).finish_non_exhaustive()
    }
}

/// The keys of an answer that the engine holds, in order, each with its word. They can be seen several times.
pub(super) enum Words {
    Array(Box<EachIndex>),
    Table(Box<EachKey>),
}

type EachIndex = dyn Fn(&mut SeeIndex<'_>) -> Result<()> + Send + Sync;
type SeeIndex<'s> = dyn FnMut(u64, u64) -> Result<()> + 's;
type EachKey = dyn Fn(&mut SeeKey<'_>) -> Result<()> + Send + Sync;
type SeeKey<'s> = dyn FnMut(&[u8], u64) -> Result<()> + 's;

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

    /// Compares words for an order by value: the largest value first.
    pub(super) fn by_value(&self, a: u64, b: u64) -> Ordering {
        self.value(b).order(&self.value(a))
    }

    /// Returns the words of one bit for each index that an order by value needs, because indices without any value are
    /// in the answer.
    pub(super) fn mark_words(&self) -> usize {
        let is_needed = self.keys.is_none() && self.order == ByOrder::Value && !self.is_left_out(0);
        if is_needed { self.values.div_ceil(64) as usize } else { 0 }
    }

    /// Puts the key of a table entry's bytes into `key`.
    fn put_key(&self, bytes: &[u8], key: &mut Key) {
        let number = || bytes.try_into().map(u64::from_be_bytes);
        match (self.keys, number(), key) {
            (Some(Keys::U64), Ok(number), key) => *key = Key::Number(number.into()),
            (Some(Keys::I64), Ok(number), key) => *key = Key::Number(word::int(number).into()),
            (_, _, Key::Bytes(held)) => {
                held.clear();
                held.extend_from_slice(bytes);
            }
            (_, _, key) => *key = Key::Bytes(bytes.to_vec()),
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

    /// Shows indices or keys with their values, selected and ordered as the spec says, until `see` fails. They are
    /// shown from where the engine has them, in memory or on disk.
    ///
    /// # Errors
    /// Those of `see` and of the disk.
    pub fn for_each(&self, mut see: impl FnMut(&Key, Value) -> Result<()>) -> Result<()> {
        let Answer { spec, words } = self;
        match words {
            Words::Table(each) => {
                let mut held = Key::Bytes(Vec::new());
                each(&mut |key, word| {
                    let value = spec.value(word);
                    if spec.skip_empty && value == spec.value(0) {
                        return Ok(());
                    }
                    spec.put_key(key, &mut held);
                    see(&held, value)
                })
            }
            Words::Array(each) => {
                let mut see = |index: u64, word| see(&Key::Number(index.into()), spec.value(word));
                match spec.order {
                    _ if spec.is_left_out(0) => each(&mut |index, word| {
                        if word == 0 { Ok(()) } else { see(index, word) }
                    }),
                    ByOrder::Index => self.all_by_index(each, &mut see),
                    ByOrder::Value => self.all_by_value(each, &mut see),
                }
            }
        }
    }

    /// Shows all indices ascending; those that are not among the words have 0.
    fn all_by_index(&self, each: &EachIndex, see: &mut SeeIndex<'_>) -> Result<()> {
        let mut next = 0;
        each(&mut |index, word| {
            (next..index).try_for_each(|missing| see(missing, 0))?;
            next = index + 1;
            see(index, word)
        })?;
        (next..self.spec.values).try_for_each(|missing| see(missing, 0))
    }

    /// Shows all indices by value. Those without any value are not among the words, and have their place in the order:
    /// one pass marks the others.
    fn all_by_value(&self, each: &EachIndex, see: &mut SeeIndex<'_>) -> Result<()> {
        let mut marks = vec![0_u64; self.spec.mark_words()];
        each(&mut |index, word| {
            marks[index as usize / 64] |= u64::from(word != 0) << (index % 64);
            Ok(())
        })?;
        let is_empty = |index: &u64| marks[*index as usize / 64] >> (index % 64) & 1 == 0;
        let mut empty = Some((0..self.spec.values).filter(is_empty));
        each(&mut |index, word| {
            if word == 0 {
                return Ok(());
            }
            if self.spec.by_value(0, word).is_lt()
                && let Some(mut empty) = empty.take()
            {
                empty.try_for_each(|index| see(index, 0))?;
            }
            see(index, word)
        })?;
        empty.into_iter().flatten().try_for_each(|index| see(index, 0))
    }

    /// Returns all of them, in memory.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn pairs(&self) -> Result<Vec<(Key, Value)>> {
        let mut pairs = Vec::new();
        self.for_each(|key, value| {
            pairs.push((key.clone(), value));
            Ok(())
        })?;
        Ok(pairs)
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

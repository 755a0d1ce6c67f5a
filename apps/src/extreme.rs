//! The least or the greatest of a key's values. Their type is known when the program runs: one combine for all of
//! them, because the engine is compiled anew for each combine.

use std::cmp::Ordering;
use tegula::Combine;

/// Numbers as words, which are in the order of the numbers.
pub(crate) mod word {
    const SIGN: u64 = 1 << 63;

    pub(crate) fn of_int(value: i64) -> u64 {
        value.cast_unsigned() ^ SIGN
    }

    pub(crate) fn int(word: u64) -> i64 {
        (word ^ SIGN).cast_signed()
    }

    /// In the order of [`f64::total_cmp`].
    pub(crate) fn of_float(value: f64) -> u64 {
        let bits = value.to_bits();
        if bits & SIGN == 0 { bits | SIGN } else { !bits }
    }

    pub(crate) fn float(word: u64) -> f64 {
        f64::from_bits(if word & SIGN == 0 { !word } else { word ^ SIGN })
    }
}

/// Which value of a key is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// The least.
    Least,
    /// The greatest.
    Greatest,
}

/// The type of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Form {
    /// Words of which the order alone is known.
    Word,
    Int,
    Float,
}

/// The least or the greatest of a key's values: all values of a job are of one end and one type.
///
/// Byte form: 0 without values, else 1, and 1 more if it is the greatest, and 2 more of integers, 4 of floats; then
/// the value's word, which is in the order of values, as 8 bytes, little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Extreme {
    /// The word, or for the least value its complement: the greatest is kept.
    kept: u64,
    /// `None` without values, which is less than any.
    of: Option<(End, Form)>,
}

impl Extreme {
    pub(crate) fn new(end: End, form: Form, word: u64) -> Extreme {
        Extreme { kept: end.turned(word), of: Some((end, form)) }
    }

    /// Makes one of an integer.
    #[must_use]
    pub fn of_int(end: End, value: i64) -> Extreme {
        Extreme::new(end, Form::Int, word::of_int(value))
    }

    /// Makes one of a float.
    #[must_use]
    pub fn of_float(end: End, value: f64) -> Extreme {
        Extreme::new(end, Form::Float, word::of_float(value))
    }

    /// Returns the word that was kept.
    pub(crate) fn word(self) -> u64 {
        self.of.map_or(self.kept, |(end, _)| end.turned(self.kept))
    }

    pub(crate) fn form(self) -> Form {
        self.of.map_or(Form::Word, |(_, form)| form)
    }
}

impl End {
    fn turned(self, word: u64) -> u64 {
        if self == End::Least { !word } else { word }
    }
}

impl Combine for Extreme {
    type Value = Extreme;
    type Accumulator = Extreme;
    type Output = Extreme;

    #[inline]
    fn identity() -> Extreme {
        Extreme { kept: 0, of: None }
    }

    #[inline]
    fn absorb(into: &mut Extreme, value: Extreme) {
        *into = value.max(*into);
    }

    #[inline]
    fn merge(into: &mut Extreme, other: &Extreme) {
        Self::absorb(into, *other);
    }

    fn finish(accumulator: &Extreme) -> Extreme {
        *accumulator
    }

    fn rank(a: &Extreme, b: &Extreme) -> Ordering {
        a.word().cmp(&b.word())
    }

    fn encode(accumulator: &Extreme, out: &mut Vec<u8>) {
        out.push(accumulator.of.map_or(0, |(end, form)| 1 + end as u8 + 2 * form as u8));
        out.extend_from_slice(&accumulator.word().to_le_bytes());
    }

    fn decode(bytes: &mut &[u8]) -> Option<Extreme> {
        let (form, rest) = bytes.split_first_chunk::<9>()?;
        let (&[tag], word) = form.split_first_chunk()?;
        let word = u64::from_le_bytes(word.try_into().ok()?);
        *bytes = rest;
        let Some(tag) = tag.checked_sub(1) else {
            return (word == 0).then(Self::identity);
        };
        let form = *[Form::Word, Form::Int, Form::Float].get(usize::from(tag / 2))?;
        Some(Extreme::new(if tag % 2 == 0 { End::Least } else { End::Greatest }, form, word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read_back(extreme: Extreme) -> Option<Extreme> {
        let mut form = Vec::new();
        Extreme::encode(&extreme, &mut form);
        Extreme::decode(&mut &form[..])
    }

    proptest! {
        #[test]
        fn words_are_in_the_order_of_numbers(a: i64, b: i64, bits: [u64; 2]) {
            let [x, y] = bits.map(f64::from_bits);
            prop_assert_eq!(word::of_int(a).cmp(&word::of_int(b)), a.cmp(&b));
            prop_assert_eq!(word::of_float(x).cmp(&word::of_float(y)), x.total_cmp(&y));
            prop_assert_eq!(word::int(word::of_int(a)), a);
            prop_assert_eq!(word::float(word::of_float(x)).to_bits(), bits[0]);
        }

        #[test]
        fn the_least_and_the_greatest_are_kept(
            words in prop::collection::vec(prop_oneof![Just(0), Just(u64::MAX), any::<u64>()], 1..9),
            cut in 0_usize..9,
        ) {
            for (end, expected) in [(End::Least, words.iter().min()), (End::Greatest, words.iter().max())] {
                let (left, right) = words.split_at(cut.min(words.len()));
                let [mut left, right] = [left, right].map(|part| {
                    let mut kept = Extreme::identity();
                    part.iter().for_each(|&word| Extreme::absorb(&mut kept, Extreme::new(end, Form::Word, word)));
                    assert_eq!(read_back(kept), Some(kept));
                    kept
                });
                Extreme::merge(&mut left, &right);
                prop_assert_eq!(Some(&left.word()), expected);
                prop_assert_eq!(left.of, Some((end, Form::Word)));
            }
        }

        #[test]
        fn a_greater_value_ranks_higher(a: u64, b: u64) {
            for end in [End::Least, End::Greatest] {
                for one in [Extreme::of_int(end, a as i64), Extreme::of_float(end, f64::from_bits(a))] {
                    prop_assert_eq!(read_back(one), Some(one));
                }
                let rank = Extreme::rank(&Extreme::new(end, Form::Word, a), &Extreme::new(end, Form::Word, b));
                prop_assert_eq!(rank, a.cmp(&b));
            }
        }
    }
}

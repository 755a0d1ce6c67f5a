//! Fields of keys, as Hadoop's `KeyFieldHelper` reads `-k` options and finds the fields they name: counted from 1,
//! `-kF.C,F.C` with `n` for numeric order and `r` for the reverse.

use crate::conf::refused;
use std::ops::Range;
use tegula::Result;

/// A part of a key, from a character of a field to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyField {
    first_field: usize,
    first_char: usize,
    /// 0: to the end of the key.
    last_field: usize,
    /// 0: to the end of the field.
    last_char: usize,
    pub(crate) is_numeric: bool,
    pub(crate) is_reverse: bool,
}

/// The fields of keys that an option names.
#[derive(Clone, Debug)]
pub(crate) struct KeyFields {
    separator: Vec<u8>,
    fields: Vec<KeyField>,
    /// Whether there was a `-k`; else the whole key is one field.
    has_fields: bool,
}

const WHOLE: KeyField = KeyField {
    first_field: 1,
    first_char: 1,
    last_field: 0,
    last_char: 0,
    is_numeric: false,
    is_reverse: false,
};

impl KeyFields {
    /// Reads the options of a comparator or partitioner, such as `-k1,1 -k2,2nr`.
    ///
    /// # Errors
    /// [`Error::Option`](tegula::Error::Option) for a `-k` that is none.
    pub(crate) fn parse(property: &'static str, separator: &[u8], text: &str) -> Result<KeyFields> {
        let (mut fields, mut all) = (Vec::new(), WHOLE);
        let mut words = text.split_ascii_whitespace();
        while let Some(word) = words.next() {
            match word {
                "-n" => all.is_numeric = true,
                "-r" => all.is_reverse = true,
                "-nr" | "-rn" => (all.is_numeric, all.is_reverse) = (true, true),
                _ => {
                    let Some(field) = word.strip_prefix("-k") else { continue };
                    let field =
                        if field.is_empty() { words.next().unwrap_or_default() } else { field };
                    let field = parse_field(field).ok_or_else(|| {
                        let cause =
                            format!("-k{field}: write -kF[.C][nr][,F[.C][nr]], counted from 1");
                        refused(property, cause)
                    });
                    fields.push(field?);
                }
            }
        }
        let has_fields = !fields.is_empty();
        for field in &mut fields {
            if !field.is_numeric && !field.is_reverse {
                (field.is_numeric, field.is_reverse) = (all.is_numeric, all.is_reverse);
            }
        }
        if !has_fields {
            fields.push(all);
        }
        Ok(KeyFields { separator: separator.to_vec(), fields, has_fields })
    }

    /// Returns the first fields of keys, to the `last`.
    pub(crate) fn first(separator: &[u8], last: usize) -> KeyFields {
        let fields = vec![KeyField { last_field: last, ..WHOLE }];
        KeyFields { separator: separator.to_vec(), fields, has_fields: true }
    }

    /// Shows each named part of a key with what was said of it: `None` if the key does not have it.
    pub(crate) fn each(&self, key: &[u8], mut see: impl FnMut(&KeyField, Option<&[u8]>)) {
        let mut ends = Vec::new();
        if self.has_fields {
            let mut from = 0;
            while let Some(at) = memchr::memmem::find(&key[from..], &self.separator) {
                ends.push(from..from + at);
                from += at + self.separator.len();
            }
            ends.push(from..key.len());
        } else {
            ends.push(0..key.len());
        }
        for field in &self.fields {
            see(field, field.range(&ends, key.len()).map(|range| &key[range]));
        }
    }
}

impl KeyField {
    fn range(&self, fields: &[Range<usize>], len: usize) -> Option<Range<usize>> {
        let first = fields.get(self.first_field.checked_sub(1)?)?.start + self.first_char - 1;
        if first >= len {
            return None;
        }
        let last = match self.last_field.checked_sub(1).map(|last| fields.get(last)) {
            Some(Some(field)) if self.last_char == 0 => field.end,
            Some(Some(field)) => (field.start + self.last_char).min(len),
            Some(None) | None => len,
        };
        Some(first..last.max(first))
    }
}

fn parse_field(text: &str) -> Option<KeyField> {
    let mut field = WHOLE;
    let (first, last) = match text.split_once(',') {
        Some((first, last)) => (first, Some(last)),
        None => (text, None),
    };
    (field.first_field, field.first_char) = position(first, 1, &mut field)?;
    if field.first_field == 0 || field.first_char == 0 {
        return None;
    }
    if let Some(last) = last {
        (field.last_field, field.last_char) = position(last, 0, &mut field)?;
    }
    Some(field)
}

/// Reads `F[.C][nr]`.
fn position(text: &str, usual_char: usize, field: &mut KeyField) -> Option<(usize, usize)> {
    let numbers = text.trim_end_matches(['n', 'r']);
    for letter in text[numbers.len()..].chars() {
        match letter {
            'n' => field.is_numeric = true,
            _ => field.is_reverse = true,
        }
    }
    match numbers.split_once('.') {
        Some((number, character)) => Some((number.parse().ok()?, character.parse().ok()?)),
        None => Some((numbers.parse().ok()?, usual_char)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_keys_are_found_as_hadoop_finds_them() {
        let cases: &[(&str, &str, &[Option<&str>])] = &[
            ("", "a.b", &[Some("a.b")]),
            ("-r", "a.b", &[Some("a.b")]),
            ("-k1,1", "a.b", &[Some("a")]),
            ("-k2", "a.b.c", &[Some("b.c")]),
            ("-k2,2", "a.b.c", &[Some("b")]),
            ("-k 3,3 -k1,1", "a.b.c", &[Some("c"), Some("a")]),
            ("-k4,4", "a.b.c", &[None]),
            ("-k1.2,1.3", "abcd.e", &[Some("bc")]),
            ("-k1,9", "a.b", &[Some("a.b")]),
            ("-k2,2", "a.", &[None]),
        ];
        for (options, key, expected) in cases {
            let fields = KeyFields::parse("p", b".", options).unwrap();
            let mut found = Vec::new();
            fields.each(key.as_bytes(), |_, part| {
                found.push(part.map(|part| String::from_utf8_lossy(part).into_owned()));
            });
            let expected: Vec<_> = expected.iter().map(|part| part.map(str::to_owned)).collect();
            assert_eq!(found, expected, "{options} of {key}");
        }
    }

    #[test]
    fn what_is_said_of_all_holds_for_parts_of_which_nothing_is_said() {
        let fields = KeyFields::parse("p", b"\t", "-n -k1,1 -k2,2r").unwrap();
        let said: Vec<_> = fields.fields.iter().map(|it| (it.is_numeric, it.is_reverse)).collect();
        assert_eq!(said, [(true, false), (false, true)]);
        assert!(KeyFields::parse("p", b"\t", "-kx").is_err());
    }
}

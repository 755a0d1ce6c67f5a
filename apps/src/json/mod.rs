//! Fields of JSON lines: counts the values of a field, adds up the numbers of another, or counts the words of a
//! text. The crate sonic-rs checks the whole of each line and finds the field; a line that is no JSON, or has no
//! such field, is a bad record.

use crate::unicode_words::{self, Word};
use crate::word_count::Words;
use sonic_rs::{JsonValueTrait, LazyValue};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use tegula::tokenize::Tokens;
use tegula::{Count, Emit, Identity, Job, Result, Resumable, Sees, Split, Sum, WordClass};

/// The place of a value in a JSON line: keys of objects and indices of arrays, between dots. A backslash before
/// a dot or a backslash makes it part of a key. `request.headers.2` is `line["request"]["headers"][2]` if that
/// is an array, and `line["request"]["headers"]["2"]` if it is an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonPath {
    text: String,
    steps: Vec<Step>,
}

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Step {
    key: String,
    /// If the key may be an index of an array.
    index: Option<usize>,
}

impl FromStr for JsonPath {
    type Err = String;

    fn from_str(text: &str) -> Result<JsonPath, String> {
        let mut keys = vec![String::new()];
        let mut characters = text.chars();
        while let Some(c) = characters.next() {
            let last = keys.len() - 1;
            match c {
                '.' => keys.push(String::new()),
                '\\' => match characters.next() {
                    Some(c @ ('.' | '\\')) => keys[last].push(c),
                    _ => return Err("after a backslash write a dot or a backslash".to_owned()),
                },
                c => keys[last].push(c),
            }
        }
        if keys.iter().any(String::is_empty) {
            return Err("write keys with dots between them, such as user.id".to_owned());
        }
        let steps = keys.into_iter().map(|key| {
            let is_number = key.bytes().all(|byte| byte.is_ascii_digit());
            let index = if is_number { key.parse().ok() } else { None };
            Step { key, index }
        });
        Ok(JsonPath { text: text.to_owned(), steps: steps.collect() })
    }
}

impl fmt::Display for JsonPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A line that was checked to be JSON, all of it.
#[derive(Debug)]
pub struct JsonLine<'s> {
    line: &'s [u8],
    all: LazyValue<'s>,
}

impl<'s> JsonLine<'s> {
    /// Checks a line. Linear in its length.
    ///
    /// # Errors
    /// Returns the cause if it is no JSON.
    pub fn read(line: &'s [u8]) -> Result<JsonLine<'s>, String> {
        let text = simdutf8::basic::from_utf8(line);
        let text = text.map_err(|_| "the line is no UTF-8, as JSON is".to_owned())?;
        // This checks the text after a field, too.
        let all = sonic_rs::from_str::<LazyValue<'s>>(text);
        Ok(JsonLine { line, all: all.map_err(|_| "the line is no JSON".to_owned())? })
    }

    /// Returns a field as bytes: the content of a string, the text of anything else.
    ///
    /// # Errors
    /// Returns the cause if the line lacks the field, or if an escape in it is no character.
    pub fn bytes(&self, field: &JsonPath) -> Result<Cow<'s, [u8]>, String> {
        self.find(field, |value| match value.as_raw_str() {
            string if string.starts_with('"') => self.content(field, value),
            other => Ok(Cow::Borrowed(self.same(other))),
        })
    }

    /// Returns the content of a field that is a string.
    fn text(&self, field: &JsonPath) -> Result<Cow<'s, [u8]>, String> {
        self.find(field, |value| match value.as_raw_str().starts_with('"') {
            true => self.content(field, value),
            false => Err(format!("the field {field} is no string")),
        })
    }

    /// Returns a field that is a number.
    ///
    /// # Errors
    /// Returns the cause if the line lacks the field, or if that is no finite number.
    pub fn number(&self, field: &JsonPath) -> Result<f64, String> {
        self.find(field, |value| {
            let number = value.as_f64().filter(|number| number.is_finite());
            number.ok_or_else(|| format!("the field {field} is no number"))
        })
    }

    /// Finds a field and hands it to `see`.
    fn find<R>(
        &self,
        field: &JsonPath,
        see: impl FnOnce(&LazyValue<'_>) -> Result<R, String>,
    ) -> Result<R, String> {
        let (mut see, mut seen) = (Some(see), None);
        find_in(&self.all, &field.steps, &mut |value| seen = see.take().map(|see| see(value)));
        seen.unwrap_or_else(|| Err(format!("the line has no field {field}")))
    }

    fn content(&self, field: &JsonPath, string: &LazyValue<'_>) -> Result<Cow<'s, [u8]>, String> {
        let raw = string.as_raw_str();
        if memchr::memchr(b'\\', raw.as_bytes()).is_none() {
            return Ok(Cow::Borrowed(self.same(&raw[1..raw.len() - 1])));
        }
        let content = string.as_str().map(|content| Cow::Owned(content.as_bytes().to_vec()));
        content.ok_or_else(|| format!("the field {field} has an escape that is no character"))
    }

    /// Returns a part of the line as bytes of the line.
    fn same(&self, part: &str) -> &'s [u8] {
        let start = part.as_ptr().addr() - self.line.as_ptr().addr();
        &self.line[start..start + part.len()]
    }
}

/// Follows steps into a value.
fn find_in(value: &LazyValue<'_>, steps: &[Step], see: &mut dyn FnMut(&LazyValue<'_>)) {
    let Some((first, rest)) = steps.split_first() else { return see(value) };
    let next = match first.index {
        Some(index) if value.is_array() => value.get(index),
        _ => value.get(first.key.as_str()),
    };
    next.iter().for_each(|next| find_in(next, rest, see));
}

/// Counts the lines with each value of a field.
#[derive(Clone, Debug)]
pub struct JsonCounts {
    /// The field.
    pub by: JsonPath,
}

/// Adds up the numbers of a field for each value of another.
#[derive(Clone, Debug)]
pub struct JsonSums {
    /// The field that is the key.
    pub by: JsonPath,
    /// The field that is added up. The sum is the same in whatever order the lines come.
    pub sum: JsonPath,
}

/// Counts the words in a field's text.
#[derive(Clone, Debug)]
pub struct JsonWords {
    /// The field.
    pub field: JsonPath,
    /// The definition of a word.
    pub words: Words,
}

impl Job for JsonCounts {
    type Key = [u8];
    type Combine = Count;

    const LARGEST_FIRST: bool = true;

    fn state(&self) -> Option<&dyn Resumable> {
        Some(self)
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        for line in split.lines() {
            match JsonLine::read(line).and_then(|line| line.bytes(&self.by)) {
                Ok(Cow::Borrowed(key)) => emit.emit(key, ()),
                Ok(Cow::Owned(key)) => emit.emit_copied(&key, ()),
                Err(cause) => split.bad(line, cause)?,
            }
        }
        Ok(())
    }
}

impl Resumable for JsonCounts {
    fn identity(&self) -> Identity {
        Identity::new("top", 1).with("json", &self.by)
    }

    fn sees(&self) -> Sees {
        Sees::Records
    }
}

impl Job for JsonSums {
    type Key = [u8];
    type Combine = Sum<f64>;

    fn state(&self) -> Option<&dyn Resumable> {
        Some(self)
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        for line in split.lines() {
            let pair = JsonLine::read(line)
                .and_then(|line| Ok((line.bytes(&self.by)?, line.number(&self.sum)?)));
            match pair {
                Ok((Cow::Borrowed(key), value)) => emit.emit(key, value),
                Ok((Cow::Owned(key), value)) => emit.emit_copied(&key, value),
                Err(cause) => split.bad(line, cause)?,
            }
        }
        Ok(())
    }
}

impl Resumable for JsonSums {
    fn identity(&self) -> Identity {
        Identity::new("top", 1).with("json", &self.by).with("sum", &self.sum)
    }

    fn sees(&self) -> Sees {
        Sees::Records
    }
}

impl Job for JsonWords {
    type Key = [u8];
    type Combine = Count;

    const LARGEST_FIRST: bool = true;

    fn state(&self) -> Option<&dyn Resumable> {
        Some(self)
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        for line in split.lines() {
            match JsonLine::read(line).and_then(|line| line.text(&self.field)) {
                Ok(Cow::Borrowed(text)) if self.words == Words::Whitespace => {
                    emit.emit_each(Tokens::new(WordClass::Whitespace, text), ());
                }
                Ok(text) => self.count(&text, emit),
                Err(cause) => split.bad(line, cause)?,
            }
        }
        Ok(())
    }
}

impl Resumable for JsonWords {
    fn identity(&self) -> Identity {
        let identity = Identity::new("wordcount", 1).with("words", self.words.name());
        identity.with("json", &self.field)
    }

    fn sees(&self) -> Sees {
        Sees::Records
    }
}

impl JsonWords {
    /// Counts words of a text that is not in the split. A split is not folded as a whole: keys of objects are
    /// found with their case.
    fn count<'s>(&self, text: &[u8], emit: &mut impl Emit<'s, Self>) {
        let copied = |word: &[u8]| emit.emit_copied(word, ());
        match self.words {
            Words::Whitespace => Tokens::new(WordClass::Whitespace, text).for_each(copied),
            Words::Alpha => {
                Tokens::new(WordClass::Alpha, &text.to_ascii_lowercase()).for_each(copied);
            }
            Words::Unicode => {
                unicode_words::each(&text.to_ascii_lowercase(), |word, _| match word {
                    Word::Ascii(word) => emit.emit_copied(word, ()),
                    Word::Folded(word) => emit.emit_copied(word, ()),
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Map, Value};

    fn path(text: &str) -> JsonPath {
        text.parse().unwrap()
    }

    fn found<'s>(field: &str, line: &'s [u8]) -> Result<Cow<'s, [u8]>, String> {
        JsonLine::read(line)?.bytes(&path(field))
    }

    #[test]
    fn a_path_is_keys_between_dots() {
        for (text, keys) in [
            ("user", vec!["user"]),
            ("user.id", vec!["user", "id"]),
            (r"a\.b.c\\d", vec!["a.b", r"c\d"]),
            ("tags.0", vec!["tags", "0"]),
        ] {
            let steps: Vec<String> = path(text).steps.into_iter().map(|step| step.key).collect();
            assert_eq!(steps, keys, "{text}");
            assert_eq!(path(text).to_string(), text);
        }
        for wrong in ["", ".", "a.", ".a", "a..b", r"a\b", "a\\"] {
            assert!(wrong.parse::<JsonPath>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_no_json_is_refused_wherever_it_is_broken() {
        for line in [
            r#"{"a":1}x"#,
            r#"{"a":1"#,
            r#"{"a":01}"#,
            r#"{"a":1,}"#,
            r#"{"a":1,"b":nul}"#,
            r#"{"a":1,"b":[1,}"#,
            r#"{"a" 1}"#,
            "{\"a\":1,\"b\":\"\u{1}\"}",
            r#"{"a":1,"b":"\q"}"#,
            "",
            "a",
            r#"{"a":1}{"a":2}"#,
        ] {
            let refused = found("a", line.as_bytes());
            assert_eq!(refused, Err("the line is no JSON".to_owned()), "{line}");
        }
        let not_text = b"{\"a\":1,\"b\":\"\xff\"}";
        let refused = found("a", not_text);
        assert_eq!(refused, Err("the line is no UTF-8, as JSON is".to_owned()));
    }

    #[test]
    fn a_field_is_found_and_what_it_lacks_is_said() {
        let line = br#" {"u":{"id":"x","n":1.5e1,"t":[7,{"k":"v"}],"0":"zero"},"e":"a\u00e9\n","none":null} "#;
        for (field, bytes) in [
            ("u.id", "x"),
            ("u.n", "1.5e1"),
            ("u.t.0", "7"),
            ("u.t.1.k", "v"),
            ("u.0", "zero"),
            ("e", "a\u{e9}\n"),
            ("none", "null"),
            ("u.t", r#"[7,{"k":"v"}]"#),
        ] {
            assert_eq!(found(field, line).unwrap(), bytes.as_bytes(), "{field}");
        }
        assert_eq!(JsonLine::read(line).unwrap().number(&path("u.n")), Ok(15.0));
        for (field, cause) in [
            ("v", "the line has no field v"),
            ("u.t.2", "the line has no field u.t.2"),
            ("u.id.x", "the line has no field u.id.x"),
        ] {
            assert_eq!(found(field, line), Err(cause.to_owned()));
        }
        assert_eq!(
            JsonLine::read(line).unwrap().text(&path("u.n")),
            Err("the field u.n is no string".to_owned())
        );
        assert_eq!(
            JsonLine::read(line).unwrap().number(&path("u.id")),
            Err("the field u.id is no number".to_owned())
        );
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            ".{0,12}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec(("[ab.\"\\\\é0-2]{1,3}", inner), 0..4)
                    .prop_map(|all| Value::from(all.into_iter().collect::<Map<_, _>>())),
            ]
        })
    }

    /// All places in a value, with the paths to them.
    fn places(value: &Value, to: &str, into: &mut Vec<(String, Value)>) {
        let below = |key: &str| {
            let key = key.replace('\\', r"\\").replace('.', r"\.");
            if to.is_empty() { key } else { format!("{to}.{key}") }
        };
        if !to.is_empty() {
            into.push((to.to_owned(), value.clone()));
        }
        match value {
            Value::Object(all) => all.iter().for_each(|(key, one)| places(one, &below(key), into)),
            Value::Array(all) => all
                .iter()
                .enumerate()
                .for_each(|(at, one)| places(one, &below(&at.to_string()), into)),
            _ => {}
        }
    }

    proptest! {
        #[test]
        fn every_field_of_random_lines_is_what_serde_json_says(value in values(), pretty: bool) {
            let line = value.to_string();
            let line = if pretty { line.replace(',', " , ").replace(':', " : ") } else { line };
            // Only where that did not change a string.
            let line = if serde_json::from_str::<Value>(&line).is_ok_and(|read| read == value) {
                line
            } else {
                value.to_string()
            };
            let mut all = Vec::new();
            places(&value, "", &mut all);
            for (at, expected) in all {
                let text = found(&at, line.as_bytes()).unwrap();
                match expected {
                    Value::String(expected) => prop_assert_eq!(&*text, expected.as_bytes()),
                    other => {
                        let read: Value = serde_json::from_slice(&text).unwrap();
                        prop_assert_eq!(read, other);
                    }
                }
            }
        }
    }
}

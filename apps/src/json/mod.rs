//! Fields of JSON lines: counts the values of a field, adds up the numbers of another, or counts the words of a
//! text. The whole of each line is checked while the field is found (`line.rs`); a line that is no JSON, or has no such
//! field, is a bad record.

mod line;

use crate::unicode_words::{self, Word};
use crate::word_count::Words;
use line::Fault;
use std::array;
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

/// Lines of JSON.
#[derive(Clone, Copy, Debug)]
pub struct JsonLines {
    /// Whether all of them are UTF-8, which is found faster for many at once.
    is_text: bool,
    /// Whether any may have a control character.
    has_controls: bool,
}

impl JsonLines {
    /// Looks at the bytes of some lines. Linear in their number.
    pub fn of(bytes: &[u8]) -> JsonLines {
        let is_control = |found, &byte: &u8| found | ((byte < b' ') & (byte != b'\n'));
        JsonLines {
            is_text: simdutf8::basic::from_utf8(bytes).is_ok(),
            has_controls: bytes.iter().fold(false, is_control),
        }
    }

    /// Checks one of the lines, and finds fields of it. Linear in its length.
    ///
    /// # Errors
    /// Returns the cause if it is no JSON, or lacks a field.
    pub fn fields<'s, 'p, const N: usize>(
        self,
        line: &'s [u8],
        paths: [&'p JsonPath; N],
    ) -> Result<[JsonField<'s, 'p>; N], String> {
        if !self.is_text && simdutf8::basic::from_utf8(line).is_err() {
            return Err("the line is no UTF-8, as JSON is".to_owned());
        }
        let found = line::find(line, self.has_controls, paths.map(|path| &*path.steps));
        let found = found.map_err(|fault| match fault {
            Fault::NotJson => "the line is no JSON".to_owned(),
            Fault::TooDeep => "the line has too many objects in one another".to_owned(),
        })?;
        if let Some(lacking) = found.iter().position(Option::is_none) {
            return Err(format!("the line has no field {}", paths[lacking]));
        }
        Ok(array::from_fn(|at| JsonField { text: found[at].unwrap_or_default(), path: paths[at] }))
    }
}

/// A field of a line.
#[derive(Clone, Copy, Debug)]
pub struct JsonField<'s, 'p> {
    text: &'s [u8],
    path: &'p JsonPath,
}

impl<'s> JsonField<'s, '_> {
    /// Returns the field as bytes: the content of a string, the text of anything else.
    ///
    /// # Errors
    /// Returns the cause if an escape in it is no character.
    pub fn bytes(self) -> Result<Cow<'s, [u8]>, String> {
        let [b'"', inside @ .., b'"'] = self.text else { return Ok(Cow::Borrowed(self.text)) };
        if memchr::memchr(b'\\', inside).is_none() {
            return Ok(Cow::Borrowed(inside));
        }
        let content = line::unescaped(inside).map(|content| Cow::Owned(content.into_bytes()));
        let path = self.path;
        content.ok_or_else(|| format!("the field {path} has an escape that is no character"))
    }

    /// Returns the content of a field that is a string.
    fn string(self) -> Result<Cow<'s, [u8]>, String> {
        match self.text.starts_with(b"\"") {
            true => self.bytes(),
            false => Err(format!("the field {} is no string", self.path)),
        }
    }

    /// Returns a field that is a number.
    ///
    /// # Errors
    /// Returns the cause if it is no finite number.
    pub fn number(self) -> Result<f64, String> {
        let is_number = self.text.starts_with(b"-") || self.text[0].is_ascii_digit();
        let text = std::str::from_utf8(self.text).ok().filter(|_| is_number);
        let number = text.and_then(|text| text.parse::<f64>().ok());
        let number = number.filter(|number| number.is_finite());
        number.ok_or_else(|| format!("the field {} is no number", self.path))
    }
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
        let lines = JsonLines::of(split.bytes());
        for line in split.lines() {
            match lines.fields(line, [&self.by]).and_then(|[by]| by.bytes()) {
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
        let lines = JsonLines::of(split.bytes());
        for line in split.lines() {
            let pair = lines.fields(line, [&self.by, &self.sum]);
            let pair = pair.and_then(|[by, sum]| Ok((by.bytes()?, sum.number()?)));
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
        let lines = JsonLines::of(split.bytes());
        for line in split.lines() {
            match lines.fields(line, [&self.field]).and_then(|[field]| field.string()) {
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
        let copied = |emit: &mut _, word: &[u8]| Emit::<'s, Self>::emit_copied(emit, word, ());
        let mut all = |class, text| Tokens::new(class, text).for_each(|word| copied(emit, word));
        match self.words {
            Words::Whitespace => all(WordClass::Whitespace, text),
            Words::Alpha => all(WordClass::Alpha, &text.to_ascii_lowercase()),
            Words::Unicode => {
                unicode_words::each(&text.to_ascii_lowercase(), emit, copied, |emit, word, _| {
                    let (Word::Slice(word) | Word::Folded(word)) = word;
                    copied(emit, word);
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

    fn with<'s, 'p, R>(
        path: &'p JsonPath,
        line: &'s [u8],
        read: impl FnOnce(JsonField<'s, 'p>) -> Result<R, String>,
    ) -> Result<R, String> {
        let [found] = JsonLines::of(line).fields(line, [path])?;
        read(found)
    }

    fn found<'s>(field: &str, line: &'s [u8]) -> Result<Cow<'s, [u8]>, String> {
        with(&path(field), line, JsonField::bytes)
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
        assert_eq!(with(&path("u.n"), line, JsonField::number), Ok(15.0));
        for (field, cause) in [
            ("v", "the line has no field v"),
            ("u.t.2", "the line has no field u.t.2"),
            ("u.id.x", "the line has no field u.id.x"),
        ] {
            assert_eq!(found(field, line), Err(cause.to_owned()));
        }
        let no_string = Err("the field u.n is no string".to_owned());
        assert_eq!(with(&path("u.n"), line, JsonField::string), no_string);
        let no_number = Err("the field u.id is no number".to_owned());
        assert_eq!(with(&path("u.id"), line, JsonField::number), no_number);
    }

    #[test]
    fn several_fields_are_found_at_once_and_of_two_keys_the_first() {
        let line = br#"{"a":{"b":1,"b":2},"c":[3,{"d":4}],"a":{"e":5},"\u0063x":6}"#;
        let [a, b, d, x] = ["a", "a.b", "c.1.d", "cx"].map(path);
        let fields = JsonLines::of(line).fields(line, [&d, &a, &b, &x]).unwrap();
        let texts = fields.map(|field| field.text.to_vec());
        let expected: [&[u8]; 4] = [b"4", br#"{"b":1,"b":2}"#, b"1", b"6"];
        assert_eq!(texts, expected.map(<[u8]>::to_vec));
        assert_eq!(found("a.e", line), Err("the line has no field a.e".to_owned()));
    }

    #[test]
    fn nesting_has_a_limit_and_an_end() {
        let nested = |depth: usize| ["[".repeat(depth), "]".repeat(depth)].concat();
        let cause = |line: &str| found("a", line.as_bytes()).unwrap_err();
        assert_eq!(cause(&nested(500)), "the line has no field a");
        assert_eq!(cause(&nested(501)), "the line has too many objects in one another");
        assert_eq!(cause(&nested(500)[1..]), "the line is no JSON");
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            ".{0,12}".prop_map(Value::from),
            // Long ones are searched otherwise, unless there is a control character: that is in few of them.
            "[ab\"\\\\é]{0,60}".prop_map(Value::from),
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
        /// A line is JSON if serde_json says so, whatever a change did to it.
        #[test]
        fn broken_lines_are_refused_and_no_others(
            value in values(), at in any::<prop::sample::Index>(), to in any::<u8>(), cut: bool
        ) {
            let mut line = value.to_string().into_bytes();
            let at = at.index(line.len());
            // Characters of the grammar are drawn more often than others.
            let to = b"{}[]\",:\\0123456789-+.eEtrufalsn \t\x00\x1fdx"
                .get(usize::from(to))
                .copied()
                .unwrap_or(to);
            if cut { line.truncate(at) } else { line[at] = to }
            let is_json = str::from_utf8(&line)
                .is_ok_and(|text| serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok());
            let refused = found("no such field", &line).unwrap_err();
            prop_assert_eq!(is_json, refused.starts_with("the line has no field"), "{:?}", line.escape_ascii());
        }

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

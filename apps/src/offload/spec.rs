//! The spec of a kernel: the facts beside its text, in some lines of TOML or as a value. Takes the file's
//! text; hands on a [`Spec`], or the error with its line.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use tegula::{Cut, Delimiter, Error, Result};
use toml::Spanned;

/// The most values of a partial: a gibibyte of words.
pub const VALUES_MOST: u64 = 1 << 27;

/// Bytes of a table: the default, the least and the most.
const TABLE_BYTES: u64 = 32 << 20;
const TABLE_BYTES_LEAST: u64 = 64 << 10;
const TABLE_BYTES_MOST: u64 = 8 << 30;
/// The longest key of a table: the default, and the most.
const KEY_BYTES: u64 = 62;
const KEY_BYTES_MOST: u64 = 4096;

/// The length of the longest record: the default, a mebibyte, and the most, a gibibyte.
const LONGEST_BYTES: u64 = 1 << 20;
const LONGEST_BYTES_MOST: u64 = 1 << 30;

/// The records of the input, which are never torn. A kernel gets any number of whole records, one after the
/// other.
#[derive(Clone, Copy, Debug)]
pub enum Records {
    /// Lines, each with its newline.
    Lines,
    /// Records of this number of bytes, at least 1. A file whose length is not a multiple is an error.
    Fixed(u64),
    /// Records that end with this delimiter.
    Delimiter(Delimiter),
}

/// The operation on values that are combined at one index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// Their sum, which must stay within 64 bits, because it wraps on the device.
    #[default]
    Sum,
    /// The least of them; without values, the greatest possible number.
    Min,
    /// The greatest of them; without values, the least possible number.
    Max,
}

/// The type of a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Number {
    /// A whole number from 0 to 2^64 - 1.
    #[default]
    U64,
    /// A whole number from -2^63 to 2^63 - 1.
    I64,
    /// A finite float of 32 bits; only for arrays with least or greatest, because sums would depend on the
    /// device's order of additions.
    F32,
    /// A finite float of 64 bits, on devices with double precision.
    F64,
}

/// The type of a table's keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Keys {
    /// Bytes of the input.
    Bytes,
    /// Whole numbers from 0 to 2^64 - 1.
    U64,
    /// Whole numbers from -2^63 to 2^63 - 1.
    I64,
}

/// The order of the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ByOrder {
    /// By index, or by key, ascending.
    #[default]
    #[serde(alias = "key")]
    Index,
    /// By value, largest first; equal ones by index or key.
    Value,
}

/// The facts about a kernel beside its text. `Spec { values: 256, ..Spec::default() }` is one, and
/// [`Spec::parse`] makes one from TOML:
///
/// ```toml
/// entry = "levels"      # the kernel's function; default: the name of its file
///
/// [records]
/// split = "fixed"       # lines (default), fixed or delimiter
/// bytes = 3             # of a fixed record
/// delimiter = "\u0000"  # of delimited ones
/// longest = 1048576     # bytes of the longest record
///
/// [partial]
/// values = 256          # of an array: the number of values
/// keys = "bytes"        # of a table, instead of values: bytes, u64 or i64
/// longest_key = 62      # bytes of the longest key
/// bytes = 33554432      # bytes that a table may take on a device
/// type = "u64"          # u64 (default) or i64; of arrays also f32 and f64, without sums
/// combine = "sum"       # sum (default), min or max
///
/// [output]
/// order = "index"       # index (default; key is the same), or value: largest first
/// skip_empty = false    # true leaves out indices and keys with the value of no input
/// scale = 1             # divisor of the values in the output, for fixed-point numbers
///
/// [defines]             # whole numbers that the kernel uses by name
/// CHANNELS = 3
/// ```
#[derive(Clone, Debug)]
pub struct Spec {
    /// The name of the kernel's function. `None`: the name of its file without extension.
    pub entry: Option<String>,
    /// The records of the input.
    pub records: Records,
    /// Bytes of the longest record, from 1 to a gibibyte. Longer ones fail the job.
    pub longest_bytes: u64,
    /// The number of values, from 1 to [`VALUES_MOST`]. A table has as many as keys.
    pub values: u64,
    /// The type of keys; `None`: indices of an array.
    pub keys: Option<Keys>,
    /// Bytes of the longest key, from 1 to 4096, if keys are bytes. A longer key fails the job.
    pub longest_key: u64,
    /// Bytes of a device's memory that a table may take, from 64 KiB to 8 GiB; a quarter of the device's
    /// share at most. Units that do not fit are sent again in smaller parts.
    pub table_bytes: u64,
    /// The type of values.
    pub number: Number,
    /// The operation that combines values.
    pub combine: By,
    /// The order of the answer.
    pub order: ByOrder,
    /// Whether an index is left out if its value is that of no input.
    pub skip_empty: bool,
    /// The divisor of values in the output.
    pub scale: Option<u64>,
    /// Numbers that the kernel uses by name.
    pub defines: Vec<(String, u64)>,
}

impl Default for Spec {
    /// Returns one sum, over lines.
    fn default() -> Spec {
        Spec {
            entry: None,
            records: Records::Lines,
            longest_bytes: LONGEST_BYTES,
            values: 1,
            keys: None,
            longest_key: KEY_BYTES,
            table_bytes: TABLE_BYTES,
            number: Number::U64,
            combine: By::Sum,
            order: ByOrder::Index,
            skip_empty: false,
            scale: None,
            defines: Vec::new(),
        }
    }
}

/// Names that the texts before the kernel define already.
const TAKEN: [&str; 15] = [
    "VALUES",
    "SIGNED",
    "FLOAT",
    "KEYED",
    "LONGEST_KEY",
    "COMBINE_BY",
    "RANK",
    "COMBINE",
    "COMBINE_KEY",
    "COMBINE_BYTES",
    "HEAD",
    "KEY_WORDS",
    "SLOT_WORDS",
    "PROBES",
    "MIX",
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    entry: Option<Spanned<String>>,
    #[serde(default)]
    records: RecordsTable,
    partial: Spanned<PartialTable>,
    #[serde(default)]
    output: OutputTable,
    #[serde(default)]
    defines: BTreeMap<Spanned<String>, u64>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordsTable {
    split: Option<Spanned<Split>>,
    bytes: Option<Spanned<u64>>,
    delimiter: Option<Spanned<String>>,
    longest: Option<Spanned<u64>>,
}

#[derive(Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Split {
    Lines,
    Fixed,
    Delimiter,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PartialTable {
    values: Option<Spanned<u64>>,
    keys: Option<Spanned<Keys>>,
    longest_key: Option<Spanned<u64>>,
    bytes: Option<Spanned<u64>>,
    #[serde(rename = "type")]
    number: Option<Spanned<Number>>,
    combine: Option<Spanned<By>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct OutputTable {
    #[serde(default)]
    order: ByOrder,
    #[serde(default)]
    skip_empty: bool,
    scale: Option<Spanned<u64>>,
}

/// An error, and its position in the text.
struct Fault(Option<Range<usize>>, String);

impl Spec {
    /// Parses a spec from a text; `file` is its name in errors.
    ///
    /// # Errors
    /// Returns [`Error::Option`] with the file, the line, the field and the allowed values.
    pub fn parse(file: &Path, text: &str) -> Result<Spec> {
        Spec::of(text).map_err(|Fault(span, cause)| {
            let line = |span: Range<usize>| {
                let newlines = text.as_bytes()[..span.start.min(text.len())].iter();
                format!(", line {}", 1 + newlines.filter(|&&byte| byte == b'\n').count())
            };
            let line = span.map(line).unwrap_or_default();
            Error::Option { option: "spec", cause: format!("{}{line}: {cause}", file.display()) }
        })
    }

    /// Returns where the input is cut.
    pub(super) fn cut(&self) -> Cut {
        match self.records {
            Records::Lines => Cut::Lines,
            Records::Fixed(bytes) => Cut::Fixed(bytes),
            Records::Delimiter(delimiter) => Cut::Delimiter(delimiter),
        }
    }

    /// Checks that the spec is valid.
    pub(super) fn check(&self) -> Result<()> {
        match self.fault() {
            None => Ok(()),
            Some((_, cause)) => Err(Error::Option { option: "spec", cause }),
        }
    }

    /// Returns an invalid field, and the reason.
    fn fault(&self) -> Option<(&str, String)> {
        let fields = [
            ("values", Some(self.values).filter(|_| self.keys.is_none())),
            ("longest_key", Some(self.longest_key)),
            ("longest", Some(self.longest_bytes)),
            ("bytes", if let Records::Fixed(bytes) = self.records { Some(bytes) } else { None }),
            ("scale", self.scale),
        ];
        for (field, value) in fields {
            if value == Some(0) {
                return Some((field, format!("{field}: 0; give at least 1")));
            }
        }
        for (field, value, most) in [
            ("longest", self.longest_bytes, LONGEST_BYTES_MOST),
            ("values", self.values, VALUES_MOST),
            ("longest_key", self.longest_key, KEY_BYTES_MOST),
            ("table", self.table_bytes, TABLE_BYTES_MOST),
        ] {
            if value > most {
                let told = if field == "table" { "bytes" } else { field };
                return Some((field, format!("{told}: {value}; give {most} at most")));
            }
        }
        if self.table_bytes < TABLE_BYTES_LEAST {
            let cause = format!("bytes: {}; give at least {TABLE_BYTES_LEAST}", self.table_bytes);
            return Some(("table", cause));
        }
        let number = match self.number {
            Number::F32 => "f32",
            Number::F64 => "f64",
            Number::U64 | Number::I64 => "",
        };
        if !number.is_empty() {
            if self.keys.is_some() {
                let cause = format!("type: {number} is for arrays; a table has u64 or i64");
                return Some(("type", cause));
            }
            if self.combine == By::Sum {
                let cause = format!(
                    "sums of {number} would depend on the order in which a device adds; take \"min\" or \"max\", \
                     or have the kernel combine whole numbers (type = \"i64\"): each value times a scale, by which \
                     output.scale divides the answer"
                );
                return Some(("combine", cause));
            }
            if self.scale.is_some() {
                let cause =
                    format!("scale divides whole numbers; {number} needs none: take it out");
                return Some(("scale", cause));
            }
        }
        let entry = self.entry.iter().map(|name| ("entry", name));
        let defines = self.defines.iter().map(|(name, _)| (name.as_str(), name));
        entry.chain(defines).find_map(|(field, name)| {
            if !is_name(name) {
                return Some((field, format!("{field}: {name:?} is no name in C; {NAMES}")));
            }
            let is_taken = TAKEN.contains(&name.as_str());
            is_taken.then(|| (field, format!("{name} is taken; choose another name")))
        })
    }

    fn of(text: &str) -> Result<Spec, Fault> {
        let file: File = toml::from_str(text)
            .map_err(|fault| Fault(fault.span(), fault.message().to_owned()))?;
        let partial = file.partial.span();
        let PartialTable { values, keys, longest_key, bytes, number, combine } =
            file.partial.into_inner();
        let OutputTable { order, skip_empty, scale } = file.output;
        let mut spans: BTreeMap<String, Range<usize>> =
            file.defines.keys().map(|name| (name.get_ref().clone(), name.span())).collect();
        match (&values, &keys) {
            (None, None) => {
                let cause = "missing field `values` of an array, or `keys` of a table";
                return Err(Fault(Some(partial), cause.to_owned()));
            }
            (Some(values), Some(_)) => {
                let cause = "values is for arrays, and keys for tables; take one of them out";
                return Err(Fault(Some(values.span()), cause.to_owned()));
            }
            _ => {}
        }
        let is_bytes = keys.as_ref().is_some_and(|keys| *keys.get_ref() == Keys::Bytes);
        for (name, field, is_misplaced, what) in [
            ("longest_key", &longest_key, !is_bytes, "keys = \"bytes\""),
            ("bytes", &bytes, keys.is_none(), "tables, which have keys"),
        ] {
            if let Some(field) = field.as_ref().filter(|_| is_misplaced) {
                let cause = format!("{name} is for {what}; take it out, or change the spec");
                return Err(Fault(Some(field.span()), cause));
            }
        }
        spans.extend(values.iter().map(|values| ("values".to_owned(), values.span())));
        spans.extend(longest_key.iter().map(|bytes| ("longest_key".to_owned(), bytes.span())));
        spans.extend(bytes.iter().map(|bytes| ("table".to_owned(), bytes.span())));
        // Without it, the value that contradicts it is reported.
        let combine_span = combine.as_ref().map(Spanned::span);
        spans.extend(number.iter().map(|number| ("type".to_owned(), number.span())));
        spans.extend(
            combine_span
                .or_else(|| Some(number.as_ref()?.span()))
                .map(|span| ("combine".to_owned(), span)),
        );
        spans.extend(file.records.longest.iter().map(|bytes| ("longest".to_owned(), bytes.span())));
        spans.extend(file.records.bytes.iter().map(|bytes| ("bytes".to_owned(), bytes.span())));
        spans.extend(scale.iter().map(|scale| ("scale".to_owned(), scale.span())));
        spans.extend(file.entry.iter().map(|name| ("entry".to_owned(), name.span())));
        let spec = Spec {
            entry: file.entry.map(Spanned::into_inner),
            records: file.records.records()?,
            longest_bytes: file.records.longest.map_or(LONGEST_BYTES, Spanned::into_inner),
            values: values.map_or(1, Spanned::into_inner),
            keys: keys.map(Spanned::into_inner),
            longest_key: longest_key.map_or(KEY_BYTES, Spanned::into_inner),
            table_bytes: bytes.map_or(TABLE_BYTES, Spanned::into_inner),
            number: number.map(Spanned::into_inner).unwrap_or_default(),
            combine: combine.map(Spanned::into_inner).unwrap_or_default(),
            order,
            skip_empty,
            scale: scale.map(Spanned::into_inner),
            defines: file
                .defines
                .into_iter()
                .map(|(name, value)| (name.into_inner(), value))
                .collect(),
        };
        match spec.fault() {
            None => Ok(spec),
            Some((field, cause)) => Err(Fault(spans.get(field).cloned(), cause)),
        }
    }
}

impl RecordsTable {
    fn records(&self) -> Result<Records, Fault> {
        let fault = |span: Range<usize>, cause: String| Err(Fault(Some(span), cause));
        let (at, split) = self
            .split
            .as_ref()
            .map_or((0..0, Split::Lines), |split| (split.span(), *split.get_ref()));
        let bytes = self.bytes.as_ref().map(|bytes| (bytes.span(), *bytes.get_ref()));
        let delimiter = self.delimiter.as_ref().map(|text| (text.span(), text.get_ref()));
        let misplaced = |field, split| {
            format!(
                "{field} is for records of split = \"{split}\"; take it out, or change the spec"
            )
        };
        match (split, bytes, delimiter) {
            (Split::Lines | Split::Delimiter, Some((span, _)), _) => {
                fault(span, misplaced("bytes", "fixed"))
            }
            (Split::Lines | Split::Fixed, _, Some((span, _))) => {
                fault(span, misplaced("delimiter", "delimiter"))
            }
            (Split::Lines, None, None) => Ok(Records::Lines),
            (Split::Fixed, Some((_, bytes)), None) => Ok(Records::Fixed(bytes)),
            (Split::Fixed, None, None) => {
                fault(at, "split = \"fixed\" wants bytes: give how long a record is".to_owned())
            }
            (Split::Delimiter, None, Some((span, text))) => match Delimiter::new(text) {
                Ok(delimiter) => Ok(Records::Delimiter(delimiter)),
                Err(error) => fault(span, error.to_string()),
            },
            (Split::Delimiter, None, None) => fault(
                at,
                "split = \"delimiter\" needs delimiter: give the text that ends a record"
                    .to_owned(),
            ),
        }
    }
}

const NAMES: &str = "write letters, digits and _, not a digit first";

/// Returns whether C accepts the text as an identifier.
fn is_name(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    text.bytes().all(|byte| is_letter(byte) || byte.is_ascii_digit())
        && text.bytes().next().is_some_and(is_letter)
}

//! The spec of a kernel: what must be known of it beside its text, in some lines of TOML or as a value.
//! Takes the file's text; hands on a [`Spec`], or what is wrong with it, with the line.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use tegula::{Cut, Delimiter, Error, Result};
use toml::Spanned;

/// Values that a partial may have: a gibibyte of words.
pub const VALUES_MOST: u64 = 1 << 27;

/// The longest record, if the spec does not say: a mebibyte.
const LONGEST_BYTES: u64 = 1 << 20;

/// How the input is divided into records, which are never torn. A kernel is given any number of whole
/// records, one behind the other.
#[derive(Clone, Copy, Debug)]
pub enum Records {
    /// Lines, each with its newline.
    Lines,
    /// So many bytes each, at least 1. A file whose length is no multiple is an error.
    Fixed(u64),
    /// What ends with this delimiter.
    Delimiter(Delimiter),
}

/// What becomes of values that are combined at one index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// Their sum, which must stay within 64 bits: on the device it wraps.
    #[default]
    Sum,
    /// The least of them; the greatest number there is, if there are none.
    Min,
    /// The greatest of them; the least number there is, if there are none.
    Max,
}

/// What a value is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Number {
    /// A whole number from 0 to 2^64 - 1.
    #[default]
    U64,
    /// A whole number from -2^63 to 2^63 - 1.
    I64,
}

/// In which order the values are given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ByOrder {
    /// By index, ascending.
    #[default]
    Index,
    /// By value, largest first; equal ones by index.
    Value,
}

/// What must be known of a kernel beside its text. `Spec { values: 256, ..Spec::default() }` is one, and
/// [`Spec::parse`] makes one of TOML:
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
/// values = 256          # how many numbers the kernel combines into
/// type = "u64"          # u64 (default) or i64
/// combine = "sum"       # sum (default), min or max
///
/// [output]
/// order = "index"       # index (default) or value, largest first
/// skip_empty = false    # true leaves out what nothing, or only zeros, were combined into
/// scale = 1             # what values are divided by when they are shown, for fixed-point numbers
///
/// [defines]             # whole numbers that the kernel uses by name
/// CHANNELS = 3
/// ```
#[derive(Clone, Debug)]
pub struct Spec {
    /// The name of the kernel's function. `None`: that of its file, without what is behind the point.
    pub entry: Option<String>,
    /// How the input is divided.
    pub records: Records,
    /// Bytes of the longest record. Longer ones fail the job.
    pub longest_bytes: u64,
    /// How many numbers the kernel combines into, from 1 to [`VALUES_MOST`].
    pub values: u64,
    /// What each of them is.
    pub number: Number,
    /// How values are combined.
    pub combine: By,
    /// The order of the answer.
    pub order: ByOrder,
    /// Whether an index is left out where the answer is what no value at all would give.
    pub skip_empty: bool,
    /// What values are divided by when they are shown.
    pub scale: Option<u64>,
    /// Numbers that the kernel uses by name.
    pub defines: Vec<(String, u64)>,
}

impl Default for Spec {
    /// One sum, over lines.
    fn default() -> Spec {
        Spec {
            entry: None,
            records: Records::Lines,
            longest_bytes: LONGEST_BYTES,
            values: 1,
            number: Number::U64,
            combine: By::Sum,
            order: ByOrder::Index,
            skip_empty: false,
            scale: None,
            defines: Vec::new(),
        }
    }
}

/// Names that the texts before the kernel have given already.
const TAKEN: [&str; 5] = ["VALUES", "SIGNED", "COMBINE_BY", "RANK", "COMBINE"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    entry: Option<Spanned<String>>,
    #[serde(default)]
    records: RecordsTable,
    partial: PartialTable,
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
    values: Spanned<u64>,
    #[serde(default, rename = "type")]
    number: Number,
    #[serde(default)]
    combine: By,
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

/// What is wrong, and where in the text.
struct Fault(Option<Range<usize>>, String);

impl Spec {
    /// The spec that a text says; `file` is its name in errors.
    ///
    /// # Errors
    /// [`Error::Option`] with the file, the line, the field and what may stand there.
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

    /// Where the input is cut.
    pub(super) fn cut(&self) -> Cut {
        match self.records {
            Records::Lines => Cut::Lines,
            Records::Fixed(bytes) => Cut::Fixed(bytes),
            Records::Delimiter(delimiter) => Cut::Delimiter(delimiter),
        }
    }

    /// Refuses what cannot be meant.
    pub(super) fn check(&self) -> Result<()> {
        match self.fault() {
            None => Ok(()),
            Some((_, cause)) => Err(Error::Option { option: "spec", cause }),
        }
    }

    /// The field that has a value which cannot be meant, and why.
    fn fault(&self) -> Option<(&str, String)> {
        let fields = [
            ("values", Some(self.values)),
            ("longest", Some(self.longest_bytes)),
            ("bytes", if let Records::Fixed(bytes) = self.records { Some(bytes) } else { None }),
            ("scale", self.scale),
        ];
        for (field, value) in fields {
            if value == Some(0) {
                return Some((field, format!("{field}: 0; give at least 1")));
            }
        }
        if self.values > VALUES_MOST {
            let cause = format!("values: {}; give {VALUES_MOST} at most", self.values);
            return Some(("values", cause));
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
        let PartialTable { values, number, combine } = file.partial;
        let OutputTable { order, skip_empty, scale } = file.output;
        let mut spans: BTreeMap<String, Range<usize>> =
            file.defines.keys().map(|name| (name.get_ref().clone(), name.span())).collect();
        spans.insert("values".to_owned(), values.span());
        spans.extend(file.records.longest.iter().map(|bytes| ("longest".to_owned(), bytes.span())));
        spans.extend(file.records.bytes.iter().map(|bytes| ("bytes".to_owned(), bytes.span())));
        spans.extend(scale.iter().map(|scale| ("scale".to_owned(), scale.span())));
        spans.extend(file.entry.iter().map(|name| ("entry".to_owned(), name.span())));
        let spec = Spec {
            entry: file.entry.map(Spanned::into_inner),
            records: file.records.records()?,
            longest_bytes: file.records.longest.map_or(LONGEST_BYTES, Spanned::into_inner),
            values: values.into_inner(),
            number,
            combine,
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
            format!("{field} is for records of split = \"{split}\"; take it out, or say so")
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
                "split = \"delimiter\" wants delimiter: give what ends a record".to_owned(),
            ),
        }
    }
}

const NAMES: &str = "write letters, digits and _, not a digit first";

/// Whether C takes it for the name of something.
fn is_name(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    text.bytes().all(|byte| is_letter(byte) || byte.is_ascii_digit())
        && text.bytes().next().is_some_and(is_letter)
}

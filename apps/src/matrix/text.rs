//! Matrices as text: one row per line, numbers separated by white space or commas. All workers read; each
//! keeps its rows by their place, and they are joined in the order of the input.

use super::{Element, Matrix, Number, nothing};
use crate::Runs;
use crate::headers::at;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use tegula::{Cut, Emit, Input, Job, Result, Split, Sum};
use tegula_machine::memory::Reserved;
use tegula_machine::sync::Mutex;

/// Reads rows and keeps them; its only pair counts them.
struct Rows {
    kept: Mutex<Kept>,
}

struct Kept {
    /// By their number in the input, because a file may be named twice.
    files: BTreeMap<u32, File>,
    /// The bytes of all pieces.
    counted: Reserved,
}

/// The rows of a file, by their offset.
struct File {
    name: PathBuf,
    pieces: BTreeMap<u64, Piece>,
}

/// The rows of one split.
struct Piece {
    bytes: Vec<u8>,
    /// The offset in the file, and the length, of each row with another length than the one before.
    lengths: Vec<(u64, usize)>,
}

impl Job for Rows {
    type Key = u8;
    type Combine = Sum<u64>;

    fn cut(&self) -> Cut {
        Cut::Lines
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        let mut piece = Piece { bytes: Vec::new(), lengths: Vec::new() };
        let mut rows = 0;
        for line in split.lines() {
            let before = piece.bytes.len();
            let read = numbers(line).try_for_each(|number| {
                number?.write(&mut piece.bytes);
                Ok(())
            });
            if let Err(word) = read {
                piece.bytes.truncate(before);
                split.bad(word, no_number(word))?;
            }
            let length = (piece.bytes.len() - before) / Element::F64.bytes();
            if length == 0 {
                continue;
            }
            rows += 1;
            if piece.lengths.last().is_none_or(|last| last.1 != length) {
                let place = line.as_ptr() as usize - split.bytes().as_ptr() as usize;
                piece.lengths.push((split.offset() + place as u64, length));
            }
        }
        if rows > 0 {
            emit.emit(0, rows);
            let Kept { files, counted } = &mut *self.kept.lock();
            counted.cover(counted.bytes() + piece.bytes.len())?;
            let file = || File { name: split.path(), pieces: BTreeMap::new() };
            files.entry(split.file()).or_insert_with(file).pieces.insert(split.offset(), piece);
        }
        Ok(())
    }
}

/// Iterates the numbers of a line; a malformed number is returned as its bytes. An empty field before, between or after
/// commas comes first.
pub(crate) fn numbers(line: &[u8]) -> impl Iterator<Item = Result<f64, &[u8]>> {
    let words = line.split(|byte| byte.is_ascii_whitespace() || *byte == b',');
    let numbers = words.filter(|word| !word.is_empty()).map(|word| {
        let value = std::str::from_utf8(word).ok().and_then(|text| text.parse::<f64>().ok());
        value.filter(|value| value.is_finite()).ok_or(word)
    });
    empty_field(line).map(Err).into_iter().chain(numbers)
}

fn empty_field(line: &[u8]) -> Option<&[u8]> {
    memchr::memchr(b',', line)?;
    line.split(|byte| *byte == b',').find(|field| field.trim_ascii().is_empty())
}

/// Returns the message for a malformed number.
pub(crate) fn no_number(word: &[u8]) -> String {
    if word.trim_ascii().is_empty() {
        return "no number before, between or after commas; give one, or leave the comma out"
            .to_owned();
    }
    let word = String::from_utf8_lossy(&word[..word.len().min(40)]).into_owned();
    format!("{word:?} is no finite number; write numbers with spaces, tabs or commas between")
}

/// Reads a matrix of text.
pub(super) fn read(runs: &mut Runs<'_>, input: Input) -> Result<Matrix> {
    let names: Vec<PathBuf> = input.listing().map(|file| file.name().to_path_buf()).collect();
    let counted = runs.reserve(0)?;
    let job = Rows { kept: Mutex::new(Kept { files: BTreeMap::new(), counted }) };
    runs.job(&job, input)?;
    let Kept { files, counted } = job.kept.into_inner();
    let all = runs.reserve(counted.bytes())?;
    let mut columns = None;
    let mut bytes = Vec::with_capacity(counted.bytes());
    for File { name, pieces } in files.into_values() {
        for piece in pieces.into_values() {
            for &(place, length) in &piece.lengths {
                let columns = *columns.get_or_insert(length);
                if columns != length {
                    let cause = format!(
                        "a row of {length} numbers, where the first has {columns}; make all rows \
                         equally long"
                    );
                    return Err(at(&name, Some(place), cause));
                }
            }
            bytes.extend_from_slice(&piece.bytes);
        }
    }
    let Some(columns) = columns else {
        let cause = "no numbers; give a file with at least one row";
        return Err(names.first().map_or_else(nothing, |name| at(name, None, cause)));
    };
    runs.keep(all);
    let rows = bytes.len() / (columns * Element::F64.bytes());
    Ok(Matrix { element: Element::F64, rows, columns, bytes: Arc::new(bytes) })
}

/// Appends one row.
pub(super) fn write_row<T: Number + std::fmt::Debug>(
    numbers: impl Iterator<Item = T>,
    out: &mut Vec<u8>,
) {
    for (place, number) in numbers.enumerate() {
        if place > 0 {
            out.push(b'\t');
        }
        // Writing to a vector cannot fail.
        let _ = write!(out, "{number:?}");
    }
    out.push(b'\n');
}

//! NumPy's `.npy` files (format versions 1 to 3, NumPy Enhancement Proposal 1): a magic number, the length
//! of a header, the header, which is a Python dictionary with type, order and shape, and the numbers.
//! Headers are read first; then all workers read the numbers. Only matrices of floats are accepted; other
//! contents are refused by name.

use super::{Element, Matrix, nothing};
use crate::headers::{at, head, look_into};
use crate::runs::Runs;
use std::sync::Arc;
use tegula::{Input, InputFile, Result};
use tegula_machine::sync::Mutex;

const MAGIC: &[u8] = b"\x93NUMPY";
/// Bytes of a file that are read first: more than most headers.
const HEAD_BYTES: usize = 4096;
/// Bytes that a worker reads at a time: many, because remote files answer slowly.
const PIECE_BYTES: usize = 4 << 20;
/// Longer headers do not describe a matrix.
const HEADER_BYTES_MOST: usize = 64 << 10;
/// NumPy begins the numbers at a multiple of this.
const ALIGNMENT: usize = 64;

/// Returns whether the file begins like a `.npy` file.
pub(super) fn is_npy(file: &InputFile<'_>) -> Result<bool> {
    Ok(head(file, MAGIC.len())? == MAGIC)
}

/// The fields of a header.
struct Header {
    element: Element,
    rows: usize,
    columns: usize,
    /// The offset of the numbers in the file, and their length.
    start: u64,
    bytes: usize,
}

impl Header {
    fn read(file: &InputFile<'_>) -> Result<Header> {
        let wrong = |cause: String| at(file.name(), Some(0), cause);
        let mut head = head(file, HEAD_BYTES)?;
        let Some((start, length)) = header_place(&head) else {
            return Err(wrong("not a .npy file; save the matrix with numpy.save".to_owned()));
        };
        if length > HEADER_BYTES_MOST {
            return Err(wrong(format!("a .npy header of {length} bytes, which no matrix has")));
        }
        let end = start + length;
        if end > head.len() {
            let have = head.len();
            head.resize(end, 0);
            let more = file.read_at(have as u64, &mut head[have..])?;
            head.truncate(have + more);
        }
        let Some(text) = head.get(start..end) else {
            return Err(wrong("the .npy header is cut short; copy the file again".to_owned()));
        };
        let (element, rows, columns) = shape(&String::from_utf8_lossy(text)).map_err(wrong)?;
        let start = end as u64;
        let follow = file.bytes().unwrap_or_default().saturating_sub(start);
        let wanted = rows.checked_mul(columns).and_then(|count| count.checked_mul(element.bytes()));
        match wanted {
            Some(bytes) if bytes as u64 == follow => {
                Ok(Header { element, rows, columns, start, bytes })
            }
            _ => Err(wrong(format!(
                "{rows} x {columns} numbers of {} take another number of bytes than the {follow} that \
                 follow the header; the file is cut short or damaged",
                element.name(),
            ))),
        }
    }
}

/// Reads the files as consecutive rows of one matrix.
pub(super) fn read(runs: &mut Runs<'_>, input: &Input) -> Result<Matrix> {
    let files: Vec<_> = input.listing().collect();
    let headers = look_into(&files, Header::read)?;
    let (Some(first), Some(header)) = (files.first(), headers.first()) else {
        return Err(nothing());
    };
    let Header { element, columns, .. } = *header;
    for (file, other) in files.iter().zip(&headers) {
        if (other.element, other.columns) != (element, columns) {
            let cause = format!(
                "rows of {} {}, but of {columns} {} in {}; give files of one shape",
                other.columns,
                other.element.name(),
                element.name(),
                first.name().display()
            );
            return Err(at(file.name(), None, cause));
        }
    }
    let lengths: Vec<usize> = headers.iter().map(|header| header.bytes).collect();
    let sum = lengths.iter().fold(0_usize, |sum, &length| sum.saturating_add(length));
    let all = runs.reserve(sum)?;
    runs.keep(all);
    let mut bytes = vec![0; sum];
    let (mut pieces, mut rest) = (Vec::new(), &mut bytes[..]);
    for (file, header) in files.iter().zip(&headers) {
        let (numbers, behind) = rest.split_at_mut(header.bytes);
        rest = behind;
        for (into, number) in numbers.chunks_mut(PIECE_BYTES).zip(0..) {
            let offset = header.start + number * PIECE_BYTES as u64;
            pieces.push(Piece { file, offset, into: Mutex::new(into) });
        }
    }
    runs.tasks(pieces.len(), |number| pieces[number].fill())?;
    let rows = headers.iter().map(|header| header.rows).sum();
    Ok(Matrix { element, rows, columns, bytes: Arc::new(bytes) })
}

/// A range of a file's numbers.
struct Piece<'m> {
    file: &'m InputFile<'m>,
    offset: u64,
    into: Mutex<&'m mut [u8]>,
}

impl Piece<'_> {
    /// Reads the piece into its place in the matrix.
    fn fill(&self) -> Result<()> {
        // Each piece belongs to one task, so nobody waits here.
        let mut into = self.into.lock();
        self.file.read_at(self.offset, &mut into).map(drop)
    }
}

/// Returns the header's offset and length.
fn header_place(head: &[u8]) -> Option<(usize, usize)> {
    match head.strip_prefix(MAGIC)? {
        [1, _, low, high, ..] => Some((10, u16::from_le_bytes([*low, *high]).into())),
        [2 | 3, _, a, b, c, d, ..] => Some((12, u32::from_le_bytes([*a, *b, *c, *d]) as usize)),
        _ => None,
    }
}

/// Returns type, rows and columns of a header.
fn shape(header: &str) -> Result<(Element, usize, usize), String> {
    let element = match value_of(header, "descr") {
        Some(text) if text.starts_with("'<f4'") => Element::F32,
        Some(text) if text.starts_with("'<f8'") => Element::F64,
        _ => return Err("not little-endian floats; save with .astype('<f4') or '<f8'".to_owned()),
    };
    if !value_of(header, "fortran_order").is_some_and(|text| text.starts_with("False")) {
        return Err("stored by columns; save numpy.ascontiguousarray of it".to_owned());
    }
    let sizes: Option<Vec<usize>> = value_of(header, "shape")
        .and_then(|text| text.strip_prefix('(')?.split_once(')'))
        .and_then(|(sizes, _)| {
            let sizes = sizes.split(',').map(str::trim).filter(|size| !size.is_empty());
            sizes.map(|size| size.parse().ok()).collect()
        });
    match sizes.as_deref() {
        Some(&[rows, columns]) if columns > 0 => Ok((element, rows, columns)),
        _ => Err("not a matrix; save an array of two dimensions".to_owned()),
    }
}

/// Returns the text after a key of the header's dictionary.
fn value_of<'h>(header: &'h str, key: &str) -> Option<&'h str> {
    let (_, rest) = header.split_once(&format!("'{key}'"))?;
    Some(rest.trim_start().strip_prefix(':')?.trim_start())
}

/// Returns the magic number, length and header of a matrix's file, version 1.
pub(super) fn header(element: Element, rows: usize, columns: usize) -> Vec<u8> {
    let descr = match element {
        Element::F32 => "<f4",
        Element::F64 => "<f8",
    };
    let mut text =
        format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({rows}, {columns}), }}");
    let start = MAGIC.len() + 4;
    let end = (start + text.len() + 1).next_multiple_of(ALIGNMENT);
    text.extend(std::iter::repeat_n(' ', end - 1 - start - text.len()));
    text.push('\n');
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&[1, 0]);
    bytes.extend_from_slice(&(text.len() as u16).to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
    bytes
}

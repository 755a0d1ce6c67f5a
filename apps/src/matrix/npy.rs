//! NumPy's `.npy` files (format versions 1 to 3, of NumPy Enhancement Proposal 1): a magic, the length
//! of a header, the header, which is a Python dictionary that names type, order and shape, and the
//! numbers. Takes a path; hands on a matrix. Only what a matrix of floats needs is read; all else is
//! refused by name.

use super::{Element, Matrix, at, open_head};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use tegula::{InputError, Result};

const MAGIC: &[u8] = b"\x93NUMPY";
/// Magic, version, and the longest form of the header's length.
const PREFIX_BYTES: usize = 12;
/// Longer headers than this describe no matrix.
const HEADER_BYTES_MOST: usize = 64 << 10;
/// NumPy begins the numbers at a multiple of this.
const ALIGNMENT: usize = 64;

/// Whether the file begins as `.npy` files do.
pub(super) fn is_npy(path: &Path) -> Result<bool> {
    Ok(open_head(path, MAGIC.len())?.0 == MAGIC)
}

/// Reads the whole file.
pub(super) fn read(path: &Path) -> Result<Matrix> {
    let fault = |cause| InputError::from_io(path, cause);
    let wrong = |cause: String| at(path, Some(0), cause);
    let (mut head, mut file) = open_head(path, PREFIX_BYTES)?;
    let Some((start, length)) = header_place(&head) else {
        return Err(wrong("not a .npy file; save the matrix with numpy.save".to_owned()));
    };
    if length > HEADER_BYTES_MOST {
        return Err(wrong(format!("a .npy header of {length} bytes, which no matrix has")));
    }
    let rest = (start + length).saturating_sub(head.len());
    file.by_ref().take(rest as u64).read_to_end(&mut head).map_err(fault)?;
    let Some(text) = head.get(start..start + length) else {
        return Err(wrong("the .npy header is cut short; copy the file again".to_owned()));
    };
    let (element, rows, columns) = shape(&String::from_utf8_lossy(text)).map_err(wrong)?;
    let wanted = rows.checked_mul(columns).and_then(|count| count.checked_mul(element.bytes()));
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(fault)?;
    // A short first read may have left some of the numbers with the header.
    bytes.splice(0..0, head.drain(start + length..));
    if wanted != Some(bytes.len()) {
        let cause = format!(
            "{rows} x {columns} numbers of {} take another number of bytes than the {} that follow \
             the header; the file is cut short or damaged",
            element.name(),
            bytes.len()
        );
        return Err(wrong(cause));
    }
    Ok(Matrix { element, rows, columns, bytes: Arc::new(bytes) })
}

/// Where the header begins, and its length.
fn header_place(head: &[u8]) -> Option<(usize, usize)> {
    match head.strip_prefix(MAGIC)? {
        [1, _, low, high, ..] => Some((10, u16::from_le_bytes([*low, *high]).into())),
        [2 | 3, _, a, b, c, d, ..] => Some((12, u32::from_le_bytes([*a, *b, *c, *d]) as usize)),
        _ => None,
    }
}

/// Type, rows and columns that a header names.
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

/// What stands behind a key of the header's dictionary.
fn value_of<'h>(header: &'h str, key: &str) -> Option<&'h str> {
    let (_, rest) = header.split_once(&format!("'{key}'"))?;
    Some(rest.trim_start().strip_prefix(':')?.trim_start())
}

/// The magic, length and header of a matrix's file, version 1.
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

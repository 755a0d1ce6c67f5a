//! Keys and values as objects of Python's.

use crate::dynamic::{Column, INT_TAG, Number};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};

/// The Python type of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyForm {
    /// Text in UTF-8.
    Text,
    Bytes,
    /// A byte that says which, and then the key, as `_packing.py` writes it.
    Tagged,
}

/// Returns a value as an object of Python's.
pub(crate) fn shown<'py>(
    py: Python<'py>,
    column: &Column,
    place: usize,
) -> PyResult<Bound<'py, PyAny>> {
    match column {
        Column::Lists { list_ends, ends, bytes } => {
            let begin = place.checked_sub(1).map_or(0, |before| list_ends[before]);
            let values = (begin..list_ends[place]).map(|value| {
                let begin = value.checked_sub(1).map_or(0, |before| ends[before]);
                PyBytes::new(py, &bytes[begin..ends[value]])
            });
            Ok(PyList::new(py, values.collect::<Vec<_>>())?.into_any())
        }
        Column::Objects { numbers, ends, bytes } if numbers[place].is_none() => {
            let begin = place.checked_sub(1).map_or(0, |before| ends[before]);
            Ok(PyBytes::new(py, &bytes[begin..ends[place]]).into_any())
        }
        column => match column.number(place) {
            Some(Number::Int(int)) => Ok(int.into_pyobject(py)?.into_any()),
            Some(Number::Float(float)) => Ok(float.into_pyobject(py)?.into_any()),
            None => Ok(py.None().into_bound(py)),
        },
    }
}

/// Returns text as a `str`, in which bytes that are no UTF-8 are surrogates.
fn text<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(PyString::new(py, text).into_any()),
        Err(_) => PyBytes::new(py, bytes).call_method1("decode", ("utf-8", "surrogateescape")),
    }
}

/// Returns a key as an object of Python's.
pub(crate) fn shown_key<'py>(
    py: Python<'py>,
    form: KeyForm,
    key: &[u8],
) -> PyResult<Bound<'py, PyAny>> {
    let malformed = || PyValueError::new_err("a key has no form of this version of Tegula");
    match form {
        KeyForm::Text => text(py, key),
        KeyForm::Bytes => Ok(PyBytes::new(py, key).into_any()),
        KeyForm::Tagged => {
            let (tag, rest) = key.split_first().ok_or_else(malformed)?;
            match tag {
                b's' => text(py, rest),
                b'b' => Ok(PyBytes::new(py, rest).into_any()),
                &INT_TAG if rest.len() == 8 => {
                    Ok(int_of(rest).ok_or_else(malformed)?.into_pyobject(py)?.into_any())
                }
                &INT_TAG | b'f' => {
                    Ok(float_of(rest).ok_or_else(malformed)?.into_pyobject(py)?.into_any())
                }
                b't' => {
                    let mut rest = rest;
                    let mut items = Vec::new();
                    while !rest.is_empty() {
                        let item = next_item(&mut rest).ok_or_else(malformed)?;
                        items.push(shown_key(py, KeyForm::Tagged, &item)?);
                    }
                    Ok(PyTuple::new(py, items)?.into_any())
                }
                _ => Err(malformed()),
            }
        }
    }
}

pub(crate) fn int_of(bytes: &[u8]) -> Option<i64> {
    Some((u64::from_be_bytes(bytes.try_into().ok()?) ^ 1 << 63).cast_signed())
}

/// Floats are the last 8 bytes, in the order of their bits, of which a negative one's are turned over. Before them is the
/// integer below, so that integers and floats are in one order.
pub(crate) fn float_of(bytes: &[u8]) -> Option<f64> {
    let bits = u64::from_be_bytes(*bytes.last_chunk()?);
    Some(f64::from_bits(if bits >> 63 == 1 { bits ^ 1 << 63 } else { !bits }))
}

/// Takes an item off a tuple: it ends with two zeros, and a zero of its own is followed by 255.
fn next_item(rest: &mut &[u8]) -> Option<Vec<u8>> {
    let mut item = Vec::new();
    loop {
        let zero = memchr::memchr(0, rest)?;
        item.extend_from_slice(&rest[..zero]);
        let after = *rest.get(zero + 1)?;
        *rest = &rest[zero + 2..];
        match after {
            0 => return Some(item),
            255 => item.push(0),
            _ => return None,
        }
    }
}

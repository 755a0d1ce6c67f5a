//! Rows of CSV (RFC 4180): a newline in quotes is part of its row.

/// Returns the bytes of the row that `bytes` begin with, its newline included; `None` if it does not end there.
pub(crate) fn record(bytes: &[u8]) -> Option<usize> {
    let mut is_quoted = false;
    let mut marks = memchr::memchr2_iter(b'"', b'\n', bytes);
    marks.find_map(|at| {
        if bytes[at] == b'"' {
            is_quoted = !is_quoted;
            return None;
        }
        (!is_quoted).then_some(at + 1)
    })
}

/// Returns the rows of bytes that hold whole ones, without their newlines.
pub(crate) fn records(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        if bytes.is_empty() {
            return None;
        }
        let (row, rest) = bytes.split_at(record(bytes).unwrap_or(bytes.len()));
        bytes = rest;
        Some(row.strip_suffix(b"\n").unwrap_or(row))
    })
}

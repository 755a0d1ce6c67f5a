//! Lines of a task's output, and their keys. Lines end as they do for Hadoop's `LineReader`: with `\n`, `\r\n` or `\r`.

use crate::failure::TaskFailed;
use crate::process::failed;
use memchr::{memchr, memchr2, memmem};
use std::iter;
use tegula::Result;

/// Cuts bytes that come piece by piece into lines.
#[derive(Debug)]
pub(crate) struct LineCutter {
    /// The begin of a line whose end has not come.
    rest: Vec<u8>,
    /// The most bytes of it.
    most: usize,
}

impl LineCutter {
    /// Returns a cutter of lines with at most so many bytes.
    pub(crate) fn new(most: usize) -> LineCutter {
        LineCutter { rest: Vec::new(), most }
    }

    /// Shows the lines that are complete with these bytes, without their ends.
    ///
    /// # Errors
    /// Those of `see`, and that of a line that is too long.
    pub(crate) fn feed(
        &mut self,
        mut bytes: &[u8],
        mut see: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        if !self.rest.is_empty() {
            let Some(end) = memchr(b'\n', bytes) else { return self.keep(bytes) };
            self.rest.extend_from_slice(&bytes[..end]);
            let line = std::mem::take(&mut self.rest);
            see_line(&line, &mut see)?;
            self.rest = line;
            self.rest.clear();
            bytes = &bytes[end + 1..];
        }
        let has_returns = memchr(b'\r', bytes).is_some();
        while let Some(end) = memchr(b'\n', bytes) {
            let (line, rest) = (&bytes[..end], &bytes[end + 1..]);
            if has_returns { see_line(line, &mut see) } else { see(line) }?;
            bytes = rest;
        }
        self.keep(bytes)
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<()> {
        if self.rest.len() + bytes.len() > self.most {
            let most = self.most;
            let message = format!(
                "it has printed a line of more than {most} bytes, for which there is no memory; give more by --memory"
            );
            return Err(failed(TaskFailed::new(message)));
        }
        self.rest.extend_from_slice(bytes);
        Ok(())
    }

    /// Shows a last line without an end.
    pub(crate) fn finish(&mut self, mut see: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let line = std::mem::take(&mut self.rest);
        if line.is_empty() { Ok(()) } else { see_line(&line, &mut see) }
    }
}

/// Shows a line that a `\n` ended, which is several lines if there are `\r` in it.
fn see_line(line: &[u8], see: &mut impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let mut rest = line.strip_suffix(b"\r").unwrap_or(line);
    while let Some(end) = memchr(b'\r', rest) {
        see(&rest[..end])?;
        rest = &rest[end + 1..];
    }
    see(rest)
}

/// Returns the lines of a split as a mapper gets them, each ended by `\n`; `None` if they are so already.
pub(crate) fn normalised(bytes: &[u8]) -> Option<Vec<u8>> {
    if memchr(b'\r', bytes).is_none() && bytes.last().is_none_or(|last| *last == b'\n') {
        return None;
    }
    let mut text = Vec::with_capacity(bytes.len() + 1);
    for (line, _) in lines(bytes) {
        text.extend_from_slice(line);
        text.push(b'\n');
    }
    Some(text)
}

/// Returns the lines of a text without their ends, each with the number of its bytes with its end.
pub(crate) fn lines(bytes: &[u8]) -> impl Iterator<Item = (&[u8], usize)> {
    let mut rest = bytes;
    iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (line, end) = rest.split_at(memchr2(b'\n', b'\r', rest).unwrap_or(rest.len()));
        let bytes = line.len() + if end.starts_with(b"\r\n") { 2 } else { end.len().min(1) };
        rest = &rest[bytes..];
        Some((line, bytes))
    })
}

/// Where the key of a line ends: after so many fields.
#[derive(Clone, Debug)]
pub(crate) struct KeyEnd {
    pub(crate) separator: Vec<u8>,
    pub(crate) fields: usize,
}

impl KeyEnd {
    /// Returns a line's key and value. A line with fewer fields is all key.
    pub(crate) fn split<'l>(&self, line: &'l [u8]) -> (&'l [u8], &'l [u8]) {
        let mut end = self.find(line, 0);
        for _ in 1..self.fields {
            end = end.and_then(|at| self.find(line, at + self.separator.len()));
        }
        match end {
            Some(end) => (&line[..end], &line[end + self.separator.len()..]),
            None => (line, &[]),
        }
    }

    fn find(&self, line: &[u8], from: usize) -> Option<usize> {
        let rest = &line[from..];
        let found = match self.separator[..] {
            [byte] => memchr(byte, rest),
            _ => memmem::find(rest, &self.separator),
        };
        found.map(|at| from + at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_as_for_hadoop() {
        let cases: &[(&str, &[&str])] = &[
            ("a\nb\n", &["a", "b"]),
            ("a\r\nb\r\n", &["a", "b"]),
            ("a\rb\n", &["a", "b"]),
            ("a\r\r\n", &["a", ""]),
            ("\n\n", &["", ""]),
            ("a\nb", &["a", "b"]),
            ("a\r", &["a"]),
            ("", &[]),
        ];
        for (text, expected) in cases {
            for piece in [1, 2, 100] {
                let (mut cutter, mut lines) = (LineCutter::new(3), Vec::new());
                let mut see = |line: &[u8]| {
                    lines.push(String::from_utf8(line.to_vec()).unwrap());
                    Ok(())
                };
                for bytes in text.as_bytes().chunks(piece) {
                    cutter.feed(bytes, &mut see).unwrap();
                }
                cutter.finish(&mut see).unwrap();
                assert_eq!(lines, *expected, "{text:?} in pieces of {piece}");
            }
            let (lines, bytes): (Vec<&[u8]>, Vec<usize>) = lines(text.as_bytes()).unzip();
            assert_eq!(lines, expected.iter().map(|line| line.as_bytes()).collect::<Vec<_>>());
            assert_eq!(bytes.iter().sum::<usize>(), text.len(), "{text:?}");
        }
    }

    #[test]
    fn lines_that_are_too_long_are_refused() {
        let mut cutter = LineCutter::new(3);
        cutter.feed(b"a\nbcd", |_| Ok(())).unwrap();
        let error = cutter.feed(b"e", |_| Ok(())).unwrap_err().to_string();
        assert!(error.contains("more than 3 bytes"), "{error}");
    }

    #[test]
    fn mappers_get_lines_that_end_with_newlines() {
        assert_eq!(normalised(b"a\nb\n"), None);
        assert_eq!(normalised(b""), None);
        assert_eq!(normalised(b"a\r\nb").unwrap(), b"a\nb\n");
    }

    #[test]
    fn keys_end_after_their_fields() {
        let end = |separator: &str, fields| KeyEnd { separator: separator.into(), fields };
        let cases: &[(KeyEnd, &str, (&str, &str))] = &[
            (end("\t", 1), "a\tb\tc", ("a", "b\tc")),
            (end("\t", 2), "a\tb\tc", ("a\tb", "c")),
            (end("\t", 3), "a\tb", ("a\tb", "")),
            (end("\t", 1), "a", ("a", "")),
            (end("\t", 1), "\t\t", ("", "\t")),
            (end(".", 4), "11.12.1.2", ("11.12.1.2", "")),
            (end("::", 1), "a::b", ("a", "b")),
            (end("\t", 0), "a\tb", ("a", "b")),
        ];
        for (end, line, (key, value)) in cases {
            assert_eq!(end.split(line.as_bytes()), (key.as_bytes(), value.as_bytes()), "{line:?}");
        }
    }
}

//! One pair of the answer as one line of named fields.
//!
//! TSV gives the fields' bytes as they are, with tabs between. JSON has no bytes, so a field that is
//! not UTF-8 is given in hexadecimal, under its name and `_hex`.

use crate::flags::Format;
use std::io::Write;

/// A line at the end of a text, on its way.
pub(crate) struct Line<'o> {
    format: Format,
    out: &'o mut Vec<u8>,
    is_first: bool,
}

impl<'o> Line<'o> {
    pub(crate) fn begin(format: Format, out: &'o mut Vec<u8>) -> Line<'o> {
        Line { format, out, is_first: true }
    }

    /// Adds a field of any bytes.
    pub(crate) fn bytes(&mut self, name: &str, bytes: &[u8]) -> &mut Self {
        match (self.format, std::str::from_utf8(bytes)) {
            (Format::Tsv, _) => {
                self.name(name, "");
                self.out.extend_from_slice(bytes);
            }
            (Format::Jsonl, Ok(text)) => {
                self.name(name, "");
                // A string always has a JSON form, and the vector takes it.
                let _ = serde_json::to_writer(&mut *self.out, text);
            }
            (Format::Jsonl, Err(_)) => {
                self.name(name, "_hex");
                self.out.push(b'"');
                for byte in bytes {
                    // Writing to a vector cannot fail.
                    let _ = write!(self.out, "{byte:02x}");
                }
                self.out.push(b'"');
            }
        }
        self
    }

    /// Adds a field that is a whole number.
    pub(crate) fn integer(&mut self, name: &str, value: impl itoa::Integer) -> &mut Self {
        self.name(name, "");
        self.out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
        self
    }

    /// Adds a field that is a list of whole numbers: in TSV with commas between.
    pub(crate) fn integers<I: itoa::Integer>(
        &mut self,
        name: &str,
        values: impl Iterator<Item = I>,
    ) -> &mut Self {
        let (begin, end): (&[u8], &[u8]) = match self.format {
            Format::Tsv => (b"", b""),
            Format::Jsonl => (b"[", b"]"),
        };
        self.name(name, "");
        self.out.extend_from_slice(begin);
        let mut text = itoa::Buffer::new();
        for (place, value) in values.enumerate() {
            if place > 0 {
                self.out.push(b',');
            }
            self.out.extend_from_slice(text.format(value).as_bytes());
        }
        self.out.extend_from_slice(end);
        self
    }

    /// Adds a field that is a number, in the fewest digits that say it. What is none is null in JSON.
    pub(crate) fn float(&mut self, name: &str, value: f64) -> &mut Self {
        self.name(name, "");
        // Writing to a vector cannot fail.
        let _ = match self.format {
            Format::Jsonl if !value.is_finite() => write!(self.out, "null"),
            _ => write!(self.out, "{value}"),
        };
        self
    }

    /// Ends the line.
    pub(crate) fn end(self) {
        self.out.extend_from_slice(match self.format {
            Format::Tsv => b"\n",
            Format::Jsonl => b"}\n",
        });
    }

    /// What stands before a field's value. Names are the program's own: plain letters.
    fn name(&mut self, name: &str, suffix: &str) {
        match self.format {
            Format::Tsv if self.is_first => {}
            Format::Tsv => self.out.push(b'\t'),
            Format::Jsonl => {
                self.out.extend_from_slice(if self.is_first { b"{\"" } else { b",\"" });
                self.out.extend_from_slice(name.as_bytes());
                self.out.extend_from_slice(suffix.as_bytes());
                self.out.extend_from_slice(b"\":");
            }
        }
        self.is_first = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_become_lines() {
        for (format, key, line) in [
            (Format::Tsv, b"a\\\xff".as_slice(), b"a\\\xff\t7\t-1\n".as_slice()),
            (
                Format::Jsonl,
                b"q\"\\\x01\xc3\xa9",
                b"{\"key\":\"q\\\"\\\\\\u0001\xc3\xa9\",\"value\":7,\"rest\":-1}\n",
            ),
            (Format::Jsonl, b"a\xff", b"{\"key_hex\":\"61ff\",\"value\":7,\"rest\":-1}\n"),
        ] {
            let mut out = Vec::new();
            let mut made = Line::begin(format, &mut out);
            made.bytes("key", key).integer("value", 7_u64).integer("rest", -1);
            made.end();
            assert_eq!(out, line);
        }
    }
}

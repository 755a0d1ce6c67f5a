//! One pair of the answer as one line.
//!
//! TSV gives the key's bytes as they are: no word of any definition holds a tab or a line feed.
//! JSON has no bytes, so a key that is not UTF-8 is given in hexadecimal under another name.

use crate::flags::Format;
use std::io::Write;

/// Appends the line of a pair, with its line feed.
pub(crate) fn pair(format: Format, key: &[u8], value: u64, out: &mut Vec<u8>) {
    match format {
        Format::Tsv => {
            out.extend_from_slice(key);
            out.push(b'\t');
        }
        Format::Jsonl => json_key(key, out),
    }
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
    out.extend_from_slice(match format {
        Format::Tsv => b"\n",
        Format::Jsonl => b"}\n",
    });
}

fn json_key(key: &[u8], out: &mut Vec<u8>) {
    match std::str::from_utf8(key) {
        Ok(text) => {
            out.extend_from_slice(b"{\"key\":");
            // A string always has a JSON form, and the vector takes it.
            let _ = serde_json::to_writer(&mut *out, text);
        }
        Err(_) => {
            out.extend_from_slice(b"{\"key_hex\":\"");
            for byte in key {
                // Writing to a vector cannot fail.
                let _ = write!(out, "{byte:02x}");
            }
            out.push(b'"');
        }
    }
    out.extend_from_slice(b",\"value\":");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_become_lines() {
        for (format, key, line) in [
            (Format::Tsv, b"a\\\xff".as_slice(), b"a\\\xff\t7\n".as_slice()),
            (
                Format::Jsonl,
                b"q\"\\\x01\xc3\xa9",
                b"{\"key\":\"q\\\"\\\\\\u0001\xc3\xa9\",\"value\":7}\n",
            ),
            (Format::Jsonl, b"a\xff", b"{\"key_hex\":\"61ff\",\"value\":7}\n"),
        ] {
            let mut out = Vec::new();
            pair(format, key, 7, &mut out);
            assert_eq!(out, line);
        }
    }
}

//! What a command says on standard error: lines for the reporter, which are counters and status, and all others,
//! of which the end is kept.

use crate::counters::Counters;
use memchr::memchr;
use std::io::{self, Write};

/// Bytes of the end that are kept for an error.
const LAST_WORDS_BYTES: usize = 4 << 10;
/// A line longer than this is taken in pieces.
const LINE_BYTES: usize = 64 << 10;

/// The standard error of one command, piece by piece.
#[derive(Debug, Default)]
pub(crate) struct Speech {
    prefix: Vec<u8>,
    /// Whether lines are repeated on this process's standard error.
    is_repeated: bool,
    line: Vec<u8>,
    /// Whether `line` goes on with a line of which a piece was taken.
    is_inside: bool,
    last_words: Vec<u8>,
    pub(crate) counters: Counters,
    /// What the command said last of its state.
    pub(crate) status: Option<String>,
}

impl Speech {
    pub(crate) fn new(prefix: &[u8], is_repeated: bool) -> Speech {
        Speech { prefix: prefix.to_vec(), is_repeated, ..Speech::default() }
    }

    pub(crate) fn hear(&mut self, mut bytes: &[u8]) {
        while let Some(end) = memchr(b'\n', bytes) {
            self.line.extend_from_slice(&bytes[..end]);
            self.end_line(true);
            bytes = &bytes[end + 1..];
        }
        self.line.extend_from_slice(bytes);
        if self.line.len() > LINE_BYTES {
            self.end_line(false);
        }
    }

    /// Hears that no more is said: a last line needs no newline.
    pub(crate) fn end(&mut self) {
        if !self.line.is_empty() {
            self.end_line(true);
        }
    }

    /// Returns the end of what was said.
    pub(crate) fn last_words(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.last_words)
    }

    fn end_line(&mut self, is_whole: bool) {
        let mut line = std::mem::take(&mut self.line);
        let is_begin = !std::mem::replace(&mut self.is_inside, !is_whole);
        match line.strip_prefix(&self.prefix[..]).filter(|_| is_begin && is_whole) {
            Some(report) => {
                let report = String::from_utf8_lossy(report).into_owned();
                self.report(report.trim_end());
            }
            None => {
                if is_whole {
                    line.push(b'\n');
                }
                if self.is_repeated {
                    // Nobody can be told that standard error is closed.
                    let _ = io::stderr().write_all(&line);
                }
                self.last_words.extend_from_slice(&line);
                if self.last_words.len() > 2 * LAST_WORDS_BYTES {
                    self.last_words.drain(..self.last_words.len() - LAST_WORDS_BYTES);
                }
            }
        }
        line.clear();
        self.line = line;
    }

    /// Obeys `counter:group,name,amount` and `status:text`. As for Hadoop, other words after the prefix mean nothing.
    fn report(&mut self, report: &str) {
        if let Some(counter) = report.strip_prefix("counter:") {
            let columns: Vec<&str> = counter.trim().split(',').collect();
            if let [group, name, amount] = columns[..]
                && let Ok(amount) = amount.parse()
            {
                self.counters.add(group, name, amount);
            }
        } else if let Some(status) = report.strip_prefix("status:") {
            self.status = Some(status.trim().to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_and_status_are_taken_out() {
        let mut speech = Speech::new(b"reporter:", false);
        let said = b"hello\nreporter:counter:g,a b,2\nreporter:counter:g,a b,3\nreporter:status:half way\n\
            reporter:counter:bad\nworld\nreporter:counter:g,a b,4";
        for piece in said.chunks(7) {
            speech.hear(piece);
        }
        speech.end();
        assert_eq!(speech.last_words(), b"hello\nworld\n");
        assert_eq!(speech.counters.iter().collect::<Vec<_>>(), [("g", "a b", 9)]);
        assert_eq!(speech.status.as_deref(), Some("half way"));
    }

    #[test]
    fn the_end_of_much_is_kept() {
        let mut speech = Speech::new(b"reporter:", false);
        for _ in 0..100 {
            speech.hear(&[b'x'; 10_000]);
        }
        speech.hear(b" end\n");
        let kept = speech.last_words();
        assert!(kept.ends_with(b"x end\n") && kept.len() <= 2 * LAST_WORDS_BYTES + LINE_BYTES);
    }
}

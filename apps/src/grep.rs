//! Counts the matches of a pattern by file or by matching text. Takes any bytes; the pattern sees one line
//! at a time, without its newline. `docs/grep.md` has the options.

use grep_matcher::{LineMatchKind, Matcher as _};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use memchr::{memchr, memrchr};
use regex::bytes::{Regex, RegexBuilder};
use regex_syntax::hir::Look;
use std::os::unix::ffi::OsStrExt;
use tegula::{Emit, Error, Identity, Job, Result, Resumable, Sees, Split, Sum};

/// Bytes of lines that are searched at a time. A search for a literal inside the pattern stops using the
/// literal after too many false candidates, and then passes each byte of the remaining text through an
/// automaton. This bounds that remaining text. Starting a search costs a thousandth of it.
const PIECE_BYTES: usize = 8 << 10;

/// Counts matches of a pattern.
#[derive(Clone, Debug)]
pub struct Grep {
    pattern: Regex,
    /// Finds lines with a match, by a literal that each match holds if there is one. Of patterns whose matches may hold a
    /// newline there is none.
    lines: Option<RegexMatcher>,
    count: Counted,
    /// The pattern and its options, as part of the job's identity.
    meant: String,
}

/// The counted matter, and its key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Counted {
    /// Matches by file, without empty ones. Matches do not overlap.
    #[default]
    Matches,
    /// Lines with a match, also an empty one, by file.
    Lines,
    /// Matches by their text: the pattern search of Hadoop's examples.
    Texts,
}

/// The interpretation of a pattern.
#[derive(Clone, Copy, Debug, Default)]
pub struct Meaning {
    /// Letters match in both cases, by Unicode's simple folding.
    pub ignores_case: bool,
    /// The pattern is plain text, not a regular expression.
    pub is_fixed: bool,
}

impl Grep {
    /// Creates a job for a pattern in the syntax of the crate `regex`.
    ///
    /// # Errors
    /// Returns [`Error::Option`] for a pattern that is malformed, too large, or anchored to the start or
    /// end of the text.
    pub fn new(pattern: &str, meaning: Meaning, count: Counted) -> Result<Grep> {
        let refuse = |cause: String| Error::Option { option: "pattern", cause };
        let escaped = if meaning.is_fixed { regex::escape(pattern) } else { pattern.to_owned() };
        let mut parser = regex_syntax::ParserBuilder::new().utf8(false).multi_line(true).build();
        let parsed = parser.parse(&escaped).map_err(|cause| refuse(one_line(&cause)))?;
        let looks = parsed.properties().look_set();
        if looks.contains(Look::Start) || looks.contains(Look::End) {
            // They would match at the start and end of a split, on which no answer may depend.
            return Err(refuse(
                "a pattern sees lines, and \\A, \\z and (?-m) the text; write ^ and $".into(),
            ));
        }
        let pattern = RegexBuilder::new(&escaped)
            .case_insensitive(meaning.ignores_case)
            .multi_line(true)
            .build()
            .map_err(|cause| refuse(one_line(&cause)))?;
        // Whether a carriage return ends a line depends on the byte after it, which a line alone does not have.
        let has_crlf = looks.contains(Look::StartCRLF) || looks.contains(Look::EndCRLF);
        let lines = RegexMatcherBuilder::new()
            .case_insensitive(meaning.ignores_case)
            .multi_line(true)
            .line_terminator(Some(b'\n'))
            .build(&escaped);
        let lines = lines.ok().filter(|_| !has_crlf);
        let case = if meaning.ignores_case { "(?i)" } else { "" };
        Ok(Grep { pattern, lines, count, meant: format!("{case}{escaped}") })
    }

    /// Passes each line of the text with a match to `see`.
    fn each_line<'s>(&self, text: &'s [u8], mut see: impl FnMut(Found<'s>)) {
        let mut rest = text;
        while !rest.is_empty() {
            let most = PIECE_BYTES.min(rest.len());
            let end = match memrchr(b'\n', &rest[..most]) {
                Some(newline) => newline + 1,
                None => memchr(b'\n', &rest[most..]).map_or(rest.len(), |at| most + at + 1),
            };
            let (piece, behind) = rest.split_at(end);
            self.each_line_of(piece, &mut see);
            rest = behind;
        }
    }

    /// Like `each_line`, for a few lines. Searches all of them at once, which is much faster than line by
    /// line. If a match may span lines or be in none, only the line in which it begins is searched again.
    fn each_line_of<'s>(&self, lines: &'s [u8], see: &mut impl FnMut(Found<'s>)) {
        let mut rest = lines;
        while let Some((at, is_sure)) = self.candidate(rest) {
            // There is no line after the last newline.
            if at == rest.len() && rest.last().is_none_or(|last| *last == b'\n') {
                return;
            }
            let end = memchr(b'\n', &rest[at..]).map_or(rest.len(), |newline| at + newline);
            let found = Found { text: &rest[..end], at };
            if is_sure || self.pattern.is_match(found.line()) {
                see(found);
            }
            match rest.get(end + 1..) {
                Some(behind) => rest = behind,
                None => return,
            }
        }
    }

    /// Returns a place in the first line that may have a match, and whether it has one.
    fn candidate(&self, text: &[u8]) -> Option<(usize, bool)> {
        match &self.lines {
            Some(lines) => match lines.find_candidate_line(text) {
                Ok(Some(LineMatchKind::Confirmed(at))) => Some((at, true)),
                Ok(Some(LineMatchKind::Candidate(at))) => Some((at, false)),
                Ok(None) | Err(_) => None,
            },
            None => self.pattern.find(text).map(|found| (found.start(), false)),
        }
    }

    fn matches<'l>(&self, line: &'l [u8]) -> impl Iterator<Item = &'l [u8]> {
        self.pattern.find_iter(line).map(|found| found.as_bytes()).filter(|text| !text.is_empty())
    }
}

/// A place in a line with a match.
struct Found<'s> {
    /// The text up to the line's end.
    text: &'s [u8],
    at: usize,
}

impl<'s> Found<'s> {
    fn line(&self) -> &'s [u8] {
        let start = memrchr(b'\n', &self.text[..self.at]).map_or(0, |newline| newline + 1);
        &self.text[start..]
    }
}

impl Job for Grep {
    type Key = [u8];
    type Combine = Sum<u64>;

    const LARGEST_FIRST: bool = true;

    fn state(&self) -> Option<&dyn Resumable> {
        Some(self)
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        let mut count = 0;
        match self.count {
            Counted::Matches => {
                self.each_line(split.bytes(), |found| {
                    count += self.matches(found.line()).count() as u64;
                });
            }
            Counted::Lines => self.each_line(split.bytes(), |_| count += 1),
            Counted::Texts => {
                self.each_line(split.bytes(), |found| {
                    emit.emit_each(self.matches(found.line()), 1);
                });
            }
        }
        if count > 0 {
            emit.emit_copied(split.path().as_os_str().as_bytes(), count);
        }
        Ok(())
    }
}

impl Resumable for Grep {
    fn identity(&self) -> Identity {
        let identity = Identity::new("grep", 1).with("pattern", &self.meant);
        identity.with("count", format!("{:?}", self.count))
    }

    fn sees(&self) -> Sees {
        match self.count {
            Counted::Matches | Counted::Lines => Sees::Paths,
            Counted::Texts => Sees::Records,
        }
    }
}

/// The parser's errors have several lines; the last one is the cause.
fn one_line(cause: &impl ToString) -> String {
    let text = cause.to_string();
    text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned()
}

//! Reads a line of JSON in one pass: checks all of it by the grammar of RFC 8259, and finds fields on the way.
//!
//! A general parser checks a line and then looks a field up in it. Measured on a busy machine, on lines of 630 bytes with
//! UTF-8 checked and lines found, sonic-rs takes 1.8 ns a byte for both, simd-json 1.2 for its tape alone, and this 0.6.
//! Strings are looked through eight bytes at a time by Mycroft's test for a zero byte, and by the widest instructions
//! of the machine from a certain length on, where no line of the split has control characters. The small functions are
//! inlined always, because the compiler's own choice is a fifth slower.

use super::Step;

/// Nested objects and arrays that a line may have.
const DEPTH_MOST: usize = 500;

/// Bytes of a string after which a call that uses the widest instructions of the machine is faster; a multiple of 8.
const SHORT: usize = 16;

const ONES: u64 = u64::MAX / 0xff;
const HIGHS: u64 = ONES << 7;

/// The byte at the end of a line, which is in no JSON elsewhere.
const END: u8 = 0;

/// Why a line cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    NotJson,
    TooDeep,
}

type Read<T = ()> = Result<T, Fault>;

/// Checks a line, which must be UTF-8 and, without `has_controls`, free of control characters, and returns the text of
/// each field in it; `None` of one that it lacks. Of keys that an object has twice, the first counts.
pub(super) fn find<'s, const N: usize>(
    line: &'s [u8],
    has_controls: bool,
    fields: [&[Step]; N],
) -> Read<[Option<&'s [u8]>; N]> {
    let mut reader = Reader { line, at: 0, has_controls, found: [None; N] };
    reader.value(fields.map(Some), 0)?;
    reader.next();
    if reader.at == line.len() { Ok(reader.found) } else { Err(Fault::NotJson) }
}

struct Reader<'s, const N: usize> {
    line: &'s [u8],
    at: usize,
    /// Whether the line may have control characters.
    has_controls: bool,
    found: [Option<&'s [u8]>; N],
}

/// The steps to each field that are left in a value; `None` where the field is not in it.
type Paths<'p, const N: usize> = [Option<&'p [Step]>; N];

impl<'s, const N: usize> Reader<'s, N> {
    #[inline(always)]
    fn byte(&self) -> u8 {
        self.line.get(self.at).copied().unwrap_or(END)
    }

    /// Returns the next byte that is not white space.
    #[inline(always)]
    fn next(&mut self) -> u8 {
        loop {
            match self.byte() {
                b' ' | b'\t' | b'\n' | b'\r' => self.at += 1,
                byte => return byte,
            }
        }
    }

    #[inline(always)]
    fn expect(&mut self, wanted: u8) -> Read {
        let is_there = self.next() == wanted;
        self.at += 1;
        if is_there { Ok(()) } else { Err(Fault::NotJson) }
    }

    #[inline(always)]
    fn value(&mut self, paths: Paths<'_, N>, depth: usize) -> Read {
        let first = self.next();
        if paths.iter().all(Option::is_none) {
            return self.any(first, paths, depth);
        }
        let begin = self.at;
        self.any(first, paths, depth)?;
        let text = &self.line[begin..self.at];
        for (found, path) in self.found.iter_mut().zip(paths) {
            if path.is_some_and(<[Step]>::is_empty) {
                *found = Some(text);
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn any(&mut self, first: u8, paths: Paths<'_, N>, depth: usize) -> Read {
        match first {
            b'{' => self.object(paths, depth),
            b'[' => self.array(paths, depth),
            first => self.scalar(first),
        }
    }

    fn object(&mut self, mut paths: Paths<'_, N>, depth: usize) -> Read {
        self.open(depth)?;
        if self.next() == b'}' {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.expect(b'"')?;
            let begin = self.at;
            let has_escapes = self.string()?;
            let key = &self.line[begin..self.at - 1];
            self.expect(b':')?;
            let below = paths.each_mut().map(|path| {
                let (step, rest) = (*path)?.split_first()?;
                let is_it = match has_escapes {
                    false => key == step.key.as_bytes(),
                    true => unescaped(key).is_some_and(|key| key == step.key),
                };
                is_it.then(|| {
                    *path = None;
                    rest
                })
            });
            self.value(below, depth + 1)?;
            if self.is_last(b'}')? {
                return Ok(());
            }
        }
    }

    fn array(&mut self, paths: Paths<'_, N>, depth: usize) -> Read {
        self.open(depth)?;
        if self.next() == b']' {
            self.at += 1;
            return Ok(());
        }
        for index in 0.. {
            let below = paths.map(|path| {
                let (step, rest) = path?.split_first()?;
                (step.index == Some(index)).then_some(rest)
            });
            self.value(below, depth + 1)?;
            if self.is_last(b']')? {
                break;
            }
        }
        Ok(())
    }

    fn open(&mut self, depth: usize) -> Read {
        self.at += 1;
        if depth < DEPTH_MOST { Ok(()) } else { Err(Fault::TooDeep) }
    }

    /// Goes past a comma or past the end of an object or array, and returns whether it was the end.
    #[inline(always)]
    fn is_last(&mut self, end: u8) -> Read<bool> {
        let next = self.next();
        self.at += 1;
        match next {
            b',' => Ok(false),
            next if next == end => Ok(true),
            _ => Err(Fault::NotJson),
        }
    }

    #[inline(always)]
    fn scalar(&mut self, first: u8) -> Read {
        match first {
            b'"' => {
                self.at += 1;
                self.string().map(drop)
            }
            b'-' | b'0'..=b'9' => self.number(),
            b't' => self.literal(b"true"),
            b'f' => self.literal(b"false"),
            b'n' => self.literal(b"null"),
            _ => Err(Fault::NotJson),
        }
    }

    /// Goes past the rest of a string, and returns whether it has escapes.
    #[inline(always)]
    fn string(&mut self) -> Read<bool> {
        let mut has_escapes = false;
        loop {
            let begin = self.at;
            while let Some(eight) = self.line[self.at..].first_chunk() {
                let found = special(u64::from_le_bytes(*eight));
                self.at += (found.trailing_zeros() / 8) as usize;
                if found != 0 {
                    break;
                }
                if self.at - begin == SHORT && !self.has_controls {
                    let rest = &self.line[self.at..];
                    self.at += memchr::memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
                    break;
                }
            }
            match self.byte() {
                b'"' => {
                    self.at += 1;
                    return Ok(has_escapes);
                }
                b'\\' => {
                    has_escapes = true;
                    self.escape()?;
                }
                ..b' ' => return Err(Fault::NotJson),
                _ => self.at += 1,
            }
        }
    }

    #[cold]
    fn escape(&mut self) -> Read {
        let is_hex = |digits: &[u8]| digits.len() == 4 && digits.iter().all(u8::is_ascii_hexdigit);
        self.at += match &self.line[self.at + 1..] {
            [b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => 2,
            [b'u', rest @ ..] if is_hex(&rest[..rest.len().min(4)]) => 6,
            _ => return Err(Fault::NotJson),
        };
        Ok(())
    }

    #[inline(always)]
    fn number(&mut self) -> Read {
        self.skip(|byte| byte == b'-');
        match self.byte() {
            b'0' => self.at += 1,
            _ => self.digits()?,
        }
        if self.skip(|byte| byte == b'.') {
            self.digits()?;
        }
        if self.skip(|byte| byte | 0x20 == b'e') {
            self.skip(|byte| matches!(byte, b'+' | b'-'));
            self.digits()?;
        }
        Ok(())
    }

    #[inline(always)]
    fn digits(&mut self) -> Read {
        if !self.skip(|byte| byte.is_ascii_digit()) {
            return Err(Fault::NotJson);
        }
        while self.skip(|byte| byte.is_ascii_digit()) {}
        Ok(())
    }

    /// Goes past a byte of that kind, and returns whether there was one.
    #[inline(always)]
    fn skip(&mut self, is_it: impl Fn(u8) -> bool) -> bool {
        let is_there = is_it(self.byte());
        self.at += usize::from(is_there);
        is_there
    }

    #[inline(always)]
    fn literal(&mut self, text: &[u8]) -> Read {
        let is_there = self.line[self.at..].starts_with(text);
        self.at += text.len();
        if is_there { Ok(()) } else { Err(Fault::NotJson) }
    }
}

/// Returns the high bit of each byte that is a quote, a backslash or a control character. Bytes above the lowest such
/// byte may be marked, too.
#[inline(always)]
fn special(eight: u64) -> u64 {
    let is_zero = |bytes: u64| bytes.wrapping_sub(ONES) & !bytes;
    let quotes = is_zero(eight ^ (ONES * u64::from(b'"')));
    let backslashes = is_zero(eight ^ (ONES * u64::from(b'\\')));
    let controls = eight.wrapping_sub(ONES * 0x20) & !eight;
    (quotes | backslashes | controls) & HIGHS
}

/// Returns the characters of a string's inside; `None` if an escape is none.
pub(super) fn unescaped(inside: &[u8]) -> Option<String> {
    serde_json::from_slice(&[b"\"", inside, b"\""].concat()).ok()
}

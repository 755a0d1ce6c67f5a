//! Requests and bytes of a web server's log in Common or Combined Log Format, by host, path, status or
//! hour. Text after the number of bytes (in Combined: referrer and browser) is ignored.

use crate::digits::whole;
use memchr::{memchr, memmem};
use std::cmp::Ordering;
use tegula::{Combine, Emit, Identity, Job, Result, Resumable, Sees, Split};

/// Requests and bytes by one field of an access log.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// The field.
    pub key: AccessKey,
}

/// The key by which requests are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccessKey {
    /// The client: the first field.
    Host,
    /// The request's target without its query (up to the first `?`); a request without a space is a path as
    /// a whole.
    Path,
    /// The three digits of the answer.
    Status,
    /// The hour as `2015-05-17T10`, in the log's own time zone.
    Hour,
}

impl Job for Access {
    type Key = [u8];
    type Combine = Traffic;

    fn state(&self) -> Option<&dyn Resumable> {
        Some(self)
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        for line in split.lines() {
            let Some(entry) = entry(line) else {
                split.bad(line, BAD_LINE)?;
                continue;
            };
            match self.key {
                AccessKey::Host => emit.emit(entry.host, entry.bytes),
                AccessKey::Path => emit.emit(path(entry.request), entry.bytes),
                AccessKey::Status => emit.emit(entry.status, entry.bytes),
                AccessKey::Hour => match hour(entry.time) {
                    Some(hour) => emit.emit_copied(&hour, entry.bytes),
                    None => split.bad(line, BAD_TIME)?,
                },
            }
        }
        Ok(())
    }
}

impl Resumable for Access {
    fn identity(&self) -> Identity {
        let key = format!("{:?}", self.key);
        Identity::new("logstats", 1).with("of", "access").with("key", key)
    }

    fn sees(&self) -> Sees {
        Sees::Records
    }
}

const BAD_LINE: &str = "a line must be in Common or Combined Log Format: \
    host ident user [day/Mon/year:hour:minute:second zone] \"request\" status bytes ...";
const BAD_TIME: &str = "a time must be as 17/May/2015:10:05:03 +0000";

/// The fields of a line that are used.
struct Entry<'l> {
    host: &'l [u8],
    time: &'l [u8],
    request: &'l [u8],
    status: &'l [u8],
    bytes: u64,
}

/// Ident and user may contain spaces, and the request may contain escaped quotes.
fn entry(line: &[u8]) -> Option<Entry<'_>> {
    let (host, rest) = cut(line, memchr(b' ', line)?, 1);
    let (_, rest) = cut(rest, memmem::find(rest, b" [")?, 2);
    let (time, rest) = cut(rest, memmem::find(rest, b"] \"")?, 3);
    let (request, rest) = cut(rest, end_of_quoted(rest)?, 2);
    let (status, rest) = rest.split_at_checked(3)?;
    let rest = rest.strip_prefix(b" ")?;
    let bytes = &rest[..memchr(b' ', rest).unwrap_or(rest.len())];
    let bytes = if bytes == b"-" { 0 } else { whole(bytes)? };
    let is_entry = !host.is_empty() && whole(status).is_some();
    is_entry.then_some(Entry { host, time, request, status, bytes })
}

/// Returns the text before `at`, and the text from `skip` bytes after it.
fn cut(text: &[u8], at: usize, skip: usize) -> (&[u8], &[u8]) {
    (&text[..at], &text[at + skip..])
}

/// Returns the position of the quote, followed by a space, that ends a quoted text.
fn end_of_quoted(text: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        let at = from + memchr(b'"', &text[from..])?;
        let escapes = text[..at].iter().rev().take_while(|byte| **byte == b'\\').count();
        if escapes % 2 == 0 {
            return (text.get(at + 1) == Some(&b' ')).then_some(at);
        }
        from = at + 1;
    }
}

/// Returns the target of `GET /target?query HTTP/1.1`.
fn path(request: &[u8]) -> &[u8] {
    let mut words = request.split(|byte| *byte == b' ');
    let target = match (words.next(), words.next()) {
        (_, Some(target)) => target,
        _ => request,
    };
    &target[..memchr(b'?', target).unwrap_or(target.len())]
}

/// Converts `17/May/2015:10:05:03 +0000` to `2015-05-17T10`.
fn hour(time: &[u8]) -> Option<[u8; 13]> {
    const MONTHS: &[u8; 36] = b"JanFebMarAprMayJunJulAugSepOctNovDec";
    let (&[d, e, b'/', m0, m1, m2, b'/', y0, y1, y2, y3, b':', h, i], b":" | [b':', ..]) =
        time.split_first_chunk::<14>()?
    else {
        return None;
    };
    let month = MONTHS.as_chunks::<3>().0.iter().position(|name| *name == [m0, m1, m2])? as u8 + 1;
    let digits = [d, e, y0, y1, y2, y3, h, i];
    let hour = [y0, y1, y2, y3, b'-', b'0' + month / 10, b'0' + month % 10, b'-', d, e, b'T', h, i];
    whole(&digits).map(|_| hour)
}

/// Counts requests, and sums the bytes of their answers.
#[derive(Clone, Copy, Debug)]
pub struct Traffic;

/// The values that [`Traffic`] keeps and shows per key. Byte form: both as 8 bytes, little-endian.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Requests {
    /// Requests.
    pub requests: u64,
    /// Bytes of all their answers.
    pub bytes: u64,
}

impl Combine for Traffic {
    type Value = u64;
    type Accumulator = Requests;
    type Output = Requests;

    fn identity() -> Requests {
        Requests::default()
    }

    fn absorb(into: &mut Requests, bytes: u64) {
        Self::merge(into, &Requests { requests: 1, bytes });
    }

    fn merge(into: &mut Requests, other: &Requests) {
        let Some(bytes) = into.bytes.checked_add(other.bytes) else {
            panic!("the bytes of a key exceed u64: a number of bytes in the log is wrong");
        };
        *into = Requests { requests: into.requests + other.requests, bytes };
    }

    fn finish(all: &Requests) -> Requests {
        *all
    }

    /// By requests, then by bytes.
    fn rank(a: &Requests, b: &Requests) -> Ordering {
        a.cmp(b)
    }

    fn encode(all: &Requests, out: &mut Vec<u8>) {
        out.extend_from_slice(&all.requests.to_le_bytes());
        out.extend_from_slice(&all.bytes.to_le_bytes());
    }

    fn decode(bytes: &mut &[u8]) -> Option<Requests> {
        let (requests, rest) = bytes.split_first_chunk()?;
        let (sum, rest) = rest.split_first_chunk()?;
        *bytes = rest;
        Some(Requests { requests: u64::from_le_bytes(*requests), bytes: u64::from_le_bytes(*sum) })
    }
}

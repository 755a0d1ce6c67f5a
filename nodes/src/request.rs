//! What a node asks another one for, and the byte form of it and of the reply.
//!
//! A request for bytes of a file is the length of its name, the name, an offset and a length. One for pairs is `PAIRS`,
//! the number of the attempt to bring them together, and the first and the last partition; one for an answer is `ANSWER`
//! and the number. The reply is pieces, each after its length; of pairs and answers, whole blocks, and an empty piece at
//! the end. A piece of length `REFUSED` is an error instead. Numbers have 8 bytes, least first.

use std::ffi::OsStr;
use std::fmt;
use std::io::{self, Read, Write};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

const REFUSED: u64 = u64::MAX;
const PAIRS: u64 = u64::MAX - 1;
const ANSWER: u64 = u64::MAX - 2;
/// The longest piece: a block may be as long as one key's values.
const PIECE_BYTES_MOST: u64 = 1 << 32;
/// Bytes of a piece for which memory is taken before any of them has come: more than most pieces have.
const STEP_BYTES: usize = 4 << 20;
/// The longest name of a file, and the longest text of an error.
const NAME_BYTES_MOST: u64 = 64 << 10;

/// What a node asks another one for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Bytes of a file of the input.
    Bytes {
        /// The file's name.
        name: PathBuf,
        /// Where they begin.
        offset: u64,
        /// How many they are.
        length: u64,
    },
    /// Pairs of some partitions.
    Pairs {
        /// The number of the attempt to bring pairs together.
        attempt: u64,
        /// The partitions.
        partitions: Range<usize>,
    },
    /// The answer that the node has made.
    Answer {
        /// The number of the attempt.
        attempt: u64,
    },
}

impl Request {
    /// Returns the byte form.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Request::Bytes { name, offset, length } => {
                let name = name.as_os_str().as_bytes();
                let mut bytes = (name.len() as u64).to_le_bytes().to_vec();
                bytes.extend_from_slice(name);
                bytes.extend_from_slice(&offset.to_le_bytes());
                bytes.extend_from_slice(&length.to_le_bytes());
                bytes
            }
            Request::Pairs { attempt, partitions: Range { start, end } } => {
                [PAIRS, *attempt, *start as u64, *end as u64].map(u64::to_le_bytes).concat()
            }
            Request::Answer { attempt } => [ANSWER, *attempt].map(u64::to_le_bytes).concat(),
        }
    }

    /// Reads the byte form.
    ///
    /// # Errors
    /// Those of `from`, and [`InvalidData`](io::ErrorKind::InvalidData) if it is no request.
    pub fn read(from: &mut impl Read) -> io::Result<Request> {
        let partition = |number| usize::try_from(number).map_err(|_| no_request());
        match number(from)? {
            PAIRS => Ok(Request::Pairs {
                attempt: number(from)?,
                partitions: partition(number(from)?)?..partition(number(from)?)?,
            }),
            ANSWER => Ok(Request::Answer { attempt: number(from)? }),
            length if length <= NAME_BYTES_MOST => {
                let mut name = vec![0; length as usize];
                from.read_exact(&mut name)?;
                let name = PathBuf::from(OsStr::from_bytes(&name));
                Ok(Request::Bytes { name, offset: number(from)?, length: number(from)? })
            }
            _ => Err(no_request()),
        }
    }
}

fn no_request() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a node asks for what no version of Tegula has")
}

/// Why a request has no reply.
#[derive(Debug)]
pub enum Fault {
    /// The other node is gone, or does not answer: another one may.
    Link(io::Error),
    /// The other node cannot read the file.
    File(io::Error),
}

impl From<io::Error> for Fault {
    fn from(cause: io::Error) -> Fault {
        Fault::Link(cause)
    }
}

impl Fault {
    /// Returns the system's error.
    pub fn into_cause(self) -> io::Error {
        match self {
            Fault::Link(cause) | Fault::File(cause) => cause,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Link(cause) | Fault::File(cause) => cause.fmt(f),
        }
    }
}

impl std::error::Error for Fault {}

/// The replies that a node sends.
#[derive(Debug)]
pub struct Replies<R>(pub R);

impl<R: Read> Replies<R> {
    /// Fills `into` with the bytes that were asked for.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn fill(&mut self, into: &mut [u8]) -> Result<(), Fault> {
        let mut at = 0;
        while at < into.len() {
            let length = number(&mut self.0)?;
            if length == REFUSED {
                return Err(self.refusal()?);
            }
            let length = usize::try_from(length).ok().filter(|length| *length > 0);
            let end = length.and_then(|length| at.checked_add(length));
            let piece = end.and_then(|end| into.get_mut(at..end));
            let piece = piece
                .ok_or_else(|| io::Error::other("a node sends other bytes than were asked"))?;
            self.0.read_exact(piece)?;
            at += piece.len();
        }
        Ok(())
    }

    /// Returns the next piece of pairs or an answer, which is whole blocks; `None` at the end. Its memory grows with the
    /// bytes that come, whatever length they are said to have.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn piece(&mut self) -> Result<Option<Vec<u8>>, Fault> {
        let length = match number(&mut self.0)? {
            0 => return Ok(None),
            REFUSED => return Err(self.refusal()?),
            length if length <= PIECE_BYTES_MOST => length as usize,
            _ => return Err(io::Error::other("a node sends what is no piece").into()),
        };
        let mut piece = vec![0; length.min(STEP_BYTES)];
        let mut at = 0;
        loop {
            self.0.read_exact(&mut piece[at..])?;
            at = piece.len();
            if at == length {
                return Ok(Some(piece));
            }
            piece.resize(length.min(2 * at), 0);
        }
    }

    /// Reads the error of a request.
    fn refusal(&mut self) -> io::Result<Fault> {
        let kind = match number(&mut self.0)? {
            1 => io::ErrorKind::NotFound,
            2 => io::ErrorKind::UnexpectedEof,
            _ => io::ErrorKind::Other,
        };
        let mut text = vec![0; number(&mut self.0)?.min(NAME_BYTES_MOST) as usize];
        self.0.read_exact(&mut text)?;
        let text = String::from_utf8_lossy(&text).into_owned();
        Ok(Fault::File(io::Error::new(kind, text)))
    }
}

/// Sends a piece after its length; an empty one is the end.
///
/// # Errors
/// Those of `to`.
pub fn send(to: &mut impl Write, piece: &[u8]) -> io::Result<()> {
    to.write_all(&(piece.len() as u64).to_le_bytes())?;
    to.write_all(piece)
}

/// Sends an error: whether its cause is that the file is missing or too short, and its text.
///
/// # Errors
/// Those of `to`.
pub fn refuse(to: &mut impl Write, cause: &io::Error) -> io::Result<()> {
    let kind = match cause.kind() {
        io::ErrorKind::NotFound => 1_u64,
        io::ErrorKind::UnexpectedEof => 2,
        _ => 0,
    };
    let mut text = cause.to_string();
    text.truncate(text.floor_char_boundary(NAME_BYTES_MOST as usize));
    let numbers = [REFUSED, kind, text.len() as u64].map(u64::to_le_bytes).concat();
    to.write_all(&numbers)?;
    to.write_all(text.as_bytes())
}

fn number(from: &mut impl Read) -> io::Result<u64> {
    let mut bytes = [0; 8];
    from.read_exact(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_takes_no_memory_that_its_bytes_do_not_need() {
        let told = PIECE_BYTES_MOST.to_le_bytes();
        let mut sent = [&told[..], &vec![7; STEP_BYTES + 1]].concat();
        let fault = Replies(&sent[..]).piece().unwrap_err();
        assert_eq!(fault.into_cause().kind(), io::ErrorKind::UnexpectedEof);
        sent[..8].copy_from_slice(&(STEP_BYTES as u64 + 1).to_le_bytes());
        assert_eq!(Replies(&sent[..]).piece().unwrap().unwrap(), sent[8..]);
    }

    #[test]
    fn an_empty_piece_is_no_part_of_a_file() {
        let sent = [0_u64, 1].map(u64::to_le_bytes).concat();
        let fault = Replies(&sent[..]).fill(&mut [0]).unwrap_err();
        assert_eq!(fault.to_string(), "a node sends other bytes than were asked");
    }

    #[test]
    fn a_refusal_is_received_with_its_kind() {
        for kind in [io::ErrorKind::NotFound, io::ErrorKind::UnexpectedEof, io::ErrorKind::Other] {
            let mut sent = Vec::new();
            refuse(&mut sent, &io::Error::new(kind, "é".repeat(50_000))).unwrap();
            let mut replies = Replies(&sent[..]);
            let fault = replies.fill(&mut [0]).unwrap_err();
            assert!(matches!(&fault, Fault::File(cause) if cause.kind() == kind));
            assert!(replies.0.is_empty(), "all of the error was read");
        }
    }

    #[test]
    fn bytes_that_are_no_request_or_no_piece_are_refused() {
        let long = (NAME_BYTES_MOST + 1).to_le_bytes();
        let refused = Request::read(&mut &long[..]).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::InvalidData);
        let long = (PIECE_BYTES_MOST + 1).to_le_bytes();
        let refused = Replies(&long[..]).piece().unwrap_err();
        assert_eq!(refused.to_string(), "a node sends what is no piece");
        let mut sent = Vec::new();
        refuse(&mut sent, &io::Error::other("the pairs are gone")).unwrap();
        assert_eq!(Replies(&sent[..]).piece().unwrap_err().to_string(), "the pairs are gone");
    }
}

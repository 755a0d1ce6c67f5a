//! What goes from node to node: bytes of the input, from a node that reads it to one that cannot; pairs of partitions;
//! and a node's part of the answer, to the driver. A node listens on an address that only the driver tells others,
//! together with a random number that each connection begins with.
//!
//! A request for bytes is the length of a file's name, the name, an offset and a length. One for pairs is [`PAIRS`], the
//! number of the attempt to bring them together, and the first and the last partition; one for an answer is [`ANSWER`]
//! and the number. The reply is pieces, each after its length; of pairs and answers, whole blocks, and an empty piece at
//! the end. A piece of length [`REFUSED`] is an error instead. Numbers have 8 bytes, least first.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use std::{ffi::OsStr, fs::File, os::unix::ffi::OsStrExt};
use tegula::holding::{PartAnswer, Spool};
use tegula::{Error, Input, RangeSource, Result};
use tegula_input::input::{Source, open_file};

/// Bytes that are read and sent at a time: the memory of a connection.
const PIECE_BYTES: usize = 256 << 10;
const REFUSED: u64 = u64::MAX;
const PAIRS: u64 = u64::MAX - 1;
const ANSWER: u64 = u64::MAX - 2;
/// The longest piece: a block may be as long as one key's values.
const PIECE_BYTES_MOST: u64 = 1 << 32;
const NAME_BYTES_MOST: u64 = 64 << 10;

/// Where a node listens, and the number that a connection to it begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// The IP address and the port.
    pub at: String,
    /// A number that nobody can guess.
    pub token: u128,
}

/// What others may ask a node for.
#[derive(Clone, Default)]
pub(crate) struct Offer(Arc<Mutex<Offered>>);

#[derive(Default)]
struct Offered {
    files: Option<Arc<dyn RangeSource>>,
    /// Pairs, and the number of the attempt to bring them together.
    pairs: Option<(u64, Arc<Spool>)>,
    answer: Option<(u64, Arc<dyn PartAnswer>)>,
}

impl Offer {
    /// Offers the files of another input from now on, and nothing else.
    pub(crate) fn files(&self, files: Option<Arc<dyn RangeSource>>) {
        *self.lock() = Offered { files, pairs: None, answer: None };
    }

    /// Offers pairs, and no answer any more.
    pub(crate) fn pairs(&self, number: u64, spool: Arc<Spool>) {
        let mut offered = self.lock();
        (offered.pairs, offered.answer) = (Some((number, spool)), None);
    }

    /// Offers an answer beside the pairs.
    pub(crate) fn answer(&self, number: u64, answer: Box<dyn PartAnswer>) {
        self.lock().answer = Some((number, Arc::from(answer)));
    }

    /// Offers neither pairs nor an answer any more.
    pub(crate) fn end(&self) {
        let mut offered = self.lock();
        (offered.pairs, offered.answer) = (None, None);
    }

    fn lock(&self) -> MutexGuard<'_, Offered> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A node's listening end. Its threads end with the process.
pub(crate) struct Listening {
    pub(crate) address: Address,
    pub(crate) offer: Offer,
}

impl Listening {
    /// Listens on a port that the system chooses.
    ///
    /// # Errors
    /// Those of the system.
    pub(crate) fn on(host: IpAddr) -> Result<Listening> {
        let fault = |cause| Error::System { action: "listen for other nodes", cause };
        let listener = TcpListener::bind((host, 0)).map_err(fault)?;
        let at = listener.local_addr().map_err(fault)?.to_string();
        let token = random().map_err(fault)?;
        let offer = Offer::default();
        let serving = offer.clone();
        let accept = move || {
            for connection in listener.incoming().map_while(io::Result::ok) {
                let offer = serving.clone();
                let serve = move || serve(connection, token, &offer);
                // Without a thread the connection closes, and the other end tries again.
                let _ = thread::Builder::new().name("serves".to_owned()).spawn(serve);
            }
        };
        thread::Builder::new().name("listens".to_owned()).spawn(accept).map_err(fault)?;
        Ok(Listening { address: Address { at, token }, offer })
    }
}

/// Returns a number that nobody can guess.
pub(crate) fn random() -> io::Result<u128> {
    let mut random = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut random)?;
    Ok(u128::from_le_bytes(random))
}

/// Files of this machine, by their paths.
#[derive(Debug)]
struct Paths;

impl RangeSource for Paths {
    fn read_at(&self, name: &Path, offset: u64, into: &mut [u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&open_file(name)?, into, offset)
    }
}

/// Returns what reads the files of an input by their names; `None` if the input is not of one kind, or has no names.
pub(crate) fn reader(input: &Input) -> Option<Arc<dyn RangeSource>> {
    match &input.sources[..] {
        [Source::Files(_)] => Some(Arc::new(Paths)),
        [Source::Ranges(source, _)] => Some(Arc::clone(source)),
        _ => None,
    }
}

fn serve(connection: TcpStream, token: u128, offer: &Offer) {
    // The other end may go away at any time.
    let _ = serve_all(connection, token, offer);
}

fn serve_all(mut connection: TcpStream, token: u128, offer: &Offer) -> io::Result<()> {
    connection.set_nodelay(true)?;
    let mut given = [0; 16];
    connection.read_exact(&mut given)?;
    if u128::from_le_bytes(given) != token {
        return Ok(());
    }
    // One for all requests: a buffer for each would be filled with zeros each time.
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        match number(&mut connection)? {
            PAIRS => send_pairs(&mut connection, offer)?,
            ANSWER => send_answer(&mut connection, offer)?,
            length if length <= NAME_BYTES_MOST => {
                send_bytes(&mut connection, length as usize, offer, &mut piece)?;
            }
            _ => return Ok(()),
        }
    }
}

fn send_bytes(
    connection: &mut TcpStream,
    name_bytes: usize,
    offer: &Offer,
    piece: &mut [u8],
) -> io::Result<()> {
    let mut name = vec![0; name_bytes];
    connection.read_exact(&mut name)?;
    let (mut offset, mut left) = (number(connection)?, number(connection)?);
    let source = offer.lock().files.clone();
    let name = Path::new(OsStr::from_bytes(&name));
    while left > 0 {
        let length = piece.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let piece = &mut piece[..length];
        let read = match &source {
            Some(source) => source.read_at(name, offset, piece),
            None => Err(io::Error::other("the input cannot be sent to another node")),
        };
        if let Err(cause) = read {
            return refuse(connection, &cause);
        }
        send(connection, piece)?;
        (offset, left) = (offset + piece.len() as u64, left - piece.len() as u64);
    }
    Ok(())
}

fn send_pairs(connection: &mut TcpStream, offer: &Offer) -> io::Result<()> {
    let (attempt, first, end) = (number(connection)?, number(connection)?, number(connection)?);
    let offered = offer.lock().pairs.clone().filter(|(number, _)| *number == attempt);
    let sent = offered.map(|(_, spool)| {
        spool.read(first as usize..end as usize, &mut |piece| send_block(connection, piece))
    });
    end_pieces(connection, sent)
}

fn send_answer(connection: &mut TcpStream, offer: &Offer) -> io::Result<()> {
    let attempt = number(connection)?;
    let offered = offer.lock().answer.clone().filter(|(number, _)| *number == attempt);
    let sent = offered.map(|(_, answer)| answer.blocks(&mut |piece| send_block(connection, piece)));
    end_pieces(connection, sent)
}

fn send(connection: &mut TcpStream, piece: &[u8]) -> io::Result<()> {
    connection.write_all(&(piece.len() as u64).to_le_bytes())?;
    connection.write_all(piece)
}

fn send_block(connection: &mut TcpStream, piece: &[u8]) -> Result<()> {
    let sent = send(connection, piece);
    sent.map_err(|cause| Error::System { action: "send pairs to another node", cause })
}

fn end_pieces(connection: &mut TcpStream, sent: Option<Result<()>>) -> io::Result<()> {
    match sent {
        Some(Ok(())) => send(connection, &[]),
        Some(Err(error)) => refuse(connection, &io::Error::other(error.to_string())),
        None => refuse(connection, &io::Error::other("the pairs are not there any more")),
    }
}

/// Sends an error: whether its cause is that the file is missing or too short, and its text.
fn refuse(connection: &mut TcpStream, cause: &io::Error) -> io::Result<()> {
    let kind = match cause.kind() {
        io::ErrorKind::NotFound => 1_u64,
        io::ErrorKind::UnexpectedEof => 2,
        _ => 0,
    };
    let text = cause.to_string();
    connection.write_all(&REFUSED.to_le_bytes())?;
    connection.write_all(&kind.to_le_bytes())?;
    connection.write_all(&(text.len() as u64).to_le_bytes())?;
    connection.write_all(text.as_bytes())
}

fn number(from: &mut impl Read) -> io::Result<u64> {
    let mut bytes = [0; 8];
    from.read_exact(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

/// The error of a request.
pub(crate) enum Fault {
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
    pub(crate) fn into_cause(self) -> io::Error {
        match self {
            Fault::Link(cause) | Fault::File(cause) => cause,
        }
    }
}

/// A connection to a node.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
}

/// The longest time that one call of the system waits: between two, the caller is asked whether to go on.
const WAIT: Duration = Duration::from_millis(100);
/// How long a node that sends nothing is waited for: longer than it takes until it counts as lost.
pub(crate) const PATIENCE: Duration = Duration::from_secs(8);

impl Connection {
    pub(crate) fn to(address: &Address) -> io::Result<Connection> {
        let at: SocketAddr = address.at.parse().map_err(io::Error::other)?;
        let mut stream = TcpStream::connect_timeout(&at, 10 * WAIT)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(WAIT))?;
        stream.write_all(&address.token.to_le_bytes())?;
        Ok(Connection { stream })
    }

    /// Asks for bytes of a file, which [`receive`](Connection::receive) takes.
    pub(crate) fn ask(&mut self, name: &Path, offset: u64, length: u64) -> io::Result<()> {
        let name = name.as_os_str().as_bytes();
        let mut request = (name.len() as u64).to_le_bytes().to_vec();
        request.extend_from_slice(name);
        request.extend_from_slice(&offset.to_le_bytes());
        request.extend_from_slice(&length.to_le_bytes());
        self.stream.write_all(&request)
    }

    /// Fills `into` with the bytes that were asked for first. `goes_on` says now and then whether to wait.
    pub(crate) fn receive(
        &mut self,
        into: &mut [u8],
        goes_on: &dyn Fn() -> bool,
    ) -> std::result::Result<(), Fault> {
        let mut from = Patient { stream: &mut self.stream, goes_on, heard: Instant::now() };
        let mut at = 0;
        while at < into.len() {
            let length = number(&mut from)?;
            if length == REFUSED {
                return Err(refusal(&mut from)?);
            }
            let end = usize::try_from(length).ok().and_then(|length| at.checked_add(length));
            let piece = end.and_then(|end| into.get_mut(at..end));
            let piece =
                piece.ok_or_else(|| io::Error::other("a node sends more than was asked"))?;
            from.read_exact(piece)?;
            at += piece.len();
        }
        Ok(())
    }

    /// Asks for the pairs of some partitions, which [`piece`](Connection::piece) takes.
    pub(crate) fn ask_pairs(&mut self, attempt: u64, partitions: &Range<usize>) -> io::Result<()> {
        let request = [PAIRS, attempt, partitions.start as u64, partitions.end as u64];
        self.stream.write_all(&request.map(u64::to_le_bytes).concat())
    }

    /// Asks for the answer that the node has made, which [`piece`](Connection::piece) takes.
    pub(crate) fn ask_answer(&mut self, attempt: u64) -> io::Result<()> {
        self.stream.write_all(&[ANSWER, attempt].map(u64::to_le_bytes).concat())
    }

    /// Returns the next piece, which is whole blocks; `None` at the end.
    pub(crate) fn piece(
        &mut self,
        goes_on: &dyn Fn() -> bool,
    ) -> std::result::Result<Option<Vec<u8>>, Fault> {
        let mut from = Patient { stream: &mut self.stream, goes_on, heard: Instant::now() };
        let length = match number(&mut from)? {
            0 => return Ok(None),
            REFUSED => return Err(refusal(&mut from)?),
            length if length <= PIECE_BYTES_MOST => length as usize,
            _ => return Err(io::Error::other("a node sends what is no piece").into()),
        };
        let mut piece = vec![0; length];
        from.read_exact(&mut piece)?;
        Ok(Some(piece))
    }
}

/// Receives the error of a request.
fn refusal(from: &mut impl Read) -> io::Result<Fault> {
    let kind = match number(from)? {
        1 => io::ErrorKind::NotFound,
        2 => io::ErrorKind::UnexpectedEof,
        _ => io::ErrorKind::Other,
    };
    let mut text = vec![0; number(from)?.min(NAME_BYTES_MOST) as usize];
    from.read_exact(&mut text)?;
    let text = String::from_utf8_lossy(&text).into_owned();
    Ok(Fault::File(io::Error::new(kind, text)))
}

/// Reads a stream whose calls return now and then with nothing.
struct Patient<'c> {
    stream: &'c mut TcpStream,
    goes_on: &'c dyn Fn() -> bool,
    heard: Instant,
}

impl Read for Patient<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.stream.read(into) {
                Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => {
                    if !(self.goes_on)() || self.heard.elapsed() > PATIENCE {
                        return Err(io::ErrorKind::TimedOut.into());
                    }
                }
                read => {
                    self.heard = Instant::now();
                    return read;
                }
            }
        }
    }
}

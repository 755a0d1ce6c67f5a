//! What goes from node to node: bytes of the input, from a node that reads it to one that cannot. A node listens on an
//! address that only the driver tells others, together with a random number that each connection begins with.
//!
//! A request is the length of a file's name, the name, an offset and a length; the reply is pieces of the bytes, each
//! after its length. A piece of length [`REFUSED`] is an error instead. Numbers have 8 bytes, least first.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use std::{ffi::OsStr, fs::File, os::unix::ffi::OsStrExt};
use tegula::{Error, Input, RangeSource, Result};
use tegula_input::input::{Source, open_file};

/// Bytes that are read and sent at a time: the memory of a connection.
const PIECE_BYTES: u64 = 256 << 10;
const REFUSED: u64 = u64::MAX;
const NAME_BYTES_MOST: u64 = 64 << 10;

/// Where a node listens, and the number that a connection to it begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// The IP address and the port.
    pub at: String,
    /// A number that nobody can guess.
    pub token: u128,
}

type Reads = Arc<Mutex<Option<Arc<dyn RangeSource>>>>;

/// A node's listening end. Its threads end with the process.
#[derive(Debug)]
pub(crate) struct Listening {
    pub(crate) address: Address,
    reads: Reads,
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
        let mut token = [0; 16];
        File::open("/dev/urandom")
            .and_then(|mut random| random.read_exact(&mut token))
            .map_err(fault)?;
        let token = u128::from_le_bytes(token);
        let reads = Reads::default();
        let serving = Arc::clone(&reads);
        let accept = move || {
            for connection in listener.incoming().map_while(io::Result::ok) {
                let reads = Arc::clone(&serving);
                let serve = move || serve(connection, token, &reads);
                // Without a thread the connection closes, and the other end tries again.
                let _ = thread::Builder::new().name("feeds".to_owned()).spawn(serve);
            }
        };
        thread::Builder::new().name("listens".to_owned()).spawn(accept).map_err(fault)?;
        Ok(Listening { address: Address { at, token }, reads })
    }

    /// Sends the files of another input from now on.
    pub(crate) fn reads(&self, source: Option<Arc<dyn RangeSource>>) {
        *self.reads.lock().unwrap_or_else(PoisonError::into_inner) = source;
    }
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

fn serve(connection: TcpStream, token: u128, reads: &Reads) {
    // The other end may go away at any time.
    let _ = serve_all(connection, token, reads);
}

fn serve_all(mut connection: TcpStream, token: u128, reads: &Reads) -> io::Result<()> {
    connection.set_nodelay(true)?;
    let mut given = [0; 16];
    connection.read_exact(&mut given)?;
    if u128::from_le_bytes(given) != token {
        return Ok(());
    }
    let mut piece = Vec::new();
    loop {
        let length = number(&mut connection)?;
        if length > NAME_BYTES_MOST {
            return Ok(());
        }
        let mut name = vec![0; length as usize];
        connection.read_exact(&mut name)?;
        let (mut offset, mut left) = (number(&mut connection)?, number(&mut connection)?);
        let source = reads.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let name = Path::new(OsStr::from_bytes(&name));
        while left > 0 {
            piece.resize(left.min(PIECE_BYTES) as usize, 0);
            let read = match &source {
                Some(source) => source.read_at(name, offset, &mut piece),
                None => Err(io::Error::other("the input cannot be sent to another node")),
            };
            if let Err(cause) = read {
                refuse(&mut connection, &cause)?;
                break;
            }
            connection.write_all(&(piece.len() as u64).to_le_bytes())?;
            connection.write_all(&piece)?;
            (offset, left) = (offset + piece.len() as u64, left - piece.len() as u64);
        }
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

/// A connection to a node that reads the input.
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
                let kind = match number(&mut from)? {
                    1 => io::ErrorKind::NotFound,
                    2 => io::ErrorKind::UnexpectedEof,
                    _ => io::ErrorKind::Other,
                };
                let mut text = vec![0; number(&mut from)?.min(NAME_BYTES_MOST) as usize];
                from.read_exact(&mut text)?;
                let text = String::from_utf8_lossy(&text).into_owned();
                return Err(Fault::File(io::Error::new(kind, text)));
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

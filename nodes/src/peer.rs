//! What goes from node to node: bytes of the input, from a node that reads it to one that cannot; pairs of partitions;
//! and a node's part of the answer, to the driver. A node listens on an address that only the driver tells others,
//! together with a random number that each connection begins with. `request.rs` has the byte form of the rest.

use crate::request::{Fault, Replies, Request, refuse, send};
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use tegula::holding::{PartAnswer, Spool};
use tegula::{Error, Input, RangeSource, Result};
use tegula_input::input::{Source, open_file};

/// Bytes that are read and sent at a time: the memory of a connection.
const PIECE_BYTES: usize = 256 << 10;

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
        match Request::read(&mut connection)? {
            Request::Bytes { name, offset, length } => {
                send_bytes(&mut connection, &name, offset, length, (offer, &mut piece))?;
            }
            Request::Pairs { attempt, partitions } => {
                send_pairs(&mut connection, attempt, partitions, offer)?;
            }
            Request::Answer { attempt } => send_answer(&mut connection, attempt, offer)?,
        }
    }
}

fn send_bytes(
    connection: &mut TcpStream,
    name: &Path,
    mut offset: u64,
    mut left: u64,
    (offer, piece): (&Offer, &mut [u8]),
) -> io::Result<()> {
    let source = offer.lock().files.clone();
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

fn send_pairs(
    connection: &mut TcpStream,
    attempt: u64,
    partitions: Range<usize>,
    offer: &Offer,
) -> io::Result<()> {
    let offered = offer.lock().pairs.clone().filter(|(number, _)| *number == attempt);
    let sent = offered
        .map(|(_, spool)| spool.read(partitions, &mut |piece| send_block(connection, piece)));
    end_pieces(connection, sent)
}

fn send_answer(connection: &mut TcpStream, attempt: u64, offer: &Offer) -> io::Result<()> {
    let offered = offer.lock().answer.clone().filter(|(number, _)| *number == attempt);
    let sent = offered.map(|(_, answer)| answer.blocks(&mut |piece| send_block(connection, piece)));
    end_pieces(connection, sent)
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

    /// Asks for something, which [`receive`](Connection::receive) or [`piece`](Connection::piece) takes.
    pub(crate) fn ask(&mut self, request: &Request) -> io::Result<()> {
        self.stream.write_all(&request.encode())
    }

    /// Fills `into` with the bytes that were asked for first. `goes_on` says now and then whether to wait.
    pub(crate) fn receive(
        &mut self,
        into: &mut [u8],
        goes_on: &dyn Fn() -> bool,
    ) -> std::result::Result<(), Fault> {
        self.replies(goes_on).fill(into)
    }

    /// Returns the next piece, which is whole blocks; `None` at the end.
    pub(crate) fn piece(
        &mut self,
        goes_on: &dyn Fn() -> bool,
    ) -> std::result::Result<Option<Vec<u8>>, Fault> {
        self.replies(goes_on).piece()
    }

    fn replies<'c>(&'c mut self, goes_on: &'c dyn Fn() -> bool) -> Replies<Patient<'c>> {
        Replies(Patient { stream: &mut self.stream, goes_on, heard: Instant::now() })
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;
    use std::path::PathBuf;

    #[test]
    fn what_is_not_offered_is_refused() {
        let listening = Listening::on(Ipv4Addr::LOCALHOST.into()).unwrap();
        let mut connection = Connection::to(&listening.address).unwrap();
        for request in
            [Request::Pairs { attempt: 3, partitions: 0..4 }, Request::Answer { attempt: 3 }]
        {
            connection.ask(&request).unwrap();
            let fault = connection.piece(&|| true).unwrap_err();
            assert_eq!(fault.to_string(), "the pairs are not there any more");
        }
        let folder = std::env::temp_dir();
        let mut bytes = [0; 4];
        let mut receive = |name: PathBuf| {
            connection.ask(&Request::Bytes { name, offset: 0, length: 4 }).unwrap();
            connection.receive(&mut bytes, &|| true).map(|()| bytes)
        };
        let fault = receive(PathBuf::from("/proc/version")).unwrap_err();
        assert_eq!(fault.to_string(), "the input cannot be sent to another node");
        listening.offer.files(Some(Arc::new(Paths)));
        for (name, kind) in [
            (folder.join("no such file"), io::ErrorKind::NotFound),
            (PathBuf::from("/dev/null"), io::ErrorKind::UnexpectedEof),
        ] {
            let fault = receive(name).unwrap_err();
            assert!(matches!(&fault, Fault::File(cause) if cause.kind() == kind), "{fault}");
        }
        assert_eq!(receive(PathBuf::from("/proc/version")).unwrap(), *b"Linu");
    }

    #[test]
    fn a_node_that_sends_nothing_is_waited_for_no_longer_than_asked() {
        // Its connections are never taken.
        let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let at = silent.local_addr().unwrap().to_string();
        let mut connection = Connection::to(&Address { at, token: 1 }).unwrap();
        connection.ask(&Request::Answer { attempt: 1 }).unwrap();
        let fault = connection.piece(&|| false).unwrap_err();
        assert!(matches!(&fault, Fault::Link(cause) if cause.kind() == io::ErrorKind::TimedOut));
    }
}

//! What a manager and its nodes tell each other, and the byte form of it. Any carrier that brings these bytes to the
//! other end, whole and in order, will do: pipes, sockets, calls of an actor.

use crate::form::{Damaged, Reader, Writer};
use crate::peer::Address;
use std::ffi::OsStr;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use tegula::holding::ReduceTotals;

/// What the manager tells a node to do. A node obeys in the order in which it is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Say how your input differs from this listing, and leave.
    Compare {
        /// The driver's [`Hold::listing`](tegula::holding::Hold::listing).
        listing: Vec<u8>,
    },
    /// Map tiles, and keep their pairs apart until one of the next two orders comes.
    Map {
        /// The number by which the lease is named.
        lease: u64,
        /// The tiles.
        tiles: Range<u32>,
        /// The node that sends the bytes to a node that cannot read them.
        from: Option<Address>,
    },
    /// This is the input, of which others send the bytes. The answer to [`Report::Asks`].
    Input {
        /// A node that sends what is needed before the first lease.
        from: Address,
        /// The driver's [`Hold::listing`](tegula::holding::Hold::listing).
        listing: Vec<u8>,
    },
    /// Leave a part of the input out of all maps, because an earlier run has saved its pairs.
    LeaveOut {
        /// The bytes of [`Hold::covered`](tegula::holding::Hold::covered).
        covered: Vec<u8>,
    },
    /// The pairs of a lease count.
    Commit {
        /// The lease.
        lease: u64,
        /// If they are to be saved, the first number of their files.
        save: Option<u64>,
    },
    /// The pairs of a lease do not count: another node has mapped its tiles.
    Drop {
        /// The lease.
        lease: u64,
    },
    /// Fold all pairs by key, and keep them ready for others.
    Fold {
        /// The number of this attempt to bring the pairs together.
        number: u64,
    },
    /// Send all pairs, and keep none.
    Give,
    /// Take the pairs of some partitions from other nodes, and make their answer.
    Exchange {
        /// The number of the attempt.
        number: u64,
        /// The partitions.
        partitions: Range<usize>,
        /// All other nodes that have pairs.
        from: Vec<Address>,
    },
    /// Take pairs as for [`Exchange`](Order::Exchange), and write their answer to a file.
    Write {
        /// The number of the attempt.
        number: u64,
        /// The partitions.
        partitions: Range<usize>,
        /// All other nodes that have pairs.
        from: Vec<Address>,
        /// The file.
        path: PathBuf,
    },
    /// These are pairs of the whole job.
    Blocks {
        /// Whole blocks of the partial's byte form.
        bytes: Vec<u8>,
    },
    /// All pairs of the whole job were sent, with these counts: make its answer, because the next job needs it.
    Answer {
        /// The counts of all maps.
        counts: Vec<u8>,
    },
}

/// What a node tells the manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// A node that cannot read the input asks what it is.
    Asks,
    /// A node has planned the job and can begin.
    Ready(Ready),
    /// How its input differs from the driver's; it leaves.
    Differs {
        /// The difference, in words.
        what: String,
    },
    /// A lease is mapped.
    Mapped {
        /// The lease.
        lease: u64,
    },
    /// The pairs of a committed lease are saved.
    Saved {
        /// The lease.
        lease: u64,
        /// What [`Hold::save`](tegula::holding::Hold::save) has returned.
        saved: Vec<u8>,
    },
    /// A lease cannot be mapped.
    Failed {
        /// The lease.
        lease: u64,
        /// Why not.
        cause: String,
    },
    /// All pairs are folded.
    Folded {
        /// The number of the attempt.
        number: u64,
        /// The bytes of their blocks.
        bytes: u64,
        /// The counts of the maps that made them.
        counts: Vec<u8>,
    },
    /// The answer of the node's partitions is ready.
    Answered {
        /// The number of the attempt.
        number: u64,
        /// Its keys, and their bytes.
        totals: ReduceTotals,
    },
    /// The answer of the node's partitions is in its file.
    Written {
        /// The number of the attempt.
        number: u64,
        /// Its keys, and their bytes.
        totals: ReduceTotals,
        /// The length of the file.
        bytes: u64,
    },
    /// Pairs of another node did not come.
    Unreached {
        /// The number of the attempt.
        number: u64,
        /// Why not.
        cause: String,
    },
    /// Some of the node's pairs.
    Blocks {
        /// Whole blocks of the partial's byte form.
        bytes: Vec<u8>,
    },
    /// All pairs were sent.
    Given {
        /// The counts of the maps that made them.
        counts: Vec<u8>,
    },
    /// The node goes on working on what it was told before. Sent now and then.
    Alive,
    /// The node cannot go on, and what it holds is lost.
    Leaves {
        /// Why not.
        cause: String,
    },
}

/// What a node tells of itself at first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ready {
    /// The version of its program.
    pub version: String,
    /// The digest of its plan, which must be the driver's.
    pub digest: u128,
    /// Its workers.
    pub workers: u64,
    /// The memory that the job may use; `u64::MAX` for all there is.
    pub memory_bytes: u64,
    /// Whether it reads the input itself.
    pub reads: bool,
    /// Where it listens for other nodes, if it does.
    pub address: Option<Address>,
}

impl Ready {
    /// Returns the version of this program.
    pub(crate) fn version_here() -> String {
        env!("CARGO_PKG_VERSION").to_owned()
    }
}

impl Order {
    /// Returns the byte form.
    pub fn encode(&self) -> Vec<u8> {
        let out = match self {
            Order::Compare { listing } => Writer::of(0).bytes(listing),
            Order::Map { lease, tiles, from } => {
                let out = Writer::of(1).number(*lease).number(tiles.start.into());
                out.number(tiles.end.into()).address(from.as_ref())
            }
            Order::Input { from, listing } => Writer::of(9).address(Some(from)).bytes(listing),
            Order::Commit { lease, save: None } => Writer::of(2).number(*lease),
            Order::Commit { lease, save: Some(first) } => {
                Writer::of(3).number(*lease).number(*first)
            }
            Order::Drop { lease } => Writer::of(4).number(*lease),
            Order::Give => Writer::of(5),
            Order::Blocks { bytes } => Writer::of(6).bytes(bytes),
            Order::Answer { counts } => Writer::of(7).bytes(counts),
            Order::LeaveOut { covered } => Writer::of(8).bytes(covered),
            Order::Fold { number } => Writer::of(10).number(*number),
            Order::Exchange { number, partitions, from } => {
                Writer::of(11).number(*number).partitions(partitions, from)
            }
            Order::Write { number, partitions, from, path } => {
                let out = Writer::of(12).number(*number).partitions(partitions, from);
                out.bytes(path.as_os_str().as_bytes())
            }
        };
        out.into_bytes()
    }

    /// Reads the byte form.
    ///
    /// # Errors
    /// [`Damaged`] if the bytes are not one.
    pub fn decode(bytes: &[u8]) -> Result<Order, Damaged> {
        let (kind, mut from) = Reader::of(bytes)?;
        let order = match kind {
            0 => Order::Compare { listing: from.rest() },
            1 => Order::Map {
                lease: from.number()?,
                tiles: from.tile()?..from.tile()?,
                from: from.address()?,
            },
            2 => Order::Commit { lease: from.number()?, save: None },
            3 => Order::Commit { lease: from.number()?, save: Some(from.number()?) },
            4 => Order::Drop { lease: from.number()? },
            5 => Order::Give,
            6 => Order::Blocks { bytes: from.rest() },
            7 => Order::Answer { counts: from.rest() },
            8 => Order::LeaveOut { covered: from.rest() },
            9 => Order::Input { from: from.address()?.ok_or(Damaged)?, listing: from.rest() },
            10 => Order::Fold { number: from.number()? },
            11 | 12 => {
                let (number, (partitions, others)) = (from.number()?, from.partitions()?);
                match kind {
                    11 => Order::Exchange { number, partitions, from: others },
                    _ => {
                        let path = PathBuf::from(OsStr::from_bytes(&from.rest()));
                        Order::Write { number, partitions, from: others, path }
                    }
                }
            }
            _ => return Err(Damaged),
        };
        from.end()?;
        Ok(order)
    }
}

impl Report {
    /// Returns the byte form.
    pub fn encode(&self) -> Vec<u8> {
        let out = match self {
            Report::Ready(Ready { version, digest, workers, memory_bytes, reads, address }) => {
                let out = Writer::of(0).text(version).digest(*digest).number(*workers);
                out.number(*memory_bytes).number((*reads).into()).address(address.as_ref())
            }
            Report::Asks => Writer::of(9),
            Report::Differs { what } => Writer::of(1).text(what),
            Report::Mapped { lease } => Writer::of(2).number(*lease),
            Report::Failed { lease, cause } => Writer::of(3).number(*lease).text(cause),
            Report::Blocks { bytes } => Writer::of(4).bytes(bytes),
            Report::Given { counts } => Writer::of(5).bytes(counts),
            Report::Alive => Writer::of(6),
            Report::Leaves { cause } => Writer::of(7).text(cause),
            Report::Saved { lease, saved } => Writer::of(8).number(*lease).bytes(saved),
            Report::Folded { number, bytes, counts } => {
                Writer::of(10).number(*number).number(*bytes).bytes(counts)
            }
            Report::Answered { number, totals: ReduceTotals { keys, key_bytes } } => {
                Writer::of(11).number(*number).number(*keys).number(*key_bytes)
            }
            Report::Written { number, totals: ReduceTotals { keys, key_bytes }, bytes } => {
                Writer::of(13).number(*number).number(*keys).number(*key_bytes).number(*bytes)
            }
            Report::Unreached { number, cause } => Writer::of(12).number(*number).text(cause),
        };
        out.into_bytes()
    }

    /// Reads the byte form.
    ///
    /// # Errors
    /// [`Damaged`] if the bytes are not one.
    pub fn decode(bytes: &[u8]) -> Result<Report, Damaged> {
        let (kind, mut from) = Reader::of(bytes)?;
        let report = match kind {
            0 => Report::Ready(Ready {
                version: from.text()?,
                digest: from.digest()?,
                workers: from.number()?,
                memory_bytes: from.number()?,
                reads: from.number()? != 0,
                address: from.address()?,
            }),
            1 => Report::Differs { what: from.text()? },
            2 => Report::Mapped { lease: from.number()? },
            3 => Report::Failed { lease: from.number()?, cause: from.text()? },
            4 => Report::Blocks { bytes: from.rest() },
            5 => Report::Given { counts: from.rest() },
            6 => Report::Alive,
            7 => Report::Leaves { cause: from.text()? },
            8 => Report::Saved { lease: from.number()?, saved: from.rest() },
            9 => Report::Asks,
            10 => Report::Folded {
                number: from.number()?,
                bytes: from.number()?,
                counts: from.rest(),
            },
            11 => Report::Answered {
                number: from.number()?,
                totals: ReduceTotals { keys: from.number()?, key_bytes: from.number()? },
            },
            13 => Report::Written {
                number: from.number()?,
                totals: ReduceTotals { keys: from.number()?, key_bytes: from.number()? },
                bytes: from.number()?,
            },
            12 => Report::Unreached { number: from.number()?, cause: from.text()? },
            _ => return Err(Damaged),
        };
        from.end()?;
        Ok(report)
    }
}

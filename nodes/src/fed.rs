//! The input of a node that cannot read it: another node, which the ledger names for each lease, sends the bytes.
//!
//! Bytes come in units. Two are there at a time: one that is mapped, and the next, which was asked for when that one
//! had come. The size of units is found by their rate, as that of a device's ([`Ramp`]), unless the user gives one; two
//! of them take at most an eighth of the node's memory.

use crate::peer::{Address, Connection, PATIENCE};
use crate::request::{Fault, Request};
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::io;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use tegula::{Cancel, RangeSource};
use tegula_machine::sizing::Ramp;

const UNIT_LEAST: u64 = 256 << 10;
const UNIT_MOST: u64 = 16 << 20;
/// The part of the node's memory that a unit takes at most.
const MEMORY_PART: u64 = 16;
/// Units of the largest size that are spent on sizes that are not known to be good.
const TRIALS: u64 = 8;
/// Beyond the end of a lease, the rest of its last record.
const MARGIN_BYTES: u64 = 64 << 10;
const PAUSE: Duration = Duration::from_millis(50);

/// Files that other nodes send.
pub(crate) struct Fed {
    lengths: HashMap<PathBuf, u64>,
    lease: Mutex<Lease>,
    lane: Mutex<Lane>,
}

/// The lease that is mapped now.
#[derive(Clone)]
struct Lease {
    from: Address,
    cancel: Cancel,
    /// Its bytes that were not asked for yet.
    left: u64,
}

struct Lane {
    connection: Option<(Address, Connection)>,
    /// The last units that came.
    units: VecDeque<Unit>,
    /// The unit that was asked for and has not come.
    coming: Option<(Unit, Instant)>,
    ramp: Ramp,
}

#[derive(Debug)]
struct Unit {
    name: PathBuf,
    offset: u64,
    bytes: Vec<u8>,
}

impl Unit {
    fn has(&self, name: &Path, offset: u64) -> bool {
        self.name == name && (self.offset..self.offset + self.bytes.len() as u64).contains(&offset)
    }
}

/// The size of the units in which a node is sent the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Units {
    /// Found by their rate.
    ByRate,
    /// This one, in bytes.
    Of(u64),
}

impl Units {
    /// Returns the sizes that units may have on a node with this memory, in bytes.
    pub fn sizes(memory_bytes: Option<u64>) -> RangeInclusive<u64> {
        let most = memory_bytes.map_or(UNIT_MOST, |bytes| bytes / MEMORY_PART);
        UNIT_LEAST..=most.clamp(UNIT_LEAST, UNIT_MOST)
    }

    /// Returns the sizes that these units may have.
    fn within(self, memory_bytes: Option<u64>) -> RangeInclusive<u64> {
        match self {
            Units::ByRate => Units::sizes(memory_bytes),
            Units::Of(size) => size..=size,
        }
    }
}

impl Fed {
    /// Returns files of these names and lengths, which a node sends until the first lease names another.
    pub(crate) fn new(
        files: &[(PathBuf, u64)],
        from: Address,
        units: Units,
        memory_bytes: Option<u64>,
    ) -> Fed {
        let (least, most) = units.within(memory_bytes).into_inner();
        let ramp = Ramp::new(least, least, most, TRIALS * most);
        let (connection, units, coming) = (None, VecDeque::new(), None);
        Fed {
            lengths: files.iter().cloned().collect(),
            lease: Mutex::new(Lease { from, cancel: Cancel::new(), left: 0 }),
            lane: Mutex::new(Lane { connection, units, coming, ramp }),
        }
    }

    /// Returns the memory that units take, in bytes.
    pub(crate) fn memory(units: Units, memory_bytes: Option<u64>) -> usize {
        2 * *units.within(memory_bytes).end() as usize
    }

    /// Takes the bytes of a lease from a node from now on.
    pub(crate) fn begin(&self, from: Address, cancel: Cancel, bytes: u64) {
        *lock(&self.lease) = Lease { from, cancel, left: bytes + MARGIN_BYTES };
    }

    /// Makes the unit that holds a byte of a file the last of the lane's.
    fn fetch(&self, lane: &mut Lane, name: &Path, offset: u64) -> io::Result<()> {
        let began = Instant::now();
        loop {
            let lease = lock(&self.lease).clone();
            let cause = match self.fetch_from(lane, &lease, name, offset) {
                Ok(()) => return Ok(()),
                Err(Fault::File(cause)) => return Err(cause),
                Err(Fault::Link(cause)) => cause,
            };
            (lane.connection, lane.coming) = (None, None);
            if lease.cancel.is_cancelled() || began.elapsed() > PATIENCE {
                let at = &lease.from.at;
                return Err(io::Error::new(cause.kind(), format!("the node at {at}: {cause}")));
            }
            thread::sleep(PAUSE);
        }
    }

    fn fetch_from(
        &self,
        lane: &mut Lane,
        lease: &Lease,
        name: &Path,
        offset: u64,
    ) -> Result<(), Fault> {
        if self.lengths.get(name).is_none_or(|&length| offset >= length) {
            return Err(Fault::File(io::ErrorKind::UnexpectedEof.into()));
        }
        if lane.connection.as_ref().is_none_or(|(to, _)| *to != lease.from) {
            lane.coming = None;
            lane.connection = Some((lease.from.clone(), Connection::to(&lease.from)?));
        }
        if lane.coming.as_ref().is_some_and(|(unit, _)| !unit.has(name, offset)) {
            // What was asked for comes in any case, and may be of use to another reader.
            lane.receive(lease)?;
        }
        if lane.coming.is_none() {
            // Readers side by side ask for neighbours in any order.
            let size = lane.ramp.size();
            let first = offset / UNIT_LEAST * UNIT_LEAST;
            self.ask(lane, name, first, size)?;
        }
        lane.receive(lease)?;
        let unit = lane.units.back();
        let Some(next) = unit.map(|unit| unit.offset + unit.bytes.len() as u64) else {
            return Ok(());
        };
        let left = lock(&self.lease).left;
        if left > 0 && self.lengths.get(name).is_some_and(|&length| next < length) {
            let size = lane.ramp.size().min(left.max(UNIT_LEAST));
            self.ask(lane, name, next, size)?;
        }
        Ok(())
    }

    /// Asks for a unit of about a size, which begins within the file.
    fn ask(&self, lane: &mut Lane, name: &Path, offset: u64, size: u64) -> Result<(), Fault> {
        let length = self.lengths.get(name).copied().unwrap_or(0);
        let size = size.min(length.saturating_sub(offset));
        let Some((_, connection)) = &mut lane.connection else { return Ok(()) };
        // At most one unit lies there while the next one comes.
        let spare = if lane.units.len() > 1 { lane.units.pop_front() } else { None };
        let mut bytes = spare.map(|unit| unit.bytes).unwrap_or_default();
        // What the buffer holds is written over, so only its growth is filled with zeros. The crate is compiled for
        // size, and fills a vector byte by byte.
        bytes.resize(size as usize, 0);
        let unit = Unit { name: name.to_path_buf(), offset, bytes };
        let name = unit.name.clone();
        connection.ask(&Request::Bytes { name, offset, length: size })?;
        lane.ramp.begun(size);
        lane.coming = Some((unit, Instant::now()));
        let mut lease = lock(&self.lease);
        lease.left = lease.left.saturating_sub(size);
        Ok(())
    }
}

impl Lane {
    /// Receives the unit that was asked for.
    fn receive(&mut self, lease: &Lease) -> Result<(), Fault> {
        let Some((_, connection)) = &mut self.connection else { return Ok(()) };
        let Some((mut unit, asked)) = self.coming.take() else { return Ok(()) };
        connection.receive(&mut unit.bytes, &|| !lease.cancel.is_cancelled())?;
        self.ramp.add(unit.bytes.len() as u64, asked.elapsed());
        self.units.push_back(unit);
        Ok(())
    }
}

impl RangeSource for Fed {
    fn read_at(&self, name: &Path, mut offset: u64, mut into: &mut [u8]) -> io::Result<()> {
        let mut lane = lock(&self.lane);
        while !into.is_empty() {
            let Some(unit) = lane.units.iter().rev().find(|unit| unit.has(name, offset)) else {
                self.fetch(&mut lane, name, offset)?;
                continue;
            };
            let from = &unit.bytes[(offset - unit.offset) as usize..];
            let count = from.len().min(into.len());
            let (now, later) = into.split_at_mut(count);
            now.copy_from_slice(&from[..count]);
            (into, offset) = (later, offset + count as u64);
        }
        Ok(())
    }
}

impl fmt::Debug for Fed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fed").field("files", &self.lengths.len()).finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::Listening;
    use std::net::Ipv4Addr;
    use std::sync::Arc;

    #[derive(Debug)]
    struct Text;

    impl RangeSource for Text {
        fn read_at(&self, _: &Path, offset: u64, into: &mut [u8]) -> io::Result<()> {
            into.copy_from_slice(&b"to be or not"[offset as usize..][..into.len()]);
            Ok(())
        }
    }

    fn fed(from: Address) -> Fed {
        Fed::new(&[(PathBuf::from("text"), 12)], from, Units::Of(UNIT_LEAST), None)
    }

    #[test]
    fn bytes_that_a_file_does_not_have_are_not_waited_for() {
        let listening = Listening::on(Ipv4Addr::LOCALHOST.into()).unwrap();
        listening.offer.files(Some(Arc::new(Text)));
        let fed = fed(listening.address.clone());
        let mut bytes = [0; 9];
        fed.read_at(Path::new("text"), 3, &mut bytes).unwrap();
        assert_eq!(&bytes, b"be or not");
        for (name, offset) in [("text", 12), ("text", 1 << 40), ("none", 0)] {
            let fault = fed.read_at(Path::new(name), offset, &mut [0]).unwrap_err();
            assert_eq!(fault.kind(), io::ErrorKind::UnexpectedEof, "{name}, {offset}");
        }
    }

    #[test]
    fn a_node_that_cannot_be_reached_is_named_when_the_lease_ends() {
        let closed = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let at = closed.local_addr().unwrap().to_string();
        drop(closed);
        let fed = fed(Address { at: at.clone(), token: 1 });
        let cancel = Cancel::new();
        cancel.cancel();
        fed.begin(Address { at: at.clone(), token: 1 }, cancel, 12);
        let fault = fed.read_at(Path::new("text"), 0, &mut [0]).unwrap_err().to_string();
        assert!(fault.starts_with(&format!("the node at {at}: ")), "{fault}");
    }
}

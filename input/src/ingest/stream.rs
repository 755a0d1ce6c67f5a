//! Streams: standard input, pipes and other things that can only be read in order. One reader runs
//! ahead of the workers, fills buffers from a fixed set, and cuts each at its last border; the bytes after
//! that border begin the next.

use super::tiles::read_tiles;
use crate::codec::{HEAD_BYTES, Head, ReadAt, Reading, Source, copy_first, may_become, sniff};
use crate::error::{Error, InputError, Result};
use crate::failure::Failure;
use crate::input::{Format, StreamKind, StreamSource};
use crate::memory::BlockPool;
use crate::memory::InputBuffer;
use crate::origin;
use crate::plan::{Plan, Tally};
use crate::schedule::Pool;
use crate::sync::{Condvar, Mutex};
use crate::timeline;
use crate::unit::{Next, Piece, Unit};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The time after which the reader checks the cancel flag again.
const PATIENCE: Duration = Duration::from_millis(50);

/// Buffers per worker: one that is mapped and one that is filled meanwhile.
const BUFFERS_PER_WORKER: usize = 2;
/// Blocks smaller or larger than this gain nothing.
const BLOCK_BYTES_LEAST: u64 = 4 << 10;
const BLOCK_BYTES_MOST: u64 = 4 << 20;

/// The queue between the reader and the workers of one stream: at most `buffers` of blocks.
pub(super) struct StreamQueue<'p> {
    memory: &'p Arc<BlockPool>,
    pool: &'p Pool,
    failure: &'p Failure,
    state: Mutex<State>,
    freed: Condvar,
}

struct State {
    ready: VecDeque<Unit>,
    free: Vec<InputBuffer>,
    ended: bool,
    /// Blocks and bytes so far.
    blocks: u64,
    bytes: u64,
}

impl<'p> StreamQueue<'p> {
    /// Returns a queue with buffers of about `block_bytes` each, for the workers of a pool.
    pub(super) fn new(
        memory: &'p Arc<BlockPool>,
        block_bytes: u64,
        pool: &'p Pool,
        failure: &'p Failure,
    ) -> Result<StreamQueue<'p>> {
        let bytes = block_bytes.clamp(BLOCK_BYTES_LEAST, BLOCK_BYTES_MOST) as usize;
        let free: Result<Vec<_>, _> = (0..BUFFERS_PER_WORKER * pool.workers() + 1)
            .map(|_| InputBuffer::new(memory, bytes))
            .collect();
        let (ready, free) = (VecDeque::new(), free?);
        let state = Mutex::new(State { ready, free, ended: false, blocks: 0, bytes: 0 });
        Ok(StreamQueue { memory, pool, failure, state, freed: Condvar::new() })
    }

    pub(super) fn next(&self) -> Next {
        let mut state = self.state.lock();
        match state.ready.pop_front() {
            Some(unit) => Next::Unit(unit),
            None if state.ended => Next::End,
            None => Next::Wait,
        }
    }

    /// As `next`, when the run stops: returns the blocks that were read, unless a step before number `step` has failed.
    pub(super) fn next_before(&self, step: u64) -> Next {
        if self.failure.stops_before(step) { Next::End } else { self.next() }
    }

    /// Gives the buffer of a block that is mapped back.
    pub(super) fn give_back(&self, unit: Unit) {
        self.state.lock().free.push(unit.buffer);
        self.freed.notify_one();
    }

    /// Hands on whole records, which lie at the buffer's start and begin at `offset` of the stream, after
    /// `newlines`.
    pub(super) fn push(&self, buffer: InputBuffer, len: usize, offset: u64, newlines: Option<u64>) {
        let mut state = self.state.lock();
        let number = state.blocks;
        state.blocks += 1;
        state.bytes += len as u64;
        let pieces = vec![Piece { file: 0, records: 0..len, offset }];
        let unit = Unit::of(buffer, pieces, newlines, number);
        state.ready.push_back(Unit { stored_bytes: len as u64, ..unit });
        drop(state);
        self.pool.wake();
    }

    /// Blocks that came so far, and their bytes.
    pub(super) fn totals(&self) -> (u64, u64) {
        let state = self.state.lock();
        (state.blocks, state.bytes)
    }

    /// Waits for a buffer to fill.
    ///
    /// # Errors
    /// [`Error::Cancelled`] when the run stops.
    pub(super) fn take_free(&self) -> Result<InputBuffer> {
        let mut state = self.state.lock();
        loop {
            self.check()?;
            if let Some(buffer) = state.free.pop() {
                return Ok(buffer);
            }
            let _waiting = timeline::begin(timeline::Kind::Idle);
            state = self.freed.wait_timeout(state, PATIENCE);
        }
    }

    pub(super) fn check(&self) -> Result<()> {
        if self.failure.stops() { Err(Error::Cancelled) } else { Ok(()) }
    }
}

/// Reads a stream, part `part` of a plan, to its end into `queue`. Ends early, with [`Error::Cancelled`], when the run
/// stops. The queue is ended in any case. A compressed stream is decompressed, and counted in the plan.
pub(super) fn read_stream(
    stream: &StreamSource,
    plan: &Plan,
    part: usize,
    queue: &StreamQueue<'_>,
) -> Result<()> {
    // Even when the search for a border panics, because the workers wait for the end.
    let _ending = Ending { queue };
    match &stream.kind {
        StreamKind::Tiles(tiles) => read_tiles(&stream.name, tiles, &plan.cut, queue),
        StreamKind::Stdin | StreamKind::Path => read_blocks(stream, plan, part, queue),
    }
}

struct Ending<'q> {
    queue: &'q StreamQueue<'q>,
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.queue.state.lock().ended = true;
        self.queue.pool.wake();
    }
}

fn read_blocks(
    stream: &StreamSource,
    plan: &Plan,
    part: usize,
    queue: &StreamQueue<'_>,
) -> Result<()> {
    let Plan { cut, tally, torn, .. } = plan;
    let mut source = Bytes::of(stream, Open::new(stream, queue)?, queue.memory)?;
    let mut buffer = queue.take_free()?;
    let (mut have, mut offset, mut looked) = (0_usize, 0_u64, 0_usize);
    let mut newlines = cut.is_lines().then_some(0);
    let mut want = buffer.capacity();
    loop {
        let reading = timeline::begin(timeline::Kind::Read);
        let count = source.read(&mut buffer.bytes_mut()[have..want])?;
        reading.end();
        have += count;
        let ended = count == 0;
        if ended {
            let length = offset + have as u64;
            let whole = torn.whole(cut, length, (part, 0), || stream.name.clone())?;
            source.count_in(tally, length);
            have -= (length - whole) as usize;
            if have > 0 {
                queue.push(buffer, have, offset, newlines);
            }
            return Ok(());
        }
        if have < want {
            continue;
        }
        let Some(border) = cut.find_last_border(&buffer.bytes()[..have], looked) else {
            looked = have;
            buffer.reserve(2 * have, have)?;
            want = buffer.capacity();
            continue;
        };
        let mut next = queue.take_free()?;
        let rest = have - border;
        next.reserve(rest + 1, 0)?;
        next.bytes_mut()[..rest].copy_from_slice(&buffer.bytes()[border..have]);
        let more = newlines.map(|before| before + origin::newlines(&buffer.bytes()[..border]));
        queue.push(buffer, border, offset, newlines);
        newlines = more;
        offset += border as u64;
        (buffer, have, looked) = (next, rest, 0);
        want = buffer.capacity();
    }
}

/// A stream's bytes, decompressed.
enum Bytes<'s> {
    /// From an offset on.
    Plain(Headed<'s>, u64),
    Packed {
        format: Format,
        reading: Box<Reading<'s>>,
        name: &'s Path,
    },
}

impl<'s> Bytes<'s> {
    /// Looks at a stream's first bytes, and decompresses the stream if they show a format.
    fn of(
        stream: &'s StreamSource,
        mut open: Open<'s>,
        memory: &Arc<BlockPool>,
    ) -> Result<Bytes<'s>> {
        let named = Format::of_name(&stream.name).filter(|_| !stream.plain);
        let mut head = Vec::new();
        if !stream.plain {
            head.resize(HEAD_BYTES, 0);
            let mut have = 0;
            while have < HEAD_BYTES && (named.is_some() || may_become(&head[..have])) {
                match open.read(have as u64, &mut head[have..])? {
                    0 => break,
                    count => have += count,
                }
            }
            head.truncate(have);
        }
        match sniff(&Head { bytes: &head, named }) {
            Some(Format::Plain) => Ok(Bytes::Plain(Headed { head, rest: open }, 0)),
            Some(format) => {
                let name = stream.name.as_path();
                let source = Source::new(Headed { head, rest: open }, 0..u64::MAX);
                let reading = Box::new(Reading::new(format, source, memory)?);
                Ok(Bytes::Packed { format, reading, name })
            }
            None => {
                let format = named.unwrap_or(Format::Plain).name();
                Err(InputError::Misnamed { path: stream.name.clone(), format }.into())
            }
        }
    }

    /// Reads some bytes; 0 at the end.
    fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        match self {
            Bytes::Plain(source, offset) => {
                let count = source.read(*offset, into)?;
                *offset += count as u64;
                Ok(count)
            }
            Bytes::Packed { reading, name, .. } => reading.read(into, || name.to_path_buf()),
        }
    }

    /// Counts a stream that has ended, if it was compressed.
    fn count_in(&mut self, tally: &Tally, length: u64) {
        if let Bytes::Packed { format, reading, .. } = self {
            tally.add(*format, reading.position(), length);
        }
    }
}

/// A stream whose first bytes were read before.
struct Headed<'s> {
    head: Vec<u8>,
    rest: Open<'s>,
}

impl ReadAt for Headed<'_> {
    fn read(&mut self, offset: u64, into: &mut [u8]) -> Result<usize> {
        match usize::try_from(offset).ok().and_then(|offset| self.head.get(offset..)) {
            Some(left) if !left.is_empty() => Ok(copy_first(left, into)),
            _ => self.rest.read(offset, into),
        }
    }
}

/// An open stream.
struct Open<'s> {
    name: &'s Path,
    file: Option<OwnedFd>,
    queue: &'s StreamQueue<'s>,
}

impl<'s> Open<'s> {
    fn new(stream: &'s StreamSource, queue: &'s StreamQueue<'s>) -> Result<Open<'s>, InputError> {
        let name = stream.name.as_path();
        let file = match &stream.kind {
            StreamKind::Stdin | StreamKind::Tiles(_) => None,
            StreamKind::Path => {
                // Without blocking, so that a pipe that nobody writes to can be cancelled.
                let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
                let opened = rustix::fs::open(name, flags, Mode::empty());
                Some(opened.map_err(|cause| InputError::from_io(name, cause.into()))?)
            }
        };
        Ok(Open { name, file, queue })
    }
}

impl ReadAt for Open<'_> {
    fn read(&mut self, _offset: u64, into: &mut [u8]) -> Result<usize> {
        let stdin = io::stdin();
        let file: BorrowedFd<'_> = self.file.as_ref().map_or(stdin.as_fd(), AsFd::as_fd);
        let fault = |cause: Errno| Error::from(InputError::from_io(self.name, cause.into()));
        loop {
            self.queue.check()?;
            let mut wanted = [PollFd::from_borrowed_fd(file, PollFlags::IN)];
            let patience = Timespec::try_from(PATIENCE).ok();
            match poll(&mut wanted, patience.as_ref()) {
                Ok(0) | Err(Errno::INTR) => continue,
                Ok(_) => {}
                Err(cause) => return Err(fault(cause)),
            }
            match rustix::io::read(file, &mut *into) {
                Ok(count) => return Ok(count),
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(cause) => return Err(fault(cause)),
            }
        }
    }
}

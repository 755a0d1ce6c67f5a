//! Streams: standard input, pipes and other things that can only be read in order. One reader runs
//! ahead of the workers, fills buffers from a fixed set, and cuts each at its last border; what is
//! behind that border begins the next.

use super::tiles::read_tiles;
use crate::codec::{Feed, HEAD_BYTES, Head, Reading, Source, may_become, sniff};
use crate::error::{Error, InputError, Result};
use crate::input::{Cut, Format, StreamKind, StreamSource};
use crate::memory::BlockPool;
use crate::memory::InputBuffer;
use crate::origin;
use crate::plan::Tally;
use crate::sync::{Condvar, Mutex, MutexGuard};
use crate::timeline;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// How long the reader waits before it looks at the cancel flag again.
const PATIENCE: Duration = Duration::from_millis(50);

/// Blocks smaller or larger than this gain nothing.
const BLOCK_BYTES_LEAST: u64 = 4 << 10;
const BLOCK_BYTES_MOST: u64 = 4 << 20;

/// Whole records on their way from the reader to a worker.
pub struct Block {
    pub buffer: InputBuffer,
    /// The records lie at the buffer's start.
    pub len: usize,
    /// Where they begin in the stream.
    pub offset: u64,
    /// Newlines of the stream before them, if its records are lines: it cannot be read again when a
    /// line is to be numbered.
    pub newlines: Option<u64>,
    /// Blocks before this one.
    pub number: u64,
}

/// What lies between the reader and the workers of one stream: at most `buffers` of blocks.
pub struct StreamQueue {
    memory: Arc<BlockPool>,
    state: Mutex<State>,
    freed: Condvar,
}

struct State {
    ready: VecDeque<Block>,
    free: Vec<InputBuffer>,
    ended: bool,
    /// Blocks so far.
    blocks: u64,
}

/// What a worker finds in the queue.
pub enum Next {
    Block(Block),
    /// Nothing yet.
    Wait,
    /// Nothing any more.
    End,
}

impl StreamQueue {
    /// A queue with `buffers` buffers of about `split_bytes` each.
    pub fn new(blocks: &Arc<BlockPool>, buffers: usize, split_bytes: u64) -> Result<StreamQueue> {
        let bytes = split_bytes.clamp(BLOCK_BYTES_LEAST, BLOCK_BYTES_MOST) as usize;
        let free: Result<Vec<_>, _> =
            (0..buffers).map(|_| InputBuffer::new(blocks, bytes)).collect();
        let state = State { ready: VecDeque::new(), free: free?, ended: false, blocks: 0 };
        let memory = Arc::clone(blocks);
        Ok(StreamQueue { memory, state: Mutex::new(state), freed: Condvar::new() })
    }

    pub fn next(&self) -> Next {
        let mut state = self.lock();
        match state.ready.pop_front() {
            Some(block) => Next::Block(block),
            None if state.ended => Next::End,
            None => Next::Wait,
        }
    }

    /// Gives a mapped block's buffer back.
    pub fn give_back(&self, buffer: InputBuffer) {
        self.lock().free.push(buffer);
        self.freed.notify_one();
    }

    pub(super) fn push(&self, buffer: InputBuffer, len: usize, offset: u64, newlines: Option<u64>) {
        let mut state = self.lock();
        let number = state.blocks;
        state.blocks += 1;
        state.ready.push_back(Block { buffer, len, offset, newlines, number });
    }

    /// Blocks that came so far.
    pub fn blocks(&self) -> u64 {
        self.lock().blocks
    }

    /// Says that nothing more comes.
    fn end(&self) {
        self.lock().ended = true;
    }

    pub(super) fn take_free(&self, stopped: &dyn Fn() -> bool) -> Result<InputBuffer> {
        let mut state = self.lock();
        loop {
            if stopped() {
                return Err(Error::Cancelled);
            }
            if let Some(buffer) = state.free.pop() {
                return Ok(buffer);
            }
            let _waiting = timeline::begin(timeline::Kind::Idle);
            state = self.freed.wait_timeout(state, PATIENCE);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

/// Reads a stream to its end into `queue`; `wake` tells the workers of each block. Ends early, with
/// [`Error::Cancelled`], when `stopped` says so. The queue is ended in any case.
/// A compressed stream is decompressed, and counted by `tally`.
/// Returns the stream's length in bytes, decompressed.
pub fn read_stream(
    stream: &StreamSource,
    cut: &Cut,
    queue: &StreamQueue,
    tally: &Tally,
    stopped: &(dyn Fn() -> bool + Sync),
    wake: &dyn Fn(),
) -> Result<u64> {
    // Even when looking for a border panics, for the workers wait for the end.
    let _ending = Ending { queue, wake };
    match &stream.kind {
        StreamKind::Tiles(tiles) => read_tiles(&stream.name, tiles, cut, queue, stopped, wake),
        StreamKind::Stdin | StreamKind::Path => {
            read_blocks(stream, cut, queue, tally, stopped, wake)
        }
    }
}

struct Ending<'q> {
    queue: &'q StreamQueue,
    wake: &'q dyn Fn(),
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.queue.end();
        (self.wake)();
    }
}

fn read_blocks(
    stream: &StreamSource,
    cut: &Cut,
    queue: &StreamQueue,
    tally: &Tally,
    stopped: &(dyn Fn() -> bool + Sync),
    wake: &dyn Fn(),
) -> Result<u64> {
    let mut source = Bytes::of(stream, Open::new(stream, stopped)?, &queue.memory)?;
    let mut buffer = queue.take_free(stopped)?;
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
            check_whole_records(stream, cut, length)?;
            source.count_in(tally, length);
            if have > 0 {
                queue.push(buffer, have, offset, newlines);
            }
            return Ok(length);
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
        let mut next = queue.take_free(stopped)?;
        let rest = have - border;
        next.reserve(rest + 1, 0)?;
        next.bytes_mut()[..rest].copy_from_slice(&buffer.bytes()[border..have]);
        let more = newlines.map(|before| before + origin::newlines(&buffer.bytes()[..border]));
        queue.push(buffer, border, offset, newlines);
        wake();
        newlines = more;
        offset += border as u64;
        (buffer, have, looked) = (next, rest, 0);
        want = buffer.capacity();
    }
}

fn check_whole_records(stream: &StreamSource, cut: &Cut, length: u64) -> Result<(), InputError> {
    match *cut {
        Cut::Fixed(record) if !length.is_multiple_of(record) => {
            Err(InputError::Ragged { path: stream.name.clone(), length, record })
        }
        _ => Ok(()),
    }
}

/// A stream's bytes, decompressed.
enum Bytes<'s> {
    /// First those that were looked at, from an index on.
    Plain {
        head: Vec<u8>,
        shown: usize,
        rest: Open<'s>,
    },
    Packed {
        format: Format,
        reading: Box<Reading<'s>>,
        name: &'s Path,
    },
}

impl<'s> Bytes<'s> {
    /// Looks at a stream's first bytes, and decompresses what they show to be compressed.
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
            Some(Format::Plain) => Ok(Bytes::Plain { head, shown: 0, rest: open }),
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
            Bytes::Plain { head, shown, rest } => {
                let left = &head[*shown..];
                if left.is_empty() {
                    return rest.read(0, into);
                }
                let count = left.len().min(into.len());
                into[..count].copy_from_slice(&left[..count]);
                *shown += count;
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

impl Feed for Headed<'_> {
    fn read(&mut self, offset: u64, into: &mut [u8]) -> Result<usize> {
        match usize::try_from(offset).ok().and_then(|offset| self.head.get(offset..)) {
            Some(left) if !left.is_empty() => {
                let count = left.len().min(into.len());
                into[..count].copy_from_slice(&left[..count]);
                Ok(count)
            }
            _ => self.rest.read(offset, into),
        }
    }
}

/// An open stream.
struct Open<'s> {
    name: &'s Path,
    file: Option<OwnedFd>,
    stopped: &'s (dyn Fn() -> bool + Sync),
}

impl<'s> Open<'s> {
    fn new(
        stream: &'s StreamSource,
        stopped: &'s (dyn Fn() -> bool + Sync),
    ) -> Result<Open<'s>, InputError> {
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
        Ok(Open { name, file, stopped })
    }
}

impl Feed for Open<'_> {
    fn read(&mut self, _offset: u64, into: &mut [u8]) -> Result<usize> {
        let stdin = io::stdin();
        let file: BorrowedFd<'_> = self.file.as_ref().map_or(stdin.as_fd(), AsFd::as_fd);
        let fault = |cause: Errno| Error::from(InputError::from_io(self.name, cause.into()));
        loop {
            if (self.stopped)() {
                return Err(Error::Cancelled);
            }
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

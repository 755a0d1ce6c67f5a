//! The supply of blocks from a part of the plan that holds compressed files. There is no thread behind
//! it: a worker that asks for a block and finds none decompresses some bytes of a file that nobody
//! else is at, and stitches them to those before.
//!
//! Buffers are few, and all that is decompressed lies in them, so a file that expands without end only
//! streams. Nobody waits for a buffer in vain: what is decompressed of a file's first unit becomes
//! blocks, which come back; and what is decompressed ahead of it leaves a buffer for each file.

use super::cutter::{self, Cutter};
use super::lane::{Lane, Stitching};
use super::stitch::{Decoded, HEADROOM, Stitch, Stitched, Unpacked};
use super::{Reading, Tally};
use crate::error::{Error, Result};
use crate::failure::Failure;
use crate::ingest::Buffer;
use crate::input::Cut;
use crate::memory::BlockPool;
use crate::plan::Packed;
use crate::schedule::Step;
use crate::timeline;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Buffers per worker: one that is mapped, one that is filled, and one between them.
const BUFFERS_PER_WORKER: usize = 3;
/// And so much for units that are decompressed ahead of a file's first one, which waits for no other:
/// two blocks of bzip2; a part of the memory there is.
const AHEAD_BYTES_PER_WORKER: usize = 2 << 20;
const AHEAD_PART: u64 = 16;
/// Smaller or larger ones gain nothing.
const BUFFER_BYTES_LEAST: u64 = 4 << 10;
const BUFFER_BYTES_MOST: u64 = 4 << 20;

/// What a worker finds.
enum Next {
    Block(Unpacked),
    /// Nothing yet; `wake` says when to ask again.
    Wait,
    /// Nothing any more.
    End,
}

/// A fault, and the number of its file, by which the earliest of several is found.
type Fault = (u64, Error);

/// The compressed files of one part of the plan, as blocks.
pub(crate) struct Supply<'p> {
    packed: &'p Packed,
    cut: &'p Cut,
    blocks: &'p Arc<BlockPool>,
    tally: &'p Tally,
    buffer_bytes: usize,
    buffers_most: usize,
    /// Decompressed bytes that a unit is worth.
    unit_bytes: u64,
    wake: &'p (dyn Fn() + Sync),
    state: Mutex<State<'p>>,
}

struct State<'p> {
    lanes: Vec<Lane<'p>>,
    /// Files that are being opened.
    opening: usize,
    /// Files that may be under way at once.
    lanes_most: usize,
    /// Units that may be under way at once, for memory had no room for more.
    units_most: usize,
    /// Units that may be, if not each file has but one.
    ahead_most: usize,
    next: usize,
    /// Of the files before the next one.
    weight: u64,
    ready: VecDeque<Unpacked>,
    free: Vec<Buffer>,
    /// Buffers that were made.
    made: usize,
    /// Somebody was told to wait.
    waiting: bool,
    /// Of all files that ended.
    bytes: u64,
}

impl<'p> State<'p> {
    fn lane(&mut self, file: usize) -> Option<&mut Lane<'p>> {
        self.lanes.iter_mut().find(|lane| lane.file == file)
    }

    /// Units of all files that are under way.
    fn units(&self) -> usize {
        self.lanes.iter().map(Lane::units).sum()
    }

    /// A unit of any file to cut: the first of a file that has none, or any.
    fn cut_one(&mut self, first: bool) -> Option<Task<'p>> {
        let units = self.units();
        if units >= self.units_most || !first && units >= self.ahead_most {
            return None;
        }
        self.lanes.iter_mut().find_map(|lane| {
            let cutter = lane.take_cutter(first)?;
            Some(Task::Cut { file: lane.file, cutter })
        })
    }
}

/// A file, and the numbers of its blocks.
struct File {
    number: usize,
    blocks: Range<u64>,
}

/// What a worker is to do before it may ask again.
enum Task<'p> {
    Map(Unpacked),
    Open(File),
    Cut { file: usize, cutter: Cutter<'p> },
    Decode { file: usize, unit: u64, reading: Reading<'p>, buffer: Buffer },
    Wait,
    End,
}

impl<'p> Supply<'p> {
    /// A supply for so many workers; `wake` tells those that wait.
    pub(crate) fn new(
        packed: &'p Packed,
        cut: &'p Cut,
        blocks: &'p Arc<BlockPool>,
        tally: &'p Tally,
        workers: usize,
        split_bytes: u64,
        wake: &'p (dyn Fn() + Sync),
    ) -> Supply<'p> {
        let buffer_bytes = split_bytes.clamp(BUFFER_BYTES_LEAST, BUFFER_BYTES_MOST) as usize;
        let ahead = AHEAD_BYTES_PER_WORKER * workers;
        let share = blocks.budget().limit() / AHEAD_PART;
        let ahead = ahead.min(usize::try_from(share).unwrap_or(usize::MAX));
        let state = State {
            lanes: Vec::new(),
            opening: 0,
            lanes_most: workers,
            units_most: usize::MAX,
            // One worker has nobody to be ahead of.
            ahead_most: if workers > 1 { 2 * workers } else { 1 },
            next: 0,
            weight: 0,
            ready: VecDeque::new(),
            free: Vec::new(),
            made: 0,
            waiting: false,
            bytes: 0,
        };
        Supply {
            packed,
            cut,
            blocks,
            tally,
            buffer_bytes: buffer_bytes + HEADROOM,
            buffers_most: BUFFERS_PER_WORKER * workers + ahead / (buffer_bytes + HEADROOM),
            unit_bytes: buffer_bytes as u64,
            wake,
            state: Mutex::new(state),
        }
    }

    /// A worker's step: takes or makes the next block and has `put` use it, who is told how long the
    /// block took. Faults and panics are the run's.
    pub(crate) fn step(
        &self,
        failure: &Failure,
        stage: &str,
        put: impl FnOnce(&mut Unpacked, Duration) -> Step,
    ) -> Step {
        let began = Instant::now();
        let next = failure.attempt(0, stage, || Ok(self.next()));
        let step = match next {
            Some(Ok(Next::Block(mut block))) => {
                let step = put(&mut block, began.elapsed());
                self.give_back(block);
                step
            }
            Some(Ok(Next::Wait)) => return Step::Idle,
            Some(Ok(Next::End)) | None => Step::Done,
            Some(Err((at, fault))) => {
                failure.attempt::<()>(at, stage, || Err(fault));
                Step::Done
            }
        };
        if step == Step::Done {
            // Those that wait shall see that all is done, or that the run failed.
            (self.wake)();
        }
        step
    }

    /// The next block, for which the caller may have to decompress some bytes.
    fn next(&self) -> Result<Next, Fault> {
        loop {
            let task = self.choose(&mut self.lock()).map_err(|fault| (0, fault))?;
            match task {
                Task::Map(block) => return Ok(Next::Block(block)),
                Task::Wait => return Ok(Next::Wait),
                Task::End => return Ok(Next::End),
                Task::Open(file) => self.open(file),
                Task::Cut { file, cutter } => {
                    self.cut(file, cutter).map_err(|fault| (file as u64, fault))?;
                }
                Task::Decode { file, unit, reading, buffer } => {
                    let decoded = self.decode(file, unit, reading, buffer);
                    decoded.map_err(|fault| (file as u64, fault))?;
                }
            }
        }
    }

    /// Gives a mapped block's buffer back.
    fn give_back(&self, block: Unpacked) {
        if !block.extra {
            let mut state = self.lock();
            state.free.push(block.buffer);
            self.changed(state);
        }
    }

    /// Decompressed bytes of all files that ended.
    pub(crate) fn bytes(&self) -> u64 {
        self.lock().bytes
    }

    fn choose(&self, state: &mut State<'p>) -> Result<Task<'p>> {
        if let Some(block) = state.ready.pop_front() {
            return Ok(Task::Map(block));
        }
        if let Some(task) = self.decode_one(state, 0..1)? {
            return Ok(task);
        }
        if let Some(task) = state.cut_one(true) {
            return Ok(task);
        }
        if state.lanes.len() + state.opening < state.lanes_most
            && let Some(file) = self.next_file(state)
        {
            state.opening += 1;
            return Ok(Task::Open(file));
        }
        let left = state.free.len() + self.buffers_most.saturating_sub(state.made);
        if left > state.lanes.len()
            && let Some(task) = self.decode_one(state, 1..usize::MAX)?
        {
            return Ok(task);
        }
        if let Some(task) = state.cut_one(false) {
            return Ok(task);
        }
        if state.lanes.len() + state.opening == 0 {
            return Ok(Task::End);
        }
        state.waiting = true;
        Ok(Task::Wait)
    }

    /// One of these units of any file, with a buffer to decompress into.
    fn decode_one(&self, state: &mut State<'p>, units: Range<usize>) -> Result<Option<Task<'p>>> {
        if let Some(at) = state.lanes.iter().position(|lane| lane.is_idle(units.clone()))
            && let Some(buffer) = self.buffer(state)?
            && let Some((unit, reading)) = state.lanes[at].take(units)
        {
            let file = state.lanes[at].file;
            return Ok(Some(Task::Decode { file, unit, reading, buffer }));
        }
        Ok(None)
    }

    fn next_file(&self, state: &mut State<'p>) -> Option<File> {
        let number = state.next;
        if number >= self.packed.files() {
            return None;
        }
        let (first, weight) = (state.weight, self.packed.weight(number));
        (state.next, state.weight) = (number + 1, first + weight);
        Some(File { number, blocks: self.packed.numbers(first..first + weight) })
    }

    /// A buffer to decompress into, if one may be taken.
    fn buffer(&self, state: &mut State<'p>) -> Result<Option<Buffer>> {
        if let Some(buffer) = state.free.pop() {
            return Ok(Some(buffer));
        }
        if state.made >= self.buffers_most {
            return Ok(None);
        }
        match Buffer::new(self.blocks, self.buffer_bytes) {
            Ok(buffer) => {
                state.made += 1;
                Ok(Some(buffer))
            }
            // Those there are must do.
            Err(_) if state.made > 1 => Ok(None),
            Err(refused) => Err(refused.into()),
        }
    }

    /// Begins a file.
    fn open(&self, file: File) {
        let File { number, blocks } = file;
        let cutter = Cutter::new(self.packed, number, self.unit_bytes);
        let stitch = Stitch::new(self.cut, self.blocks, number, blocks);
        let mut state = self.lock();
        state.opening -= 1;
        state.lanes.push(Lane::new(number, cutter, stitch));
        self.changed(state);
    }

    /// Cuts a file's next unit, and begins to decompress it.
    fn cut(&self, file: usize, mut cutter: Cutter<'p>) -> Result<()> {
        let postponed = self.lock().lane(file).and_then(|lane| lane.postponed.take());
        let unit = match postponed {
            Some(unit) => Some(unit),
            None => cutter.next()?,
        };
        let reading = unit.as_ref().map(|unit| unit.open(self.packed, file, self.blocks));
        let part = unit.as_ref().and_then(cutter::Unit::part);
        let mut state = self.lock();
        let others = state.units();
        let Some(lane) = state.lane(file) else { return Ok(()) };
        match reading {
            None => lane.end(),
            Some(Ok(reading)) => {
                lane.add(reading, part);
                if cutter.is_done() { lane.end() } else { lane.put_cutter(cutter) }
            }
            // Another time, when one of those that are under way has ended.
            Some(Err(Error::Memory(_))) if others > 0 => {
                lane.postponed = unit;
                lane.put_cutter(cutter);
                state.units_most = others;
            }
            Some(Err(fault)) => return Err(fault),
        }
        self.changed(state);
        // If there are no more, what was stitched may have been all.
        self.stitch(file)
    }

    /// Decompresses a buffer full of a unit.
    fn decode(
        &self,
        file: usize,
        unit: u64,
        mut reading: Reading<'p>,
        mut buffer: Buffer,
    ) -> Result<()> {
        let decoding = timeline::begin(timeline::Kind::Decode);
        let began = reading.position();
        let into = &mut buffer.bytes_mut()[HEADROOM..self.buffer_bytes];
        let (mut len, mut ended) = (0, false);
        while len < into.len() && !ended {
            let count = reading.read(&mut into[len..], || self.packed.path(file))?;
            len += count;
            ended = count == 0;
        }
        decoding.end();
        let decoded = Decoded { buffer, len, compressed: reading.position() - began };
        let mut state = self.lock();
        if let Some(lane) = state.lane(file) {
            lane.put(unit, (!ended).then_some(reading), decoded);
        }
        self.changed(state);
        self.stitch(file)
    }

    /// Stitches what there is of a file, unless another worker does.
    fn stitch(&self, file: usize) -> Result<()> {
        loop {
            let mut state = self.lock();
            let Some(at) = state.lanes.iter().position(|lane| lane.file == file) else {
                return Ok(());
            };
            match state.lanes[at].begin_stitching() {
                Stitching::Nothing => return Ok(()),
                Stitching::Bytes { mut stitch, decoded, part, last } => {
                    drop(state);
                    if let Some(part) = part {
                        let checked = stitch.check(&decoded, part);
                        checked.map_err(|fault| fault.of(self.packed, file))?;
                    }
                    let Stitched { block, spare } = stitch.take_in(decoded, last)?;
                    let ended = if last { Some(self.ended(file, &stitch)?) } else { None };
                    self.stitched(file, stitch, block, spare, ended);
                }
                Stitching::End(mut stitch) => {
                    drop(state);
                    let block = stitch.finish()?;
                    let ended = Some(self.ended(file, &stitch)?);
                    self.stitched(file, stitch, block, None, ended);
                }
            }
        }
    }

    /// Hands on what a stitch gave; `ended` is the length of a file of which nothing is left.
    fn stitched(
        &self,
        file: usize,
        stitch: Stitch<'p>,
        block: Option<Unpacked>,
        spare: Option<Buffer>,
        ended: Option<u64>,
    ) {
        let mut state = self.lock();
        state.ready.extend(block);
        state.free.extend(spare);
        if let Some(at) = state.lanes.iter().position(|lane| lane.file == file) {
            match ended {
                None => state.lanes[at].end_stitching(stitch),
                Some(bytes) => {
                    state.bytes += bytes;
                    state.lanes.remove(at);
                }
            }
        }
        self.changed(state);
    }

    /// The decompressed length of a file that ended well.
    fn ended(&self, file: usize, stitch: &Stitch<'p>) -> Result<u64> {
        let bytes = stitch.length(|| self.packed.path(file))?;
        self.tally.add(self.packed.format(file), self.packed.bytes(file), bytes);
        Ok(bytes)
    }

    /// Tells those that wait that there may be something for them.
    fn changed(&self, mut state: MutexGuard<'_, State<'p>>) {
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        if waiting {
            (self.wake)();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<'p>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! Supplies blocks from a part of the plan with compressed files. It has no thread of its own. A worker
//! that asks for a block and finds none decompresses some bytes of a file that no other worker is at, and
//! stitches them to the bytes before.
//!
//! Buffers are few, and contain all decompressed bytes, so a file that expands without end only streams. No
//! worker waits for a buffer forever: the output of a file's first unit becomes blocks, whose buffers
//! return; and output that is decompressed ahead of it leaves one buffer for each file.

use super::Reading;
use super::cutter::{self, Cutter};
use super::lane::{Lane, Stitching};
use super::stitch::{Decoded, HEADROOM, Stitch, Stitched};
use crate::error::{Error, Result};
use crate::failure::Failure;
use crate::input::Cut;
use crate::memory::BlockPool;
use crate::memory::InputBuffer;
use crate::plan::{Packed, Plan, Tally, Torn};
use crate::schedule::Pool;
use crate::sizing::part;
use crate::sync::{Mutex, MutexGuard};
use crate::timeline;
use crate::unit::{Next, Unit};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// Buffers per worker: one that is mapped, one that is filled, and one between them.
const BUFFERS_PER_WORKER: usize = 3;
/// Additional buffers per worker for units that are decompressed ahead of a file's first unit: two blocks
/// of bzip2. `AHEAD_PART` bounds them by the budget.
const AHEAD_BYTES_PER_WORKER: usize = 2 << 20;
/// Smaller or larger ones gain nothing.
const BUFFER_BYTES_LEAST: u64 = 4 << 10;
const BUFFER_BYTES_MOST: u64 = 4 << 20;

/// A fault with the number of its file, by which the earliest of several is chosen.
type Fault = (u64, Error);

/// The compressed files of one part of the plan, as blocks.
pub(crate) struct Supply<'p> {
    packed: &'p Packed,
    cut: &'p Cut,
    blocks: &'p Arc<BlockPool>,
    tally: &'p Tally,
    torn: &'p Torn,
    buffer_bytes: usize,
    buffers_most: usize,
    /// Decompressed bytes per unit.
    unit_bytes: u64,
    pool: &'p Pool,
    failure: &'p Failure,
    state: Mutex<State<'p>>,
}

struct State<'p> {
    lanes: Vec<Lane<'p>>,
    /// Files that are being opened.
    opening: usize,
    /// The most files in progress at once.
    lanes_most: usize,
    /// The most units in progress at once, reduced when memory has no room for more.
    units_most: usize,
    /// The most units in progress when a file has several.
    ahead_most: usize,
    next: usize,
    /// The first file that is left out again.
    end: usize,
    /// The weight of the files before the next one.
    weight: u64,
    ready: VecDeque<Unit>,
    free: Vec<InputBuffer>,
    /// The number of buffers created.
    made: usize,
    /// A worker was told to wait.
    waiting: bool,
    /// Decompressed bytes of all files that ended.
    bytes: u64,
}

impl<'p> State<'p> {
    fn lane(&mut self, file: usize) -> Option<&mut Lane<'p>> {
        self.lanes.iter_mut().find(|lane| lane.file == file)
    }

    /// Returns the number of units in progress, of all files.
    fn units(&self) -> usize {
        self.lanes.iter().map(Lane::units).sum()
    }

    /// Takes a unit to cut: the first of a file without units if `first`, otherwise any.
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

/// A file and the numbers of its blocks.
struct File {
    number: usize,
    blocks: Range<u64>,
}

/// The work of a worker before it may ask again.
enum Task<'p> {
    Map(Unit),
    Open(File),
    Cut { file: usize, cutter: Cutter<'p> },
    Decode { file: usize, unit: u64, reading: Reading<'p>, buffer: InputBuffer },
    Wait,
    End,
}

impl<'p> Supply<'p> {
    /// Creates a supply of some files for the workers of a pool.
    pub(crate) fn new(
        packed: &'p Packed,
        files: Range<usize>,
        plan: &'p Plan,
        blocks: &'p Arc<BlockPool>,
        pool: &'p Pool,
        failure: &'p Failure,
    ) -> Supply<'p> {
        let (workers, Plan { cut, tally, torn, .. }) = (pool.workers(), plan);
        let buffer_bytes = plan.unit_bytes.clamp(BUFFER_BYTES_LEAST, BUFFER_BYTES_MOST) as usize;
        let ahead = AHEAD_BYTES_PER_WORKER * workers;
        let share = blocks.budget().limit() / part::DECODED_AHEAD;
        let ahead = ahead.min(usize::try_from(share).unwrap_or(usize::MAX));
        let state = State {
            lanes: Vec::new(),
            opening: 0,
            lanes_most: workers,
            units_most: usize::MAX,
            // A single worker has nobody to run ahead of.
            ahead_most: if workers > 1 { 2 * workers } else { 1 },
            next: files.start,
            end: files.end,
            weight: (0..files.start).map(|file| packed.weight(file)).sum(),
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
            torn,
            buffer_bytes: buffer_bytes + HEADROOM,
            buffers_most: BUFFERS_PER_WORKER * workers + ahead / (buffer_bytes + HEADROOM),
            unit_bytes: buffer_bytes as u64,
            pool,
            failure,
            state: Mutex::new(state),
        }
    }

    /// Returns the next block. The calling worker may decompress bytes for it. Records faults and panics as
    /// those of the run, and wakes waiting workers when the work is done or the run fails.
    pub(crate) fn next(&self, stage: &str) -> Next {
        let next = match self.failure.attempt(0, stage, || Ok(self.find())) {
            Some(Ok(next)) => next,
            Some(Err((at, fault))) => {
                self.failure.attempt::<()>(at, stage, || Err(fault));
                Next::End
            }
            None => Next::End,
        };
        if matches!(next, Next::End) {
            self.pool.wake();
        }
        next
    }

    fn find(&self) -> Result<Next, Fault> {
        loop {
            let task = self.choose(&mut self.state.lock()).map_err(|fault| (0, fault))?;
            match task {
                Task::Map(block) => return Ok(Next::Unit(block)),
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

    /// Returns the buffer of a mapped block.
    pub(crate) fn give_back(&self, block: Unit) {
        if !block.is_extra {
            let mut state = self.state.lock();
            state.free.push(block.buffer);
            self.changed(state);
        }
    }

    /// Returns the numbers that all files have for their blocks, and the decompressed bytes of all that ended.
    pub(crate) fn totals(&self) -> (u64, u64) {
        (self.packed.numbers_of_all(), self.state.lock().bytes)
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

    /// Takes one of these units of any file, and a buffer for its output.
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
        if number >= state.end {
            return None;
        }
        let (first, weight) = (state.weight, self.packed.weight(number));
        (state.next, state.weight) = (number + 1, first + weight);
        Some(File { number, blocks: self.packed.numbers(first..first + weight) })
    }

    /// Returns a buffer for output, if one may be taken.
    fn buffer(&self, state: &mut State<'p>) -> Result<Option<InputBuffer>> {
        if let Some(buffer) = state.free.pop() {
            return Ok(Some(buffer));
        }
        if state.made >= self.buffers_most {
            return Ok(None);
        }
        match InputBuffer::new(self.blocks, self.buffer_bytes) {
            Ok(buffer) => {
                state.made += 1;
                Ok(Some(buffer))
            }
            // The existing buffers must suffice.
            Err(_) if state.made > 1 => Ok(None),
            Err(refused) => Err(refused.into()),
        }
    }

    /// Opens a file.
    fn open(&self, file: File) {
        let File { number, blocks } = file;
        let cutter = Cutter::new(self.packed, number, self.unit_bytes);
        let at = (self.packed.number, number);
        let stitch = Stitch::new((self.cut, self.torn), self.blocks, at, blocks);
        let mut state = self.state.lock();
        state.opening -= 1;
        state.lanes.push(Lane::new(number, cutter, stitch));
        self.changed(state);
    }

    /// Cuts a file's next unit and starts to decompress it.
    fn cut(&self, file: usize, mut cutter: Cutter<'p>) -> Result<()> {
        let postponed = self.state.lock().lane(file).and_then(|lane| lane.postponed.take());
        let unit = match postponed {
            Some(unit) => Some(unit),
            None => cutter.next()?,
        };
        let reading = unit.as_ref().map(|unit| unit.open(self.packed, file, self.blocks));
        let part = unit.as_ref().and_then(cutter::Unit::part);
        let mut state = self.state.lock();
        let others = state.units();
        let Some(lane) = state.lane(file) else { return Ok(()) };
        match reading {
            None => lane.end(),
            Some(Ok(reading)) => {
                lane.add(reading, part);
                if cutter.is_done() { lane.end() } else { lane.put_cutter(cutter) }
            }
            // Tried again after a unit in progress has ended.
            Some(Err(Error::Memory(_))) if others > 0 => {
                lane.postponed = unit;
                lane.put_cutter(cutter);
                state.units_most = others;
            }
            Some(Err(fault)) => return Err(fault),
        }
        self.changed(state);
        // Without more units, the stitched bytes may have been the last.
        self.stitch(file)
    }

    /// Decompresses one buffer of a unit.
    fn decode(
        &self,
        file: usize,
        unit: u64,
        mut reading: Reading<'p>,
        mut buffer: InputBuffer,
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
        let mut state = self.state.lock();
        if let Some(lane) = state.lane(file) {
            lane.put(unit, (!ended).then_some(reading), decoded);
        }
        self.changed(state);
        self.stitch(file)
    }

    /// Stitches the available output of a file, unless another worker does.
    fn stitch(&self, file: usize) -> Result<()> {
        loop {
            let mut state = self.state.lock();
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

    /// Hands on the result of a stitch; `ended` is the length of a completed file.
    fn stitched(
        &self,
        file: usize,
        stitch: Stitch<'p>,
        block: Option<Unit>,
        spare: Option<InputBuffer>,
        ended: Option<u64>,
    ) {
        let mut state = self.state.lock();
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

    /// Returns the decompressed length of a file that ended without an error.
    fn ended(&self, file: usize, stitch: &Stitch<'p>) -> Result<u64> {
        let bytes = stitch.length(|| self.packed.path(file))?;
        self.tally.add(self.packed.format(file), self.packed.bytes(file), bytes);
        Ok(bytes)
    }

    /// Wakes waiting workers, because the state has changed.
    fn changed(&self, mut state: MutexGuard<'_, State<'p>>) {
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        if waiting {
            self.pool.wake();
        }
    }
}

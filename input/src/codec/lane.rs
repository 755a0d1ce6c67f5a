//! A lane: one compressed file on its way to the workers. The file is divided into units that can be
//! decompressed independently. Several units are in progress at once, each on one worker at a time, and
//! their output is stitched in the order of the file.

use super::Reading;
use super::cutter::{self, Cutter};
use super::stitch::{Decoded, Stitch};
use super::whole::Part;
use std::collections::VecDeque;
use std::ops::Range;

/// One file.
pub(super) struct Lane<'p> {
    pub(super) file: usize,
    /// In file order; only the first unit is stitched.
    units: VecDeque<Unit<'p>>,
    next_id: u64,
    /// `None` while a worker cuts, and after all units are known.
    cutter: Option<Cutter<'p>>,
    /// A unit that did not fit in memory when it was cut.
    pub(super) postponed: Option<cutter::Unit>,
    /// Whether all units are known.
    whole: bool,
    /// `None` while a worker stitches.
    stitch: Option<Stitch<'p>>,
}

/// A part of a file that is decompressed by itself.
struct Unit<'p> {
    id: u64,
    state: State<'p>,
    decoded: VecDeque<Decoded>,
    part: Option<Part>,
}

enum State<'p> {
    Idle(Reading<'p>),
    /// A worker decompresses it.
    Busy,
    Done,
}

/// The next step of stitching.
pub(super) enum Stitching<'p> {
    Bytes {
        stitch: Stitch<'p>,
        decoded: Decoded,
        /// The share of these bytes in a content checksum. The seal accompanies the last bytes of the
        /// content.
        part: Option<Part>,
        last: bool,
    },
    /// All bytes of the file are stitched.
    End(Stitch<'p>),
    /// No bytes are ready, or another worker stitches.
    Nothing,
}

impl<'p> Lane<'p> {
    /// Creates the lane of a file of which nothing was read yet.
    pub(super) fn new(file: usize, cutter: Cutter<'p>, stitch: Stitch<'p>) -> Lane<'p> {
        Lane {
            file,
            units: VecDeque::new(),
            next_id: 0,
            cutter: Some(cutter),
            postponed: None,
            whole: false,
            stitch: Some(stitch),
        }
    }

    /// Takes the cutter: only if the file has no unit yet when `first`, otherwise always.
    pub(super) fn take_cutter(&mut self, first: bool) -> Option<Cutter<'p>> {
        if !first || self.units.is_empty() { self.cutter.take() } else { None }
    }

    /// Returns the cutter after cutting.
    pub(super) fn put_cutter(&mut self, cutter: Cutter<'p>) {
        self.cutter = Some(cutter);
    }

    /// Records that there are no more units.
    pub(super) fn end(&mut self) {
        self.whole = true;
    }

    pub(super) fn units(&self) -> usize {
        self.units.len()
    }

    pub(super) fn add(&mut self, reading: Reading<'p>, part: Option<Part>) {
        let (id, state) = (self.next_id, State::Idle(reading));
        self.units.push_back(Unit { id, state, decoded: VecDeque::new(), part });
        self.next_id += 1;
    }

    /// Returns whether one of these units is not being decompressed.
    pub(super) fn is_idle(&self, units: Range<usize>) -> bool {
        let mut units = self.units.iter().take(units.end).skip(units.start);
        units.any(|unit| matches!(unit.state, State::Idle(_)))
    }

    /// Takes the first of these units that is not being decompressed.
    pub(super) fn take(&mut self, units: Range<usize>) -> Option<(u64, Reading<'p>)> {
        let units = self.units.iter_mut().take(units.end).skip(units.start);
        for unit in units {
            match std::mem::replace(&mut unit.state, State::Busy) {
                State::Idle(reading) => return Some((unit.id, reading)),
                other => unit.state = other,
            }
        }
        None
    }

    /// Returns a unit with its output. Without a reading, the unit is complete.
    pub(super) fn put(&mut self, id: u64, reading: Option<Reading<'p>>, decoded: Decoded) {
        if let Some(unit) = self.units.iter_mut().find(|unit| unit.id == id) {
            unit.state = reading.map_or(State::Done, State::Idle);
            unit.decoded.push_back(decoded);
        }
    }

    /// Takes the next output to stitch.
    pub(super) fn begin_stitching(&mut self) -> Stitching<'p> {
        let Some(stitch) = self.stitch.take() else { return Stitching::Nothing };
        loop {
            let only = self.whole && self.units.len() == 1;
            let Some(first) = self.units.front_mut() else {
                if self.whole {
                    return Stitching::End(stitch);
                }
                break;
            };
            let is_done = matches!(first.state, State::Done);
            if let Some(decoded) = first.decoded.pop_front() {
                let ends = is_done && first.decoded.is_empty();
                let part = first.part;
                let part = part.map(|part| Part { seal: part.seal.filter(|_| ends), ..part });
                return Stitching::Bytes { stitch, decoded, part, last: only && ends };
            }
            if !is_done {
                break;
            }
            self.units.pop_front();
        }
        self.stitch = Some(stitch);
        Stitching::Nothing
    }

    /// Returns the stitch that [`begin_stitching`](Lane::begin_stitching) handed out.
    pub(super) fn end_stitching(&mut self, stitch: Stitch<'p>) {
        self.stitch = Some(stitch);
    }
}

//! The job of a plan that is not one of the ready-made ones: where its pairs come from is matched once a split, and
//! what becomes of them is one of the aggregates of `columns.rs`.

mod cells;
mod columns;
mod field;
mod json;
mod number;
mod packed;
mod ready;
mod records;

pub(crate) use cells::{Cells, Kind};
pub(crate) use columns::{Column, Columns};
pub(crate) use field::FieldPairs;
pub(crate) use json::JsonPairs;
pub(crate) use number::Number;
pub(crate) use packed::{Given, INT_TAG, int_key};

pub(crate) use records::{OrderBy, RecordPairs};

use crate::companion::{Caller, Kept, SplitParts};
use std::cell::RefCell;
use std::iter::successors;
use std::marker::PhantomData;
use std::sync::Arc;
use tegula::{Cut, Emit, Error, Identity, Job, Place, Result, Resumable, Sees, Split};
use tegula_apps::native::{NativeMap, Value};

/// Where pairs come from.
pub(crate) enum Pairs {
    /// Each line is a key.
    Lines,
    Field(FieldPairs),
    Json(JsonPairs),
    /// Records, by what they are ordered by.
    Records(RecordPairs),
    /// A function in C.
    Native(NativeMap),
    /// A function in Python.
    Called(Called),
}

/// A function in Python, and what it is given and gives.
pub(crate) struct Called {
    pub(crate) caller: Arc<Caller>,
    pub(crate) kept: Kept,
    /// About the most bytes of lines that it is given at a time; `None`: all that a worker takes.
    pub(crate) part_bytes: Option<usize>,
}

impl Called {
    /// Returns the ends of the parts of a split that the function is given one by one, each the end of a record. They
    /// are as long as each other, give or take a line.
    fn ends(&self, bytes: &[u8], cut: &Cut) -> Vec<usize> {
        let most = match (cut, self.part_bytes) {
            (Cut::Lines, Some(most)) => most.max(1),
            _ => usize::MAX,
        };
        let part = bytes.len().div_ceil(bytes.len().div_ceil(most).max(1));
        let end_from = |start: usize| {
            // The last byte of the part, if it ends a line.
            let last = start.saturating_add(part).saturating_sub(1);
            let rest = bytes.get(last..)?;
            memchr::memchr(b'\n', rest).map(|at| last + at + 1).filter(|end| *end < bytes.len())
        };
        let mut ends: Vec<usize> = successors(end_from(0), |start| end_from(*start)).collect();
        ends.push(bytes.len());
        ends
    }
}

/// The job: pairs of some origin, and the aggregate `C`.
pub(crate) struct Dynamic<C> {
    pub(crate) pairs: Pairs,
    pub(crate) cut: Cut,
    /// Of each column.
    pub(crate) kinds: Vec<Kind>,
    /// If the plan can be known again.
    pub(crate) known: Option<Known>,
    pub(crate) combine: PhantomData<fn(C)>,
}

/// The identity of the job, and the facts that its map sees.
pub(crate) struct Known {
    identity: Identity,
    sees: Sees,
}

impl Known {
    /// No map but a native one is told where its records are.
    pub(crate) fn of(identity: Identity, pairs: &Pairs) -> Known {
        let sees = match pairs {
            Pairs::Lines
            | Pairs::Field(_)
            | Pairs::Json(_)
            | Pairs::Records(_)
            | Pairs::Called(..) => Sees::Records,
            Pairs::Native(_) => Sees::Places,
        };
        Known { identity, sees }
    }
}

impl Resumable for Known {
    fn identity(&self) -> Identity {
        self.identity.clone()
    }

    fn sees(&self) -> Sees {
        self.sees
    }
}

thread_local! {
    /// The output of a companion, kept from split to split.
    static PACKED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

impl<C: Columns> Job for Dynamic<C> {
    type Key = [u8];
    type Combine = C;

    fn cut(&self) -> Cut {
        self.cut
    }

    fn state(&self) -> Option<&dyn Resumable> {
        self.known.as_ref().map(|known| known as &dyn Resumable)
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        let first = (0, self.kinds.first().copied().unwrap_or(Kind::Count));
        match &self.pairs {
            Pairs::Lines => {
                { split.lines().try_for_each(|line| C::put(emit, line, first, Given::Nothing)) }
                    .map_err(|_| unfit(&split))
            }
            Pairs::Field(fields) => fields.map(&split, |key, value| {
                C::put(emit, key, first, value).map_err(|_| unfit(&split))
            }),
            Pairs::Json(fields) => fields.map(&split, |key, value| {
                C::put(emit, key, first, value).map_err(|_| unfit(&split))
            }),
            Pairs::Records(records) => records.map(&split, |key, value| {
                C::put(emit, key, first, value).map_err(|_| unfit(&split))
            }),
            Pairs::Native(map) => map.map(&split, |key, value| {
                let value = match value {
                    Value::Ignored => Given::Nothing,
                    Value::Int(int) => Given::Int(int.into()),
                    Value::Float(float) => Given::Float(float),
                };
                C::put(emit, key, first, value).map_err(|_| unfit(&split))
            }),
            Pairs::Called(called) => PACKED.with_borrow_mut(|packed| {
                let ends = called.ends(split.bytes(), &self.cut);
                let taken =
                    called.caller.map(&SplitParts::new(&split, &ends), packed, |start, packed| {
                        self.take(&split, start, packed, emit)
                    });
                called.kept.trim(packed);
                taken
            }),
        }
    }
}

impl<C: Columns> Dynamic<C> {
    /// Emits what a companion wrote of the part of a split that begins at `start`.
    fn take<'s>(
        &self,
        split: &Split<'s>,
        start: usize,
        packed: &[u8],
        emit: &mut impl Emit<'s, Self>,
    ) -> Result<()> {
        let read = packed::read::<Fault>(
            packed,
            |key, column, value| {
                let kind = *self.kinds.get(usize::from(column)).ok_or(Fault::Malformed)?;
                C::put(emit, key, (column, kind), value).map_err(|_| Fault::Malformed)
            },
            |refused| {
                let place = start.saturating_add(refused.offset);
                let record = split.bytes().get(place..).unwrap_or_default();
                split.bad(record, String::from_utf8_lossy(refused.cause)).map_err(Fault::Job)
            },
        );
        read.map_err(|fault| match fault {
            Fault::Malformed => unfit(split),
            Fault::Job(error) => error,
        })
    }
}

enum Fault {
    Malformed,
    Job(Error),
}

impl From<packed::Malformed> for Fault {
    fn from(_: packed::Malformed) -> Fault {
        Fault::Malformed
    }
}

fn unfit(split: &Split<'_>) -> Error {
    let place = Place { source: split.path(), line: None, offset: Some(split.offset()) };
    let cause =
        "the map wrote columns that do not fit together; its process was disturbed by its own code";
    Error::Record { place, cause: cause.into() }
}

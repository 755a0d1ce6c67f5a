//! Columns of one key whose kinds are known when the job runs: what a Python map's values become. Each cell keeps
//! integers and floats apart, so that integers stay exact, and one float among them makes the answer a float,
//! whatever the order in which they come.

use super::number::Number;
use std::cmp::Ordering;
use tegula::{Binned, Combine};

/// The combine of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    Count = 1,
    Sum = 2,
    Min = 3,
    Max = 4,
    Mean = 5,
}

impl Kind {
    pub(crate) const ALL: [(&'static str, Kind); 5] = [
        ("count", Kind::Count),
        ("sum", Kind::Sum),
        ("min", Kind::Min),
        ("max", Kind::Max),
        ("mean", Kind::Mean),
    ];

    fn of(byte: u8) -> Option<Kind> {
        Kind::ALL.into_iter().map(|(_, kind)| kind).find(|kind| *kind as u8 == byte)
    }
}

/// A value for a column. A count takes the integer as the number of values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    pub(crate) column: u8,
    pub(crate) kind: Kind,
    pub(crate) number: Number,
}

/// The columns of one key, at most `N`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cells<const N: usize>;

/// The combined values of one column and key. Fields that its kind does not use are as without values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell {
    /// `None` without values.
    kind: Option<Kind>,
    has_ints: bool,
    has_floats: bool,
    /// Of a count or a mean.
    count: u64,
    /// Of a sum or a mean, or the extreme one.
    int: i128,
    /// The extreme one.
    float: f64,
    /// Of a sum or a mean.
    floats: Binned,
}

impl Cell {
    const EMPTY: Cell = Cell {
        kind: None,
        has_ints: false,
        has_floats: false,
        count: 0,
        int: 0,
        float: 0.0,
        floats: Binned::ZERO,
    };

    fn of(kind: Kind, number: Number) -> Cell {
        let mut cell = Cell { kind: Some(kind), ..Cell::EMPTY };
        match (kind, number) {
            (Kind::Count, Number::Int(count)) => cell.count = u64::try_from(count).unwrap_or(0),
            (Kind::Count, Number::Float(_)) => cell.count = 1,
            (_, Number::Int(int)) => (cell.has_ints, cell.int, cell.count) = (true, int, 1),
            (Kind::Sum | Kind::Mean, Number::Float(float)) => {
                (cell.has_floats, cell.count) = (true, 1);
                cell.floats.add(float);
            }
            (_, Number::Float(float)) => (cell.has_floats, cell.float) = (true, float),
        }
        if matches!(kind, Kind::Sum | Kind::Min | Kind::Max) {
            cell.count = 0;
        }
        cell
    }

    fn merge(&mut self, other: &Cell) {
        let Some(kind) = other.kind else { return };
        if self.kind.is_none() {
            *self = *other;
            return;
        }
        self.count += other.count;
        match kind {
            Kind::Count => {}
            Kind::Sum | Kind::Mean => {
                let Some(int) = self.int.checked_add(other.int) else {
                    panic!("the sum of a key exceeds 128 bits: give floats or smaller values");
                };
                self.int = int;
                self.floats.merge(&other.floats);
            }
            Kind::Min => self.keep(other, Ordering::Less),
            Kind::Max => self.keep(other, Ordering::Greater),
        }
        self.has_ints |= other.has_ints;
        self.has_floats |= other.has_floats;
    }

    /// Keeps the extreme integer and the extreme float.
    fn keep(&mut self, other: &Cell, wanted: Ordering) {
        if other.has_ints && (!self.has_ints || other.int.cmp(&self.int) == wanted) {
            self.int = other.int;
        }
        if other.has_floats && (!self.has_floats || other.float.total_cmp(&self.float) == wanted) {
            self.float = other.float;
        }
    }

    /// Returns the answer; `None` without values. Of an integer and a float that are equal it is the integer.
    pub(crate) fn number(&self) -> Option<Number> {
        let (int, float) = (Number::Int(self.int), Number::Float(self.float));
        Some(match self.kind? {
            Kind::Count => Number::Int(self.count.into()),
            Kind::Sum if self.has_floats => Number::Float(self.all_floats().sum()),
            Kind::Sum => int,
            Kind::Mean => Number::Float(self.all_floats().over(self.count)),
            Kind::Min | Kind::Max if !self.has_floats => int,
            Kind::Min | Kind::Max if !self.has_ints => float,
            Kind::Min if float.compare(int) == Ordering::Less => float,
            Kind::Max if float.compare(int) == Ordering::Greater => float,
            Kind::Min | Kind::Max => int,
        })
    }

    /// Returns the sum of the floats and of the integers, each of which is three floats that are exact.
    fn all_floats(&self) -> Binned {
        let mut floats = self.floats;
        if self.has_ints {
            let magnitude = self.int.unsigned_abs();
            let sign = if self.int < 0 { -1.0 } else { 1.0 };
            for shift in [0, 48, 96] {
                let part = (magnitude >> shift) & ((1 << 48) - 1);
                floats.add(sign * part as f64 * (1_u128 << shift) as f64);
            }
        }
        floats
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let seen = u8::from(self.has_ints) | u8::from(self.has_floats) << 1;
        let Some(kind) = self.kind else { return out.push(0) };
        out.extend_from_slice(&[kind as u8, seen]);
        if matches!(kind, Kind::Count | Kind::Mean) {
            out.extend_from_slice(&self.count.to_le_bytes());
        }
        if self.has_ints {
            out.extend_from_slice(&self.int.to_le_bytes());
        }
        if self.has_floats {
            match kind {
                Kind::Sum | Kind::Mean => self.floats.encode(out),
                _ => out.extend_from_slice(&self.float.to_le_bytes()),
            }
        }
    }

    fn decode(bytes: &mut &[u8]) -> Option<Cell> {
        let [kind] = take(bytes)?;
        if kind == 0 {
            return Some(Cell::EMPTY);
        }
        let kind = Kind::of(kind)?;
        let [seen @ 0..=3] = take(bytes)? else { return None };
        let mut cell = Cell {
            kind: Some(kind),
            has_ints: seen & 1 != 0,
            has_floats: seen & 2 != 0,
            ..Cell::EMPTY
        };
        if matches!(kind, Kind::Count | Kind::Mean) {
            cell.count = u64::from_le_bytes(take(bytes)?);
        }
        if cell.has_ints {
            cell.int = i128::from_le_bytes(take(bytes)?);
        }
        if cell.has_floats {
            match kind {
                Kind::Sum | Kind::Mean => cell.floats = Binned::decode(bytes)?,
                _ => cell.float = f64::from_le_bytes(take(bytes)?),
            }
        }
        Some(cell)
    }
}

/// Takes `N` bytes off the front of a byte form.
fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (piece, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*piece)
}

/// Byte form: each cell in turn. A cell is its kind as one byte, 0 without values; then one byte, the sum of 1 if
/// it has integers and 2 if it has floats; the count as 8 bytes, of a count and a mean; the integer as 16; the
/// float as 8, or as [`Binned`], of a sum and a mean. All is little-endian.
impl<const N: usize> Combine for Cells<N> {
    type Value = Item;
    type Accumulator = [Cell; N];
    type Output = [Option<Number>; N];

    fn identity() -> [Cell; N] {
        [Cell::EMPTY; N]
    }

    fn absorb(into: &mut [Cell; N], Item { column, kind, number }: Item) {
        into[usize::from(column)].merge(&Cell::of(kind, number));
    }

    fn merge(into: &mut [Cell; N], other: &[Cell; N]) {
        into.iter_mut().zip(other).for_each(|(into, other)| into.merge(other));
    }

    fn finish(cells: &[Cell; N]) -> [Option<Number>; N] {
        cells.each_ref().map(Cell::number)
    }

    /// By the first column; without values is less than any.
    fn rank(a: &[Cell; N], b: &[Cell; N]) -> Ordering {
        match (a[0].number(), b[0].number()) {
            (Some(a), Some(b)) => a.compare(b),
            (a, b) => a.is_some().cmp(&b.is_some()),
        }
    }

    fn encode(cells: &[Cell; N], out: &mut Vec<u8>) {
        cells.iter().for_each(|cell| cell.encode(out));
    }

    fn decode(bytes: &mut &[u8]) -> Option<[Cell; N]> {
        let mut cells = [Cell::EMPTY; N];
        for cell in &mut cells {
            *cell = Cell::decode(bytes)?;
        }
        Some(cells)
    }
}

//! A round of k-means on a device: `kmeans.c`, and its twin in Rust for the emulated device. Sums are those
//! of [`Binned`], made of integers. A device does not know the largest number of a group beforehand, so it
//! keeps all bins in which any number of the points has bits, and the window is cut out of them here.

use super::centres::Centres;
use crate::matrix::{Element, Number};
use crate::{Matrix, Runs};
use std::sync::Arc;
use tegula::device::{ARGUMENTS, Kernel, Launch, Offload, Residence, Shape};
use tegula::{Binned, Result};

/// Points on devices, where they stay over the rounds.
pub(super) struct OnDevices<'m> {
    points: &'m Matrix,
    residence: Arc<Residence>,
    bins: Bins,
}

/// The bins in which numbers have bits.
#[derive(Clone, Copy)]
struct Bins {
    first: u32,
    count: u32,
}

const BIN: u32 = 32;

/// Returns a number's mantissa, and the index of its lowest bit, counted from 2^-1074.
fn mantissa(value: f64) -> (u64, u32) {
    let bits = value.to_bits();
    let field = (bits >> 52) as u32 & 0x7ff;
    (bits & ((1 << 52) - 1) | u64::from(field != 0) << 52, field.max(1) - 1)
}

impl Bins {
    /// Returns the bins of all numbers of a matrix, which must be finite. Linear, in one pass on all
    /// workers.
    fn of(runs: &mut Runs<'_>, points: &Matrix) -> Result<Bins> {
        let [bad, first, above, nearness] = points.least(runs, |place, bytes| {
            let (first, last) = match points.element {
                Element::F32 => Bins::of_numbers::<f32>(bytes),
                Element::F64 => Bins::of_numbers::<f64>(bytes),
            };
            let (bad, nearness) = (points.first_bad(place, bytes), points.nearness(bytes));
            [bad, first.into(), (u32::MAX - last).into(), nearness]
        })?;
        points.refuse(bad)?;
        points.refuse_far(nearness)?;
        let last = u32::MAX - above as u32;
        let first = last.min(first as u32);
        Ok(Bins { first, count: last - first + 1 })
    }

    /// Returns the first and the last bin; `u32::MAX` and 0 if all numbers are 0.
    fn of_numbers<T: Number>(bytes: &[u8]) -> (u32, u32) {
        let (mut first, mut last) = (u32::MAX, 0);
        for value in T::read(bytes) {
            let (mantissa, lowest) = mantissa(value.wide());
            if mantissa != 0 {
                first = first.min((lowest + mantissa.trailing_zeros()) / BIN);
                last = last.max((lowest + 63 - mantissa.leading_zeros()) / BIN);
            }
        }
        (first, last)
    }
}

impl OnDevices<'_> {
    /// Inspects the points, which must be finite.
    pub(super) fn new<'m>(runs: &mut Runs<'_>, points: &'m Matrix) -> Result<OnDevices<'m>> {
        let bins = Bins::of(runs, points)?;
        Ok(OnDevices { points, residence: Residence::of(points.bytes.clone()), bins })
    }

    pub(super) fn offload(&self, means: &[Vec<f64>]) -> Offload {
        let Matrix { columns, element, .. } = *self.points;
        let kernel = Kernel {
            entry: "kmeans".into(),
            file: "kmeans.c".into(),
            source: include_str!("kmeans.c").into(),
            defines: vec![
                ("COLUMNS".into(), columns as u64),
                ("WIDTH".into(), element.bytes() as u64),
            ],
            emulated: Some(emulated),
        };
        let layout = Layout { means: means.len(), columns, bins: self.bins.count as usize };
        let broadcast = means.iter().flatten().map(|number| number.to_bits()).collect();
        let residence = Some(Arc::clone(&self.residence));
        Offload { kernel, partial: Shape::Dense(layout.words()), broadcast, residence }
    }

    /// Returns the arguments of launches. The twin in Rust has no names for the last two.
    pub(super) fn arguments(&self, means: usize) -> [u64; ARGUMENTS] {
        let (Bins { first, count }, points) = (self.bins, self.points);
        let (columns, width) = (points.columns as u64, points.element.bytes() as u64);
        [means as u64, count.into(), first.into(), columns, width, 0]
    }

    /// Reads a partial: each group with points and each column, like
    /// [`Sums::iter`](super::centres::Sums::iter).
    pub(super) fn sums(
        &self,
        partial: &[u64],
        means: usize,
    ) -> impl Iterator<Item = (u64, (u64, Binned))> {
        let (Bins { first, count }, columns) = (self.bins, self.points.columns);
        let layout = Layout { means, columns, bins: count as usize };
        let sums = (0..means * columns).map(move |sum| {
            let bins = &partial[layout.bins_of(sum)..][..count as usize];
            let bin = |number: u32| {
                let held = number.checked_sub(first).and_then(|at| bins.get(at as usize));
                held.map_or(0, |&bin| bin.cast_signed())
            };
            let top = partial[layout.top_of(sum)] as u32;
            let sum_of = Binned::of_bins(top.saturating_sub(1), bin);
            (sum as u64, (partial[sum / columns], sum_of))
        });
        sums.filter(|&(_, (count, _))| count > 0)
    }
}

/// The layout of a partial.
#[derive(Clone, Copy)]
struct Layout {
    means: usize,
    columns: usize,
    bins: usize,
}

impl Layout {
    fn words(self) -> usize {
        self.top_of(self.means * self.columns)
    }

    fn bins_of(self, sum: usize) -> usize {
        self.means + sum * self.bins
    }

    fn top_of(self, sum: usize) -> usize {
        self.bins_of(self.means * self.columns) + sum
    }
}

fn emulated(launch: &Launch<'_>, partial: &mut [u64]) {
    let [means, bins, first, columns, width, _] = launch.arguments.map(|number| number as usize);
    let numbers: Vec<f64> = launch.broadcast.iter().map(|&bits| f64::from_bits(bits)).collect();
    let centres = numbers.chunks_exact(columns).map(<[f64]>::to_vec).collect::<Vec<_>>();
    let (centres, layout) = (Centres::of(&centres), Layout { means, columns, bins });
    for row in launch.bytes.chunks_exact(columns * width) {
        let point: Vec<f64> = match width {
            4 => f32::read(row).map(Number::wide).collect(),
            _ => f64::read(row).collect(),
        };
        let group = centres.nearest(&point);
        partial[group] += 1;
        for (column, &value) in point.iter().enumerate() {
            let (mantissa, lowest) = mantissa(value);
            let sum = group * columns + column;
            if mantissa != 0 {
                let top = &mut partial[layout.top_of(sum)];
                *top = (*top).max(u64::from((lowest + 52) / BIN) + 1);
            }
            let parts = u128::from(mantissa) << (lowest % BIN);
            for i in 0..3 {
                let part = u64::from((parts >> (BIN as usize * i)) as u32);
                if part != 0 {
                    let place = layout.bins_of(sum) + (lowest / BIN) as usize + i - first;
                    let signed = if value < 0.0 { part.wrapping_neg() } else { part };
                    partial[place] = partial[place].wrapping_add(signed);
                }
            }
        }
    }
}

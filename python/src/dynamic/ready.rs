//! The answers of the ready-made jobs as columns. Their maps emit by themselves, so nothing is put.

use super::cells::Kind;
use super::columns::{Column, Columns, Unfit};
use super::packed::Given;
use tegula::{Collect, Emit, Fixed, Job};
use tegula_apps::Place;
use tegula_apps::logstats::{Requests, Traffic};
use tegula_apps::stations::{Extremes, Temperatures};

/// Requests and bytes.
impl Columns for Traffic {
    fn put<'s, J: Job<Key = [u8], Combine = Self>>(
        _: &mut impl Emit<'s, J>,
        _: &[u8],
        _: (u8, Kind),
        _: Given<'_>,
    ) -> Result<(), Unfit> {
        Err(Unfit)
    }

    fn columns(_: usize) -> Vec<Column> {
        vec![Column::Ints(Vec::new()), Column::Ints(Vec::new())]
    }

    fn add(answer: Requests, to: &mut [Column]) {
        for (column, figure) in to.iter_mut().zip([answer.requests, answer.bytes]) {
            if let Column::Ints(ints) = column {
                ints.push(i64::try_from(figure).unwrap_or(i64::MAX));
            }
        }
    }
}

/// The least, the mean and the greatest, in degrees.
impl Columns for Extremes {
    fn put<'s, J: Job<Key = [u8], Combine = Self>>(
        _: &mut impl Emit<'s, J>,
        _: &[u8],
        _: (u8, Kind),
        _: Given<'_>,
    ) -> Result<(), Unfit> {
        Err(Unfit)
    }

    fn columns(_: usize) -> Vec<Column> {
        (0..3).map(|_| Column::Floats(Vec::new())).collect()
    }

    fn add(answer: Temperatures, to: &mut [Column]) {
        for (column, tenths) in to.iter_mut().zip([answer.least, answer.mean, answer.greatest]) {
            if let Column::Floats(floats) = column {
                floats.push(tenths as f64 / 10.0);
            }
        }
    }
}

/// Places, each as its 12 bytes: the number of the file as 4, the offset as 8, little-endian.
impl Columns for Collect<Place> {
    const NAMES_FILES: bool = true;

    fn put<'s, J: Job<Key = [u8], Combine = Self>>(
        _: &mut impl Emit<'s, J>,
        _: &[u8],
        _: (u8, Kind),
        _: Given<'_>,
    ) -> Result<(), Unfit> {
        Err(Unfit)
    }

    fn columns(_: usize) -> Vec<Column> {
        vec![Column::Lists { list_ends: Vec::new(), ends: Vec::new(), bytes: Vec::new() }]
    }

    fn add(answer: Self::Output<'_>, to: &mut [Column]) {
        if let [Column::Lists { list_ends, ends, bytes }] = to {
            for place in answer {
                bytes.extend_from_slice(&place.to_bytes());
                ends.push(bytes.len());
            }
            list_ends.push(ends.len());
        }
    }
}

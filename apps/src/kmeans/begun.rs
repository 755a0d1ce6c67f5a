//! The beginning of a round: all that its answer needs beside the pairs. As bytes it is kept with the state of the round,
//! so that the answer can be shown without the points.

use super::centres::Centres;
use super::{Groups, Round};
use crate::matrix::Element;
use tegula::state::StateReport;
use tegula::{Engine, Options, Output, Result, Stats};

/// The means that a round compares points with.
#[derive(Clone, Debug, PartialEq)]
pub struct Begun {
    /// Its number, from 1.
    pub round: u64,
    pub(super) element: Element,
    pub(super) means: Vec<Vec<f64>>,
}

impl Begun {
    /// Returns the bytes that [`from_bytes`](Begun::from_bytes) reads: little-endian, the round as 8, the bytes of a
    /// number of the points as 1, the columns as 8, then the means as 8 bytes for each column.
    pub fn to_bytes(&self) -> Vec<u8> {
        let columns = self.means.first().map_or(0, Vec::len) as u64;
        let mut bytes = self.round.to_le_bytes().to_vec();
        bytes.push(self.element.bytes() as u8);
        bytes.extend(columns.to_le_bytes());
        bytes.extend(self.means.iter().flatten().flat_map(|value| value.to_le_bytes()));
        bytes
    }

    /// Reads the bytes of [`to_bytes`](Begun::to_bytes); `None` for anything else.
    pub fn from_bytes(bytes: &[u8]) -> Option<Begun> {
        let (round, rest) = bytes.split_first_chunk()?;
        let (&element, rest) = rest.split_first()?;
        let (columns, rest) = rest.split_first_chunk()?;
        let elements = [Element::F32, Element::F64].into_iter();
        let element = elements.into_iter().find(|one| one.bytes() == usize::from(element))?;
        let columns = usize::try_from(u64::from_le_bytes(*columns)).ok().filter(|&n| n > 0)?;
        let (values, rest) = rest.as_chunks::<8>();
        let values: Vec<f64> = values.iter().map(|value| f64::from_le_bytes(*value)).collect();
        if !rest.is_empty() || values.is_empty() || !values.len().is_multiple_of(columns) {
            return None;
        }
        let means = values.chunks_exact(columns).map(<[f64]>::to_vec).collect();
        Some(Begun { round: u64::from_le_bytes(*round), element, means })
    }

    /// Returns the groups of the points that a state of the round covers, how far it came, and figures of reading it. It
    /// is compiled here, where the round is.
    ///
    /// # Errors
    /// Those of [`JobRun::saved`](tegula::JobRun::saved).
    pub fn saved(
        &self,
        engine: &Engine,
        options: &Options,
    ) -> Result<(Groups, StateReport, Stats)> {
        let saved = engine.job(&self.job()).options(options).saved()?;
        let groups = self.groups(&saved.output)?;
        Ok((groups, saved.report, saved.output.stats().clone()))
    }

    /// Returns the job of the round, for points on the cores.
    pub(super) fn job(&self) -> Round<'_> {
        let centres = Centres::of(&self.means);
        Round { means: &self.means, element: self.element, centres, on_devices: None }
    }

    /// Returns the groups after the round, from the pairs of its job. A group without points keeps its mean. If they are
    /// pairs of a part of the points, these are the groups of that part.
    ///
    /// # Errors
    /// Those of reading the output.
    pub(super) fn groups(&self, output: &Output<Round<'_>>) -> Result<Groups> {
        let mut groups = Groups {
            means: self.means.clone(),
            counts: vec![0; self.means.len()],
            rounds: self.round as usize,
            settled: true,
        };
        let columns = self.means[0].len();
        output.for_each(|key, (count, mean)| {
            let (group, column) = (key as usize / columns, key as usize % columns);
            groups.counts[group] = count;
            groups.settled &= groups.means[group][column] == mean;
            groups.means[group][column] = mean;
        })?;
        Ok(groups)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beginning_is_read_as_it_was_written() {
        let begun =
            Begun { round: 3, element: Element::F32, means: vec![vec![0.5, -1.0], vec![2.0, 7.0]] };
        let bytes = begun.to_bytes();
        assert_eq!(Begun::from_bytes(&bytes), Some(begun));
        for bad in [
            &bytes[..bytes.len() - 1],
            &bytes[..17],
            &bytes[..5],
            b"",
            &[&bytes[..], b"x"].concat(),
        ] {
            assert_eq!(Begun::from_bytes(bad), None, "{bad:?}");
        }
    }
}

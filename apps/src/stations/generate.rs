//! Generates measurements: lines of `name;temperature`, from a seed and a list of stations with their mean
//! temperatures. The same list and seed give the same bytes on every machine, because no float is rounded.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// The 413 stations of the One Billion Row Challenge's own generator.
const LIST: &str = include_str!("list.csv");

/// Generates measurements. All stations are equally likely in each line; temperatures are around the
/// station's mean with a deviation of 10 degrees, in tenths.
#[derive(Clone, Debug)]
pub struct Measurements {
    stations: Vec<Station>,
    random: Xoshiro256PlusPlus,
}

#[derive(Clone, Debug)]
struct Station {
    name: Vec<u8>,
    mean_tenths: i64,
}

/// An error in a list of stations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ListError {
    /// A line that is not a name of 1 to 100 bytes, a semicolon and a number from -99.9 to 99.9.
    #[error("line {line}: a line must be a station's name, one semicolon and its mean temperature")]
    Line {
        /// Number of the line, from 1.
        line: usize,
    },
    /// The list has only comments.
    #[error("the list names no station")]
    Empty,
}

impl Measurements {
    /// Uses the challenge's own stations.
    pub fn new(seed: u64) -> Measurements {
        let stations = LIST.lines().filter_map(station).collect();
        Measurements { stations, random: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    /// Uses a list of stations: lines of `name;mean`, with comments after `#`.
    ///
    /// # Errors
    /// Returns [`ListError`] for a malformed list.
    pub fn from_list(list: &str, seed: u64) -> Result<Measurements, ListError> {
        let lines = list.lines().zip(1..).filter(|(text, _)| !text.starts_with('#'));
        let stations = lines.map(|(text, line)| station(text).ok_or(ListError::Line { line }));
        let stations = stations.collect::<Result<Vec<_>, _>>()?;
        if stations.is_empty() {
            return Err(ListError::Empty);
        }
        Ok(Measurements { stations, random: Xoshiro256PlusPlus::seed_from_u64(seed) })
    }

    /// Appends the next line.
    pub fn line(&mut self, out: &mut Vec<u8>) {
        let choice = u128::from(self.random.next_u64()) * self.stations.len() as u128;
        let station = &self.stations[(choice >> 64) as usize];
        // The sum of twelve uniform draws is nearly normal (Irwin and Hall), with the range of one draw as
        // its deviation.
        let draws = [(); 3].map(|()| self.random.next_u64());
        let draws =
            draws.iter().flat_map(|draw| (0..4).map(move |part| (draw >> (16 * part)) as u16));
        let sum: i64 = draws.map(i64::from).sum();
        let around_zero = (sum - 6 * i64::from(u16::MAX)) * 100 / (1 << 16);
        let tenths = (station.mean_tenths + around_zero).clamp(-999, 999);
        out.extend_from_slice(&station.name);
        out.push(b';');
        if tenths < 0 {
            out.push(b'-');
        }
        let (whole, tenth) = (tenths.unsigned_abs() / 10, tenths.unsigned_abs() % 10);
        if whole >= 10 {
            out.push(b'0' + (whole / 10) as u8);
        }
        out.extend_from_slice(&[b'0' + (whole % 10) as u8, b'.', b'0' + tenth as u8, b'\n']);
    }
}

fn station(line: &str) -> Option<Station> {
    let (name, mean) = line.split_once(';')?;
    let mean: f64 = mean.parse().ok()?;
    let is_station = (1..=super::NAME_BYTES_MOST).contains(&name.len()) && mean.abs() <= 99.9;
    is_station.then(|| Station {
        name: name.as_bytes().to_vec(),
        mean_tenths: (mean * 10.0).round() as i64,
    })
}

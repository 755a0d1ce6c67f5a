//! The ready-made jobs of the command line: those whose answers are pairs, and those that are programs of several
//! jobs, whose answers become a few rows.

use crate::answer::Answered;
use crate::batch::Batch;
use crate::dynamic::{Column, int_key};
use crate::memory::Memory;
use crate::plan::{Run, item, unknown};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use tegula::{Engine, Input, Options, Order, Stats};
use tegula_apps::histogram::Histogram;
use tegula_apps::kmeans::{KMeans, Start};
use tegula_apps::linreg::{Line, Points};
use tegula_apps::logstats::{Access, AccessKey, Logins};
use tegula_apps::matrix::Element;
use tegula_apps::string_match::StringMatch;
use tegula_apps::{Index, Matrix, Runs, Stations, Words};
use tegula_nodes::{Machines, Shares, Task};

/// A job with an answer of pairs.
pub(crate) enum Ready {
    Logins,
    Access(Access),
    Stations,
    Index(Index),
    StringMatch(StringMatch),
}

impl Ready {
    /// Reads a job's plan; `None` if it is not one of these.
    pub(crate) fn of(kind: &str, dict: &Bound<'_, PyDict>) -> PyResult<Option<Ready>> {
        let text = |name: &str| -> PyResult<String> { item(dict, name)?.extract() };
        Ok(Some(match kind {
            "logins" => Ready::Logins,
            "access" => {
                let key = match text("key")?.as_str() {
                    "host" => AccessKey::Host,
                    "path" => AccessKey::Path,
                    "status" => AccessKey::Status,
                    "hour" => AccessKey::Hour,
                    other => return Err(unknown("key", other)),
                };
                Ready::Access(Access { key })
            }
            "stations" => Ready::Stations,
            "index" => {
                let words = words_of(&text("words")?)?;
                let only: Option<Vec<Vec<u8>>> = item(dict, "only")?.extract()?;
                let folded = |only: Vec<Vec<u8>>| -> HashSet<Vec<u8>> {
                    only.iter().map(|word| words.folded(word)).collect()
                };
                Ready::Index(Index { words, only: only.map(folded) })
            }
            "stringmatch" => {
                let keys: Vec<Vec<u8>> = item(dict, "keys")?.extract()?;
                Ready::StringMatch(StringMatch::new(keys))
            }
            _ => return Ok(None),
        }))
    }

    pub(crate) fn run(&self, run: Run<'_>) -> tegula::Result<Box<dyn Answered>> {
        match self {
            Ready::Logins => run.job(&Logins),
            Ready::Access(job) => run.job(job),
            Ready::Stations => run.job(&Stations),
            Ready::Index(job) => run.job(job),
            Ready::StringMatch(job) => run.job(job),
        }
    }
}

/// Returns a definition of words by its name.
pub(crate) fn words_of(name: &str) -> PyResult<Words> {
    match name {
        "whitespace" => Ok(Words::Whitespace),
        "alpha" => Ok(Words::Alpha),
        "unicode" => Ok(Words::Unicode),
        other => Err(unknown("words", other)),
    }
}

/// A program of one or more jobs.
pub(crate) enum Program {
    KMeans {
        job: KMeans,
        /// The numbers of points in memory; of files, they are found there.
        element: Option<(Element, usize)>,
    },
    LinReg(Points),
    Histogram,
}

impl Program {
    /// Reads a program's plan; `None` if it is not one of these.
    pub(crate) fn of(kind: &str, dict: &Bound<'_, PyDict>) -> PyResult<Option<Program>> {
        let text = |name: &str| -> PyResult<String> { item(dict, name)?.extract() };
        Ok(Some(match kind {
            "kmeans" => {
                let rounds: Option<usize> = item(dict, "rounds")?.extract()?;
                let element: Option<(String, usize)> = item(dict, "element")?.extract()?;
                let start = match text("start")?.as_str() {
                    "random" => Start::Random,
                    "spread" => Start::Spread,
                    other => return Err(unknown("start", other)),
                };
                let element = element.map(|(name, columns)| match name.as_str() {
                    "f32" => Ok((Element::F32, columns)),
                    "f64" => Ok((Element::F64, columns)),
                    other => Err(unknown("element", other)),
                });
                let job = KMeans {
                    groups: item(dict, "groups")?.extract()?,
                    rounds_most: rounds.unwrap_or(usize::MAX),
                    seed: item(dict, "seed")?.extract()?,
                    start,
                };
                Program::KMeans { job, element: element.transpose()? }
            }
            "linreg" => match text("points")?.as_str() {
                "text" => Program::LinReg(Points::Text),
                "bytes" => Program::LinReg(Points::Bytes),
                other => return Err(unknown("points", other)),
            },
            "histogram" => Program::Histogram,
            _ => return Ok(None),
        }))
    }

    /// Runs the program. `memory` holds points that are in no file.
    pub(crate) fn run(
        &self,
        (engine, machines): (&Engine, &mut Machines),
        options: &Options,
        input: Input,
        memory: Option<&Arc<Memory>>,
    ) -> tegula::Result<Box<dyn Answered>> {
        // Their jobs have small answers, in orders of their own.
        let options = Options { order: Order::Key, top: None, ..options.clone() };
        match self {
            Program::KMeans { job, element } => {
                let mut runs = Runs::new(engine, options).over(machines);
                let points = match (memory, element) {
                    (Some(memory), Some((element, columns))) => matrix(memory, *element, *columns)?,
                    _ => Matrix::read(&mut runs, input)?,
                };
                let groups = job.group(&mut runs, &points)?;
                let mut rows = Made::new(4, runs.stats());
                for (number, (count, mean)) in groups.counts.iter().zip(&groups.means).enumerate() {
                    let settled = i64::from(groups.settled);
                    let ints = [as_int(*count), groups.rounds as i64, settled];
                    rows.add(&int_key(number as i64), &ints, mean);
                }
                Ok(Box::new(rows))
            }
            Program::LinReg(points) => {
                let mut runs = Runs::new(engine, options).over(machines);
                let line = Line::fit(&mut runs, input, *points)?;
                let mut rows = Made::new(2, runs.stats());
                let Line { points, slope, intercept, correlation, mean_x, mean_y } = line;
                let figures = [slope, intercept, correlation, mean_x, mean_y];
                rows.add(&int_key(0), &[as_int(points)], &figures);
                Ok(Box::new(rows))
            }
            Program::Histogram => {
                let job = Histogram::of(&input)?;
                let split_bytes = options.split_bytes.or(Some(Histogram::SPLIT_BYTES));
                let options = Options { split_bytes, ..options };
                let output = machines.run(
                    Task { engine, job: &job, input, options: &options, parts: None },
                    Shares::Nothing,
                )?;
                let levels = Histogram::levels(&output)?;
                let mut rows = Made::new(2, output.stats());
                for (place, count) in levels.iter().flatten().enumerate() {
                    rows.add(&int_key(place as i64), &[as_int(*count)], &[]);
                }
                Ok(Box::new(rows))
            }
        }
    }
}

/// A count of what fits a machine fits 63 bits.
fn as_int(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Copies points out of an array of Python's, which may be written into later.
fn matrix(memory: &Memory, element: Element, columns: usize) -> tegula::Result<Matrix> {
    let mut bytes = vec![0; usize::try_from(memory.len()).unwrap_or(usize::MAX)];
    memory
        .copy(0, &mut bytes)
        .map_err(|cause| tegula::Error::System { action: "read an array", cause })?;
    let row_bytes = (columns * element.bytes()).max(1);
    Ok(Matrix { element, rows: bytes.len() / row_bytes, columns, bytes: Arc::new(bytes) })
}

/// Rows that a program made: integers, and then a list of floats.
struct Made {
    batch: Batch,
    stats: Stats,
}

impl Made {
    fn new(width: usize, stats: &Stats) -> Made {
        let ints = (1..width).map(|_| Column::Ints(Vec::new()));
        let floats = Column::Lists { list_ends: Vec::new(), ends: Vec::new(), bytes: Vec::new() };
        Made { batch: Batch::new(ints.chain([floats]).collect()), stats: stats.clone() }
    }

    fn add(&mut self, key: &[u8], integers: &[i64], numbers: &[f64]) {
        self.batch.keys.extend_from_slice(key);
        self.batch.key_ends.push(self.batch.keys.len());
        let mut integers = integers.iter();
        for column in &mut self.batch.columns {
            match column {
                Column::Ints(ints) => ints.extend(integers.next()),
                Column::Lists { list_ends, ends, bytes } => {
                    for number in numbers {
                        bytes.extend_from_slice(&number.to_le_bytes());
                        ends.push(bytes.len());
                    }
                    list_ends.push(ends.len());
                }
                _ => {}
            }
        }
    }
}

impl Answered for Made {
    fn len(&self) -> usize {
        self.batch.len()
    }

    fn portions(&self) -> usize {
        1
    }

    fn columns(&self, _: usize) -> Vec<Column> {
        let mut empty = self.batch.columns.clone();
        empty.iter_mut().for_each(Column::clear);
        empty
    }

    fn read_in_parts(
        &self,
        _: usize,
        batch: &mut Batch,
        _: usize,
        full: &mut dyn FnMut(&mut Batch) -> tegula::Result<()>,
    ) -> tegula::Result<()> {
        batch.append(&self.batch);
        full(batch)
    }

    fn stats(&self) -> Option<&Stats> {
        Some(&self.stats)
    }

    fn file(&self, _: u32) -> Option<PathBuf> {
        None
    }
}

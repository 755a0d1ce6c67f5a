//! Word count, inverted index, or their map alone in a chosen container, for `compare/containers.py`. Takes a
//! container, a job, a number of workers and a file; prints words, distinct words and a sum over all pairs of the
//! answer, by which runs are compared. The array is not among the containers: its keys are integers. Those of Metis
//! are none of the engine's (`forest`); for the one whose size is predicted, a fifth argument names a file for what
//! was.

mod btree;
mod forest;

use btree::Held;
use forest::{Entries, Prediction};
use serde_json::json;
use std::cmp::Ordering;
use std::hint::black_box;
use std::process::ExitCode;
use tegula::{
    Container, Count, Cut, Emit, Engine, Group, Input, Job, Options, Reduce, Result, Split, Values,
    WordClass,
};

/// Counts words between white space.
struct Words;

impl Job for Words {
    type Key = [u8];
    type Combine = Count;

    fn cut(&self) -> Cut {
        Cut::around(WordClass::Whitespace)
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        emit.emit_each(split.fields(), ());
        Ok(())
    }
}

/// Groups the places of words between white space, and adds them up by all workers.
struct Places;

/// The reduce function of the index: the number of places, and a sum that depends on their order.
struct Added;

impl Reduce for Added {
    type Value = u64;
    type Output = (u64, u64);

    fn reduce(_: &[u8], places: Values<'_, u64>) -> (u64, u64) {
        sum_of(places)
    }

    fn rank(a: &(u64, u64), b: &(u64, u64)) -> Ordering {
        a.cmp(b)
    }
}

impl Job for Places {
    type Key = [u8];
    type Combine = Group<Added>;

    fn cut(&self) -> Cut {
        Cut::around(WordClass::Whitespace)
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        split.fields().for_each(|word| emit.emit(word, split.offset_of(word)));
        Ok(())
    }
}

/// Finds the words and their places, and emits nothing: the application without the library.
struct Alone;

impl Job for Alone {
    type Key = [u8];
    type Combine = Count;

    fn cut(&self) -> Cut {
        Cut::around(WordClass::Whitespace)
    }

    fn map<'s>(&self, split: Split<'s>, _: &mut impl Emit<'s, Self>) -> Result<()> {
        split.fields().for_each(|word| _ = black_box((word, split.offset_of(word))));
        Ok(())
    }
}

/// A count, as a value of the trees.
#[derive(Default)]
struct Counted(u64);

impl Held for Counted {
    fn add(&mut self, _: u64) {
        self.0 += 1;
    }

    fn join(&mut self, other: Counted) {
        self.0 += other.0;
    }
}

impl From<Counted> for (u64, u64) {
    fn from(Counted(count): Counted) -> (u64, u64) {
        (count, 0)
    }
}

/// Places, as a value of the trees.
#[derive(Default)]
struct Placed(Vec<u64>);

impl Held for Placed {
    fn add(&mut self, place: u64) {
        self.0.push(place);
    }

    fn join(&mut self, mut other: Placed) {
        self.0.append(&mut other.0);
    }
}

/// The reduce function of the trees: it sorts the places.
impl From<Placed> for (u64, u64) {
    fn from(Placed(mut places): Placed) -> (u64, u64) {
        places.sort_unstable();
        sum_of(places.into_iter())
    }
}

/// Returns the number of places, and a sum that depends on their order.
fn sum_of(places: impl Iterator<Item = u64>) -> (u64, u64) {
    places.fold((0, 0), |(count, sum), place| {
        (count + 1, u64::rotate_left(sum, 7).wrapping_add(place))
    })
}

const USAGE: &str = "usage: containers adaptive|hash|append|tree|hash-tree-256|hash-tree count|index|map WORKERS FILE [PREDICTION.json]";

#[derive(Clone, Copy)]
enum In {
    Engine(Container),
    Trees(Entries),
}

#[derive(Clone, Copy)]
enum Of {
    Count,
    Index,
    Map,
}

/// What the arguments ask for.
struct Asked<'a> {
    container: In,
    job: Of,
    workers: usize,
    path: &'a str,
    prediction: Option<&'a str>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let Some(asked) = parsed(&arguments) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match run(&asked) {
        Ok(Figures { words, distinct, sum }) => {
            println!("{words}\t{distinct}\t{sum}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("containers: {error}");
            ExitCode::FAILURE
        }
    }
}

fn parsed<'a>(arguments: &[&'a str]) -> Option<Asked<'a>> {
    let (&[container, job, workers, path], prediction) = arguments.split_first_chunk::<4>()?;
    let container = match container {
        "adaptive" => In::Engine(Container::Adaptive),
        "hash" => In::Engine(Container::Hash),
        "append" => In::Engine(Container::Append),
        "tree" => In::Trees(Entries::Fixed(1)),
        "hash-tree-256" => In::Trees(Entries::Fixed(256)),
        "hash-tree" => In::Trees(Entries::Predicted),
        _ => return None,
    };
    let job = match job {
        "count" => Of::Count,
        "index" => Of::Index,
        "map" => Of::Map,
        _ => return None,
    };
    let prediction = prediction.first().copied();
    Some(Asked { container, job, workers: workers.parse().ok()?, path, prediction })
}

/// The figures of an answer, whose words are added in order: the sum depends on the place of every pair.
#[derive(Default)]
struct Figures {
    words: u64,
    distinct: u64,
    sum: u64,
}

impl Figures {
    fn add(&mut self, word: &[u8], count: u64, places: u64) {
        let start = count.wrapping_add(places);
        let pair = word
            .iter()
            .fold(start, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte)));
        self.sum = self.sum.rotate_left(5).wrapping_add(pair);
        self.words += count;
        self.distinct += 1;
    }
}

fn run(asked: &Asked<'_>) -> Result<Figures> {
    let engine = Engine::builder().workers(asked.workers).build()?;
    let path = asked.path;
    let (figures, prediction) = match (asked.container, asked.job) {
        (_, Of::Map) => {
            engine.job(&Alone).run(Input::paths([path])?)?;
            return Ok(Figures::default());
        }
        (In::Engine(container), Of::Count) => return count(&engine, container, path),
        (In::Engine(container), Of::Index) => return index(&engine, container, path),
        (In::Trees(entries), Of::Count) => forest::run::<Counted>(&engine, path, entries)?,
        (In::Trees(entries), Of::Index) => forest::run::<Placed>(&engine, path, entries)?,
    };
    if let Some(out) = asked.prediction {
        let Prediction { predicted_keys, most_keys, took } = prediction;
        let text = json!({
            "predicted_keys": predicted_keys,
            "most_keys": most_keys,
            "prediction_s": took.as_secs_f64(),
        });
        let written = std::fs::write(out, format!("{text}\n"));
        written.map_err(|cause| tegula::OutputError::from_write(out, cause))?;
    }
    Ok(figures)
}

fn count(engine: &Engine, container: Container, path: &str) -> Result<Figures> {
    let options = Options { container, ..Options::default() };
    let output = engine.job(&Words).options(&options).run(Input::paths([path])?)?;
    let mut figures = Figures::default();
    output.for_each(|word, count| figures.add(word, count, 0))?;
    Ok(figures)
}

fn index(engine: &Engine, container: Container, path: &str) -> Result<Figures> {
    let options = Options { container, ..Options::default() };
    let output = engine.job(&Places).options(&options).run(Input::paths([path])?)?;
    let mut figures = Figures::default();
    output.for_each(|word, (count, sum)| figures.add(word, count, sum))?;
    Ok(figures)
}

//! Word count in a chosen container, for `compare/containers.py`. Takes a container, a number of workers and
//! a file; prints words, distinct words and a sum over all pairs of the answer, by which runs are compared.
//! The array is not among them: its keys are integers. The hash tree is none of the engine's (`forest`).

mod forest;

use std::process::ExitCode;
use tegula::{Container, Count, Cut, Emit, Engine, Input, Job, Options, Result, Split, WordClass};

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

const USAGE: &str = "usage: containers adaptive|hash|append|hash-tree WORKERS FILE";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((container, workers, path)) = parsed(&arguments) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let engine = Engine::builder().workers(workers).build();
    let counted = engine.and_then(|engine| match container {
        Some(container) => count(&engine, container, path),
        None => forest::count(&engine, path),
    });
    match counted {
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

/// Returns the container (`None`: the hash tree), the number of workers, and the file.
fn parsed(arguments: &[String]) -> Option<(Option<Container>, usize, &str)> {
    let [container, workers, path] = arguments else { return None };
    let container = match container.as_str() {
        "adaptive" => Some(Container::Adaptive),
        "hash" => Some(Container::Hash),
        "append" => Some(Container::Append),
        "hash-tree" => None,
        _ => return None,
    };
    Some((container, workers.parse().ok()?, path))
}

/// The figures of an answer, whose words are added in order: the sum depends on the place of every pair.
#[derive(Default)]
struct Figures {
    words: u64,
    distinct: u64,
    sum: u64,
}

impl Figures {
    fn add(&mut self, word: &[u8], count: u64) {
        let pair = word.iter().fold(count, |sum, byte| sum.wrapping_mul(31) + u64::from(*byte));
        self.sum = self.sum.rotate_left(5).wrapping_add(pair);
        self.words += count;
        self.distinct += 1;
    }
}

fn count(engine: &Engine, container: Container, path: &str) -> Result<Figures> {
    let options = Options { container, ..Options::default() };
    let output = engine.job(&Words).options(&options).run(Input::paths([path])?)?;
    let mut figures = Figures::default();
    output.for_each(|word, count| figures.add(word, count))?;
    Ok(figures)
}

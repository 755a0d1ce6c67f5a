//! Word count in a chosen container, for `compare/containers.py`. Takes a container, a number of workers and
//! a file; prints words, distinct words and a sum over all pairs of the answer, by which runs are compared.
//! The array is not among them: its keys are integers.

use std::process::ExitCode;
use tegula::{
    Container, Count, Cut, Emit, Engine, Input, Job, Options, Output, Result, Split, WordClass,
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

const USAGE: &str = "usage: containers adaptive|hash|append|hash-tree WORKERS FILE";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [container, workers, path] = &arguments[..] else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let counted = match (container.as_str(), workers.parse()) {
        ("adaptive", Ok(workers)) => count(Container::Adaptive, workers, path),
        ("hash", Ok(workers)) => count(Container::Hash, workers, path),
        ("append", Ok(workers)) => count(Container::Append, workers, path),
        ("hash-tree", Ok(workers)) => count(Container::HashTree, workers, path),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match counted.and_then(|output| show(&output)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("containers: {error}");
            ExitCode::FAILURE
        }
    }
}

fn count(container: Container, workers: usize, path: &str) -> Result<Output<Words>> {
    let engine = Engine::builder().workers(workers).build()?;
    let options = Options { container, ..Options::default() };
    engine.job(&Words).options(&options).run(Input::paths([path])?)
}

/// The answer's figures: the sum depends on the place of every pair.
fn show(output: &Output<Words>) -> Result<()> {
    let mut sum = 0_u64;
    output.for_each(|word, count| {
        let pair = word.iter().fold(count, |sum, byte| sum.wrapping_mul(31) + u64::from(*byte));
        sum = sum.rotate_left(5).wrapping_add(pair);
    })?;
    println!("{}\t{}\t{sum}", output.stats().pairs, output.stats().keys);
    Ok(())
}

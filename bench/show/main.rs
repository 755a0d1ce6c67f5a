//! Word count that shows its top words while it runs, for `compare/show.py`. Takes the interval of shows (per
//! cent of the input; 0: never), the number of tiers, of words and of workers, and files, which may be named
//! many times. With two tiers a show is a job of its own over the counts so far, which finds the top of them,
//! as in Ostrich's figure 25: of all of them, or of the most frequent ones alone, which are enough for this
//! second job; or the function that gets a show finds them itself, without text and without a job. With one tier,
//! it is the first job's selection. Prints the number of shows, and a sum over the answer, by which runs are
//! compared.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::process::ExitCode;
use tegula::{
    Answers, Cut, Emit, Engine, Every, Input, Job, Options, Order, Result, Show, Shown, Split, Sum,
    WordClass,
};

/// Counts words between white space.
struct Words;

impl Job for Words {
    type Key = [u8];
    type Combine = Sum<u64>;

    const LARGEST_FIRST: bool = true;

    fn cut(&self) -> Cut {
        Cut::around(WordClass::Whitespace)
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        emit.emit_each(split.fields(), 1);
        Ok(())
    }
}

/// The second tier: the top of counts of words, a line each. Each map emits those of its split that can be
/// among them.
struct TopCounts(usize);

/// A count and its word, the one that comes last in the answer first.
type Worst<'s> = Reverse<(u64, Reverse<&'s [u8]>)>;

impl Job for TopCounts {
    type Key = [u8];
    type Combine = Sum<u64>;

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        let counts = split.lines().map(|line| {
            let digits = line.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
            let (word, number) = line.split_at(line.len() - digits);
            let count = number.iter().fold(0, |sum, &digit| 10 * sum + u64::from(digit - b'0'));
            (&word[..word.len() - 1], count)
        });
        highest(counts, self.0).for_each(|(word, count)| emit.emit(word, count));
        Ok(())
    }
}

/// Returns the `most` highest of some counts, the last of the answer first.
fn highest<'s>(
    counts: impl Iterator<Item = (&'s [u8], u64)>,
    most: usize,
) -> impl Iterator<Item = (&'s [u8], u64)> {
    let mut top: BinaryHeap<Worst<'s>> = BinaryHeap::new();
    counts.for_each(|(word, count)| {
        if top.len() < most || top.peek().is_some_and(|least| count >= least.0.0) {
            top.push(Reverse((count, Reverse(word))));
        }
        if top.len() > most {
            // Of equal counts the smaller words stay.
            top.pop();
        }
    });
    std::iter::from_fn(move || top.pop().map(|Reverse((count, Reverse(word)))| (word, count)))
}

const USAGE: &str =
    "usage: show EVERY-PERCENT one|two|two-of-most|two-by-function TOP WORKERS FILE...";

/// The way to make a show.
#[derive(Clone, Copy, PartialEq)]
enum Tiers {
    One,
    /// A second job, over all counts.
    Two,
    /// A second job, over the counts of the most frequent words.
    TwoOfMost,
    /// No second job: the show's function goes over all counts.
    TwoByFunction,
}

/// Words that the second job is then given, for each wanted one.
const MOST_TIMES: usize = 10;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [every, tiers, top, workers, paths @ ..] = &arguments[..] else { return usage() };
    let numbers = (every.parse::<f64>(), top.parse(), workers.parse());
    let (Ok(every), Ok(top), Ok(workers)) = numbers else { return usage() };
    let tiers = match tiers.as_str() {
        "one" => Tiers::One,
        "two" => Tiers::Two,
        "two-of-most" => Tiers::TwoOfMost,
        "two-by-function" => Tiers::TwoByFunction,
        _ => return usage(),
    };
    let shows = count(every, tiers, top, workers, paths);
    match shows {
        Ok((shows, sum)) => {
            println!("{shows}\t{sum}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("show: {error}");
            ExitCode::FAILURE
        }
    }
}

fn usage() -> ExitCode {
    eprintln!("{USAGE}");
    ExitCode::from(2)
}

/// Counts words; returns the number of shows and the sum over the answer, which the last show must have.
fn count(
    every: f64,
    tiers: Tiers,
    top: usize,
    workers: usize,
    paths: &[String],
) -> Result<(u64, u64)> {
    let engine = Engine::builder().workers(workers).build()?;
    let options = Options { order: Order::Value, top: Some(top), ..Options::default() };
    let input = Input::paths(paths)?;
    if every <= 0.0 {
        let output = engine.job(&Words).options(&options).run(input)?;
        return Ok((0, output.iter()?.fold(0, mix)));
    }
    let (mut shows, mut shown_sum) = (0, 0);
    let show = Show::new(Every::Part(every / 100.0), |shown| {
        shows += 1;
        shown_sum = match tiers {
            Tiers::One => shown.answers().iter()?.fold(0, mix),
            Tiers::Two | Tiers::TwoOfMost => show_two_tiers(&engine, &options, shown)?,
            Tiers::TwoByFunction => {
                let mut highest: Vec<_> = highest(shown.answers().iter()?, top).collect();
                highest.reverse();
                highest.into_iter().fold(0, mix)
            }
        };
        Ok(())
    });
    let show = match tiers {
        Tiers::One => show,
        Tiers::Two | Tiers::TwoByFunction => show.all().order(Order::None),
        Tiers::TwoOfMost => show.top(top.saturating_mul(MOST_TIMES)),
    };
    let output = engine.job(&Words).options(&options).show(show).run(input)?;
    let sum = output.iter()?.fold(0, mix);
    assert_eq!(sum, shown_sum, "the last show is not the answer");
    Ok((shows, sum))
}

/// Returns the second tier of a show: a job that finds the top of the counts.
fn show_two_tiers(engine: &Engine, options: &Options, shown: &Shown<'_, Words>) -> Result<u64> {
    let top = options.top.unwrap_or(usize::MAX);
    let second =
        engine.job(&TopCounts(top)).options(options).run(Input::bytes(lines(shown.answers())?))?;
    Ok(second.iter()?.fold(0, mix))
}

/// About the bytes of a line.
const LINE_BYTES: usize = 16;

/// Returns a word, a tab and its count, a line each.
fn lines(answers: &Answers<'_, Words>) -> Result<Vec<u8>> {
    let mut text = Vec::with_capacity(answers.len() * LINE_BYTES);
    for (word, mut count) in answers.iter()? {
        let mut digits = [0; 20];
        let mut at = digits.len();
        loop {
            at -= 1;
            digits[at] = b'0' + (count % 10) as u8;
            count /= 10;
            if count == 0 {
                break;
            }
        }
        text.extend_from_slice(word);
        text.push(b'\t');
        text.extend_from_slice(&digits[at..]);
        text.push(b'\n');
    }
    Ok(text)
}

fn mix(sum: u64, (word, count): (&[u8], u64)) -> u64 {
    let pair = word.iter().fold(count, |sum, byte| sum.wrapping_mul(31) + u64::from(*byte));
    sum.rotate_left(5).wrapping_add(pair)
}

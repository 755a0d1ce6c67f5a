//! The N most frequent words, without sorting the others.
//! `cargo run --release --example top_words -- N PATH...`

use tegula::{Count, Cut, Emit, Engine, Input, Job, Order, Result, Split, WordClass};

struct Words;

impl Job for Words {
    type Key = [u8];
    type Combine = Count;

    fn cut(&self) -> Cut {
        Cut::around(WordClass::Alpha)
    }

    fn folds_ascii(&self) -> bool {
        true
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        emit.emit_each(split.words(WordClass::Alpha), ());
        Ok(())
    }
}

fn main() -> Result<()> {
    let mut arguments = std::env::args_os().skip(1);
    let most: usize = arguments.next().and_then(|text| text.to_str()?.parse().ok()).unwrap_or(10);
    let input = Input::paths(arguments)?;
    let output = Engine::new()?.job(&Words).top(most).order(Order::Value).run(input)?;
    for (word, count) in output.iter()? {
        println!("{count}\t{}", word.escape_ascii());
    }
    Ok(())
}

//! Answers while the job runs: the three most frequent words after each quarter of the input.
//! `cargo run --release --example shows -- PATH...`

use tegula::{
    Count, Cut, Emit, Engine, Every, Input, Job, Order, Result, Show, Shown, Split, WordClass,
};

struct Words;

impl Job for Words {
    // Few words are then enough for a show: those that may be among the first.
    const LARGEST_FIRST: bool = true;
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

fn main() -> Result<()> {
    let input = Input::paths(std::env::args_os().skip(1))?;
    let show = Show::new(Every::Part(0.25), |shown: &Shown<'_, Words>| {
        println!("{:.0} % of the input:", shown.part().unwrap_or(0.0) * 100.0);
        for (word, count) in shown.answers().iter()? {
            println!("{count}\t{}", word.escape_ascii());
        }
        Ok(())
    });
    let show = show.top(3).order(Order::Value);
    let output = Engine::new()?.job(&Words).show(show).run(input)?;
    println!("{} distinct words", output.len());
    Ok(())
}

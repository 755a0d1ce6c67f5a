//! Word count in about twenty lines: `cargo run --release --example word_count -- PATH...`

use std::io::Write;
use tegula::{Cut, Emit, Engine, Input, Job, Result, Split, Sum, WordClass};

struct WordCount;

impl Job for WordCount {
    type Key = [u8];
    type Combine = Sum<u64>;

    fn cut(&self) -> Cut {
        Cut::around(WordClass::Whitespace)
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        for word in split.fields() {
            emit.emit(word, 1);
        }
        Ok(())
    }
}

fn main() -> Result<()> {
    let input = Input::paths(std::env::args_os().skip(1))?;
    let output = Engine::new()?.job(&WordCount).run(input)?;
    let mut stdout = std::io::BufWriter::new(std::io::stdout().lock());
    for (word, count) in output.iter()? {
        // A reader that wants no more of it is no failure.
        if writeln!(stdout, "{}\t{count}", word.escape_ascii()).is_err() {
            break;
        }
    }
    Ok(())
}

//! A run that resumes after a kill: counts words, saves the partials in the folder STATE, and maps only the
//! part of the input that no earlier run has saved.
//! `cargo run --release --example resume -- STATE PATH...`

use tegula::{
    Count, Cut, Emit, Engine, Identity, Input, Job, Result, Resumable, Split, State, WordClass,
};

struct Words;

impl Job for Words {
    type Key = [u8];
    type Combine = Count;

    fn cut(&self) -> Cut {
        Cut::around(WordClass::Whitespace)
    }

    fn state(&self) -> Option<&dyn Resumable> {
        Some(self)
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        emit.emit_each(split.fields(), ());
        Ok(())
    }
}

impl Resumable for Words {
    // Raise the version when the map changes: partials of other versions are refused.
    fn identity(&self) -> Identity {
        Identity::new("words", 1)
    }
}

fn main() -> Result<()> {
    let mut arguments = std::env::args_os().skip(1);
    let state = State::new(arguments.next().unwrap_or_default(), "words");
    let output = Engine::new()?.job(&Words).state(state).run(Input::paths(arguments)?)?;
    let stats = output.stats();
    eprintln!("{} of {} bytes were saved by an earlier run", stats.restored_bytes, stats.bytes);
    for (word, count) in output.iter()? {
        println!("{}\t{count}", word.escape_ascii());
    }
    Ok(())
}

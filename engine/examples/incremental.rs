//! Maps only the part of the input that changed since the last run: files may have grown, or been edited,
//! renamed or removed. `cargo run --release --example incremental -- STATE PATH...`

use tegula::{
    Count, Cut, Emit, Engine, Identity, Incremental, Input, Job, Result, Resumable, Sees, Split,
    State, WordClass,
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
    fn identity(&self) -> Identity {
        Identity::new("words", 1)
    }

    // The map looks at records alone, so a tile gives the same pairs wherever its bytes are now.
    fn sees(&self) -> Sees {
        Sees::Records
    }
}

fn main() -> Result<()> {
    let mut arguments = std::env::args_os().skip(1);
    let state = State::new(arguments.next().unwrap_or_default(), "words");
    let state = state.incremental(Incremental::default());
    let output = Engine::new()?.job(&Words).state(state).run(Input::paths(arguments)?)?;
    let stats = output.stats();
    eprintln!("{} of {} bytes are as they were", stats.restored_bytes, stats.bytes);
    for (word, count) in output.iter()? {
        println!("{}\t{count}", word.escape_ascii());
    }
    Ok(())
}

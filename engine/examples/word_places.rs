//! All values of a key: for each word the offsets in the file at which it begins, ascending.
//! `cargo run --release --example word_places -- PATH`

use tegula::{Collect, Cut, Emit, Engine, Input, Job, Result, Split, WordClass};

struct Places;

impl Job for Places {
    type Key = [u8];
    type Combine = Collect<u64>;

    fn cut(&self) -> Cut {
        Cut::around(WordClass::Whitespace)
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        for word in split.fields() {
            emit.emit(word, split.offset_of(word));
        }
        Ok(())
    }
}

fn main() -> Result<()> {
    let input = Input::paths(std::env::args_os().nth(1))?;
    for (word, places) in Engine::new()?.job(&Places).run(input)?.iter()? {
        let places: Vec<String> = places.map(|place| place.to_string()).collect();
        println!("{}\t{}", word.escape_ascii(), places.join(" "));
    }
    Ok(())
}

//! The jobs that climb the ladder: read, read and tokenize, count words.

use std::hint::black_box;
use tegula::{Cut, Emit, Job, Result, Split, Sum, WordClass};

/// Looks at every byte and emits nothing.
pub(crate) struct Read;

/// Finds every word and emits nothing.
pub(crate) struct Find(pub(crate) WordClass);

/// Counts words.
pub(crate) struct WordCount;

impl Job for Read {
    type Key = [u8];
    type Combine = Sum<u64>;

    fn map<'s>(&self, split: Split<'s>, _emit: &mut impl Emit<'s, Self>) -> Result<()> {
        black_box(split.bytes().iter().fold(0, |all, byte| all ^ byte));
        Ok(())
    }
}

impl Job for Find {
    type Key = [u8];
    type Combine = Sum<u64>;

    fn cut(&self) -> Cut {
        Cut::around(self.0)
    }

    fn map<'s>(&self, split: Split<'s>, _emit: &mut impl Emit<'s, Self>) -> Result<()> {
        split.words(self.0).for_each(|word| {
            black_box(word);
        });
        Ok(())
    }
}

impl Job for WordCount {
    type Key = [u8];
    type Combine = Sum<u64>;

    fn cut(&self) -> Cut {
        Cut::around(WordClass::Whitespace)
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        emit.emit_each(split.fields(), 1);
        Ok(())
    }
}

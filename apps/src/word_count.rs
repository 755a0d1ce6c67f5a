//! Word count: how often each word stands in the input. What a word is, is one of three
//! definitions, given exactly in `docs/words.md`.

use crate::unicode_words::{self, Word};
use tegula::tokenize::Tokens;
use tegula::{Cut, Emit, Job, Result, Split, Sum, WordClass};

/// Counts words.
#[derive(Clone, Copy, Debug, Default)]
pub struct WordCount {
    /// What a word is.
    pub words: Words,
}

/// What a word is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Words {
    /// What stands between ASCII white space, any bytes, case kept.
    #[default]
    Whitespace,
    /// Runs of the ASCII letters, in lower case.
    Alpha,
    /// Words of Unicode text (UAX #29), in folded case.
    Unicode,
}

impl Job for WordCount {
    type Key = [u8];
    type Combine = Sum<u64>;

    /// Behind each byte that no word holds, so that a line of any length is nothing special.
    fn cut(&self) -> Cut {
        match self.words {
            Words::Whitespace => Cut::around(WordClass::Whitespace),
            Words::Alpha => Cut::around(WordClass::Alpha),
            Words::Unicode => Cut::Between(unicode_words::may_cut),
        }
    }

    fn folds_ascii(&self) -> bool {
        match self.words {
            Words::Whitespace => false,
            Words::Alpha | Words::Unicode => true,
        }
    }

    // One branch a split, of some hundred thousand bytes: nothing that three types would save.
    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        match self.words {
            Words::Whitespace => count_bytes(split.fields(), emit),
            Words::Alpha => count_bytes(split.words(WordClass::Alpha), emit),
            Words::Unicode => count_unicode(split.bytes(), emit),
        }
        Ok(())
    }
}

// Functions of their own: in one body, the compiler has too few registers for the hot loop.

#[inline(never)]
fn count_bytes<'s>(words: Tokens<'s>, emit: &mut impl Emit<'s, WordCount>) {
    emit.emit_each(words, 1);
}

#[inline(never)]
fn count_unicode<'s>(text: &'s [u8], emit: &mut impl Emit<'s, WordCount>) {
    unicode_words::each(text, |word| match word {
        Word::Ascii(word) => emit.emit(word, 1),
        Word::Folded(word) => emit.emit_copied(word, 1),
    });
}

//! Counts the words of the input, by one of three definitions, given exactly in `docs/words.md`.

mod offload;

use crate::unicode_words::{self, Word};
use tegula::device::{ARGUMENTS, Offload};
use tegula::tokenize::Tokens;
use tegula::{
    Count, Cut, Emit, Identity, Job, Offloadable, Result, Resumable, Sees, Split, WordClass,
};

/// Counts words.
#[derive(Clone, Copy, Debug, Default)]
pub struct WordCount {
    /// The definition of a word.
    pub words: Words,
}

/// The definition of a word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Words {
    /// Any bytes between ASCII white space, with case kept.
    #[default]
    Whitespace,
    /// Runs of the ASCII letters, in lower case.
    Alpha,
    /// Words of Unicode text (UAX #29), in folded case.
    Unicode,
}

impl Words {
    /// After each byte that belongs to no word, so that a line of any length can be cut.
    pub(crate) fn cut(self) -> Cut {
        match self {
            Words::Whitespace => Cut::around(WordClass::Whitespace),
            Words::Alpha => Cut::around(WordClass::Alpha),
            Words::Unicode => Cut::Between(unicode_words::may_cut),
        }
    }

    /// Returns a word as the definition gives it: folded, if it folds.
    pub fn folded(self, word: &[u8]) -> Vec<u8> {
        match self {
            Words::Whitespace => word.to_vec(),
            Words::Alpha => word.to_ascii_lowercase(),
            Words::Unicode => unicode_words::folded(word),
        }
    }

    /// Returns its name, as part of a job's identity.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Words::Whitespace => "whitespace",
            Words::Alpha => "alpha",
            Words::Unicode => "unicode",
        }
    }

    /// Returns whether the letters of its words are folded in the split.
    pub(crate) fn folds_ascii(self) -> bool {
        match self {
            Words::Whitespace => false,
            Words::Alpha | Words::Unicode => true,
        }
    }
}

impl Job for WordCount {
    type Key = [u8];
    type Combine = Count;

    const LARGEST_FIRST: bool = true;

    fn cut(&self) -> Cut {
        self.words.cut()
    }

    fn folds_ascii(&self) -> bool {
        self.words.folds_ascii()
    }

    fn state(&self) -> Option<&dyn Resumable> {
        Some(self)
    }

    // No kernel has the rules of Unicode words.
    fn device(&self) -> Option<&dyn Offloadable<Self>> {
        match self.words {
            Words::Whitespace | Words::Alpha => Some(self),
            Words::Unicode => None,
        }
    }

    // One branch per split of some hundred thousand bytes, so three types would save nothing.
    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        match self.words {
            Words::Whitespace => count_bytes(split.fields(), emit),
            Words::Alpha => count_bytes(split.words(WordClass::Alpha), emit),
            Words::Unicode => count_unicode(split.bytes(), emit),
        }
        Ok(())
    }
}

impl Resumable for WordCount {
    fn identity(&self) -> Identity {
        Identity::new("wordcount", 1).with("words", self.words.name())
    }

    fn sees(&self) -> Sees {
        Sees::Records
    }
}

impl Offloadable for WordCount {
    fn offload(&self) -> Offload {
        offload::offload(self.words == Words::Alpha)
    }

    fn launch(&self, _: &Split<'_>) -> Option<[u64; ARGUMENTS]> {
        Some([u64::from(self.words == Words::Alpha), 0, 0, 0, 0, 0])
    }

    fn unload(&self, partial: &[u64], emit: &mut dyn Emit<'_, Self>) -> Result<()> {
        offload::unload(partial, emit)
    }
}

// Separate functions, because in one body the compiler has too few registers for the hot loop.

#[inline(never)]
fn count_bytes<'s>(words: Tokens<'s>, emit: &mut impl Emit<'s, WordCount>) {
    emit.emit_each(words, ());
}

#[inline(never)]
fn count_unicode<'s>(text: &'s [u8], emit: &mut impl Emit<'s, WordCount>) {
    unicode_words::each(
        text,
        emit,
        |emit, word| emit.emit(word, ()),
        |emit, word, _| match word {
            Word::Slice(word) => emit.emit(word, ()),
            Word::Folded(word) => emit.emit_copied(word, ()),
        },
    );
}

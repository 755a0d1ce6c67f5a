//! An inverted index: the places of each word of the input, or of each word of a list. The definitions of a
//! word are those of word count (`docs/words.md`).

use crate::unicode_words::{self, Word};
use crate::{Words, listed};
use std::collections::HashSet;
use tegula::tokenize::Tokens;
use tegula::{
    Collect, Cut, Emit, Fixed, Identity, Job, Relocation, Result, Resumable, Sees, Split, WordClass,
};

/// Collects the places of words, in the order of the input.
#[derive(Clone, Debug, Default)]
pub struct Index {
    /// The definition of a word.
    pub words: Words,
    /// The words to look for, [folded by the definition](Words::folded); `None` for all.
    pub only: Option<HashSet<Vec<u8>>>,
}

/// The place where a word begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The number of the file ([`Output::file`](tegula::Output::file) has its path).
    pub file: u32,
    /// Bytes from the start of the file.
    pub offset: u64,
}

/// Byte form: the file as 4 bytes and the offset as 8, little-endian.
impl Fixed for Place {
    type Bytes = [u8; 12];
    const RELOCATES: bool = true;

    #[inline(always)]
    fn to_bytes(self) -> [u8; 12] {
        (self.file, self.offset).to_bytes()
    }

    #[inline(always)]
    fn from_bytes(bytes: [u8; 12]) -> Place {
        let (file, offset) = <(u32, u64)>::from_bytes(bytes);
        Place { file, offset }
    }

    #[inline(always)]
    fn relocate(self, by: Relocation) -> Place {
        Place { file: by.file(self.file), offset: by.offset(self.offset) }
    }
}

impl Index {
    /// Returns whether a word is looked for.
    #[inline]
    fn wants(&self, word: &[u8]) -> bool {
        self.only.as_ref().is_none_or(|only| only.contains(word))
    }

    fn place_all<'s>(&self, split: Split<'s>, words: Tokens<'s>, emit: &mut impl Emit<'s, Self>) {
        let file = split.file();
        words.for_each(|word| {
            if self.wants(word) {
                emit.emit(word, Place { file, offset: split.offset_of(word) });
            }
        });
    }
}

impl Job for Index {
    type Key = [u8];
    type Combine = Collect<Place>;

    fn cut(&self) -> Cut {
        self.words.cut()
    }

    fn folds_ascii(&self) -> bool {
        self.words.folds_ascii()
    }

    fn state(&self) -> Option<&dyn Resumable> {
        Some(self)
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        match self.words {
            Words::Whitespace => self.place_all(split, split.fields(), emit),
            Words::Alpha => self.place_all(split, split.words(WordClass::Alpha), emit),
            Words::Unicode => {
                let at = |word| Place { file: split.file(), offset: split.offset_of(word) };
                let plain = |emit: &mut _, word| {
                    if self.wants(word) {
                        Emit::<'s, Self>::emit(emit, word, at(word));
                    }
                };
                unicode_words::each(split.bytes(), emit, plain, |emit, word, stands| match word {
                    Word::Slice(word) => plain(emit, word),
                    Word::Folded(word) if self.wants(word) => emit.emit_copied(word, at(stands)),
                    Word::Folded(_) => {}
                });
            }
        }
        Ok(())
    }
}

impl Resumable for Index {
    fn identity(&self) -> Identity {
        let only = self.only.as_ref().map(|only| {
            let mut words: Vec<&[u8]> = only.iter().map(Vec::as_slice).collect();
            words.sort_unstable();
            listed(&words)
        });
        let identity = Identity::new("index", 1).with("words", self.words.name());
        identity.with("only", only.unwrap_or_else(|| "all".to_owned()))
    }

    fn sees(&self) -> Sees {
        Sees::Relocatable
    }
}

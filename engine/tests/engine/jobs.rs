//! Jobs that several tests run.

use std::cmp::Ordering;
use tegula::{
    Collect, Count, Cut, Emit, Fixed, Group, Identity, Job, Reduce, Relocation, Result, Resumable,
    Sees, Split, Sum, Values, WordClass,
};

/// Counts words of a class; letters folded if the class is of letters.
pub(crate) struct Words(pub(crate) WordClass);

impl Job for Words {
    type Key = [u8];
    type Combine = Sum<u64>;

    fn cut(&self) -> Cut {
        Cut::around(self.0)
    }

    fn folds_ascii(&self) -> bool {
        self.0 == WordClass::Alpha
    }

    fn state(&self) -> Option<&dyn Resumable> {
        Some(self)
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        emit.emit_each(split.words(self.0), 1);
        Ok(())
    }
}

impl Resumable for Words {
    fn identity(&self) -> Identity {
        Identity::new("words", 1).with("class", format!("{:?}", self.0))
    }

    fn sees(&self) -> Sees {
        Sees::Records
    }
}

/// As `Words` of white space, with keys that the map makes: each is emitted as a copy.
pub(crate) struct CopiedWords;

impl Job for CopiedWords {
    type Key = [u8];
    type Combine = Count;

    fn cut(&self) -> Cut {
        Cut::around(WordClass::Whitespace)
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        for word in split.fields() {
            let made = word.to_vec();
            emit.emit_copied(&made, ());
        }
        Ok(())
    }
}

/// The offsets of each word of white space, in the order of the input.
pub(crate) struct Offsets {
    pub(crate) cut: Cut,
    pub(crate) sees: Sees,
}

pub(crate) fn offsets() -> Offsets {
    Offsets { cut: Cut::around(WordClass::Whitespace), sees: Sees::Places }
}

impl Job for Offsets {
    type Key = [u8];
    type Combine = Collect<u64>;

    fn cut(&self) -> Cut {
        self.cut
    }

    fn state(&self) -> Option<&dyn Resumable> {
        Some(self)
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        split.fields().for_each(|word| emit.emit(word, split.offset_of(word)));
        Ok(())
    }
}

impl Resumable for Offsets {
    fn identity(&self) -> Identity {
        Identity::new("offsets", 1)
    }

    fn sees(&self) -> Sees {
        self.sees
    }
}

/// The place of a word or a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) file: u32,
    pub(crate) offset: u64,
}

impl Fixed for Place {
    type Bytes = [u8; 12];
    const RELOCATES: bool = true;

    fn to_bytes(self) -> [u8; 12] {
        (self.file, self.offset).to_bytes()
    }

    fn from_bytes(bytes: [u8; 12]) -> Place {
        let (file, offset) = <(u32, u64)>::from_bytes(bytes);
        Place { file, offset }
    }

    fn relocate(self, by: Relocation) -> Place {
        Place { file: by.file(self.file), offset: by.offset(self.offset) }
    }
}

/// The places of each word, in the order of the input.
pub(crate) struct Places;

impl Job for Places {
    type Key = [u8];
    type Combine = Collect<Place>;

    fn cut(&self) -> Cut {
        Cut::around(WordClass::Whitespace)
    }

    fn state(&self) -> Option<&dyn Resumable> {
        Some(self)
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        for word in split.fields() {
            emit.emit(word, Place { file: split.file(), offset: split.offset_of(word) });
        }
        Ok(())
    }
}

impl Resumable for Places {
    fn identity(&self) -> Identity {
        Identity::new("places", 1)
    }

    fn sees(&self) -> Sees {
        Sees::Relocatable
    }
}

/// The value in the middle of a key's values, and their number.
pub(crate) struct Median;

impl Reduce for Median {
    type Value = u64;
    type Output = (u64, u64);

    fn reduce(key: &[u8], values: Values<'_, u64>) -> (u64, u64) {
        assert_ne!(key, b"poison", "a key that no median is made of");
        let mut values: Vec<u64> = values.collect();
        values.sort_unstable();
        (values[values.len() / 2], values.len() as u64)
    }

    fn rank(a: &(u64, u64), b: &(u64, u64)) -> Ordering {
        a.cmp(b)
    }
}

/// The median of the offsets of each word.
pub(crate) struct MedianPlaces(pub(crate) Cut);

impl Job for MedianPlaces {
    type Key = [u8];
    type Combine = Group<Median>;

    fn cut(&self) -> Cut {
        self.0
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        split.fields().for_each(|word| emit.emit(word, split.offset_of(word)));
        Ok(())
    }
}

/// A job of `u64` sums under byte keys whose map is a function: for tests that need a map of their
/// own. Boxed, so that the engine is compiled once for all of them. It cuts around white space.
pub(crate) struct Mapping<'f> {
    map: Box<Map<'f>>,
    cut: Cut,
    sees: Sees,
    identity: Option<Identity>,
}

type Map<'f> = dyn Fn(Split<'_>, EmitPair<'_>) -> Result<()> + Sync + 'f;

/// The function with which a map emits.
pub(crate) type EmitPair<'e> = &'e mut dyn FnMut(&[u8], u64);

impl Mapping<'_> {
    pub(crate) fn cut_at(self, cut: Cut) -> Self {
        Mapping { cut, ..self }
    }

    pub(crate) fn that_sees(self, sees: Sees) -> Self {
        Mapping { sees, ..self }
    }

    /// Lets its runs keep a state.
    pub(crate) fn named(self, name: &str) -> Self {
        Mapping { identity: Some(Identity::new(name, 1)), ..self }
    }
}

impl Job for Mapping<'_> {
    type Key = [u8];
    type Combine = Sum<u64>;

    fn cut(&self) -> Cut {
        self.cut
    }

    fn state(&self) -> Option<&dyn Resumable> {
        self.identity.as_ref().map(|_| self as &dyn Resumable)
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        (self.map)(split, &mut |key, value| emit.emit_copied(key, value))
    }
}

impl Resumable for Mapping<'_> {
    fn identity(&self) -> Identity {
        self.identity.clone().unwrap()
    }

    fn sees(&self) -> Sees {
        self.sees
    }
}

/// The job of a map.
pub(crate) fn mapping<'f>(
    map: impl Fn(Split<'_>, EmitPair<'_>) -> Result<()> + Sync + 'f,
) -> Mapping<'f> {
    let cut = Cut::around(WordClass::Whitespace);
    Mapping { map: Box::new(map), cut, sees: Sees::Places, identity: None }
}

/// Counts lines; a line for which `cause` returns a cause is bad.
pub(crate) fn good_lines(cause: fn(&[u8]) -> Option<String>) -> Mapping<'static> {
    let job = mapping(move |split, emit| {
        for line in split.lines() {
            match cause(line) {
                Some(cause) => split.bad(line, cause)?,
                None => emit(line, 1),
            }
        }
        Ok(())
    });
    job.cut_at(Cut::Lines)
}

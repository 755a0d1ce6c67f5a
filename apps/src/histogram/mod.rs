//! Counts the levels of red, green and blue in pictures. Takes 24-bit BMP and binary PPM files of any size,
//! whose headers are read beforehand; hands on 256 counts per channel.

mod offload;
mod picture;
mod svg;
mod tally;

use crate::headers::look_into;
use picture::Picture;
use std::collections::HashMap;
use std::path::PathBuf;
use tally::Tables;
use tegula::device::{ARGUMENTS, Offload};
use tegula::{
    Answers, Cut, Emit, Identity, Input, Job, Offloadable, Output, Result, Resumable, Split, Sum,
};

/// Counts levels. Its keys are 256 times the channel (0 red, 1 green, 2 blue) and the level added. The default
/// knows no picture; it is the job of answers that a state holds.
#[derive(Default)]
pub struct Histogram {
    /// The layouts from the headers, by the path in a split's name.
    pictures: HashMap<PathBuf, Picture>,
    /// Whether each picture is one split.
    reads_whole: bool,
}

/// Counts by channel (red, green, blue) and level.
pub type Levels = [[u64; 256]; 3];

impl Histogram {
    /// A suitable size of split: each emits 768 pairs, so it is larger than the engine's own choice.
    pub const SPLIT_BYTES: u64 = 512 << 10;

    /// Creates the job for the pictures of an input. Reads the first 4 KiB of each.
    ///
    /// # Errors
    /// Returns [`Error::Record`](tegula::Error::Record) for a file that is cut short or not a picture of
    /// these kinds, and errors of reading.
    pub fn of(input: &Input) -> Result<Histogram> {
        let files: Vec<_> = input.listing().collect();
        let pictures =
            look_into(&files, |file| Ok((file.name().to_path_buf(), Picture::read(file)?)))?;
        Ok(Histogram { pictures: pictures.into_iter().collect(), reads_whole: false })
    }

    /// Returns the job with each picture in one split, or not. An incremental run needs this: a part of a picture that
    /// it finds again may have another layout by now, because the header has changed. Each picture must fit in memory
    /// then.
    #[must_use]
    pub fn whole(self, reads_whole: bool) -> Histogram {
        Histogram { reads_whole, ..self }
    }

    /// Returns the counts of an answer, including zeros.
    ///
    /// # Errors
    /// Returns the errors of [`Output::for_each`].
    pub fn levels(output: &Output<Histogram>) -> Result<Levels> {
        let mut levels = [[0; 256]; 3];
        output.for_each(|key, count| put(&mut levels, key, count))?;
        Ok(levels)
    }

    /// Returns the counts of the answers so far, including zeros.
    ///
    /// # Errors
    /// Returns the errors of [`Answers::for_each`].
    pub fn levels_shown(answers: &Answers<'_, Histogram>) -> Result<Levels> {
        let mut levels = [[0; 256]; 3];
        answers.for_each(|key, count| {
            put(&mut levels, key, count);
            Ok(())
        })?;
        Ok(levels)
    }

    /// Draws counts as an SVG picture.
    pub fn svg(levels: &Levels) -> String {
        svg::draw(levels)
    }
}

/// Puts a count at the place of its key.
fn put(levels: &mut Levels, key: u16, count: u64) {
    levels[usize::from(key >> 8)][usize::from(key & 255)] = count;
}

impl Job for Histogram {
    type Key = u16;
    type Combine = Sum<u64>;

    /// Anywhere unless it is to be whole, because a split's offset in its file determines the channel of each byte.
    fn cut(&self) -> Cut {
        if self.reads_whole { Cut::Whole } else { Cut::Fixed(1) }
    }

    fn state(&self) -> Option<&dyn Resumable> {
        Some(self)
    }

    fn device(&self) -> Option<&dyn Offloadable<Self>> {
        Some(self)
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        let Some(picture) = self.pictures.get(&split.path()) else {
            return split.bad(split.bytes(), "the job was made for other pictures");
        };
        let mut tables = Tables::new();
        for (pixels, phase) in picture.pixels(split.offset(), split.bytes()) {
            tables.count(pixels, phase);
        }
        for (place, &channel) in picture.channels().iter().enumerate() {
            for level in 0..=u8::MAX {
                let key = (channel as u16) << 8 | u16::from(level);
                emit.emit(key, tables.total(place, level));
            }
        }
        Ok(())
    }
}

impl Resumable for Histogram {
    fn identity(&self) -> Identity {
        Identity::new("histogram", 1)
    }
}

impl Offloadable for Histogram {
    fn offload(&self) -> Offload {
        offload::offload()
    }

    fn launch(&self, split: &Split<'_>) -> Option<[u64; ARGUMENTS]> {
        let picture = self.pictures.get(&split.path())?;
        Some(picture.arguments(split.offset()))
    }

    fn unload(&self, partial: &[u64], emit: &mut dyn Emit<'_, Self>) -> Result<()> {
        for (key, &count) in (0..).zip(partial) {
            emit.emit(key, count);
        }
        Ok(())
    }
}

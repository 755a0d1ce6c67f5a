//! The jobs that are disturbed: one for each way in which values are combined, and one that moves records.

use clap::ValueEnum;
use std::path::{Path, PathBuf};
use tegula::output::AtomicFile;
use tegula::state::AnswerFile;
use tegula::{
    Aggregate, Cancel, Emit, Engine, Every, Identity, Input, Job, Key, Max, Options, Result,
    Resumable, Sees, Show, Sort, SortTo, Split, Sum,
};
use tegula_apps::{Index, WordCount, Words};
use tegula_testing::{Room, SmallSink};

/// A job that is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Which {
    /// Sums of few keys and many.
    Words,
    /// Sums in an array: how often each byte comes.
    Bytes,
    /// Lists of places, in the order of the input.
    Places,
    /// Greatest values, which nothing can be taken out of.
    Longest,
    /// Lines, ascending by their first bytes.
    Sorted,
}

pub(crate) const JOBS: [Which; 5] =
    [Which::Words, Which::Bytes, Which::Places, Which::Longest, Which::Sorted];
/// The bytes of a line that are its key.
const SORT_KEY_BYTES: u64 = 5;

/// A run of a job.
pub(crate) struct Run<'r> {
    pub(crate) engine: &'r Engine,
    pub(crate) input: &'r Path,
    pub(crate) options: Options,
    /// Shows that are made, and whether each is of a prefix of the input.
    pub(crate) shows: Option<(Every, bool)>,
    /// The file that gets the answer.
    pub(crate) output: PathBuf,
    /// The room of that file's disk, if it is small.
    pub(crate) room: Option<Room>,
}

impl Which {
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// Runs the job, and writes its answer.
    pub(crate) fn run(self, run: Run<'_>) -> Result<()> {
        let words = Words::Whitespace;
        match self {
            Which::Words => run.answer(&WordCount { words }, |key, count, text| {
                text.extend_from_slice(key);
                text.extend_from_slice(format!("\t{count}\n").as_bytes());
            }),
            Which::Bytes => run.answer(&ByteCount, |byte, count, text| {
                text.extend_from_slice(format!("{byte}\t{count}\n").as_bytes());
            }),
            Which::Places => run.answer(&Index { words, only: None }, |key, places, text| {
                text.extend_from_slice(key);
                for place in places {
                    text.extend_from_slice(format!("\t{}:{}", place.file, place.offset).as_bytes());
                }
                text.push(b'\n');
            }),
            Which::Longest => run.answer(&LongestLine, |key, longest, text| {
                text.extend_from_slice(key);
                text.extend_from_slice(format!("\t{longest}\n").as_bytes());
            }),
            Which::Sorted => run.sort(),
        }
    }
}

impl Run<'_> {
    fn answer<J: Job>(
        self,
        job: &J,
        line: impl Fn(
            <J::Key as Key>::Borrowed<'_>,
            <J::Combine as Aggregate>::Output<'_>,
            &mut Vec<u8>,
        ) + Sync,
    ) -> Result<()> {
        let mut job = self.engine.job(job).options(&self.options);
        if let Some((every, in_order)) = self.shows {
            // All pairs of a show are made, and none is kept.
            let see = |shown: &tegula::Shown<'_, J>| shown.answers().for_each(|_, _| Ok(()));
            job = job.show(Show::new(every, see).in_order(in_order));
        }
        let (path, room) = (&self.output, self.room);
        let file = AnswerFile { path, form: b"reliability" };
        let renewed = job.renew(Input::paths([self.input])?, file, |answer| {
            let mut file = AtomicFile::create(path)?;
            match room {
                Some(room) => {
                    let mut sink = SmallSink::new(&mut file, room);
                    answer.write(&mut sink, path, &Cancel::new(), line)?;
                }
                None => answer.write(&mut file, path, &Cancel::new(), line)?,
            }
            Ok(file.commit()?)
        });
        renewed.map(drop)
    }

    fn sort(self) -> Result<()> {
        let sort = Sort { key: Some(0..SORT_KEY_BYTES), ..Sort::lines() };
        let mut file = AtomicFile::create(&self.output)?;
        let input = Input::paths([self.input])?;
        let Some(room) = self.room else {
            self.engine.sort(&sort, input, SortTo::File(file), &self.options)?;
            return Ok(());
        };
        let mut sink = SmallSink::new(&mut file, room);
        let to = SortTo::Writer(&mut sink, &self.output);
        self.engine.sort(&sort, input, to, &self.options)?;
        Ok(file.commit()?)
    }
}

/// How often each byte comes.
struct ByteCount;

impl Job for ByteCount {
    type Key = u8;
    type Combine = Sum<u64>;

    fn state(&self) -> Option<&dyn Resumable> {
        Some(self)
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        split.lines().flatten().for_each(|byte| emit.emit(*byte, 1));
        Ok(())
    }
}

impl Resumable for ByteCount {
    fn identity(&self) -> Identity {
        Identity::new("byte count", 1)
    }

    fn sees(&self) -> Sees {
        Sees::Records
    }
}

/// For each word the longest line that contains it, in bytes.
struct LongestLine;

impl Job for LongestLine {
    type Key = [u8];
    type Combine = Max<u64>;

    fn state(&self) -> Option<&dyn Resumable> {
        Some(self)
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        for line in split.lines() {
            let words = line.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
            words.for_each(|word| emit.emit(word, line.len() as u64));
        }
        Ok(())
    }
}

impl Resumable for LongestLine {
    fn identity(&self) -> Identity {
        Identity::new("longest line", 1)
    }

    fn sees(&self) -> Sees {
        Sees::Records
    }
}

//! The map of a streaming job. A task is a split: one process, which gets all its lines and then the end of input, so
//! mappers that keep something to the end are right.
//!
//! A key of the engine is the number of its part, in two bytes, and the form of the key that is in the order of the
//! job's comparator (`order.rs`). So the answer is in the order of parts, and sorted in each. What a task has counted is
//! pairs, too, of a part of their own; so counters are kept in a state and found again with the task's lines.

use crate::counters::{BYTES_READ, BYTES_WRITTEN, Counters};
use crate::gathering::{Gatherer, Gathering};
use crate::lines::{LineCutter, lines, normalised};
use crate::numbers::Numbers;
use crate::output::OutputFolder;
use crate::process::Process;
use crate::settings::{BY_LINES, Settings};
use crate::shipped::{by_link, files_named, with_content};
use crate::tasks::{Source, Task, Tasks};
use memchr::memchr_iter;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use tegula::{Collect, Cut, Emit, Identity, Job, Result, Resumable, Sees, Split};

/// The part of the pairs that are counters; no reducer has its number.
pub(crate) const COUNTERS: u16 = u16::MAX;

/// What messages call the commands of a map task.
const MAPPER: &str = "mapper";
const COMBINER: &str = "combiner";

/// The map of a streaming job, over its tasks.
pub(crate) struct Mapping<'r> {
    pub(crate) settings: &'r Settings,
    pub(crate) tasks: &'r Tasks<'r>,
    pub(crate) numbers: Numbers,
    /// The number of the file that is a list of empty files.
    pub(crate) list_of_empty: u32,
    /// Where output goes that is not sorted.
    pub(crate) output: &'r OutputFolder,
    /// `None` if no state is kept.
    pub(crate) kept: Option<Kept>,
    /// Where the pairs go: the number of a part and the form of a key, and a value.
    pub(crate) gathering: Gathering<'r>,
}

impl Job for Mapping<'_> {
    type Key = [u8];
    type Combine = Collect<[u8]>;

    fn cut(&self) -> Cut {
        match self.settings.lines_per_map {
            // Groups of lines are counted from the begin of a file.
            Some(_) => Cut::Whole,
            None => self.settings.delimiter.map_or(Cut::Lines, Cut::Delimiter),
        }
    }

    fn state(&self) -> Option<&dyn Resumable> {
        self.kept.as_ref().map(|kept| -> &dyn Resumable { kept })
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        let mut emit = |key: &[u8], value: &[u8]| emit.emit_copied(key, value);
        let mut put = self.gathering.begin(&split, &mut emit);
        let mapped = self.map_split(&split, &mut put).and_then(|()| put.end());
        self.tasks.failure().note(mapped)
    }
}

/// What a state has to know of a job. To find it reads all files that the job ships, so it is made for a state alone.
pub(crate) struct Kept {
    identity: Identity,
    sees: Sees,
}

impl Kept {
    /// Returns what decides the pairs of a job. A task is told the path of its file, and where in it its lines are; a
    /// mapper may look at the path. Offsets before lines are for it to look at, too.
    pub(crate) fn of(settings: &Settings) -> Result<Kept> {
        let sees = match settings.offset_separator {
            Some(_) => Sees::Places,
            None => Sees::Paths,
        };
        Ok(Kept { identity: identity(settings)?, sees })
    }
}

impl Resumable for Kept {
    fn identity(&self) -> Identity {
        self.identity.clone()
    }

    fn sees(&self) -> Sees {
        self.sees
    }
}

fn identity(settings: &Settings) -> Result<Identity> {
    let mut identity = Identity::new("streaming", 1).with("mapper", settings.mapper.join("\u{0}"));
    let combiner = settings.combiner.as_deref().unwrap_or_default();
    identity = identity.with("combiner", combiner.join("\u{0}")).with("reducers", settings.parts);
    let input_format = settings.lines_per_map.map_or("TextInputFormat", |_| BY_LINES);
    identity = identity.with("-inputformat", input_format);
    identity = identity.with("-partitioner", settings.partition.name());
    for (name, value) in settings.conf.iter() {
        identity = identity.with(&format!("-D {name}"), value);
    }
    // By name, and the last value counts, as in a task's environment: the order on the command line decides nothing.
    let environment = settings.environment.iter().map(|(name, value)| (name, value));
    for (name, value) in environment.collect::<BTreeMap<_, _>>() {
        identity = identity.with(&format!("-cmdenv {name}"), value);
    }
    for item in by_link(&settings.shipped) {
        identity = item.identify(identity)?;
    }
    for path in files_named(&settings.mapper).chain(files_named(combiner)) {
        identity = with_content(identity, &path.to_string_lossy(), &path)?;
    }
    Ok(identity)
}

impl Mapping<'_> {
    fn map_split(&self, split: &Split<'_>, put: &mut Gatherer<'_, '_>) -> Result<()> {
        let file = split.file();
        if file == self.list_of_empty {
            let names = split.bytes().split(|byte| *byte == 0);
            return names.filter(|name| !name.is_empty()).try_for_each(|name| {
                let path = Path::new(OsStr::from_bytes(name));
                let source = Source { path, file, offset: 0, bytes: 0 };
                self.map_piece(&Text::default(), source, put)
            });
        }
        let (path, offset) = (split.path(), split.offset());
        let source = Source { path: &path, file, offset, bytes: split.bytes().len() };
        let Some(most) = self.settings.lines_per_map else {
            return self.map_piece(&self.text(split, split.bytes()), source, put);
        };
        let mut rest = split.bytes();
        while !rest.is_empty() {
            let bytes = lines(rest).take(most).map(|(_, bytes)| bytes).sum();
            let (group, after) = rest.split_at(bytes);
            let source = Source { offset: split.offset_of(group), bytes, ..source };
            self.map_piece(&self.text(split, group), source, put)?;
            rest = after;
        }
        Ok(())
    }

    /// Returns the records of a part of a split as a mapper gets them: lines that end with `\n`, which a record may have
    /// within it, too.
    fn text<'s>(&self, split: &Split<'s>, bytes: &'s [u8]) -> Text<'s> {
        let Settings { delimiter, offset_separator, .. } = self.settings;
        if delimiter.is_none() && offset_separator.is_none() {
            let text = normalised(bytes).map_or(Cow::Borrowed(bytes), Cow::Owned);
            return Text { records: memchr_iter(b'\n', &text).count() as u64, text };
        }
        let (mut text, mut records) = (Vec::with_capacity(bytes.len() + 1), 0);
        let mut add = |record: &[u8]| {
            records += 1;
            if let Some(separator) = offset_separator {
                text.extend_from_slice(split.offset_of(record).to_string().as_bytes());
                text.extend_from_slice(separator);
            }
            text.extend_from_slice(record);
            text.push(b'\n');
        };
        match delimiter {
            Some(delimiter) => delimiter.records(bytes).for_each(add),
            None => lines(bytes).for_each(|(line, _)| add(line)),
        }
        Text { text: Cow::Owned(text), records }
    }

    fn map_piece(
        &self,
        input: &Text<'_>,
        source: Source<'_>,
        put: &mut Gatherer<'_, '_>,
    ) -> Result<()> {
        let lines = &*input.text;
        let number = self.numbers.take(source.file, source.offset);
        let task = self.tasks.map_task(number, source)?;
        let mut counters = if self.settings.is_map_only() {
            self.map_to_part(&task, number, lines)?
        } else if let Some(combiner) = &self.settings.combiner {
            self.map_and_combine(&task, lines, combiner, put)?
        } else {
            self.map_to_pairs(&task, lines, put)?
        };
        self.take_files(&task)?;
        counters.count("Map input records", input.records);
        let read = i64::try_from(source.bytes).unwrap_or(i64::MAX);
        counters.add(BYTES_READ.0, BYTES_READ.1, read);
        for (group, name, amount) in counters.iter() {
            let mut key = COUNTERS.to_be_bytes().to_vec();
            key.extend_from_slice(group.as_bytes());
            key.push(0);
            key.extend_from_slice(name.as_bytes());
            put.count(&key, &amount.to_le_bytes());
        }
        Ok(())
    }

    /// Takes the files that a task has left for the answer. A state has a task's pairs alone: where these are found again,
    /// its files would be missing.
    fn take_files(&self, task: &Task) -> Result<()> {
        if self.kept.is_some()
            && let Some(name) = task.output()?
        {
            return Err(task.failed(format!(
                "the {MAPPER} left {} for the answer, and files of map tasks are not kept in a state; leave --state out, or \
                 write them in the reducer",
                Path::new(&name).display()
            )));
        }
        self.output.take_files(task.outputs())
    }

    /// Writes a task's output to a part file.
    fn map_to_part(&self, task: &Task, number: usize, lines: &[u8]) -> Result<Counters> {
        let Settings { mapper, map_output, output_separator, codec, is_lazy, .. } = self.settings;
        let mut part = self.output.part(number, *codec, *is_lazy)?;
        let mut count = 0;
        let mut write = |line: &[u8]| {
            count += 1;
            let (key, value) = map_output.split(line);
            part.write(key, output_separator, value)
        };
        let mut counters = self.run_mapper(task, mapper, lines, &mut write)?;
        counters.count("Map output records", count);
        let bytes = i64::try_from(part.finish()?).unwrap_or(i64::MAX);
        counters.add(BYTES_WRITTEN.0, BYTES_WRITTEN.1, bytes);
        Ok(counters)
    }

    /// Makes pairs of a task's output.
    fn map_to_pairs(
        &self,
        task: &Task,
        lines: &[u8],
        put: &mut Gatherer<'_, '_>,
    ) -> Result<Counters> {
        let (settings, mut count) = (self.settings, 0);
        let mut emit = |line: &[u8]| {
            count += 1;
            let (key, value) = settings.map_output.split(line);
            self.put_pair(key, value, put)
        };
        let mut counters = self.run_mapper(task, &settings.mapper, lines, &mut emit)?;
        counters.count("Map output records", count);
        Ok(counters)
    }

    fn put_pair(&self, key: &[u8], value: &[u8], put: &mut Gatherer<'_, '_>) -> Result<()> {
        let part = self.settings.partition.part(key, self.settings.parts);
        let part = u16::try_from(part).unwrap_or(COUNTERS);
        put.put(value, |form| {
            form.extend_from_slice(&part.to_be_bytes());
            self.settings.order.encode(key, form);
        })
    }

    fn run_mapper(
        &self,
        task: &Task,
        mapper: &[String],
        lines: &[u8],
        see: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<Counters> {
        let mut cutter = LineCutter::new(self.settings.line_bytes_most);
        let process = self.tasks.start(task, MAPPER, mapper)?;
        let mut take = |bytes: &[u8]| cutter.feed(bytes, &mut *see);
        let counters = self.tasks.run(task, (MAPPER, mapper), process, lines, &mut take)?;
        cutter.finish(see)?;
        Ok(counters)
    }

    /// Makes pairs of what the combiner makes of a task's sorted output, in stretches that fit in memory. Its command is
    /// started with the mapper's, so that it is ready when the first stretch is.
    fn map_and_combine(
        &self,
        task: &Task,
        lines: &[u8],
        combiner: &[String],
        put: &mut Gatherer<'_, '_>,
    ) -> Result<Counters> {
        let settings = self.settings;
        let (mut stretch, mut count, mut of_combiner) =
            (Stretch::default(), 0, Counters::default());
        let mut ready = Some(self.tasks.start(task, COMBINER, combiner)?);
        let mut add = |line: &[u8]| {
            count += 1;
            let (key, value) = settings.map_output.split(line);
            stretch.add(key, value, settings);
            if stretch.memory_bytes(settings) < settings.sort_bytes {
                return Ok(());
            }
            of_combiner.add_all(&self.combine(task, &mut stretch, ready.take(), put)?);
            Ok(())
        };
        let mut counters = self.run_mapper(task, &settings.mapper, lines, &mut add)?;
        if !stretch.pairs.is_empty() {
            of_combiner.add_all(&self.combine(task, &mut stretch, ready.take(), put)?);
        }
        counters.count("Map output records", count);
        counters.add_all(&of_combiner);
        Ok(counters)
    }

    /// Runs the combiner over a stretch of pairs. `ready` is its command, if that is started.
    fn combine(
        &self,
        task: &Task,
        stretch: &mut Stretch,
        ready: Option<Process>,
        put: &mut Gatherer<'_, '_>,
    ) -> Result<Counters> {
        let settings = self.settings;
        let combiner = settings.combiner.as_deref().unwrap_or_default();
        // The command gets the text, and the pairs are given back meanwhile.
        let stretch = std::mem::take(stretch);
        let records = stretch.pairs.len() as u64;
        let text = stretch.into_sorted_text(settings);
        let mut cutter = LineCutter::new(settings.line_bytes_most);
        let mut count = 0;
        let mut emit = |line: &[u8]| {
            count += 1;
            let (key, value) = settings.reduce_output.split(line);
            self.put_pair(key, value, put)
        };
        let process = match ready {
            Some(process) => process,
            None => self.tasks.start(task, COMBINER, combiner)?,
        };
        let mut take = |bytes: &[u8]| cutter.feed(bytes, &mut emit);
        let mut counters = self.tasks.run(task, (COMBINER, combiner), process, &text, &mut take)?;
        cutter.finish(&mut emit)?;
        counters.count("Combine input records", records);
        counters.count("Combine output records", count);
        Ok(counters)
    }
}

/// The input of a map task.
#[derive(Default)]
struct Text<'s> {
    text: Cow<'s, [u8]>,
    records: u64,
}

/// Pairs that are sorted for the combiner.
#[derive(Default)]
struct Stretch {
    bytes: Vec<u8>,
    /// Where the form of each key begins and ends, and its value ends.
    pairs: Vec<PairPlace>,
}

type PairPlace = (usize, usize, usize);

impl Stretch {
    fn add(&mut self, key: &[u8], value: &[u8], settings: &Settings) {
        let begin = self.bytes.len();
        settings.order.encode(key, &mut self.bytes);
        let middle = self.bytes.len();
        self.bytes.extend_from_slice(value);
        self.pairs.push((begin, middle, self.bytes.len()));
    }

    /// Returns the memory of the pairs, with what their text has beside their bytes. So the buffer of their sort, or their
    /// text, takes as much again at most. Empty pairs have places, too.
    fn memory_bytes(&self, settings: &Settings) -> usize {
        self.text_bytes(settings) + self.pairs.len() * size_of::<PairPlace>()
    }

    /// Returns the length of the text at most: a form may be longer than its key.
    fn text_bytes(&self, settings: &Settings) -> usize {
        let beside = settings.reduce_input_separator.len() + b"\n".len();
        self.bytes.len() + self.pairs.len() * beside
    }

    fn into_sorted_text(self, settings: &Settings) -> Vec<u8> {
        let mut text = Vec::with_capacity(self.text_bytes(settings));
        let Stretch { bytes, mut pairs } = self;
        pairs.sort_by(|a, b| bytes[a.0..a.1].cmp(&bytes[b.0..b.1]));
        for (begin, middle, end) in pairs {
            text.extend_from_slice(settings.order.key(&bytes[begin..middle]));
            text.extend_from_slice(&settings.reduce_input_separator);
            text.extend_from_slice(&bytes[middle..end]);
            text.push(b'\n');
        }
        text
    }
}

//! `--show`: the answers so far, while a job runs, on standard error or in a file. Each show is one line
//! that says which part of the input it covers, then the pairs as lines in the form of the answer.
//! Counts and sums have an estimate of their final value. With `--show-by value` a second job groups the pairs.

use crate::events::{self, Events};
use crate::flags::{self, AnswerFlags, Format};
use crate::format::Line;
use crate::session::AnswerOf;
use crate::size;
use clap::{Args, ValueEnum};
use serde_json::json;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tegula::{
    Cancel, Count, Emit, Engine, Error, Estimates, Every, Input, Job, Key, Options, Order,
    OutputError, Result, Show, Shown, Split,
};

/// Pairs in a show if neither --show-top nor --top gives a number.
const TOP: usize = 10;
/// The longest time between shows. No run lasts as long, and clocks go on beyond it.
const TIME_MOST: Duration = Duration::from_secs(1_000_000 * 3600);
/// Bytes of a show that are written at once.
const TEXT_BYTES_MOST: usize = 64 << 10;
/// Bytes of values that the second tier counts in one job.
const SECOND_BYTES: usize = 4 << 20;
/// Lengths of the first pairs for which a show says since when they are the same.
const STABLE: [usize; 6] = [3, 5, 10, 20, 50, 100];

/// When answers are shown while the job runs, and where they go.
#[derive(Args, Clone, Default)]
pub(crate) struct ShowWhen {
    /// Show the answers so far while the job runs: after each part of the input (every=5%), each time
    /// (every=10s; ms, s, m, h), or each number of bytes (every=1G) that was mapped.
    #[arg(long, value_name = "every=5%|10s|1G", value_parser = every, help_heading = "Shows")]
    pub(crate) show: Option<Every>,

    /// Write shows to FILE instead of standard error, each when it is made.
    #[arg(long, value_name = "FILE", requires = "show", help_heading = "Shows")]
    pub(crate) show_to: Option<PathBuf>,

    /// Show the answers of a prefix of the input each time. Not for streams and compressed files.
    #[arg(long, requires = "show", help_heading = "Shows")]
    pub(crate) show_in_order: bool,

    /// Shows go to `--events` alone.
    #[arg(skip)]
    pub(crate) is_watched: bool,
}

/// The flags for showing pairs while the job runs.
#[derive(Args, Clone, Default)]
pub(crate) struct ShowFlags {
    #[command(flatten)]
    pub(crate) when: ShowWhen,

    /// Show only the N pairs with the largest values, or all of the answer [default: as --top, or 10].
    #[arg(long, value_name = "N|all", value_parser = most, requires = "show", help_heading = "Shows")]
    pub(crate) show_top: Option<Most>,

    /// Show, instead of pairs, how many keys have each value so far: a second job over all pairs, for each
    /// show.
    #[arg(long, value_enum, value_name = "value", requires = "show", help_heading = "Shows")]
    pub(crate) show_by: Option<By>,
}

/// What a second job groups pairs by.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum By {
    Value,
}

/// The number of pairs.
#[derive(Clone, Copy)]
pub(crate) enum Most {
    All,
    Pairs(usize),
}

/// Where shows go.
enum To {
    Stderr,
    File(File, PathBuf),
    Events(Events),
}

/// Writes the shows of one job.
pub(crate) struct Shows<'e> {
    streams: Vec<Stream>,
    /// The second tier, if pairs are grouped by it.
    second: Option<Second<'e>>,
}

/// The shows of one job in one form, to one place.
struct Stream {
    to: To,
    format: Format,
    estimates: Estimates,
    /// What is not written yet.
    text: Vec<u8>,
}

impl ShowWhen {
    /// Returns whether shows and a progress bar would write over each other.
    pub(crate) fn is_on_terminal(&self) -> bool {
        let is_on_stderr = self.show_to.is_none() && !self.is_watched;
        self.show.is_some() && is_on_stderr && io::stderr().is_terminal()
    }

    /// Opens the file, or standard error, that shows go to; they go to the events, too.
    pub(crate) fn open<'e>(
        &self,
        format: Format,
        events: Option<&Events>,
        memory: Option<u64>,
    ) -> Result<Shows<'e>> {
        let to = match &self.show_to {
            _ if self.is_watched => None,
            None => Some(To::Stderr),
            Some(path) => {
                let file = File::create(path);
                let create = |cause| OutputError::Create { path: path.clone(), cause };
                Some(To::File(file.map_err(create)?, path.clone()))
            }
        };
        let watched = events.map(|events| (To::Events(events.clone()), Format::Jsonl));
        let streams = to.map(|to| (to, format)).into_iter().chain(watched);
        let estimates = || Estimates::of_budget(memory);
        let stream = |(to, format)| Stream { to, format, estimates: estimates(), text: Vec::new() };
        Ok(Shows { streams: streams.map(stream).collect(), second: None })
    }
}

impl ShowFlags {
    /// Returns the flags of shows of the whole answer, by key.
    pub(crate) fn whole(when: &ShowWhen) -> ShowFlags {
        ShowFlags { when: when.clone(), show_top: Some(Most::All), show_by: None }
    }

    /// Returns the number of pairs in a show; `None` for all.
    fn top(&self, answer: &AnswerFlags) -> Option<usize> {
        match self.show_top {
            Some(Most::All) => None,
            Some(Most::Pairs(pairs)) => Some(pairs),
            None => Some(answer.top.unwrap_or(TOP)),
        }
    }

    /// Returns the job that groups the pairs of a show, if the flags ask for one.
    pub(crate) fn second<'e>(
        &self,
        engine: &'e Engine,
        answer: &AnswerFlags,
        cancel: &Cancel,
    ) -> Option<Second<'e>> {
        let top = self.top(answer);
        self.show_by.map(|By::Value| Second { engine, top, cancel: cancel.clone() })
    }

    /// Refuses a second job over pairs whose values are lists.
    pub(crate) fn refuse_by(&self) -> Result<()> {
        let cause = "the values of this answer are lists of places; leave it out";
        let refused = || Error::Option { option: "--show-by", cause: cause.to_owned() };
        self.show_by.map_or(Ok(()), |_| Err(refused()))
    }

    /// Returns the shows of a job; `see` takes each of them.
    pub(crate) fn of<'s, J: Job>(
        &self,
        every: Every,
        answer: &AnswerFlags,
        see: impl FnMut(&Shown<'_, J>) -> Result<()> + Send + 's,
    ) -> Show<'s, J> {
        if self.show_by.is_some() {
            let show = Show::new(every, see).in_order(self.when.show_in_order);
            return show.all().order(Order::None);
        }
        let top = self.top(answer);
        let order = match answer.order {
            None if top.is_some() => Order::Value,
            _ => answer.order(),
        };
        let show = Show::new(every, see).order(order).in_order(self.when.show_in_order);
        match top {
            Some(most) => show.top(most),
            None => show.all(),
        }
    }
}

impl<'e> Shows<'e> {
    /// Returns these shows with a second job over the pairs of each.
    pub(crate) fn grouped(self, second: Option<Second<'e>>) -> Shows<'e> {
        Shows { second, ..self }
    }

    /// Writes a show: `fill` puts a pair into its line.
    pub(crate) fn write<J: Job>(
        &mut self,
        shown: &Shown<'_, J>,
        fill: impl Fn(<J::Key as Key>::Borrowed<'_>, AnswerOf<'_, J>, &mut Line<'_>),
    ) -> Result<()> {
        let Some(second) = &self.second else {
            return self.streams.iter_mut().try_for_each(|stream| stream.write(shown, &fill));
        };
        let grouped = second.grouped(shown, &fill)?;
        self.write_text(shown, |format| {
            let mut text = Vec::new();
            for (value, keys) in &grouped {
                let mut line = Line::begin(format, &mut text);
                line.bytes("value", value).integer("keys", *keys);
                line.end();
            }
            text
        })
    }

    /// Writes a show in which `lines` appends the lines of a pair. These are in the form of the answer, so events have
    /// none.
    pub(crate) fn write_lines<J: Job>(
        &mut self,
        shown: &Shown<'_, J>,
        lines: impl Fn(<J::Key as Key>::Borrowed<'_>, AnswerOf<'_, J>, &mut Vec<u8>),
    ) -> Result<()> {
        self.read_by_people().try_for_each(|stream| stream.write_lines(shown, &lines))
    }

    /// Writes a show whose text `text` makes. Events have none.
    pub(crate) fn write_text<J: Job>(
        &mut self,
        shown: &Shown<'_, J>,
        text: impl Fn(Format) -> Vec<u8>,
    ) -> Result<()> {
        self.read_by_people().try_for_each(|Stream { to, format, text: out, .. }| {
            Head::of(shown).write(*format, out);
            out.extend_from_slice(&text(*format));
            to.put(out)
        })
    }

    fn read_by_people(&mut self) -> impl Iterator<Item = &mut Stream> {
        self.streams.iter_mut().filter(|stream| !matches!(stream.to, To::Events(_)))
    }
}

/// The second tier of shows: a job that counts the keys of each value (Ostrich, section 6.1).
pub(crate) struct Second<'e> {
    engine: &'e Engine,
    top: Option<usize>,
    cancel: Cancel,
}

/// Counts lines, of which each is a value.
struct Values;

impl Job for Values {
    type Key = [u8];
    type Combine = Count;

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Values>) -> Result<()> {
        split.lines().for_each(|value| emit.emit(value, ()));
        Ok(())
    }
}

impl Second<'_> {
    /// Returns values and the numbers of their keys: those with most keys first, or all by value.
    fn grouped<J: Job>(
        &self,
        shown: &Shown<'_, J>,
        fill: &impl Fn(<J::Key as Key>::Borrowed<'_>, AnswerOf<'_, J>, &mut Line<'_>),
    ) -> Result<Vec<(Vec<u8>, u64)>> {
        let (mut counts, mut text) = (BTreeMap::new(), Vec::new());
        shown.answers().for_each(|key, answer| {
            let mut line = Line::begin(Format::Tsv, &mut text);
            fill(key, answer, &mut line);
            line.end_without_key();
            if text.len() >= SECOND_BYTES { self.count(&mut text, &mut counts) } else { Ok(()) }
        })?;
        self.count(&mut text, &mut counts)?;
        Ok(self.first(counts))
    }

    fn first(&self, counts: BTreeMap<Vec<u8>, u64>) -> Vec<(Vec<u8>, u64)> {
        let mut grouped: Vec<_> = counts.into_iter().collect();
        if let Some(top) = self.top {
            grouped.sort_by_key(|&(_, keys)| Reverse(keys));
            grouped.truncate(top);
        }
        grouped
    }

    /// Adds a part of the values to their counts, and empties its text.
    fn count(&self, text: &mut Vec<u8>, counts: &mut BTreeMap<Vec<u8>, u64>) -> Result<()> {
        let options = Options { cancel: self.cancel.clone(), ..Options::default() };
        let input = Input::bytes(std::mem::take(text));
        let output = self.engine.job(&Values).options(&options).run(input)?;
        output.for_each(|value, keys| match counts.get_mut(value) {
            Some(count) => *count += keys,
            None => {
                counts.insert(value.to_vec(), keys);
            }
        })
    }
}

impl Stream {
    fn write<J: Job>(
        &mut self,
        shown: &Shown<'_, J>,
        fill: &impl Fn(<J::Key as Key>::Borrowed<'_>, AnswerOf<'_, J>, &mut Line<'_>),
    ) -> Result<()> {
        let Stream { to, format, estimates, text } = self;
        Head::of(shown).write(*format, text);
        let planned = shown.bytes_planned.filter(|_| shown.bytes > 0);
        if let Some(planned) = planned {
            estimates.begin(shown.bytes, planned);
        }
        let mut pairs = 0_usize;
        shown.answers().for_each(|key, answer| {
            pairs += 1;
            if pairs > to.pairs_most() {
                return Ok(());
            }
            let mut line = Line::begin(*format, text);
            if planned.is_some() {
                line = line.estimated(estimates);
            }
            fill(key, answer, &mut line);
            line.end();
            to.put_if_long(text)
        })?;
        to.put(text)
    }

    fn write_lines<J: Job>(
        &mut self,
        shown: &Shown<'_, J>,
        lines: &impl Fn(<J::Key as Key>::Borrowed<'_>, AnswerOf<'_, J>, &mut Vec<u8>),
    ) -> Result<()> {
        let Stream { to, format, text, .. } = self;
        Head::of(shown).write(*format, text);
        shown.answers().for_each(|key, answer| {
            lines(key, answer, text);
            to.put_if_long(text)
        })?;
        to.put(text)
    }
}

impl To {
    /// Returns the most pairs of a show that go there.
    fn pairs_most(&self) -> usize {
        match self {
            To::Stderr | To::File(..) => usize::MAX,
            To::Events(_) => events::PAIRS_MOST,
        }
    }

    /// Writes a part of a show and empties its text, if that is long. An event is one line, so it is told whole.
    fn put_if_long(&mut self, text: &mut Vec<u8>) -> Result<()> {
        match self {
            To::Stderr | To::File(..) if text.len() >= TEXT_BYTES_MOST => self.put(text),
            _ => Ok(()),
        }
    }

    /// Writes a show, or the rest of it, and empties its text.
    fn put(&mut self, text: &mut Vec<u8>) -> Result<()> {
        let written = match self {
            // A closed standard error does not change the job.
            To::Stderr => {
                let _ = io::stderr().write_all(text);
                Ok(())
            }
            To::File(file, path) => write_to(file, path, text),
            To::Events(events) => {
                events.show(text);
                Ok(())
            }
        };
        text.clear();
        written
    }
}

/// Writes a part of a show to its file. A pipe without a reader does not change the job.
pub(crate) fn write_to(file: &mut File, path: &Path, text: &[u8]) -> Result<()> {
    match file.write_all(text).map_err(|cause| OutputError::from_write(path, cause)) {
        Ok(()) | Err(OutputError::Closed { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The line before the pairs of a show, whatever its job.
struct Head {
    number: u64,
    bytes: u64,
    bytes_planned: Option<u64>,
    elapsed_s: f64,
    part: Option<f64>,
    keys: Option<u64>,
    is_last: bool,
    /// Numbers of first keys, and the bytes that were seen when these came first.
    stable: Vec<(usize, u64)>,
}

impl Head {
    fn of<J: Job>(shown: &Shown<'_, J>) -> Head {
        let &Shown { number, bytes, bytes_planned, elapsed, keys, is_last, .. } = shown;
        let stable = STABLE.iter().filter_map(|&count| Some((count, shown.stable_since(count)?)));
        let (elapsed_s, part, stable) = (elapsed.as_secs_f64(), shown.part(), stable.collect());
        Head { number, bytes, bytes_planned, elapsed_s, part, keys, is_last, stable }
    }

    fn write(&self, format: Format, text: &mut Vec<u8>) {
        let part = |bytes: u64| self.bytes_planned.map(|all| bytes as f64 / all.max(1) as f64);
        let line = match format {
            Format::Tsv => {
                let percent = |part: f64| format!("{:.1}%", 100.0 * part);
                let of = |bytes| part(bytes).map_or_else(|| size::show(bytes), percent);
                let mut line = format!("# show {}", self.number);
                if self.bytes_planned.is_some() {
                    line += &format!(", {} of the input", percent(self.part.unwrap_or(1.0)));
                }
                line += &format!(", {}, {:.1} s", size::show(self.bytes), self.elapsed_s);
                if let Some(keys) = self.keys {
                    line += &format!(", {keys} keys");
                }
                for (count, since) in &self.stable {
                    line += &format!(", top {count} since {}", of(*since));
                }
                line += if self.is_last { ", complete\n" } else { "\n" };
                line
            }
            Format::Jsonl => {
                let since = self.stable.iter().map(|&(count, bytes)| {
                    let since = json!({ "bytes": bytes, "part": part(bytes) });
                    (count.to_string(), since)
                });
                let since: serde_json::Map<_, _> = since.collect();
                let line = json!({
                    "show": self.number,
                    "part": self.part,
                    "bytes": self.bytes,
                    "bytes_planned": self.bytes_planned,
                    "elapsed_s": self.elapsed_s,
                    "keys": self.keys,
                    "is_last": self.is_last,
                    "top_since": since,
                });
                format!("{line}\n")
            }
        };
        text.extend_from_slice(line.as_bytes());
    }
}

/// Parses `every=5%`, `every=10s` or `every=1G`; the error is a message for the user.
pub fn every(text: &str) -> Result<Every, String> {
    let text = text.strip_prefix("every=").ok_or(HINT)?;
    if let Some(percent) = text.strip_suffix('%') {
        let percent: f64 = percent.parse().map_err(|_| HINT)?;
        return match percent {
            _ if percent > 0.0 && percent <= 100.0 => Ok(Every::Part(percent / 100.0)),
            _ => Err("give more than 0% and at most 100%".to_owned()),
        };
    }
    let units = [("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];
    for (unit, seconds) in units {
        if let Some(count) = text.strip_suffix(unit).and_then(|count| count.parse::<f64>().ok()) {
            let time = Duration::try_from_secs_f64(count * seconds).ok();
            let time = time.filter(|time| !time.is_zero() && *time <= TIME_MOST).map(Every::Time);
            return time.ok_or_else(|| "give more than 0 and at most 1000000h".to_owned());
        }
    }
    size::parse(text).map(Every::Bytes).map_err(|_| HINT.to_owned())
}

const HINT: &str =
    "write every= and a part of the input (5%), a time (10s, 500ms, 2m) or bytes (1G)";

pub(crate) fn most(text: &str) -> Result<Most, String> {
    match text {
        "all" => Ok(Most::All),
        _ => flags::count(text).map(Most::Pairs).map_err(|hint| format!("{hint}, or all")),
    }
}

//! The reducers: one for each part, as many at once as there are workers. Each gets the pairs of its part from the
//! sorted answer, portion by portion, so no part is ever in memory as text.

use crate::counters::{BYTES_WRITTEN, Counters};
use crate::lines::LineCutter;
use crate::mapping::{COUNTERS, Mapping};
use crate::output::{OutputFolder, Part};
use crate::settings::{Reducer, Settings};
use crate::tasks::{Tasks, fault};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use tegula::aggregate::Values;
use tegula::output::Portion;
use tegula::{Engine, Error, Options, Output, Result};

/// Input that a reducer is given at once.
const BUFFER_BYTES: usize = 256 << 10;

/// Reduces all parts, and returns the counters of the whole job.
pub(crate) fn reduce(
    engine: &Engine,
    options: &Options,
    tasks: &Tasks<'_>,
    settings: &Settings,
    answer: &Output<Mapping<'_>>,
    output: &OutputFolder,
) -> Result<Counters> {
    let sorted = Sorted::new(answer);
    let all = Mutex::new(sorted.counters()?);
    if settings.is_map_only() {
        return Ok(all.into_inner().unwrap_or_else(PoisonError::into_inner));
    }
    let mut firsts = Vec::with_capacity(settings.parts + 1);
    for part in 0..=settings.parts {
        firsts.push(sorted.first_of(u16::try_from(part).unwrap_or(COUNTERS))?);
    }
    let task = |_worker, part: usize| {
        let reduction = Reduction { tasks, settings, output, part };
        let portions = sorted.portions_between(firsts[part], firsts[part + 1]);
        let counters = reduction.run(&sorted, portions)?;
        all.lock().unwrap_or_else(PoisonError::into_inner).add_all(&counters);
        Ok(())
    };
    engine.tasks(settings.parts, options, task)?;
    Ok(all.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// The sorted answer, part by part.
struct Sorted<'o, 'r> {
    answer: &'o Output<Mapping<'r>>,
    portions: Vec<Portion>,
    /// The part of the first pair of portions that were looked at.
    known: Mutex<HashMap<usize, u16>>,
}

impl<'o, 'r> Sorted<'o, 'r> {
    fn new(answer: &'o Output<Mapping<'r>>) -> Sorted<'o, 'r> {
        Sorted { answer, portions: answer.portions(), known: Mutex::default() }
    }

    /// Returns the first portion that begins with a part not below `part`.
    fn first_of(&self, part: u16) -> Result<usize> {
        let (mut from, mut to) = (0, self.portions.len());
        while from < to {
            let middle = from.midpoint(to);
            if self.part_at(middle)? < part { from = middle + 1 } else { to = middle }
        }
        Ok(from)
    }

    fn part_at(&self, portion: usize) -> Result<u16> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(part) = known.get(&portion) {
            return Ok(*part);
        }
        let mut found = None;
        let looked = self.answer.for_each_in(self.portions[portion], |key, _| {
            found = Some(part_of(key).0);
            // Stops after the first pair.
            Err(Error::Cancelled)
        });
        match (looked, found) {
            (Err(Error::Cancelled), Some(part)) => {
                known.insert(portion, part);
                Ok(part)
            }
            (Err(error), _) => Err(error),
            // A portion without pairs: it is as if it began with the last part.
            (Ok(()), _) => Ok(COUNTERS),
        }
    }

    /// Returns the portions in which a part may be: that before the first one that begins with it, too.
    fn portions_between(&self, first: usize, end: usize) -> &[Portion] {
        &self.portions[first.saturating_sub(1)..end]
    }

    /// Shows the pairs of a part in these portions: the forms of keys, and their values.
    fn each(
        &self,
        part: u16,
        portions: &[Portion],
        mut see: impl FnMut(&[u8], Values<'_, [u8]>) -> Result<()>,
    ) -> Result<()> {
        for &portion in portions {
            self.answer.for_each_in(portion, |key, values| match part_of(key) {
                (found, form) if found == part => see(form, values),
                _ => Ok(()),
            })?;
        }
        Ok(())
    }

    /// Returns what the map tasks have counted.
    fn counters(&self) -> Result<Counters> {
        let first = self.first_of(COUNTERS)?;
        let mut counters = Counters::default();
        let portions = self.portions_between(first, self.portions.len());
        self.each(COUNTERS, portions, |form, values| {
            let mut names = form.splitn(2, |byte| *byte == 0).map(String::from_utf8_lossy);
            let (group, name) =
                (names.next().unwrap_or_default(), names.next().unwrap_or_default());
            for value in values {
                let amount = value.first_chunk().map_or(0, |bytes| i64::from_le_bytes(*bytes));
                counters.add(&group, &name, amount);
            }
            Ok(())
        })?;
        Ok(counters)
    }
}

fn part_of(key: &[u8]) -> (u16, &[u8]) {
    match key.split_first_chunk() {
        Some((part, form)) => (u16::from_be_bytes(*part), form),
        None => (COUNTERS, key),
    }
}

/// One part's reduction.
struct Reduction<'r> {
    tasks: &'r Tasks<'r>,
    settings: &'r Settings,
    output: &'r OutputFolder,
    part: usize,
}

impl Reduction<'_> {
    fn run(&self, sorted: &Sorted<'_, '_>, portions: &[Portion]) -> Result<Counters> {
        let file = self.output.part(self.part, self.settings.codec, self.settings.is_lazy)?;
        let part = u16::try_from(self.part).map_err(|_| fault("a part has no number"))?;
        let (mut counters, file) = match &self.settings.reducer {
            Reducer::Command(command) => self.by_command(command, sorted, part, portions, file)?,
            Reducer::Identity | Reducer::None => self.as_it_is(sorted, part, portions, file)?,
        };
        let bytes = i64::try_from(file.finish()?).unwrap_or(i64::MAX);
        counters.add(BYTES_WRITTEN.0, BYTES_WRITTEN.1, bytes);
        Ok(counters)
    }

    fn as_it_is(
        &self,
        sorted: &Sorted<'_, '_>,
        part: u16,
        portions: &[Portion],
        mut file: Part,
    ) -> Result<(Counters, Part)> {
        let (mut groups, mut records) = (0, 0);
        sorted.each(part, portions, |form, values| {
            groups += 1;
            let key = self.settings.order.key(form);
            for value in values {
                records += 1;
                file.write(key, &self.settings.output_separator, value)?;
            }
            Ok(())
        })?;
        Ok((reduced(groups, records, records), file))
    }

    fn by_command(
        &self,
        command: &[String],
        sorted: &Sorted<'_, '_>,
        part: u16,
        portions: &[Portion],
        mut file: Part,
    ) -> Result<(Counters, Part)> {
        let settings = self.settings;
        let task = self.tasks.reduce_task(self.part)?;
        let mut process = self.tasks.start(&task, "reducer", command)?;
        let (mut groups, mut records, mut written) = (0, 0_u64, 0);
        let (mut cutter, mut input) = (LineCutter::default(), Vec::with_capacity(BUFFER_BYTES));
        let mut write = |line: &[u8]| {
            written += 1;
            let (key, value) = settings.reduce_output.split(line);
            file.write(key, &settings.output_separator, value)
        };
        // Of a reducer that gets nothing, Hadoop takes nothing.
        let mut unseen = |_: &[u8]| Ok(());
        let fed = sorted.each(part, portions, |form, values| {
            groups += 1;
            let key = settings.order.key(form);
            for value in values {
                records += 1;
                for piece in [key, &settings.reduce_input_separator, value, b"\n"] {
                    input.extend_from_slice(piece);
                }
                if input.len() >= BUFFER_BYTES {
                    process.feed(&input, &mut |bytes| cutter.feed(bytes, &mut write))?;
                    input.clear();
                }
            }
            Ok(())
        });
        let worked = fed.and_then(|()| {
            process.feed(&input, &mut |bytes| cutter.feed(bytes, &mut write))?;
            match records {
                0 => process.finish(&mut unseen),
                _ => process.finish(&mut |bytes| cutter.feed(bytes, &mut write)),
            }
        });
        let mut counters = self.tasks.end(&task, "reducer", command, process, worked)?;
        cutter.finish(&mut write)?;
        self.output.take_files(&task.outputs())?;
        counters.add_all(&reduced(groups, records, written));
        Ok((counters, file))
    }
}

fn reduced(groups: u64, records: u64, written: u64) -> Counters {
    let mut counters = Counters::default();
    counters.count("Reduce input groups", groups);
    counters.count("Reduce input records", records);
    counters.count("Reduce output records", written);
    counters
}

//! The pairs of all map tasks in order, part by part: those of the engine's lists, and those that were sorted.

use crate::counters::Counters;
use crate::mapping::{COUNTERS, Mapping};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use tegula::aggregate::Values;
use tegula::output::Portion;
use tegula::{Error, Output, Result, SortedPairs};

/// Takes a pair: its part, the form of its key, and its value.
pub(crate) type Take<'t> = dyn FnMut(u16, &[u8], &[u8]) -> Result<()> + 't;

/// All pairs. Those that were sorted are in no list; what the tasks have counted is in the lists in any case.
pub(crate) struct Pairs<'o, 'r> {
    lists: Lists<'o, 'r>,
    sorted: Option<SortedPairs<'o>>,
    /// The parts that are read by one task, one after the other.
    bundles: Vec<Range<usize>>,
    /// In lists, the first portion of each part, and the end.
    firsts: Vec<usize>,
}

impl<'o, 'r> Pairs<'o, 'r> {
    /// Takes in the pairs of so many parts.
    pub(crate) fn new(
        answer: &'o Output<Mapping<'r>>,
        sorted: Option<SortedPairs<'o>>,
        parts: usize,
    ) -> Result<Pairs<'o, 'r>> {
        let lists = Lists::new(answer);
        let (mut bundles, mut firsts) = (Vec::new(), Vec::new());
        match &sorted {
            Some(sorted) => bundles.extend(sorted.sections()),
            None => {
                bundles.extend((0..parts).map(|part| part..part + 1));
                for part in 0..=parts {
                    firsts.push(lists.first_of(u16::try_from(part).unwrap_or(COUNTERS))?);
                }
            }
        }
        Ok(Pairs { lists, sorted, bundles, firsts })
    }

    pub(crate) fn bundles(&self) -> &[Range<usize>] {
        &self.bundles
    }

    /// Shows the pairs of a bundle of parts in order, once.
    pub(crate) fn each(&self, bundle: usize, take: &mut Take<'_>) -> Result<()> {
        if let Some(sorted) = &self.sorted {
            return sorted.each(bundle, |key, value| {
                let (part, form) = part_of(key);
                take(part, form, value)
            });
        }
        for part in self.bundles[bundle].clone() {
            let portions = self.lists.portions_between(self.firsts[part], self.firsts[part + 1]);
            let part = u16::try_from(part).unwrap_or(COUNTERS);
            self.lists.each(part, portions, |form, values| {
                values.into_iter().try_for_each(|value| take(part, form, value))
            })?;
        }
        Ok(())
    }

    /// Returns what the map tasks have counted.
    pub(crate) fn counters(&self) -> Result<Counters> {
        self.lists.counters()
    }
}

/// The engine's answer, part by part.
struct Lists<'o, 'r> {
    answer: &'o Output<Mapping<'r>>,
    portions: Vec<Portion>,
    /// The part of the first pair of portions that were looked at.
    known: Mutex<HashMap<usize, u16>>,
}

impl<'o, 'r> Lists<'o, 'r> {
    fn new(answer: &'o Output<Mapping<'r>>) -> Lists<'o, 'r> {
        Lists { answer, portions: answer.portions(), known: Mutex::default() }
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

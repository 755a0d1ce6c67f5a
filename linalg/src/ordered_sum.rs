//! A sum of floats depends on the order of its terms. This one adds lists in the order in which they were begun, whatever
//! the order in which workers deliver them.
//!
//! Lists that are delivered early are held until those before them are added. The lists in memory have a bound: a worker
//! that would begin one more waits. The first of those that are begun never waits, so room comes.

use crate::room::zeros;
use std::collections::BTreeMap;
use tegula::Result;
use tegula_machine::memory::Reserved;
use tegula_machine::sync::{Condvar, Mutex};

/// A sum of lists.
pub(crate) struct OrderedSum {
    length: usize,
    /// The most lists that are begun and not added yet.
    lists_most: usize,
    progress: Mutex<Progress>,
    /// A list was added, or never will be.
    changed: Condvar,
    /// Counts the sum and all lists.
    counted: Reserved,
}

struct Progress {
    sum: Vec<f64>,
    begun: usize,
    added: usize,
    /// Lists that came before their turn.
    early: BTreeMap<usize, Vec<f64>>,
    /// Whether a list was begun that is never added.
    has_failed: bool,
}

/// A list that was begun. The sum fails if it is dropped.
pub(crate) struct Begun<'s> {
    /// The place of the list in the order, from 0 on.
    pub(crate) number: usize,
    /// Zeros at first.
    pub(crate) list: Vec<f64>,
    sum: &'s OrderedSum,
    is_added: bool,
}

impl OrderedSum {
    /// Creates a sum of lists of this length, and counts it with the most lists that are in memory at once.
    pub(crate) fn new(
        length: usize,
        lists_most: usize,
        mut counted: Reserved,
    ) -> Result<OrderedSum> {
        counted.cover(bytes_of(lists_most.saturating_add(1), length))?;
        let (sum, early) = (zeros(length)?, BTreeMap::new());
        let progress = Mutex::new(Progress { sum, begun: 0, added: 0, early, has_failed: false });
        Ok(OrderedSum { length, lists_most, progress, changed: Condvar::new(), counted })
    }

    /// Begins the next list, when there is room for it; `None` if the sum has failed.
    pub(crate) fn begin(&self) -> Result<Option<Begun<'_>>> {
        let is_full = |progress: &mut Progress| {
            !progress.has_failed && progress.begun - progress.added >= self.lists_most
        };
        let mut progress = self.changed.wait_while(self.progress.lock(), is_full);
        if progress.has_failed {
            return Ok(None);
        }
        let number = progress.begun;
        progress.begun += 1;
        drop(progress);
        let mut begun = Begun { number, list: Vec::new(), sum: self, is_added: false };
        begun.list = zeros(self.length)?;
        Ok(Some(begun))
    }

    /// Returns the sum of all lists, and what counts it.
    pub(crate) fn finish(mut self) -> Result<(Vec<f64>, Reserved)> {
        self.counted.fit(bytes_of(1, self.length))?;
        Ok((self.progress.into_inner().sum, self.counted))
    }
}

impl Begun<'_> {
    /// Adds the list to the sum when its turn comes.
    pub(crate) fn add(mut self) {
        self.is_added = true;
        let mut progress = self.sum.progress.lock();
        let progress = &mut *progress;
        progress.early.insert(self.number, std::mem::take(&mut self.list));
        while let Some(list) = progress.early.remove(&progress.added) {
            progress.sum.iter_mut().zip(list).for_each(|(sum, more)| *sum += more);
            progress.added += 1;
        }
        self.sum.changed.notify_all();
    }
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        if !self.is_added {
            // Nobody may wait for it.
            self.sum.progress.lock().has_failed = true;
            self.sum.changed.notify_all();
        }
    }
}

fn bytes_of(lists: usize, length: usize) -> usize {
    lists.saturating_mul(length).saturating_mul(size_of::<f64>())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use std::thread::sleep;
    use std::time::Duration;
    use tegula::{Engine, Error, Options};
    use tegula_apps::Runs;

    const WORKERS: usize = 4;
    const LISTS_MOST: usize = WORKERS + 1;

    /// Sums lists of one number in 40 tasks; `work` makes the number of each.
    fn sum_of(work: impl Fn(&OrderedSum, usize) -> Result<f64> + Sync) -> Result<f64> {
        let engine = Engine::builder().workers(WORKERS).build()?;
        let mut runs = Runs::new(&engine, Options::default());
        let sum = OrderedSum::new(1, LISTS_MOST, runs.reserve(0)?)?;
        runs.tasks(40, |_| {
            let Some(mut begun) = sum.begin()? else { return Ok(()) };
            begun.list[0] = work(&sum, begun.number)?;
            begun.add();
            Ok(())
        })?;
        Ok(sum.finish()?.0[0])
    }

    /// How many lists are in memory.
    fn lists(sum: &OrderedSum) -> usize {
        let progress = sum.progress.lock();
        progress.begun - progress.added
    }

    #[test]
    fn lists_after_a_slow_one_have_a_bound() {
        let found = sum_of(|sum, number| {
            if number == 0 {
                while lists(sum) < LISTS_MOST {
                    sleep(Duration::from_millis(1));
                }
                // Others would begin more meanwhile.
                sleep(Duration::from_millis(50));
            }
            assert!(lists(sum) <= LISTS_MOST);
            Ok(1.0 / (number + 1) as f64)
        });
        let in_order = (1..=40).fold(0.0, |sum, number| sum + 1.0 / f64::from(number));
        assert_eq!(found.unwrap().to_bits(), in_order.to_bits());
    }

    #[test]
    fn nobody_waits_for_a_list_that_has_failed() {
        for panics in [false, true] {
            let failed = sum_of(|sum, number| {
                if number > 0 {
                    return Ok(1.0);
                }
                while lists(sum) < LISTS_MOST {
                    sleep(Duration::from_millis(1));
                }
                assert!(!panics, "the first list");
                Err(Error::Cancelled)
            });
            let is_as_expected = match failed.unwrap_err() {
                Error::Cancelled => !panics,
                Error::Panicked { .. } => panics,
                _ => false,
            };
            assert!(is_as_expected, "{panics}");
        }
    }
}

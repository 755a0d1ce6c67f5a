//! A sum of floats depends on the order of its terms. This one adds them in the order of the input,
//! whatever the order in which workers deliver them.

use crate::room::zeros;
use std::collections::BTreeMap;
use tegula::Result;
use tegula_machine::memory::Reserved;

/// A sum of lists, added in the order of their numbers.
pub(crate) struct OrderedSum {
    sum: Vec<f64>,
    next: usize,
    /// Lists that came before their turn: about one per worker.
    early: BTreeMap<usize, Vec<f64>>,
    /// Lists that were begun and are not added yet.
    begun: usize,
    /// Counts the sum and those lists.
    counted: Reserved,
}

impl OrderedSum {
    /// Creates a sum of lists of this length, which counts itself and all lists.
    pub(crate) fn new(length: usize, mut counted: Reserved) -> Result<OrderedSum> {
        counted.cover(bytes_of(1, length))?;
        let (sum, early) = (zeros(length)?, BTreeMap::new());
        Ok(OrderedSum { sum, next: 0, early, begun: 0, counted })
    }

    /// Returns a list of zeros to add.
    pub(crate) fn begin(&mut self) -> Result<Vec<f64>> {
        let length = self.sum.len();
        self.counted.cover(bytes_of(self.begun + 2, length))?;
        let list = zeros(length)?;
        self.begun += 1;
        Ok(list)
    }

    /// Adds list number `number`. Each number comes once, from 0 on.
    pub(crate) fn add(&mut self, number: usize, list: Vec<f64>) {
        self.early.insert(number, list);
        while let Some(list) = self.early.remove(&self.next) {
            self.sum.iter_mut().zip(list).for_each(|(sum, more)| *sum += more);
            self.next += 1;
            self.begun -= 1;
        }
    }

    /// Returns the sum of all lists, and what counts it.
    pub(crate) fn finish(mut self) -> Result<(Vec<f64>, Reserved)> {
        self.counted.fit(bytes_of(1, self.sum.len()))?;
        Ok((self.sum, self.counted))
    }
}

fn bytes_of(lists: usize, length: usize) -> usize {
    lists.saturating_mul(length).saturating_mul(size_of::<f64>())
}

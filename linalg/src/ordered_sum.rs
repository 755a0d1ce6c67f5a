//! A sum of floats depends on the order of its terms. This one adds them in the order of the input,
//! whatever the order in which workers deliver them.

use std::collections::BTreeMap;

/// A sum of lists, added in the order of their numbers.
#[derive(Default)]
pub(crate) struct OrderedSum {
    sum: Vec<f64>,
    next: usize,
    /// Lists that came before their turn: about one per worker.
    early: BTreeMap<usize, Vec<f64>>,
}

impl OrderedSum {
    /// Creates a sum of lists of this length.
    pub(crate) fn new(length: usize) -> OrderedSum {
        OrderedSum { sum: vec![0.0; length], ..OrderedSum::default() }
    }

    /// Adds list number `number`. Each number comes once, from 0 on.
    pub(crate) fn add(&mut self, number: usize, list: Vec<f64>) {
        self.early.insert(number, list);
        while let Some(list) = self.early.remove(&self.next) {
            self.sum.iter_mut().zip(list).for_each(|(sum, more)| *sum += more);
            self.next += 1;
        }
    }

    /// Returns the sum of all lists.
    pub(crate) fn finish(self) -> Vec<f64> {
        self.sum
    }
}

//! Sums of floats depend on the order in which they are taken. This one takes them in the order of the
//! input, whoever brings them and when.

use std::collections::BTreeMap;

/// A sum of lists, taken in in the order of their numbers whatever the order in which they come.
#[derive(Default)]
pub(crate) struct OrderedSum {
    sum: Vec<f64>,
    next: usize,
    /// Those that came before their turn: about one for each worker.
    early: BTreeMap<usize, Vec<f64>>,
}

impl OrderedSum {
    /// A sum of lists of this length.
    pub(crate) fn new(length: usize) -> OrderedSum {
        OrderedSum { sum: vec![0.0; length], ..OrderedSum::default() }
    }

    /// Takes in list number `number`: each number once, from 0 on.
    pub(crate) fn add(&mut self, number: usize, list: Vec<f64>) {
        self.early.insert(number, list);
        while let Some(list) = self.early.remove(&self.next) {
            self.sum.iter_mut().zip(list).for_each(|(sum, more)| *sum += more);
            self.next += 1;
        }
    }

    /// The sum of all lists.
    pub(crate) fn finish(self) -> Vec<f64> {
        self.sum
    }
}

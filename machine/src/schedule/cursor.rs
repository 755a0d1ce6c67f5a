//! The hand-out of work: an atomic counter over numbered pieces. Each number is taken once.

use super::sync::{AtomicU64, Ordering};

/// Numbers from 0 to below an end, each given out once.
#[derive(Debug)]
pub struct Cursor {
    next: AtomicU64,
    end: u64,
}

impl Cursor {
    #[doc(hidden)]
    pub fn new(end: u64) -> Cursor {
        Cursor { next: AtomicU64::new(0), end }
    }

    /// Returns the next number; `None` when all are taken. Relaxed, because only the number passes from one
    /// worker to another.
    pub fn take(&self) -> Option<u64> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        (number < self.end).then_some(number)
    }
}

#[cfg(all(test, loom))]
mod tests {
    use super::*;
    use crate::schedule::sync::Arc;

    #[test]
    fn two_workers_take_each_number_once() {
        loom::model(|| {
            let cursor = Arc::new(Cursor::new(3));
            let take_all =
                |cursor: &Cursor| std::iter::from_fn(|| cursor.take()).collect::<Vec<_>>();
            let other = Arc::clone(&cursor);
            let worker = loom::thread::spawn(move || take_all(&other));
            let mut taken = take_all(&cursor);
            taken.extend(worker.join().unwrap());
            taken.sort_unstable();
            assert_eq!(taken, [0, 1, 2]);
        });
    }
}

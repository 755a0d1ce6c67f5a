//! When to try again, and when to give up. A try that brings something is worth another; tries in a
//! row that bring nothing are counted, and the time they take. Pauses double from try to try, with a
//! share of chance, so that many readers do not come back at the same moment.

use crate::fault::Fault;
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

/// The limits of trying.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// The most tries in a row that bring nothing, the first included.
    pub(crate) tries: u32,
    /// The longest time of tries that bring nothing.
    pub(crate) time: Duration,
}

impl Patience {
    /// Without a byte for this long, an open connection counts as lost.
    pub(crate) fn stall(&self) -> Duration {
        (self.time / 2).max(Duration::from_millis(100))
    }
}

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// Bytes that make a try useful. Without this bound, a connection that always breaks off would be tried as
/// often as the range has bytes.
pub(crate) const FRUIT_BYTES: usize = 64 << 10;

/// The tries of one request so far.
pub(crate) struct Tries {
    patience: Patience,
    began: Instant,
    /// When something came last.
    fruit: Instant,
    all: u32,
    fruitless: u32,
}

impl Tries {
    pub(crate) fn new(patience: Patience) -> Tries {
        let now = Instant::now();
        Tries { patience, began: now, fruit: now, all: 0, fruitless: 0 }
    }

    /// After a try that went on for a time, if not to its end: the next has as much time. It counts as one of the tries.
    pub(crate) fn came_on(&mut self) {
        self.fruit = Instant::now();
    }

    /// After a try that ended with `fault`: waits and returns, for another; or the fault that ends it.
    pub(crate) async fn again(&mut self, fault: Fault, fruitful: bool) -> Result<(), Fault> {
        let Fault::Lost { cause } = fault else { return Err(fault) };
        self.all += 1;
        self.fruitless += 1;
        if fruitful {
            self.fruitless = 1;
            self.fruit = Instant::now();
        }
        let pause = pause(self.fruitless);
        let Patience { tries, time } = self.patience;
        if self.fruitless >= tries || self.fruit.elapsed() + pause > time {
            return Err(Fault::GaveUp { cause, tries: self.all, elapsed: self.began.elapsed() });
        }
        tokio::time::sleep(pause).await;
        Ok(())
    }
}

/// Between three quarters and all of a pause that doubles.
fn pause(fruitless: u32) -> Duration {
    let full = FIRST_PAUSE * 2u32.pow((fruitless - 1).min(10));
    let chance = RandomState::new().hash_one(fruitless) % 256;
    full.min(LONGEST_PAUSE) * (768 + chance as u32) / 1024
}

/// Tries until something comes or patience ends.
pub(crate) async fn retry<T>(
    patience: Patience,
    mut request: impl AsyncFnMut() -> Result<T, Fault>,
) -> Result<T, Fault> {
    let mut tries = Tries::new(patience);
    loop {
        let fault = match tokio::time::timeout(patience.time, request()).await {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(fault)) => fault,
            Err(_) => Fault::lost(no_answer(patience.time)),
        };
        tries.again(fault, false).await?;
    }
}

/// Returns the message for a time without an answer.
pub(crate) fn no_answer(after: Duration) -> String {
    format!("nothing came for {:.1} s", after.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::block_on;
    use std::cell::Cell;

    fn patience(tries: u32) -> Patience {
        Patience { tries, time: Duration::from_secs(20) }
    }

    async fn failing(tries: u32, times: u32) -> (Result<u32, Fault>, u32) {
        let made = Cell::new(0);
        let result = retry(patience(tries), async || {
            made.set(made.get() + 1);
            if made.get() <= times { Err(Fault::lost("lost")) } else { Ok(made.get()) }
        });
        (result.await, made.get())
    }

    #[test]
    fn what_is_lost_is_tried_again_so_often() {
        block_on(async {
            assert_eq!(failing(3, 2).await, (Ok(3), 3));
            let (result, made) = failing(3, 9).await;
            assert!(matches!(result, Err(Fault::GaveUp { tries: 3, .. })) && made == 3);
        })
        .unwrap();
    }

    #[test]
    fn what_is_refused_is_not_tried_again() {
        let made = Cell::new(0);
        let request = retry(patience(9), async || {
            made.set(made.get() + 1);
            Err::<(), _>(Fault::Changed)
        });
        assert_eq!(block_on(request).unwrap(), Err(Fault::Changed));
        assert_eq!(made.get(), 1);
    }

    #[test]
    fn a_silent_server_is_given_up_in_time() {
        let patience = Patience { tries: 9, time: Duration::from_millis(300) };
        let began = Instant::now();
        let result =
            block_on(retry(patience, async || std::future::pending::<Result<(), _>>().await));
        assert!(matches!(result.unwrap(), Err(Fault::GaveUp { tries: 1, .. })));
        assert!(began.elapsed() < Duration::from_secs(5));
    }

    #[test]
    fn fruit_begins_the_count_anew_and_pauses_are_bounded() {
        let mut tries = Tries::new(patience(2));
        for _ in 0..5 {
            block_on(tries.again(Fault::lost(""), true)).unwrap().unwrap();
        }
        let last = block_on(tries.again(Fault::lost(""), false)).unwrap();
        assert!(matches!(last, Err(Fault::GaveUp { tries: 6, .. })));
        for fruitless in 1..100 {
            assert!(pause(fruitless) <= LONGEST_PAUSE && pause(fruitless) * 2 > FIRST_PAUSE);
        }
    }
}

//! A search for the best of sizes that double from one to the next, on real work: how fast work of the
//! present size goes is compared with work of the next larger or smaller, turn by turn, so that a change
//! in the data or on the machine meets both alike. Of sizes that are as good the larger wins. Takes the
//! bytes and time of pieces of work; hands on the size to use next.

use std::time::Duration;

/// Work of one size in a turn, at least.
const TURN: Duration = Duration::from_millis(2);
/// Turns of each size in a comparison, and how many it must win.
const TURNS: u32 = 5;
const WINS: u32 = 4;
/// What counts as the same: a larger size may be slower by this, a smaller one must be faster by it.
const TIE: f64 = 0.01;
/// Turns that a settled search waits before it looks again, for the data may have changed; each look
/// that changes nothing doubles it.
const REST: u32 = 50;
const REST_MOST: u32 = 5000;

/// A search between a least and a most size.
#[derive(Clone, Debug)]
pub struct Search {
    least: u64,
    most: u64,
    /// The best so far, and the one it is compared with.
    best: u64,
    other: u64,
    /// Whether work is of the other's size now.
    on_other: bool,
    /// Of this turn.
    bytes: u64,
    time: Duration,
    /// Bytes a second of the best in this round, which the other is compared with.
    rate: f64,
    turns: u32,
    wins: u32,
    /// Whether the last move was to a smaller size, and whether both directions were looked at.
    direction: Direction,
    rest: u32,
    rest_next: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Up,
    Down,
    Settled,
}

impl Search {
    /// A search that begins with `start`, between `least` and `most` (both included, as far as doubling
    /// and halving lead there).
    pub fn new(start: u64, least: u64, most: u64) -> Search {
        let mut search = Search {
            least,
            most,
            best: start,
            other: start,
            on_other: false,
            bytes: 0,
            time: Duration::ZERO,
            rate: 0.0,
            turns: 0,
            wins: 0,
            direction: Direction::Settled,
            rest: 0,
            rest_next: REST,
        };
        search.look(Direction::Up);
        search
    }

    /// A search that has found `best`, and looks about now and then.
    pub(super) fn settled(best: u64, least: u64, most: u64) -> Search {
        let mut search = Search::new(best, least, most);
        (search.other, search.on_other) = (best, false);
        search.settle();
        search
    }

    /// The size that work is to have now.
    pub fn size(&self) -> u64 {
        if self.on_other { self.other } else { self.best }
    }

    /// Whether a comparison is under way, or a turn of one.
    pub(super) fn is_comparing(&self) -> bool {
        self.direction != Direction::Settled && (self.on_other || self.turns > 0 || self.bytes > 0)
    }

    /// The best size that was found.
    pub fn best(&self) -> u64 {
        self.best
    }

    /// Takes in what work of the present size came to. Constant time.
    pub fn add(&mut self, bytes: u64, time: Duration) {
        self.bytes += bytes;
        self.time += time;
        if self.time < TURN {
            return;
        }
        let rate = self.bytes as f64 / self.time.as_secs_f64();
        (self.bytes, self.time) = (0, Duration::ZERO);
        match self.direction {
            Direction::Settled if self.rest > 0 => self.rest -= 1,
            Direction::Settled => self.look(Direction::Up),
            Direction::Up | Direction::Down if !self.on_other => {
                self.rate = rate;
                self.on_other = true;
            }
            Direction::Up | Direction::Down => self.compare(rate),
        }
    }

    /// Ends a turn of the other size.
    fn compare(&mut self, rate: f64) {
        self.on_other = false;
        self.turns += 1;
        let up = self.other > self.best;
        let enough = if up { 1.0 - TIE } else { 1.0 + TIE };
        self.wins += u32::from(rate >= self.rate * enough);
        let lost = self.turns - self.wins;
        if self.wins >= WINS {
            self.best = self.other;
            self.rest_next = REST;
            // Where the larger was no worse, the next larger may be; and so down.
            self.look(self.direction);
        } else if lost > TURNS - WINS {
            match self.direction {
                Direction::Up => self.look(Direction::Down),
                Direction::Down | Direction::Settled => self.settle(),
            }
        }
    }

    /// Begins to compare the best with its neighbour in a direction.
    fn look(&mut self, direction: Direction) {
        (self.turns, self.wins) = (0, 0);
        let other = match direction {
            Direction::Up => self.best.checked_mul(2).filter(|&size| size <= self.most),
            Direction::Down => Some(self.best / 2).filter(|&size| size >= self.least.max(1)),
            Direction::Settled => None,
        };
        match (other, direction) {
            (Some(other), _) => (self.other, self.direction) = (other, direction),
            (None, Direction::Up) => self.look(Direction::Down),
            (None, _) => self.settle(),
        }
    }

    fn settle(&mut self) {
        self.direction = Direction::Settled;
        self.rest = self.rest_next;
        self.rest_next = (self.rest_next * 2).min(REST_MOST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Works until so many milliseconds are spent, at the rate of each size; returns what that lost
    /// against working with the best size all along.
    fn work(search: &mut Search, millis: u64, rate: impl Fn(u64, u64) -> f64) -> f64 {
        let (mut spent, mut done, mut pieces) = (0.0, 0.0, 0);
        while spent < millis as f64 / 1e3 {
            let size = search.size();
            let seconds = size as f64 / rate(size, pieces);
            search.add(size, Duration::from_secs_f64(seconds));
            (spent, done, pieces) = (spent + seconds, done + size as f64, pieces + 1);
        }
        done / spent
    }

    /// Best at `peak`, a tenth less for each doubling away from it.
    fn hill(peak: u64) -> impl Fn(u64) -> f64 {
        move |size| {
            let away = (size as f64 / peak as f64).log2().abs();
            1e9 * 0.9_f64.powf(away)
        }
    }

    proptest! {
        #[test]
        fn the_best_is_found_from_anywhere(start in 0..7_u32, peak in 0..7_u32, seed: u64) {
            let size = |power: u32| (64 << 10) << power;
            let mut search = Search::new(size(start), size(0), size(6));
            let rate = hill(size(peak));
            // Two parts in a hundred come and go.
            let noise = |piece: u64| {
                let drawn = (piece ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
                1.0 + 0.02 * (drawn as f64 / (1 << 24) as f64 - 0.5)
            };
            work(&mut search, 600, |size, piece| rate(size) * noise(piece));
            prop_assert_eq!(search.best(), size(peak));
            // Looking again now and then costs little.
            let reached = work(&mut search, 2000, |size, piece| rate(size) * noise(piece));
            prop_assert!(reached > 0.99e9, "{reached}");
        }
    }

    #[test]
    fn of_equal_sizes_the_largest_wins() {
        let mut search = Search::new(1 << 16, 1 << 14, 1 << 20);
        work(&mut search, 500, |_, _| 1e9);
        assert_eq!(search.best(), 1 << 20);
    }

    #[test]
    fn a_hiccup_changes_nothing() {
        let mut search = Search::new(1 << 18, 1 << 14, 1 << 22);
        let rate = hill(1 << 18);
        // One piece in fifty takes ten times as long: another program ran.
        work(&mut search, 1000, |size, piece| {
            rate(size) / if piece % 50 == 7 { 10.0 } else { 1.0 }
        });
        assert_eq!(search.best(), 1 << 18);
    }

    #[test]
    fn what_is_best_is_found_again_when_it_changes() {
        let mut search = Search::new(1 << 16, 1 << 14, 1 << 22);
        work(&mut search, 500, |size, _| hill(1 << 15)(size));
        assert_eq!(search.best(), 1 << 15);
        work(&mut search, 20_000, |size, _| hill(1 << 19)(size));
        assert_eq!(search.best(), 1 << 19);
    }
}

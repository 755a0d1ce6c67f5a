//! The one search for sizes, on real work: the best size so far and a neighbour take turns, so that a change
//! in the data or on the machine meets both alike. A neighbour wins if it is good enough in most turns of a few.
//! Takes the rate of each turn; hands on the size to use next. The caller defines a turn.

use std::time::Duration;

/// The distance of a neighbour from the best.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steps {
    /// Twice or half as much.
    Doubling,
    /// More by a number that doubles as long as more is better, or one less: for small numbers.
    Lengthening,
}

/// When a neighbour is good enough to take the best one's place.
#[derive(Clone, Copy, Debug)]
pub struct Enough {
    /// The least part of the best rate, of a larger size.
    pub larger: f64,
    /// The same of a smaller size.
    pub smaller: f64,
    /// Turns of each size in a comparison.
    pub turns: u32,
    /// The number of them in which the neighbour must reach that part.
    pub wins: u32,
}

/// A search between a least and a most size.
#[derive(Clone, Debug)]
pub struct Search {
    least: u64,
    most: u64,
    steps: Steps,
    enough: Enough,
    best: u64,
    /// The size that the best one is compared with; `None` when settled.
    other: Option<u64>,
    /// Whether work is of the other's size now.
    on_other: bool,
    /// The rate of the best size in this round.
    rate: f64,
    turns: u32,
    wins: u32,
    /// For steps that lengthen: the last step that paid, and whether the last trial began far away.
    step: u64,
    is_far: bool,
    /// The number of times that the search has settled since the best size changed.
    settled: u32,
}

impl Search {
    /// Creates a search that begins with `start`, between `least` and `most`, as far as steps lead there.
    pub fn new(start: u64, least: u64, most: u64, steps: Steps, enough: Enough) -> Search {
        let mut search = Search {
            least: least.max(1),
            most,
            steps,
            enough,
            best: start,
            other: None,
            on_other: false,
            rate: 0.0,
            turns: 0,
            wins: 0,
            step: 1,
            is_far: false,
            settled: 0,
        };
        search.look_up();
        search
    }

    /// Returns the present size of work.
    pub fn size(&self) -> u64 {
        self.other.filter(|_| self.on_other).unwrap_or(self.best)
    }

    /// Returns the best size so far.
    pub fn best(&self) -> u64 {
        self.best
    }

    /// Returns whether no comparison is in progress.
    pub fn is_settled(&self) -> bool {
        self.other.is_none()
    }

    /// Returns whether the next turn is of the best size, to be compared with.
    pub fn is_on_best(&self) -> bool {
        !self.on_other
    }

    /// Returns how long a settled search rests: `rest`, doubled for each look about that changed nothing.
    pub fn rest<T>(&self, rest: T, most: T) -> T
    where
        T: std::ops::Mul<u32, Output = T> + Ord,
    {
        (rest * (1 << self.settled.saturating_sub(1).min(16))).min(most)
    }

    /// Limits sizes from now on. Larger ones than before are tried when the search looks about.
    pub fn limit(&mut self, most: u64) {
        let is_less = most < self.most;
        self.most = most.max(self.least);
        if is_less {
            self.best = self.best.min(self.most);
            self.step = 1;
            self.look_up();
        }
    }

    /// Takes the rate of a turn of the present size. Constant time.
    pub fn turn(&mut self, rate: f64) {
        let Some(other) = self.other else { return };
        if !self.on_other {
            (self.rate, self.on_other) = (rate, true);
            return;
        }
        self.on_other = false;
        self.turns += 1;
        let is_larger = other > self.best;
        let part = if is_larger { self.enough.larger } else { self.enough.smaller };
        self.wins += u32::from(rate >= self.rate * part);
        let has_lost = self.turns - self.wins > self.enough.turns - self.enough.wins;
        match (self.wins >= self.enough.wins, is_larger) {
            (true, _) => {
                (self.best, self.settled) = (other, 0);
                if !is_larger {
                    return self.look_down();
                }
                // Where the larger was good enough, the next larger may be.
                self.step = self.step.saturating_mul(2);
                self.look_up();
            }
            (false, true) if has_lost && self.steps == Steps::Lengthening && self.step > 1 => {
                self.step /= 2;
                self.look_up();
            }
            (false, true) if has_lost => self.look_down(),
            (false, false) if has_lost => self.settle(),
            (false, _) => {}
        }
    }

    /// Compares the best size with others again, because the data may have changed. Every other look begins
    /// far away where steps are small, because there the gain of one more may be less than noise.
    pub fn look_about(&mut self) {
        self.is_far = !self.is_far;
        self.step = if self.is_far { (self.best / 2).max(self.most / 4).max(1) } else { 1 };
        self.look_up();
    }

    fn look_up(&mut self) {
        let larger = match self.steps {
            Steps::Doubling => self.best.checked_mul(2).filter(|&size| size <= self.most),
            Steps::Lengthening => Some((self.best + self.step).min(self.most)),
        };
        match larger.filter(|&size| size > self.best) {
            Some(larger) => self.look_at(larger),
            None => self.look_down(),
        }
    }

    fn look_down(&mut self) {
        let smaller = match self.steps {
            Steps::Doubling => self.best / 2,
            Steps::Lengthening => self.best - 1,
        };
        if smaller < self.least { self.settle() } else { self.look_at(smaller) }
    }

    fn look_at(&mut self, other: u64) {
        (self.other, self.on_other, self.turns, self.wins) = (Some(other), false, 0, 0);
    }

    fn settle(&mut self) {
        (self.other, self.on_other) = (None, false);
        self.settled += 1;
    }
}

/// Work of one size in a turn, at least.
const TURN: Duration = Duration::from_millis(2);
/// The tolerance: a larger size may be slower by this, a smaller one must be faster by it.
const TIE: f64 = 0.01;
/// The gain without which a steady search keeps its size. Turns of 2 ms differ by several per cent, so many are
/// compared: of equal sizes hardly one in a hundred then wins by chance.
const GAIN: f64 = 0.02;
const STEADY_TURNS: u32 = 9;
const STEADY_WINS: u32 = 7;
/// Turns that a settled search waits before it looks again.
const REST: u32 = 50;
const REST_MOST: u32 = 5000;

/// A search whose turns are pieces of work of some milliseconds together. Takes the bytes and time of pieces of
/// work.
#[derive(Clone, Debug)]
pub struct TimedSearch {
    search: Search,
    /// Of this turn.
    bytes: u64,
    time: Duration,
    /// Turns since the search has settled.
    rested: u32,
}

impl TimedSearch {
    /// Creates a search that begins with `start`, between `least` and `most`. Of sizes that are as good the
    /// larger wins.
    pub fn new(start: u64, least: u64, most: u64) -> TimedSearch {
        let enough = Enough { larger: 1.0 - TIE, smaller: 1.0 + TIE, turns: 5, wins: 4 };
        TimedSearch::of(start, least, most, enough)
    }

    /// Creates a search that leaves `start` only for a size that is clearly better, so that it ends alike
    /// whenever the same work is done again.
    pub fn steady(start: u64, least: u64, most: u64) -> TimedSearch {
        let (turns, wins) = (STEADY_TURNS, STEADY_WINS);
        let enough = Enough { larger: 1.0 + GAIN, smaller: 1.0 + GAIN, turns, wins };
        TimedSearch::of(start, least, most, enough)
    }

    fn of(start: u64, least: u64, most: u64, enough: Enough) -> TimedSearch {
        let search = Search::new(start, least, most, Steps::Doubling, enough);
        TimedSearch { search, bytes: 0, time: Duration::ZERO, rested: 0 }
    }

    /// Creates a search that has found `best`, and looks about now and then.
    pub(super) fn settled(best: u64, least: u64, most: u64) -> TimedSearch {
        let mut search = TimedSearch::new(best, least, most);
        search.search.settle();
        search
    }

    /// Returns the present size of work.
    pub fn size(&self) -> u64 {
        self.search.size()
    }

    /// Returns the best size that was found.
    pub fn best(&self) -> u64 {
        self.search.best()
    }

    /// Returns whether a comparison is in progress, or a turn of one.
    pub(super) fn is_comparing(&self) -> bool {
        let Search { on_other, turns, .. } = self.search;
        !self.search.is_settled() && (on_other || turns > 0 || self.bytes > 0)
    }

    /// Takes the bytes and time of work of the present size. Constant time.
    pub fn add(&mut self, bytes: u64, time: Duration) {
        self.bytes += bytes;
        self.time += time;
        if self.time < TURN {
            return;
        }
        let rate = self.bytes as f64 / self.time.as_secs_f64();
        (self.bytes, self.time) = (0, Duration::ZERO);
        if !self.search.is_settled() {
            self.search.turn(rate);
            self.rested = 0;
        } else if self.rested < self.search.rest(REST, REST_MOST) {
            self.rested += 1;
        } else {
            self.search.look_about();
        }
    }
}

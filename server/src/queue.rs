//! The order in which jobs begin: by priority; among equal ones, the job of the user who has had the least of the cores,
//! by weight; among those of a user, the one that came first. Pure, and small enough to be sorted at each change.

use std::collections::HashMap;
use std::time::Duration;

/// After this time, half of what a user had counts.
const HALVED_AFTER: Duration = Duration::from_secs(3600);

/// A job that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waiting<'a> {
    /// Its number.
    pub(crate) id: u64,
    /// Who submitted it.
    pub user: &'a str,
    /// Jobs of a higher one begin first.
    pub(crate) priority: i32,
    /// It ran before, and goes on from its state: it begins before those of its priority that never ran.
    pub(crate) goes_on: bool,
}

/// The time for which each user had cores, which fades.
#[derive(Clone, Debug, Default)]
pub(crate) struct Usage {
    core_s: HashMap<String, f64>,
}

impl Usage {
    /// Adds the time for which a user had cores.
    pub(crate) fn add(&mut self, user: &str, core_s: f64) {
        *self.core_s.entry(user.to_owned()).or_default() += core_s;
    }

    /// Lets what there is fade for a time.
    pub(crate) fn fade(&mut self, time: Duration) {
        let part = 0.5_f64.powf(time.as_secs_f64() / HALVED_AFTER.as_secs_f64());
        self.core_s.values_mut().for_each(|core_s| *core_s *= part);
    }

    /// Returns the time of a user, in seconds of cores.
    pub(crate) fn of(&self, user: &str) -> f64 {
        self.core_s.get(user).copied().unwrap_or(0.0)
    }
}

/// Returns the waiting jobs in the order in which they begin; `running` has the number of jobs that each user runs, of
/// which each counts as a minute, so that many jobs of one user do not begin at once before another's first.
pub(crate) fn order(
    mut waiting: Vec<Waiting<'_>>,
    usage: &Usage,
    weight_of: impl Fn(&str) -> f64,
    running: &HashMap<String, usize>,
) -> Vec<u64> {
    const COUNTS_AS_S: f64 = 60.0;
    waiting.sort_by_key(|job| job.id);
    let mut begun: HashMap<&str, f64> = HashMap::new();
    let mut ordered = Vec::with_capacity(waiting.len());
    let used = |user: &str, begun: &HashMap<&str, f64>| {
        let runs = running.get(user).copied().unwrap_or(0) as f64;
        let begun = begun.get(user).copied().unwrap_or(0.0);
        (usage.of(user) + COUNTS_AS_S * (runs + begun)) / weight_of(user)
    };
    // The first of each priority, user and kind is the only one that can be next, so the list is by those.
    let mut lines: HashMap<(i32, bool, &str), std::collections::VecDeque<u64>> = HashMap::new();
    for job in &waiting {
        lines.entry((job.priority, job.goes_on, job.user)).or_default().push_back(job.id);
    }
    while !lines.is_empty() {
        let next = lines.keys().copied().max_by(|a, b| {
            let by_use = used(b.2, &begun).total_cmp(&used(a.2, &begun));
            let first = |key: &(i32, bool, &str)| lines[key].front().copied();
            a.0.cmp(&b.0).then(a.1.cmp(&b.1)).then(by_use).then(first(b).cmp(&first(a)))
        });
        let Some(key) = next else { break };
        if let Some(line) = lines.get_mut(&key) {
            ordered.extend(line.pop_front());
            if line.is_empty() {
                lines.remove(&key);
            }
        }
        *begun.entry(key.2).or_default() += 1.0;
    }
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(id: u64, user: &str, priority: i32) -> Waiting<'_> {
        Waiting { id, user, priority, goes_on: false }
    }

    #[test]
    fn jobs_begin_by_priority_then_by_use_then_in_turn() {
        let mut usage = Usage::default();
        usage.add("ann", 1000.0);
        let none = HashMap::new();
        let waiting = vec![job(1, "ann", 0), job(2, "bob", 0), job(3, "ann", 9), job(4, "bob", 0)];
        assert_eq!(order(waiting.clone(), &usage, |_| 1.0, &none), [3, 2, 4, 1]);
        // With a weight of ten, what ann had counts less than what bob would have with a second job.
        let weight = |user: &str| if user == "ann" { 30.0 } else { 1.0 };
        assert_eq!(order(waiting.clone(), &usage, weight, &none), [3, 2, 1, 4]);
        usage.fade(Duration::from_secs(36_000));
        assert_eq!(order(waiting, &usage, |_| 1.0, &none), [3, 2, 4, 1]);
    }

    #[test]
    fn users_take_turns() {
        let waiting: Vec<_> =
            (1..=6).map(|id| job(id, if id <= 4 { "ann" } else { "bob" }, 0)).collect();
        let usage = Usage::default();
        assert_eq!(order(waiting.clone(), &usage, |_| 1.0, &HashMap::new()), [1, 5, 2, 6, 3, 4]);
        let running = HashMap::from([("ann".to_owned(), 2)]);
        assert_eq!(order(waiting, &usage, |_| 1.0, &running), [5, 6, 1, 2, 3, 4]);
    }

    #[test]
    fn a_job_that_goes_on_begins_first() {
        let waiting = vec![job(1, "ann", 0), Waiting { goes_on: true, ..job(2, "ann", 0) }];
        assert_eq!(order(waiting, &Usage::default(), |_| 1.0, &HashMap::new()), [2, 1]);
    }
}

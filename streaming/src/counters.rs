//! Counters, by group and name: those of the commands, and those that Hadoop keeps of every job.

use std::collections::BTreeMap;
use std::fmt;

/// Amounts by group and name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters(BTreeMap<(String, String), i64>);

/// Counters of the framework, as Hadoop's job client prints them.
pub(crate) const FRAMEWORK: &str = "Map-Reduce Framework";
pub(crate) const BYTES_READ: (&str, &str) = ("File Input Format Counters ", "Bytes Read");
pub(crate) const BYTES_WRITTEN: (&str, &str) = ("File Output Format Counters ", "Bytes Written");

impl Counters {
    /// Adds an amount.
    pub(crate) fn add(&mut self, group: &str, name: &str, amount: i64) {
        let sum = self.0.entry((group.to_owned(), name.to_owned())).or_default();
        *sum = sum.saturating_add(amount);
    }

    /// Adds an amount to one of the framework's.
    pub(crate) fn count(&mut self, name: &str, amount: u64) {
        self.add(FRAMEWORK, name, i64::try_from(amount).unwrap_or(i64::MAX));
    }

    pub(crate) fn add_all(&mut self, others: &Counters) {
        for ((group, name), amount) in &others.0 {
            self.add(group, name, *amount);
        }
    }

    /// Returns the counters by group and name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str, i64)> {
        self.0.iter().map(|((group, name), amount)| (group.as_str(), name.as_str(), *amount))
    }

    /// Returns those that the job's commands counted.
    pub fn of_commands(&self) -> Counters {
        let own = [FRAMEWORK, BYTES_READ.0, BYTES_WRITTEN.0];
        let others = self.0.iter().filter(|((group, _), _)| !own.contains(&group.as_str()));
        Counters(others.map(|(key, amount)| (key.clone(), *amount)).collect())
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The form in which Hadoop's job client prints them.
impl fmt::Display for Counters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Counters: {}", self.0.len())?;
        let mut before = None;
        for ((group, name), amount) in &self.0 {
            if before != Some(group) {
                writeln!(f, "\t{group}")?;
                before = Some(group);
            }
            writeln!(f, "\t\t{name}={amount}")?;
        }
        Ok(())
    }
}

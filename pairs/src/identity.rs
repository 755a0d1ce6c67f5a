//! Job identities: two runs with the same identity make the same pairs of the same bytes.

use crate::encoding::{Reading, put_bytes, put_number};
use std::io::{self, Write};
use twox_hash::XxHash3_128;

/// The identity of a job: its name, the version of its code, and each parameter that changes what its map
/// emits or how values combine. The engine adds the options of the run that matter. Data saved under one
/// identity is never used for another.
///
/// ```
/// let identity = tegula::Identity::new("wordcount", 1).with("words", "alpha");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Names and values, in the order in which they were given.
    fields: Vec<(String, String)>,
}

impl Identity {
    /// Returns the identity of a job without parameters. Raise `version` whenever the code changes what it
    /// emits or how values combine.
    pub fn new(job: &str, version: u32) -> Identity {
        Identity { fields: Vec::new() }.with("job", job).with("version", version)
    }

    /// Adds a parameter.
    #[expect(clippy::needless_pass_by_value, reason = "a number or a text is given as it is")]
    pub fn with(mut self, name: &str, value: impl ToString) -> Identity {
        self.fields.push((name.to_owned(), value.to_string()));
        self
    }

    /// Adds a large parameter as the XXH3 (128 bits) of its bytes.
    pub fn with_bytes(self, name: &str, bytes: &[u8]) -> Identity {
        self.with(name, format_args!("{:032x}", XxHash3_128::oneshot(bytes)))
    }

    /// Adds a large parameter that need not be in memory: `write` writes its bytes, in pieces. The same as
    /// [`with_bytes`](Identity::with_bytes) of all of them.
    ///
    /// # Errors
    /// Those of `write`.
    pub fn with_written(
        self,
        name: &str,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<Identity> {
        let mut hashed = Hashed(XxHash3_128::new());
        write(&mut hashed)?;
        Ok(self.with(name, format_args!("{:032x}", hashed.0.finish_128())))
    }

    /// Returns the first difference of `now`, for a message; `None` if there is none. Order counts, as it does for a
    /// digest of the encoded fields.
    #[doc(hidden)]
    pub fn difference(&self, now: &Identity) -> Option<String> {
        if self == now {
            return None;
        }
        let values = |identity: &Identity, name: &str| {
            let found = identity.fields.iter().filter(|(known, _)| known == name);
            let found: Vec<String> = found.map(|(_, value)| format!("{value:?}")).collect();
            if found.is_empty() { "not given".to_owned() } else { found.join(", ") }
        };
        let names = self.fields.iter().chain(&now.fields).map(|(name, _)| name);
        let mut changed = names.map(|name| (name, values(self, name), values(now, name)));
        let value = changed.find(|(_, was, is)| was != is);
        let order = || {
            let at = self.fields.iter().zip(&now.fields).find(|(was, is)| was != is);
            at.map(|((was, _), (is, _))| format!("{is} is in the place of {was}"))
        };
        value.map(|(name, was, is)| format!("{name} was {was} and is {is}")).or_else(order)
    }

    /// Returns the first difference of a `job` whose identity lacks the last `added` fields of this one.
    #[doc(hidden)]
    pub fn difference_of_job(&self, job: &Identity, added: usize) -> Option<String> {
        let own = self.fields.len().saturating_sub(added);
        Identity { fields: self.fields[..own].to_vec() }.difference(job)
    }

    /// Names and values.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &str)> {
        self.fields.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    #[doc(hidden)]
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_number(self.fields.len() as u64, out);
        for (name, value) in &self.fields {
            put_bytes(name.as_bytes(), out);
            put_bytes(value.as_bytes(), out);
        }
    }

    #[doc(hidden)]
    pub fn decode(from: &mut Reading<'_>) -> Option<Identity> {
        let count = from.number()?;
        let field = |_| Some((from.text()?, from.text()?));
        Some(Identity { fields: (0..count).map(field).collect::<Option<_>>()? })
    }
}

/// Hashes what is written.
struct Hashed(XxHash3_128);

impl Write for Hashed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

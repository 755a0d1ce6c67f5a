//! The answers of a program's jobs that have ended, in scratch storage, as the orders by which nodes make them. A node that
//! comes late is ready for the first job when the driver is at a later one. It is sent the answer of each job for which it
//! is ready, until it has caught up with the driver.

use std::collections::BTreeMap;
use std::ops::Range;
use tegula::{Storage, StorageError, StoredFile};

#[derive(Debug, Default)]
pub(crate) struct Answers {
    /// Made with the first answer.
    file: Option<Box<dyn StoredFile>>,
    bytes: u64,
    /// Where the orders of a job are, by the digest of its plan, or why not all were kept.
    jobs: BTreeMap<u128, Result<Vec<Range<u64>>, String>>,
}

impl Answers {
    /// Returns whether a job has ended.
    pub(crate) fn has(&self, digest: u128) -> bool {
        self.jobs.contains_key(&digest)
    }

    /// Keeps the next order by which nodes make the answer of a job. If there is no room for it, nodes that come late have
    /// no part in later jobs.
    pub(crate) fn keep(&mut self, storage: &dyn Storage, digest: u128, order: &[u8]) {
        let kept = self.append(storage, order);
        let job = self.jobs.entry(digest).or_insert(Ok(Vec::new()));
        match (kept, &mut *job) {
            (Ok(place), Ok(places)) => places.push(place),
            (Err(error), Ok(_)) => *job = Err(error.to_string()),
            (_, Err(_)) => {}
        }
    }

    /// Shows `see` the orders by which a node makes the answer of a job.
    ///
    /// # Errors
    /// Why they are not there.
    pub(crate) fn show(&self, digest: u128, see: &mut dyn FnMut(&[u8])) -> Result<(), String> {
        let places = self.jobs.get(&digest).map_or(Ok(&[][..]), |job| job.as_deref());
        let mut order = Vec::new();
        for place in places.map_err(String::clone)? {
            order.resize((place.end - place.start) as usize, 0);
            let read =
                self.file.iter().try_for_each(|file| file.read_exact_at(&mut order, place.start));
            read.map_err(|error| error.to_string())?;
            see(&order);
        }
        Ok(())
    }

    fn append(&mut self, storage: &dyn Storage, order: &[u8]) -> Result<Range<u64>, StorageError> {
        let file = match self.file.take() {
            Some(file) => file,
            None => storage.scratch()?,
        };
        let file = self.file.insert(file);
        let place = self.bytes..self.bytes + order.len() as u64;
        file.write_all_at(order, place.start)?;
        self.bytes = place.end;
        Ok(place)
    }
}

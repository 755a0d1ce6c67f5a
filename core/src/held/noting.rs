//! Notes which splits, or bytes of files that are decompressed, a map was of: a save names them.

use crate::aggregate::Aggregate;
use crate::coverage::Coverage;
use crate::error::Result;
use crate::map::{Attendance, Attendant, Holdings, Mapped};
use crate::sync::Mutex;

#[derive(Default)]
pub(super) struct Noting(Mutex<Coverage>);

struct Note<'r>(&'r Noting);

impl Noting {
    pub(super) fn into_coverage(self) -> Coverage {
        self.0.into_inner()
    }
}

impl<C: Aggregate> Attendance<C> for Noting {
    fn attendant<'r>(
        &'r self,
        _: usize,
        _: &mut Holdings<'r, C>,
    ) -> Box<dyn Attendant<'r, C> + 'r> {
        Box::new(Note(self))
    }
}

impl<'r, C: Aggregate> Attendant<'r, C> for Note<'r> {
    fn mapped(&mut self, mapped: &Mapped<'_>, _: &mut Holdings<'r, C>) -> Result<()> {
        let mut coverage = self.0.0.lock();
        for range in mapped.ranges {
            coverage.add(mapped.part, mapped.file, range.clone());
        }
        Ok(())
    }
}

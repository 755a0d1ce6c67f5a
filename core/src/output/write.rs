//! Writing an answer: workers format portions of it side by side and write them in turn, so that a
//! fast disk waits for no formatter and memory holds a few pieces of text at most.

use super::turns::Turns;
use super::{Finished, Portion};
use crate::aggregate::Aggregate;
use crate::cancel::Cancel;
use crate::error::{MemoryError, Result};
use crate::failure::Failure;
use crate::memory::Buffer;
use crate::partial::{Answers, RunReader};
use crate::progress::Stage;
use crate::schedule::{Cursor, PerWorker, Step};
use crate::slots::PairRef;
use crate::timeline::Context;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

/// A portion with more text than this is written piece by piece.
const TEXT_BYTES: usize = 1 << 20;
/// Text that is written at once when memory is short.
const TEXT_BYTES_LEAST: usize = 64 << 10;

/// A worker's tools for writing.
struct Writer<C: Aggregate> {
    text: Buffer,
    reader: Option<RunReader<Answers<C>>>,
}

/// Appends a pair's text.
pub(super) type Format<'f, V> = dyn Fn(PairRef<'_, V>, &mut Vec<u8>) + Sync + 'f;

impl<C: Aggregate> Finished<C> {
    /// Writes the pairs in order, as [`Output::write`](crate::Output::write) says.
    pub(super) fn write_all(
        &self,
        sink: &mut (dyn Write + Send),
        name: &Path,
        cancel: &Cancel,
        format: &Format<'_, C::Reduced>,
    ) -> Result<()> {
        let began = Instant::now();
        let _entered = Context::new(self.timeline.as_ref(), Stage::Output).enter();
        let portions = self.portions_to_write();
        let (cursor, failure) = (Cursor::new(portions.len() as u64), Failure::new(cancel));
        let turns = Turns::new(sink, name);
        let writers = PerWorker::new(self.pool.workers());
        let step = |worker| {
            let Some(number) = (!failure.stops()).then(|| cursor.take()).flatten() else {
                return Step::Done;
            };
            // Dropped last: the next portion must see a failure of this one.
            let turn = turns.get(number);
            let written = failure.attempt(number, "the output stage", || {
                let make = || Ok(Writer { text: self.text()?, reader: None });
                writers.with(worker, make, |writer| {
                    let write = |text: &mut Buffer| {
                        turn.write(text, &failure)?;
                        Ok(text.clear_for(0)?)
                    };
                    self.format(portions[number as usize], format, writer, &write)?;
                    write(&mut writer.text)
                })
            });
            if written.is_some() { Step::More } else { Step::Done }
        };
        self.pool.run_within(step);
        let written = failure.check().and_then(|()| turns.finish());
        self.timeline.iter().for_each(|timeline| timeline.add_stage(Stage::Output, began));
        written
    }

    /// Returns a worker's memory for text, less if memory is short.
    fn text(&self) -> Result<Buffer, MemoryError> {
        let blocks = self.stored.chunks.blocks();
        let some = |bytes| Buffer::new(blocks, bytes, "the text of the answer");
        some(TEXT_BYTES).or_else(|_| some(TEXT_BYTES_LEAST))
    }

    /// Formats a portion. Writes all text but the last piece.
    fn format(
        &self,
        portion: Portion,
        format: &Format<'_, C::Reduced>,
        writer: &mut Writer<C>,
        write: &impl Fn(&mut Buffer) -> Result<()>,
    ) -> Result<()> {
        let text = &mut writer.text;
        let full_bytes = text.usual() / 8 * 7;
        self.for_each_in(portion, &mut writer.reader, |pair| {
            format(pair, text);
            text.count_growth()?;
            if text.len() >= full_bytes { write(text) } else { Ok(()) }
        })
    }
}

//! Writing an answer: workers format portions of it side by side and write them in turn, so that a
//! fast disk waits for no formatter and memory holds a few pieces of text at most.

use super::Finished;
use super::turns::Turns;
use crate::aggregate::Aggregate;
use crate::cancel::Cancel;
use crate::error::{MemoryError, Result};
use crate::failure::Failure;
use crate::memory::Buffer;
use crate::merge::{Held, Piece};
use crate::partial::{Answers, RunReader, read_run};
use crate::progress::Stage;
use crate::schedule::{Cursor, PerWorker, Step};
use crate::slots::PairRef;
use crate::timeline::Context;
use std::io::Write;
use std::ops::Range;
use std::path::Path;
use std::time::Instant;

/// Pairs in a portion of what is in memory: some hundreds of kilobytes of text.
const PORTION_PAIRS: usize = 8 << 10;
/// A portion that comes to more text than this is written piece by piece.
const TEXT_BYTES: usize = 1 << 20;
/// Text that is written at once with little memory to spare.
const TEXT_BYTES_LEAST: usize = 64 << 10;

/// Pairs stand in another order than they are shown in; this many ahead of the one that is formatted
/// are asked for.
const AHEAD: usize = 16;

/// Pairs that follow each other in the answer.
enum Portion<'o, V: Copy> {
    Held { held: &'o Held<V>, first: usize },
    Stored { number: usize, extent: &'o Range<u64> },
}

/// What a worker writes with.
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
        let portions = self.portions();
        let (cursor, failure) = (Cursor::new(portions.len() as u64), Failure::new(cancel));
        let turns = Turns::new(sink, name);
        let writers = PerWorker::new(self.core.0.pool().workers());
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
                    self.format(&portions[number as usize], format, writer, &write)?;
                    write(&mut writer.text)
                })
            });
            if written.is_some() { Step::More } else { Step::Done }
        };
        self.core.0.pool().run(step, || ());
        let written = failure.check().and_then(|()| turns.finish());
        self.timeline.iter().for_each(|timeline| timeline.add_stage(Stage::Output, began));
        written
    }

    /// A worker's memory for text, of which there is less if memory is short.
    fn text(&self) -> Result<Buffer, MemoryError> {
        let blocks = self.stored.chunks.blocks();
        let some = |bytes| Buffer::new(blocks, bytes, "the text of the answer");
        some(TEXT_BYTES).or_else(|_| some(TEXT_BYTES_LEAST))
    }

    fn portions(&self) -> Vec<Portion<'_, C::Reduced>> {
        let mut portions = Vec::new();
        for piece in &self.pieces {
            match piece {
                Piece::Held(held) => {
                    let firsts = (0..held.pairs.len()).step_by(PORTION_PAIRS);
                    portions.extend(firsts.map(|first| Portion::Held { held, first }));
                }
                Piece::Stored(run) => {
                    let number = run.number;
                    let extents = run.extents.iter();
                    portions.extend(extents.map(|extent| Portion::Stored { number, extent }));
                }
            }
        }
        portions
    }

    /// Formats a portion. All text but the last piece is written.
    fn format(
        &self,
        portion: &Portion<'_, C::Reduced>,
        format: &Format<'_, C::Reduced>,
        writer: &mut Writer<C>,
        write: &impl Fn(&mut Buffer) -> Result<()>,
    ) -> Result<()> {
        let text = &mut writer.text;
        let full_bytes = text.usual() / 8 * 7;
        let mut add = |pair: PairRef<'_, C::Reduced>| {
            format(pair, text);
            text.count_growth()?;
            if text.len() >= full_bytes { write(text) } else { Ok(()) }
        };
        match portion {
            Portion::Held { held, first } => {
                let len = held.pairs.len();
                (*first..len.min(first + PORTION_PAIRS)).try_for_each(|place| {
                    held.pairs.prefetch(held.number_at((place + AHEAD).min(len - 1)));
                    add(held.pairs.get(held.number_at(place)))
                })
            }
            Portion::Stored { number, extent } => {
                let reader = self.stored.reader::<C>(&mut writer.reader)?;
                read_run(reader, *number, std::slice::from_ref(*extent), add)
            }
        }
    }
}

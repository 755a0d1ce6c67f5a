//! Writing an answer: workers format blocks of pairs side by side and write them in turn, so that a
//! fast disk waits for no formatter and memory holds a few blocks at most.

use super::{Answer, Output, show};
use crate::cancel::Cancel;
use crate::error::{OutputError, Result};
use crate::failure::Failure;
use crate::job::Job;
use crate::key::Key;
use crate::schedule::{Cursor, PerWorker, Step};
use std::io::Write;
use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Pairs formatted at a time: some hundreds of kilobytes of text.
const BLOCK_PAIRS: usize = 8 << 10;

/// Pairs stand in another order than they are shown in; this many ahead of the one that is formatted
/// are asked for.
const AHEAD: usize = 16;

/// A run of pairs inside one piece.
struct Block {
    piece: usize,
    first: usize,
}

/// The sink, and the number of the block whose turn it is.
struct Turn<'w> {
    sink: &'w mut (dyn Write + Send),
    next: u64,
}

impl<J: Job> Output<J> {
    /// Writes the pairs in order. `format` appends a pair's text; it is called side by side on many
    /// threads. `name` stands for the sink in messages.
    ///
    /// # Errors
    /// [`OutputError`] if the sink refuses, [`Error::Cancelled`](crate::Error::Cancelled) if `cancel` is raised.
    pub fn write(
        &self,
        sink: &mut (dyn Write + Send),
        name: &Path,
        cancel: &Cancel,
        format: impl Fn(<J::Key as Key>::Borrowed<'_>, Answer<J>, &mut Vec<u8>) + Sync,
    ) -> Result<()> {
        let blocks = self.blocks();
        let (cursor, failure) = (Cursor::new(blocks.len() as u64), Failure::new(cancel));
        let (turn, turned) = (Mutex::new(Turn { sink, next: 0 }), Condvar::new());
        let texts = PerWorker::new(self.core.0.pool().workers());
        let step = |worker| {
            let Some(number) = (!failure.stops()).then(|| cursor.take()).flatten() else {
                return Step::Done;
            };
            // Dropped last: the next block must see a failure of this one.
            let passing = Passing { turn: &turn, turned: &turned, number };
            let written = failure.attempt(number, "the output stage", || {
                let make = || Ok(Vec::new());
                texts.with(worker, make, |text: &mut Vec<u8>| {
                    text.clear();
                    self.format_block(&blocks[number as usize], &format, text);
                    passing.write(text, name, &failure)
                })
            });
            if written.is_some() { Step::More } else { Step::Done }
        };
        self.core.0.pool().run(step, || ());
        failure.check()?;
        let turn = turn.into_inner().unwrap_or_else(PoisonError::into_inner);
        turn.sink.flush().map_err(|cause| OutputError::from_write(name, cause).into())
    }

    fn blocks(&self) -> Vec<Block> {
        let pieces = self.pieces.iter().enumerate();
        pieces
            .flat_map(|(piece, held)| {
                let firsts = (0..held.pairs.len()).step_by(BLOCK_PAIRS);
                firsts.map(move |first| Block { piece, first })
            })
            .collect()
    }

    fn format_block(
        &self,
        block: &Block,
        format: &impl Fn(<J::Key as Key>::Borrowed<'_>, Answer<J>, &mut Vec<u8>),
        text: &mut Vec<u8>,
    ) {
        let piece = &self.pieces[block.piece];
        let len = piece.pairs.len();
        for place in block.first..len.min(block.first + BLOCK_PAIRS) {
            piece.pairs.prefetch(piece.number_at((place + AHEAD).min(len - 1)));
            let (key, answer) = show::<J>(piece.pairs.get(piece.number_at(place)));
            format(key, answer, text);
        }
    }
}

/// One block's place in the row. The turn passes on when it is dropped, whatever happened, so that
/// nobody waits for ever.
struct Passing<'t, 'w> {
    turn: &'t Mutex<Turn<'w>>,
    turned: &'t Condvar,
    number: u64,
}

impl<'w> Passing<'_, 'w> {
    fn write(&self, text: &[u8], name: &Path, failure: &Failure) -> Result<()> {
        let mut turn = self.wait();
        if failure.stops() {
            return Ok(());
        }
        turn.sink.write_all(text).map_err(|cause| OutputError::from_write(name, cause).into())
    }

    /// Blocks are taken in order, so the one whose turn it is has a worker of its own at work.
    fn wait(&self) -> MutexGuard<'_, Turn<'w>> {
        let mut turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        while turn.next != self.number {
            turn = self.turned.wait(turn).unwrap_or_else(PoisonError::into_inner);
        }
        turn
    }
}

impl Drop for Passing<'_, '_> {
    fn drop(&mut self) {
        self.wait().next += 1;
        self.turned.notify_all();
    }
}

//! A command that makes input for other commands: its flags, its progress, and its output file, which
//! appears whole or not at all.

use crate::flags::ProgressFlag;
use crate::progress;
use crate::session::{Session, Sink};
use clap::Args;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use tegula::output::AtomicFile;
use tegula::{Progress, ProgressReading, Result, Stage};

#[derive(Args)]
pub(crate) struct MakeFlags {
    /// Write to FILE instead of standard output. FILE appears, or is replaced, only when all of it is
    /// written.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    #[command(flatten)]
    progress: ProgressFlag,
}

/// Takes the records that a command makes.
pub(crate) struct Maker<'a, 's> {
    sink: &'a mut Sink<'s>,
    made: &'a Made,
}

/// Records that were written so far, and their bytes.
#[derive(Default)]
struct Made {
    records: AtomicU64,
    bytes: AtomicU64,
}

impl MakeFlags {
    /// Writes the records that `make` makes, `count` of them.
    pub(crate) fn write(
        &self,
        count: u64,
        make: impl FnOnce(&mut Maker<'_, '_>) -> Result<()>,
    ) -> Result<()> {
        if let Some(path) = &self.output {
            AtomicFile::probe(path)?;
        }
        let made = Arc::<Made>::default();
        let on_terminal = self.output.is_none() && io::stdout().is_terminal();
        // Progress and the records on one terminal would write over each other.
        let shown = if on_terminal {
            None
        } else {
            progress::show(reader(Arc::clone(&made), count), self.progress.progress)
        };
        let written = Session::command(|session| {
            session.write(self.output.as_deref(), |sink| make(&mut Maker { sink, made: &made }))
        });
        drop(shown);
        written
    }
}

impl Maker<'_, '_> {
    /// Writes some records: better many at once than few. Fails once the command is interrupted.
    pub(crate) fn write(&mut self, records: u64, bytes: &[u8]) -> Result<()> {
        self.sink.write(bytes)?;
        self.made.records.fetch_add(records, Ordering::Relaxed);
        self.made.bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(())
    }
}

/// Reads how far a command is that makes `count` records. Their bytes are estimated from those that are
/// written.
fn reader(made: Arc<Made>, count: u64) -> impl Fn() -> ProgressReading {
    let (begin, progress) = (Instant::now(), Progress::default());
    progress.enter(Stage::Output);
    move || {
        let records = made.records.load(Ordering::Relaxed);
        let bytes_done = made.bytes.load(Ordering::Relaxed);
        let bytes_planned = match records {
            0 => 0,
            _ => (u128::from(bytes_done) * u128::from(count) / u128::from(records)) as u64,
        };
        ProgressReading { bytes_done, bytes_planned, mapping: begin.elapsed(), ..progress.read() }
    }
}

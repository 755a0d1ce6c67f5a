//! A command from start to end: how an interrupt ends it, and where its answer goes. An answer goes to
//! standard output, or to a file that appears whole or not at all. Commands that run jobs have a `Run` on
//! top of this; commands that only write need no more.

#[cfg(feature = "histogram")]
use crate::exit;
use crate::signals::{self, FilesOpen, Stop, TemporaryFolder};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::fd::AsFd;
use std::path::Path;
use tegula::output::AtomicFile;
use tegula::{Cancel, Error, Job, Key, Output, OutputError, Result, SortTo};

/// One command that is running.
pub(crate) struct Session {
    cancel: Cancel,
    files: FilesOpen,
    temporary: TemporaryFolder,
}

/// Takes an answer: bytes, or the pairs of an output.
pub(crate) struct Sink<'s> {
    to: &'s mut (dyn Write + Send),
    name: &'s Path,
    cancel: &'s Cancel,
}

impl Session {
    /// Does the work of a command. An interrupt raises the flag of the session and ends the work.
    pub(crate) fn command(work: impl FnOnce(&Session) -> Result<()>) -> Result<()> {
        let (files, temporary) = Default::default();
        let session = Session { cancel: Cancel::new(), files, temporary };
        signals::watch(session.stop())?;
        let result = work(&session);
        session.caused(result)
    }

    /// Returns the result of work with its cause: whatever error an interrupted command ended with, the interrupt is
    /// the cause.
    pub(crate) fn caused(&self, result: Result<()>) -> Result<()> {
        match result {
            Err(_) if self.cancel.is_cancelled() => Err(Error::Cancelled),
            result => result,
        }
    }

    /// Returns what an interrupt does.
    pub(crate) fn stop(&self) -> Stop {
        let Session { cancel, files, temporary } = self;
        Stop { cancel: cancel.clone(), files: files.clone(), temporary: temporary.clone() }
    }

    /// Returns the flag that an interrupt raises.
    pub(crate) fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// Writes an answer to the file `to`, or to standard output.
    pub(crate) fn write(
        &self,
        to: Option<&Path>,
        fill: impl FnOnce(&mut Sink<'_>) -> Result<()>,
    ) -> Result<()> {
        let Some(path) = to else {
            let name = Path::new(STDOUT);
            return fill(&mut Sink { to: &mut stdout()?, name, cancel: &self.cancel });
        };
        let _open = self.files.open();
        let mut file = AtomicFile::create(path)?;
        fill(&mut Sink { to: &mut file, name: path, cancel: &self.cancel })?;
        Ok(file.commit()?)
    }

    /// Writes a file beside an answer: it appears when `answer` has written that, or as much as its reader took.
    #[cfg(feature = "histogram")]
    pub(crate) fn write_beside(
        &self,
        path: &Path,
        bytes: &[u8],
        answer: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let _open = self.files.open();
        let mut file = AtomicFile::create(path)?;
        let written = file.write_all(bytes);
        written.map_err(|cause| OutputError::from_write(path, cause))?;
        let answered = answer();
        if exit::is_done(&answered) {
            file.commit()?;
        }
        answered
    }

    /// Writes a file beside the answer, also after a failure or an interrupt.
    pub(crate) fn write_even_so(
        &self,
        path: &Path,
        fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<()> {
        let _open = self.files.open();
        let mut file = AtomicFile::create(path)?;
        let mut buffered = BufWriter::new(&mut file);
        let written = fill(&mut buffered).and_then(|()| buffered.flush());
        written.map_err(|cause| OutputError::Write { path: path.to_path_buf(), cause })?;
        drop(buffered);
        Ok(file.commit()?)
    }

    /// Lets `sort` write to the file `to`, or to standard output.
    pub(crate) fn sort<R>(
        &self,
        to: Option<&Path>,
        sort: impl FnOnce(SortTo<'_>) -> Result<R>,
    ) -> Result<R> {
        let Some(path) = to else {
            return sort(SortTo::Writer(&mut stdout()?, Path::new(STDOUT)));
        };
        let _open = self.files.open();
        sort(SortTo::File(AtomicFile::create(path)?))
    }
}

impl Sink<'_> {
    /// Writes bytes of the answer; large pieces are faster. Fails once the command is interrupted.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        if self.cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let written = self.to.write_all(bytes);
        written.map_err(|cause| OutputError::from_write(self.name, cause).into())
    }

    /// Writes the pairs of `output` in order; `format` appends the text of a pair.
    pub(crate) fn pairs<J: Job>(
        &mut self,
        output: &Output<J>,
        format: impl Fn(<J::Key as Key>::Borrowed<'_>, AnswerOf<'_, J>, &mut Vec<u8>) + Sync,
    ) -> Result<()> {
        output.write(self.to, self.name, self.cancel, format)
    }
}

/// Writes the pairs of a part of an answer to a file that appears when all of it is written.
#[cfg(feature = "nodes")]
pub(crate) fn write_part<J: Job>(
    output: &Output<J>,
    path: &Path,
    cancel: &Cancel,
    format: impl Fn(<J::Key as Key>::Borrowed<'_>, AnswerOf<'_, J>, &mut Vec<u8>) + Sync,
) -> Result<()> {
    let mut file = AtomicFile::create(path)?;
    output.write(&mut file, path, cancel, format)?;
    Ok(file.commit()?)
}

/// The value of a key in an answer.
pub(crate) type AnswerOf<'a, J> = <<J as Job>::Combine as tegula::Aggregate>::Output<'a>;

const STDOUT: &str = "standard output";

/// Returns standard output without the line buffer of the standard library: the engine writes large
/// pieces.
fn stdout() -> Result<File> {
    let same = io::stdout().as_fd().try_clone_to_owned();
    let same = same.map_err(|cause| Error::System { action: "open standard output", cause })?;
    Ok(File::from(same))
}

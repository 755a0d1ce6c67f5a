//! One run of a command: its standard input is fed, its standard output taken and its standard error heard by one
//! thread, which never waits for one of them while another could go on.
//!
//! A command that ends without reading all of its input is right; the rest of the input is dropped. It may close its
//! standard output and go on. What its own children leave open is read to its end.

use crate::failure::TaskFailed;
use crate::speech::Speech;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::ioctl_fionbio;
use rustix::pipe::fcntl_setpipe_size;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};
use tegula::{Cancel, Error, Result};

/// A pipe of this size lets a command and its feeder work at once.
const PIPE_BYTES: usize = 256 << 10;
/// How often an interrupt and the time limit are looked at.
const TICK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
/// A command that prints or reads little at a time, such as 8 KiB, is left alone for a moment, so that more is moved at
/// once: this much at least. To be woken for each piece costs both sides a change of processes.
const MOVED_LEAST: usize = 64 << 10;
const PAUSE_LEAST: Duration = Duration::from_micros(100);
const PAUSE_MOST: Duration = Duration::from_millis(4);
/// How often an ended standard output's command is asked whether it has ended, too.
const ENDED_MOST: Duration = Duration::from_millis(20);

/// A command that runs.
pub(crate) struct Process {
    child: Child,
    input: Option<ChildStdin>,
    output: Option<ChildStdout>,
    errors: Option<ChildStderr>,
    pub(crate) speech: Speech,
    /// It is ended when one of them is raised.
    stops: [Cancel; 2],
    timeout: Option<Duration>,
    /// When it last read, wrote or said something.
    moved: Instant,
    buffer: Vec<u8>,
    /// Before its pipes are looked at again.
    pause: Duration,
    is_over: bool,
}

/// Takes pieces of a command's output.
pub(crate) type Take<'t> = dyn FnMut(&[u8]) -> Result<()> + 't;

impl Process {
    pub(crate) fn new(
        mut child: Child,
        speech: Speech,
        stops: [Cancel; 2],
        timeout: Option<Duration>,
    ) -> io::Result<Process> {
        let (input, output, errors) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let process = Process {
            child,
            input,
            output,
            errors,
            speech,
            stops,
            timeout,
            moved: Instant::now(),
            buffer: vec![0; PIPE_BYTES],
            pause: Duration::ZERO,
            is_over: false,
        };
        if let (Some(input), Some(output), Some(errors)) =
            (&process.input, &process.output, &process.errors)
        {
            ioctl_fionbio(input, true)?;
            ioctl_fionbio(output, true)?;
            ioctl_fionbio(errors, true)?;
            // A user may have only so many large pipes; small ones do as well.
            let _ = fcntl_setpipe_size(input, PIPE_BYTES);
            let _ = fcntl_setpipe_size(output, PIPE_BYTES);
        }
        Ok(process)
    }

    /// Counts the time without a sign of life from now on: until now, it was not the command's turn.
    pub(crate) fn awaken(&mut self) {
        self.moved = Instant::now();
    }

    /// Gives the command all of `bytes`; `take` gets what it writes meanwhile.
    pub(crate) fn feed(&mut self, mut bytes: &[u8], take: &mut Take<'_>) -> Result<()> {
        while !bytes.is_empty() {
            let Some(input) = &mut self.input else { return Ok(()) };
            match input.write(bytes) {
                Ok(count) => {
                    bytes = &bytes[count..];
                    self.has_moved(count);
                    if bytes.is_empty() {
                        return Ok(());
                    }
                    // The pipe is full.
                    while !self.wait(true, take)? {}
                }
                Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => {
                    while !self.wait(true, take)? {}
                }
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
                // It reads no more.
                Err(_) => self.input = None,
            }
        }
        Ok(())
    }

    /// Ends the command's input, takes the rest of its output, and waits for its end.
    pub(crate) fn finish(&mut self, take: &mut Take<'_>) -> Result<ExitStatus> {
        self.input = None;
        while self.output.is_some() {
            self.wait(false, take)?;
        }
        let mut pause = Duration::from_micros(50);
        loop {
            if let Some(status) = self.child.try_wait().map_err(broken)? {
                self.is_over = true;
                self.hear()?;
                return Ok(status);
            }
            self.check_limits()?;
            if self.errors.is_some() {
                self.hear()?;
            }
            thread::sleep(pause);
            pause = (pause * 2).min(ENDED_MOST);
        }
    }

    /// Waits until a pipe is ready, and takes what is in those of its output. Returns whether the input is ready.
    fn wait(&mut self, for_input: bool, take: &mut Take<'_>) -> Result<bool> {
        if !self.pause.is_zero() {
            thread::sleep(self.pause);
        }
        let mut fds = Vec::with_capacity(3);
        let mut add = |fd| {
            fds.push(fd);
            fds.len() - 1
        };
        let output = self.output.as_ref().map(|pipe| add(PollFd::new(pipe, PollFlags::IN)));
        let errors = self.errors.as_ref().map(|pipe| add(PollFd::new(pipe, PollFlags::IN)));
        let input = self.input.as_ref().filter(|_| for_input);
        let input = input.map(|pipe| add(PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::OUT)));
        match poll(&mut fds, Some(&TICK)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(cause) => return Err(broken(cause.into())),
        }
        let is_ready =
            |place: Option<usize>| place.is_some_and(|place| !fds[place].revents().is_empty());
        let (input, output, errors) = (is_ready(input), is_ready(output), is_ready(errors));
        drop(fds);
        if output {
            self.take_output(take)?;
        } else if !input {
            self.pause = Duration::ZERO;
        }
        if errors {
            self.hear()?;
        }
        self.check_limits()?;
        Ok(input)
    }

    /// Notes that bytes were moved, and how long to wait before more are.
    fn has_moved(&mut self, count: usize) {
        self.moved = Instant::now();
        self.pause = match count {
            ..MOVED_LEAST => (2 * self.pause).clamp(PAUSE_LEAST, PAUSE_MOST),
            _ => self.pause / 2,
        };
    }

    fn take_output(&mut self, take: &mut Take<'_>) -> Result<()> {
        let Some(output) = &mut self.output else { return Ok(()) };
        match output.read(&mut self.buffer) {
            Ok(0) => self.output = None,
            Ok(count) => {
                self.has_moved(count);
                take(&self.buffer[..count])?;
                // What takes it may be at work for long, as a combiner, and the command could not go on.
                self.awaken();
            }
            Err(cause) if is_for_later(&cause) => {}
            Err(cause) => return Err(broken(cause)),
        }
        Ok(())
    }

    fn hear(&mut self) -> Result<()> {
        while let Some(errors) = &mut self.errors {
            match errors.read(&mut self.buffer) {
                Ok(0) => self.errors = None,
                Ok(count) => {
                    self.moved = Instant::now();
                    self.speech.hear(&self.buffer[..count]);
                }
                Err(cause) if is_for_later(&cause) => break,
                Err(cause) => return Err(broken(cause)),
            }
        }
        Ok(())
    }

    fn check_limits(&self) -> Result<()> {
        if self.stops.iter().any(Cancel::is_cancelled) {
            return Err(Error::Cancelled);
        }
        match self.timeout {
            Some(limit) if self.moved.elapsed() > limit => {
                let message = format!(
                    "it has read, written and said nothing for {} s, and was killed; -D mapreduce.task.timeout=MS gives \
                     it longer, 0 for ever",
                    limit.as_secs_f64()
                );
                Err(failed(TaskFailed::new(message)))
            }
            _ => Ok(()),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.is_over {
            // It may have ended by itself.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn is_for_later(cause: &io::Error) -> bool {
    matches!(cause.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

fn broken(cause: io::Error) -> Error {
    Error::System { action: "talk to a task's command", cause }
}

/// Returns the error of a task, whose place the caller knows.
pub(crate) fn failed(failure: TaskFailed) -> Error {
    Error::Record { place: tegula::Place::stage("a task"), cause: Box::new(failure) }
}

/// Returns how a command ended, in words; `None` if it ended well.
pub(crate) fn fault_of(status: ExitStatus) -> Option<String> {
    match (status.code(), status.signal()) {
        (Some(0), _) => None,
        (Some(code), _) => Some(format!("ended with exit code {code}")),
        (None, Some(signal)) => Some(format!("was killed by signal {signal}")),
        (None, None) => Some("ended in an unknown way".to_owned()),
    }
}

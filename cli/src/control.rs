//! `--control`: commands to a job that runs, one JSON object a line (docs/events.md). A thread reads them as long as
//! the process lives.

use crate::events::{self, Events};
use crate::signals::Stop;
use rustix::process::{Signal, getpid, kill_process, set_parent_process_death_signal};
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use tegula::schedule::Share;
use tegula::{Error, InputError, Result};

/// The longest line.
const LINE_MOST: usize = 1 << 16;

/// What commands change.
pub(crate) struct Steered {
    pub(crate) share: Arc<Share>,
    pub(crate) workers: usize,
    pub(crate) stop: Stop,
    pub(crate) events: Option<Events>,
    /// Whether nodes do the work.
    pub(crate) has_nodes: bool,
}

/// Opens the file descriptor that commands come from.
pub(crate) fn open(fd: u32) -> Result<File> {
    let name = PathBuf::from(format!("--control {fd}"));
    Ok(events::descriptor(fd, false).map_err(|cause| InputError::from_io(name, cause))?)
}

/// Carries out the commands that come from a file, from a thread of its own.
pub(crate) fn follow(file: File, steered: Steered) -> Result<()> {
    let mut lines = BufReader::with_capacity(LINE_MOST, file);
    let mut holds = false;
    let serve = move || {
        let mut line = Vec::new();
        loop {
            line.clear();
            match lines.read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => break,
                Ok(_) => holds |= steered.obey(String::from_utf8_lossy(&line).trim()),
            }
        }
        if holds {
            // Whoever held this process is gone. The state, if there is one, is whole at any moment.
            let _ = kill_process(getpid(), Signal::KILL);
        }
    };
    let thread = thread::Builder::new().name("control".to_owned()).spawn(serve);
    thread.map_err(|cause| Error::System { action: "start the thread of commands", cause })?;
    Ok(())
}

impl Steered {
    /// Carries out a line; returns whether it lets the process end with the file.
    fn obey(&self, line: &str) -> bool {
        if line.is_empty() {
            return false;
        }
        match self.command(line) {
            Ok(holds) => holds,
            Err(cause) => {
                self.events.iter().for_each(|events| events.refused(line, &cause));
                false
            }
        }
    }

    fn command(&self, line: &str) -> std::result::Result<bool, String> {
        let command: Value =
            serde_json::from_str(line).map_err(|error| format!("this is no JSON: {error}"))?;
        match command.as_object().and_then(|fields| fields.iter().next()) {
            Some((name, Value::String(_))) if name == "share" && self.has_nodes => {
                Err("nodes do the work of this command, with workers of their own".to_owned())
            }
            Some((name, Value::String(workers))) if name == "share" => {
                self.share.set(ranges(workers, self.workers)?.into_iter().flatten());
                Ok(false)
            }
            Some((name, Value::Bool(true))) if name == "cancel" => {
                self.stop.stop();
                Ok(false)
            }
            Some((name, Value::Bool(true))) if name == "hold" => {
                // The file's end says the same, but not to a process that is stopped.
                let _ = set_parent_process_death_signal(Some(Signal::KILL));
                Ok(true)
            }
            _ => Err("give {\"share\":\"0-3\"}, {\"cancel\":true} or {\"hold\":true}".to_owned()),
        }
    }
}

/// Parses `0-3,8`, or `all`, for so many workers.
fn ranges(text: &str, workers: usize) -> std::result::Result<Vec<Range<usize>>, String> {
    const HINT: &str = "write numbers of workers as in 0-3,8, or all";
    if text == "all" {
        return Ok(std::iter::once(0..workers).collect());
    }
    let parts = text.split(',').filter(|part| !part.is_empty());
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (Ok(first), Ok(last)) = (first.parse::<usize>(), last.parse::<usize>()) else {
            return Err(HINT.to_owned());
        };
        match (first <= last, last < workers) {
            (true, true) => Ok(first..last + 1),
            (true, false) => Err(format!("there is no worker {last}: give 0 to {}", workers - 1)),
            (false, _) => Err(HINT.to_owned()),
        }
    };
    parts.map(range).collect()
}

/// Formats ranges as `0-3,8`.
pub(crate) fn ranges_text(ranges: &[Range<usize>]) -> String {
    let one = |range: &Range<usize>| match range.len() {
        1 => range.start.to_string(),
        _ => format!("{}-{}", range.start, range.end - 1),
    };
    ranges.iter().map(one).collect::<Vec<_>>().join(",")
}

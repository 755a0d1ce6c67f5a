//! The input of a command: first it is looked up, and only then others steer the run and are told of it, because neither their
//! commands nor the files that are written may be part of the input.

use super::written::{descriptor, inode_of, there_of};
use super::{Run, refuse};
use crate::arguments;
use crate::control::{self, Steered};
use crate::events::Events;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::slice;
use std::sync::Arc;
use tegula::{Error, Input, InputError, Result, Stage};

impl Run<'_> {
    /// Notes a file that the command writes beside those of the flags of every command. Comes before the input.
    pub(crate) fn writes(&mut self, option: &'static str, path: Option<&PathBuf>) -> Result<()> {
        match path.filter(|_| !self.flags.is_node()) {
            Some(path) => self.written.add(option, path),
            None => Ok(()),
        }
    }

    /// Looks up the input that arguments of the command line name.
    pub(crate) fn input(&mut self, paths: &[OsString]) -> Result<Input> {
        #[cfg(feature = "nodes")]
        if let Some(input) = self.machines.sent_input()? {
            return Ok(input);
        }
        let [input] = self.inputs([paths])?;
        Ok(input)
    }

    /// As `input`, for a command with several.
    pub(crate) fn inputs<const N: usize>(&mut self, paths: [&[OsString]; N]) -> Result<[Input; N]> {
        if self.flags.look.is_some() {
            return Ok(paths.map(|_| Input::bytes("")));
        }
        let named = || paths.into_iter().flatten().map(path_of);
        self.follow_control(named())?;
        let mut inputs = paths.map(|_| Input::default());
        let looked_up = self.time(Stage::Plan, |_| {
            let mut each = inputs.iter_mut().zip(paths);
            each.try_for_each(|(input, paths)| {
                *input = arguments::input(paths)?;
                Ok(())
            })
        });
        let told = match &looked_up {
            Ok(()) => self.tell_apart_from(named().chain(inputs.iter().flat_map(names))),
            Err(_) => self.tell_apart_from_found(&Found::of(paths.into_iter().flatten())),
        };
        #[cfg(feature = "nodes")]
        let looked_up = looked_up.inspect_err(|error| self.machines.say_why(error));
        told.and(looked_up).map(|()| inputs)
    }

    /// Lets others steer and watch a run over these files, which another crate has looked up. `-` is standard input.
    #[cfg(feature = "streaming")]
    pub(crate) fn begin_over(&self, files: &[PathBuf]) -> Result<()> {
        let named = || files.iter().map(path_of);
        self.follow_control(named())?;
        self.tell_apart_from(named())
    }

    /// Tells of the run from now on, unless that would harm a file of its input.
    fn tell_apart_from(&self, input: impl Iterator<Item = PathBuf>) -> Result<()> {
        self.written.refuse(input)?;
        self.written.are_apart();
        self.events.iter().try_for_each(Events::write)
    }

    /// As `tell_apart_from`, of an input that cannot be looked up as a whole.
    fn tell_apart_from_found(&self, found: &Found) -> Result<()> {
        let files = found.files.iter().cloned();
        if found.are_all { self.tell_apart_from(files) } else { self.written.refuse(files) }
    }

    /// Obeys commands from now on. Records and commands cannot come from one pipe, as each would get a part of it.
    fn follow_control(&self, mut input: impl Iterator<Item = PathBuf>) -> Result<()> {
        let Some((control, watched)) = self.control.take().zip(self.watched.as_ref()) else {
            return Ok(());
        };
        let place = control.metadata().ok().as_ref().map(inode_of);
        let is_input = input.any(|path| place.is_some() && there_of(&path) == place);
        refuse(is_input, "--control", "the input comes from there; name another descriptor")?;
        let (share, stop) = (Arc::clone(&watched.share), self.session.stop());
        let (events, has_nodes) = (self.events.clone(), self.flags.has_nodes());
        let workers = self.engine.workers();
        control::follow(control, Steered { share, workers, stop, events, has_nodes })
    }
}

/// What arguments name, each looked up for itself, so that one that fails hides no file of another.
pub(super) struct Found {
    files: Vec<PathBuf>,
    /// Whether there are no others.
    are_all: bool,
}

impl Found {
    pub(super) fn of<'p>(paths: impl Iterator<Item = &'p OsString>) -> Found {
        let mut found = Found { files: Vec::new(), are_all: true };
        // What is at a URL is no file of this machine's.
        for path in paths.filter(|path| !arguments::is_url(path)) {
            found.files.push(path_of(path));
            match arguments::input(slice::from_ref(path)) {
                Ok(input) => found.files.extend(names(&input)),
                Err(error) => found.are_all &= has_no_files(Path::new(path), &error),
            }
        }
        found
    }

    /// Returns whether a file is one of the input, if that can be said.
    pub(super) fn has(&self, file: &Path) -> Option<bool> {
        let place = there_of(file);
        let is_found = place.is_some() && self.files.iter().any(|one| there_of(one) == place);
        (is_found || self.are_all).then_some(is_found)
    }
}

/// Returns whether a path that cannot be looked up names no file but itself.
fn has_no_files(path: &Path, error: &Error) -> bool {
    match error {
        Error::Input(InputError::NoMatch { .. }) => true,
        Error::Input(InputError::Missing { path: missing }) if missing == path => true,
        _ => path.is_file(),
    }
}

/// Returns the names of the files of an input.
fn names(input: &Input) -> impl Iterator<Item = PathBuf> {
    input.listing().map(|file| file.name().to_path_buf())
}

/// Returns the path of a file that an argument names.
fn path_of(argument: impl AsRef<OsStr>) -> PathBuf {
    let argument = argument.as_ref();
    if argument == "-" { descriptor(0) } else { Path::new(argument).to_path_buf() }
}

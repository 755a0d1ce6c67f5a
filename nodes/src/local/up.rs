//! Nodes that are up before a driver needs them: a process that listens on a socket in a folder of the user's. A driver
//! that connects sends its folder and the words of its command, and the command is started as a node, with the
//! connection as its standard input and output. A node has one driver at a time; others wait.

use super::frame;
use crate::message::Report;
use crate::peer::random;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tegula::{Cancel, Error, Result};

const PAUSE: Duration = Duration::from_millis(20);
/// How long a driver that has connected may say nothing: others wait meanwhile.
const GREETING_MOST: Duration = Duration::from_secs(5);

/// A node that waits for drivers. Its socket is removed when this is dropped.
#[derive(Debug)]
pub struct Up {
    listener: UnixListener,
    path: PathBuf,
}

/// Returns the folder in which nodes of this user listen, which nobody else may enter.
///
/// # Errors
/// [`Error::System`] if it cannot be made, or is another user's.
pub fn folder() -> Result<PathBuf> {
    let fault = |cause| Error::System { action: "open the folder of nodes that are up", cause };
    let user = fs::metadata("/proc/self").map_err(fault)?.uid();
    let below = std::env::var_os("XDG_RUNTIME_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
    let folder = below.join(format!("tegula-nodes-{user}"));
    fs::DirBuilder::new().mode(0o700).recursive(true).create(&folder).map_err(fault)?;
    let found = fs::symlink_metadata(&folder).map_err(fault)?;
    if !found.is_dir() || found.uid() != user || found.mode() & 0o077 != 0 {
        let cause = format!("{} is open to others", folder.display());
        return Err(fault(io::Error::other(cause)));
    }
    Ok(folder)
}

/// Returns what a driver sends first: its folder and the words of its command.
pub(super) fn greeting(words: &[OsString]) -> io::Result<Vec<u8>> {
    let folder = std::env::current_dir()?;
    let words = words.iter().map(OsString::as_os_str);
    let all = [folder.as_os_str()].into_iter().chain(words);
    Ok(all.map(OsStr::as_bytes).collect::<Vec<_>>().join(&0))
}

impl Up {
    /// Begins to listen in a folder.
    ///
    /// # Errors
    /// [`Error::System`] if it cannot.
    pub fn listen(folder: &Path) -> Result<Up> {
        let fault = |cause| Error::System { action: "listen for drivers", cause };
        // A killed process leaves its sockets, and a later one may have its number.
        let number = random().map_err(fault)? as u64;
        let path = folder.join(format!("{}-{number:016x}.sock", std::process::id()));
        let named = |cause: io::Error| {
            fault(io::Error::new(cause.kind(), format!("{}: {cause}", path.display())))
        };
        let listener = UnixListener::bind(&path).map_err(named)?;
        listener.set_nonblocking(true).map_err(fault)?;
        Ok(Up { listener, path })
    }

    /// Serves one driver after the other until `cancel` is raised. `command` makes a node's process of a driver's words.
    ///
    /// # Errors
    /// [`Error::System`] if the socket is broken.
    pub fn serve(&self, cancel: &Cancel, command: &dyn Fn(Vec<OsString>) -> Command) -> Result<()> {
        while !cancel.is_cancelled() {
            match self.listener.accept() {
                // A driver that goes away is no fault of the node's.
                Ok((driver, _)) => drop(run(driver, cancel, command)),
                Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => thread::sleep(PAUSE),
                Err(cause) => return Err(Error::System { action: "listen for drivers", cause }),
            }
        }
        Ok(())
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        // Without it, drivers find nobody there.
        let _ = fs::remove_file(&self.path);
    }
}

/// Reads what a driver sends first. The end of the node, and of the driver's time, ends it.
struct Greeting<'a> {
    driver: &'a UnixStream,
    cancel: &'a Cancel,
    until: Instant,
}

impl Read for Greeting<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.driver.read(into) {
                Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => {}
                read => return read,
            }
            if self.cancel.is_cancelled() || Instant::now() > self.until {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
    }
}

fn run(
    mut driver: UnixStream,
    cancel: &Cancel,
    command: &dyn Fn(Vec<OsString>) -> Command,
) -> io::Result<()> {
    driver.set_nonblocking(false)?;
    driver.set_read_timeout(Some(PAUSE))?;
    let until = Instant::now() + GREETING_MOST;
    let Some(greeting) = frame::read(&mut Greeting { driver: &driver, cancel, until })? else {
        return Ok(());
    };
    // The node has the same connection.
    driver.set_read_timeout(None)?;
    let mut words = greeting.split(|&byte| byte == 0).map(|word| OsString::from_vec(word.to_vec()));
    let folder = PathBuf::from(words.next().unwrap_or_default());
    let mut command = command(words.collect());
    command.current_dir(&folder).stdin(OwnedFd::from(driver.try_clone()?));
    command.stdout(OwnedFd::from(driver.try_clone()?)).stderr(Stdio::null());
    let mut node = match command.spawn() {
        Ok(node) => node,
        Err(cause) => {
            let cause = format!("in the folder {}: {cause}", folder.display());
            return frame::write(&mut driver, &Report::Leaves { cause }.encode());
        }
    };
    // The node alone has the connection now, so the driver sees its end.
    drop((driver, command));
    while node.try_wait()?.is_none() {
        if cancel.is_cancelled() {
            node.kill()?;
        }
        thread::sleep(PAUSE);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_socket_has_a_name_of_its_own() {
        let folder = std::env::temp_dir().join(format!("tegula-up-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        let up = [(); 3].map(|()| Up::listen(&folder).unwrap());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 3);
        drop(up);
        fs::remove_dir(&folder).unwrap();
        let fault = Up::listen(&folder).unwrap_err().to_string();
        assert!(fault.contains(&folder.display().to_string()), "{fault}");
    }
}

//! `--watch`: the page of `tegula serve` for one run, without a server. A thread beside the run serves it on this machine
//! alone; it is told what the run does as any other program is (`events.rs`).

use crate::flags::RunFlags;
use crate::signals::Stop;
use crate::{events, exit};
use std::fs::{self, File};
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;
use tegula::{Error, Result};
use tegula_server::{Config, Listen, Roots, Watched};

/// How long the page is served after the end of the run, so that it shows the end.
const LINGERS: Duration = Duration::from_millis(700);
/// As long after an interrupt, whose user waits.
const LINGERS_INTERRUPTED: Duration = Duration::from_millis(200);

/// How long a browser may take for a request.
const SEND_WITHIN: Duration = Duration::from_secs(30);

/// A page that is served. It is gone a moment after this is dropped.
pub(crate) struct Watch {
    /// Removes the folder of the page.
    stop: Stop,
    /// Where events go to, and commands come from.
    pub(crate) events: Option<File>,
    pub(crate) control: Option<File>,
}

impl Watch {
    /// Begins to serve the page of this process's run.
    pub(crate) fn begin(flags: &RunFlags, command: &str, stop: Stop) -> Result<Watch> {
        let RunFlags { workers, memory: memory_bytes, .. } = *flags;
        let fault = |cause| Error::System { action: "serve the page of --watch", cause };
        let home = new_folder().map_err(fault)?;
        stop.temporary.set(home.clone());
        let (told, events) = io::pipe().map_err(fault)?;
        let (control, commands) = io::pipe().map_err(fault)?;
        let file = |fd: OwnedFd| Some(File::from(fd));
        let watch = Watch { stop, events: file(events.into()), control: file(control.into()) };
        let machine = || tegula::Topology::detect().workers();
        let words = crate::COMMAND_LINE.get().map_or(&[][..], Vec::as_slice).iter().skip(1);
        let watched = Watched {
            command: words.map(|word| word.to_string_lossy().into_owned()).collect(),
            folder: std::env::current_dir().map_err(fault)?,
            workers: workers.unwrap_or_else(machine),
            shares: events::has_share(command, flags),
            memory_bytes: memory_bytes.unwrap_or(0),
            events: told,
            control: commands,
        };
        let token = tegula_server::token_in(&home.join("token"));
        let token = token.map_err(|cause| fault(io::Error::other(cause.0)))?;
        let config = Config {
            home,
            listen: Listen::Tcp(SocketAddr::from(([127, 0, 0, 1], 0))),
            hosts: Vec::new(),
            program: PathBuf::new(),
            python: PathBuf::new(),
            roots: Roots::new(&[], &[]).map_err(fault)?,
            token: token.clone(),
            tokens: None,
            workers,
            jobs_at_once: None,
            memory_bytes: None,
            queue_most: 0,
            keep: Duration::MAX,
            keep_bytes: None,
            send_within: SEND_WITHIN,
            allow_code: false,
            signals: crate::signals::not_ignored().collect(),
        };
        let serve = move || {
            let ready = |listen: &Listen| {
                if let Listen::Tcp(address) = listen {
                    exit::say(&format!("watch at http://{address}/#token={token}"));
                }
            };
            // The run does not depend on its page.
            if let Err(cause) = tegula_server::watch(config, watched, ready) {
                exit::say(&format!("nothing to watch: {cause}"));
            }
        };
        thread::Builder::new().name("watch".to_owned()).spawn(serve).map_err(fault)?;
        Ok(watch)
    }
}

/// Makes a folder for this process. One that was killed may have left its own, under the same number.
fn new_folder() -> io::Result<PathBuf> {
    let name = format!("tegula-watch-{}", std::process::id());
    let mut home = std::env::temp_dir().join(&name);
    let mut number = 0_u64;
    loop {
        match fs::create_dir(&home) {
            Err(fault) if fault.kind() == io::ErrorKind::AlreadyExists => {
                number += 1;
                home.set_file_name(format!("{name}-{number}"));
            }
            made => return made.map(|()| home),
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let is_interrupted = self.stop.cancel.is_cancelled();
        thread::sleep(if is_interrupted { LINGERS_INTERRUPTED } else { LINGERS });
        self.stop.temporary.remove();
    }
}

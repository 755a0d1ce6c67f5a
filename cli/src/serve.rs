//! `tegula serve`: its flags, and what a server needs to know of a submitted command line, which the same parser reads
//! that reads a person's.

use crate::client::{DEFAULT_PORT, token_file_of};
use crate::exit;
use crate::size;
use clap::{Arg, Args, CommandFactory};
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tegula::{Error, Result};
use tegula_server::{Checked, Config, Listen, Refused, Roots};

#[derive(Args)]
pub(crate) struct Flags {
    /// Listen on this address. Another one than this machine's own needs --token-file or --tokens.
    #[arg(long, value_name = "ADDRESS:PORT", default_value_t = SocketAddr::from(([127, 0, 0, 1], DEFAULT_PORT)))]
    listen: SocketAddr,

    /// Listen on a socket in the file system instead, which only you can open.
    #[arg(long, value_name = "PATH", conflicts_with = "listen")]
    socket: Option<PathBuf>,

    /// Folder of the jobs, their answers and states [default: ~/.tegula/serve].
    #[arg(long, value_name = "DIR")]
    home: Option<PathBuf>,

    /// Jobs may read what is below DIR; may be given more than once [default: the current folder].
    #[arg(long = "root", value_name = "DIR")]
    roots: Vec<PathBuf>,

    /// Jobs may read what has URLs that begin so; may be given more than once.
    #[arg(long = "url", value_name = "PREFIX")]
    urls: Vec<String>,

    /// Let browsers ask for the server by this name, too; may be given more than once.
    #[arg(long = "host", value_name = "NAME")]
    hosts: Vec<String>,

    /// The file of the server's token, made if there is none [default: token in --home, with a copy for your other
    /// commands in ~/.tegula/serve-PORT.token].
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,

    /// Users: a line each, with name, token, weight and the most jobs that wait.
    #[arg(long, value_name = "FILE", conflicts_with = "token_file")]
    tokens: Option<PathBuf>,

    /// The cores that jobs share [default: one for each processor that this process may use].
    #[arg(short = 'j', long, value_name = "N", value_parser = crate::flags::count)]
    workers: Option<usize>,

    /// Jobs that run at once [default: three eighths of the cores, 2 to 32].
    #[arg(long, value_name = "N", value_parser = crate::flags::count)]
    jobs_at_once: Option<usize>,

    /// Memory of all jobs together [default: three quarters of the machine's].
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    memory: Option<u64>,

    /// Jobs that may wait.
    #[arg(long, value_name = "N", default_value_t = 1000)]
    queue: usize,

    /// Days after which jobs that are over are removed.
    #[arg(long, value_name = "N", default_value_t = 14)]
    keep_days: u32,

    /// The most bytes of jobs that are over; beyond that, the oldest are removed [default: no limit].
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    keep_bytes: Option<u64>,

    /// Seconds that a client may take to send a header, and then a body, and to read some of an answer.
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    send_within: u32,

    /// Allow jobs that bring code of their own: run, offload, and those in Python.
    #[arg(long)]
    allow_code: bool,

    /// The interpreter for jobs in Python, which has the package tegula.
    #[arg(long, value_name = "PROGRAM", default_value = "python3", requires = "allow_code")]
    python: PathBuf,
}

pub(crate) fn run(flags: &Flags) -> Result<()> {
    let is_remote = flags.socket.is_none() && !flags.listen.ip().is_loopback();
    if is_remote && flags.token_file.is_none() && flags.tokens.is_none() {
        let cause = "others can reach this address; say who may use it, with --token-file FILE or --tokens FILE";
        return Err(Error::Option { option: "--listen", cause: cause.to_owned() });
    }
    if is_remote {
        exit::say(
            "what the server sends and receives can be read by others on the way: put TLS in front of it",
        );
    }
    let home = match &flags.home {
        Some(home) => home.clone(),
        None => crate::client::own_folder()?.join("serve"),
    };
    fs::create_dir_all(&home).map_err(|cause| fault(format!("{}: {cause}", home.display())))?;
    let home =
        fs::canonicalize(&home).map_err(|cause| fault(format!("{}: {cause}", home.display())))?;
    let here = [PathBuf::from(".")];
    let folders = if flags.roots.is_empty() { &here[..] } else { &flags.roots };
    let roots = Roots::new(folders, &flags.urls);
    let roots = roots.map_err(|cause| fault(format!("--root: {cause}")))?;
    let token_file = flags.token_file.clone().unwrap_or_else(|| home.join("token"));
    let token = match flags.tokens {
        Some(_) => String::new(),
        None => tegula_server::token_in(&token_file).map_err(|cause| fault(cause.0))?,
    };
    let read = |path: &PathBuf| {
        fs::read_to_string(path).map_err(|cause| fault(format!("{}: {cause}", path.display())))
    };
    let config = Config {
        home,
        listen: match &flags.socket {
            Some(path) => Listen::Unix(path.clone()),
            None => Listen::Tcp(flags.listen),
        },
        hosts: flags.hosts.clone(),
        program: crate::own_program(),
        python: crate::located(&flags.python),
        roots,
        token: token.clone(),
        tokens: flags.tokens.as_ref().map(read).transpose()?,
        workers: flags.workers,
        jobs_at_once: flags.jobs_at_once,
        memory_bytes: flags.memory,
        queue_most: flags.queue,
        keep: Duration::from_secs(u64::from(flags.keep_days) * 24 * 3600),
        keep_bytes: flags.keep_bytes,
        send_within: Duration::from_secs(u64::from(flags.send_within)),
        allow_code: flags.allow_code,
        signals: crate::signals::not_ignored().collect(),
    };
    let is_own = flags.token_file.is_none() && flags.tokens.is_none();
    let ready = |listen: &Listen| tell(listen, &token, is_own);
    tegula_server::serve(config, check, ready).map_err(|cause| fault(cause.0))
}

/// Prints the address, and leaves the token where the commands of this user look for it.
fn tell(listen: &Listen, token: &str, is_own: bool) {
    let (address, at) = match listen {
        Listen::Tcp(address) => (format!("http://{address}"), address.port().to_string()),
        Listen::Unix(path) => (format!("unix:{}", path.display()), path.display().to_string()),
    };
    if is_own {
        let kept = token_file_of(&address).and_then(|path| {
            let same = |kept: &str| kept.trim() == token;
            if fs::read_to_string(&path).is_ok_and(|kept| same(&kept)) {
                return Ok(());
            }
            let _ = fs::remove_file(&path);
            let written = write_secret(&path, token);
            written.map_err(|cause| fault(format!("{}: {cause}", path.display())))
        });
        if let Err(cause) = kept {
            exit::say(&format!("{at}: the token is not kept for your other commands: {cause}"));
        }
    }
    let address = match listen {
        Listen::Tcp(_) if !token.is_empty() => format!("{address}/#token={token}"),
        _ => address,
    };
    // A closed standard output does not end the server.
    let mut out = io::stdout();
    let _ = writeln!(out, "{address}").and_then(|()| out.flush());
}

fn write_secret(path: &Path, token: &str) -> io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut file = fs::File::options().create_new(true).write(true).mode(0o600).open(path)?;
    writeln!(file, "{token}")
}

fn fault(cause: String) -> Error {
    Error::System { action: "serve", cause: io::Error::other(cause) }
}

/// Commands that run jobs, and whether each can save a state and share cores. `index` could save one only of input that
/// is not compressed, so it does not.
const JOBS: &[(&str, bool, bool)] = &[
    ("wordcount", true, true),
    ("index", false, true),
    ("stations", true, true),
    ("logstats", true, true),
    ("grep", true, true),
    ("top", true, true),
    ("histogram", true, true),
    ("linreg", true, true),
    ("kmeans", true, true),
    ("run", true, true),
    ("offload", true, false),
    ("stringmatch", true, true),
    ("matmul", false, false),
    ("pca", false, false),
    ("sort", false, false),
    ("teravalidate", true, true),
];
/// Commands that bring code of their own.
const WITH_CODE: [&str; 2] = ["run", "offload"];
/// Flags that the server gives itself, that name files to write, or that depend on the machine.
const OF_SERVER: &[&str] = &[
    "output",
    "state",
    "job",
    "save-every",
    "keep",
    "incremental",
    "hash",
    "append-only",
    "trust-mtime",
    "scratch",
    "events",
    "control",
    "timeline",
    "stats-json",
    "show-to",
    "progress",
    "groups",
    "workers",
    "memory",
    "svg",
    "watch",
    "nodes",
    "as-node",
    "parts",
];

/// Names of values that are input. Every other name is of a value that names no file; a test looks at all.
const INPUTS: [&str; 8] = ["PATH", "FILE", "FOLDER", "DIR", "LIBRARY", "KERNEL", "A", "B"];

/// Reads a command line without the program's name, as a server needs to know it.
pub fn check(command: &[String]) -> std::result::Result<Checked, Refused> {
    let malformed = |cause: String| Refused::Malformed(cause);
    if command.iter().any(|word| word.contains('\0')) {
        return Err(malformed("a word of the command has a byte 0".to_owned()));
    }
    let name = command.first().map_or("", String::as_str);
    let Some(&(_, saves, shares)) = JOBS.iter().find(|(job, ..)| *job == name) else {
        return Err(Refused::Forbidden(format!("{name}: this is no command that runs jobs")));
    };
    let mut cli = crate::Cli::command();
    let words = std::iter::once("tegula").chain(command.iter().map(String::as_str));
    let matches = cli.try_get_matches_from_mut(words).map_err(|error| {
        let text = error.to_string();
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        malformed(lines.take_while(|line| !line.starts_with("Usage")).collect::<Vec<_>>().join(" "))
    })?;
    let (Some((_, given)), Some(definition)) = (matches.subcommand(), cli.find_subcommand(name))
    else {
        return Err(malformed(format!("{name}: this program was built without it")));
    };
    let mut inputs = Vec::new();
    for argument in definition.get_arguments() {
        let id = argument.get_id().as_str();
        if given.value_source(id) != Some(clap::parser::ValueSource::CommandLine) {
            continue;
        }
        if let Some(long) = argument.get_long().filter(|long| OF_SERVER.contains(long)) {
            return Err(Refused::Forbidden(format!("--{long}: the server decides this")));
        }
        if is_input(argument) {
            let values = given.get_raw(id).into_iter().flatten();
            inputs.extend(values.map(|value: &OsStr| value.to_string_lossy().into_owned()));
        }
    }
    Ok(Checked { inputs, saves, shares, has_code: WITH_CODE.contains(&name) })
}

/// Returns whether an argument's values are paths.
pub fn is_input(argument: &Arg) -> bool {
    let names = argument.get_value_names().unwrap_or_default();
    names.iter().any(|name| INPUTS.contains(&name.as_str()))
}

//! `--nodes`: several processes do a command's jobs together, on this machine or on those of a Ray cluster. A node is the
//! same command once more, with a flag that says so: it makes the same jobs, and serves them instead of running them.

use crate::flags::{KeepFlag, RunFlags, count};
use crate::session::Session;
use crate::{COMMAND_LINE, exit, size};
use clap::{Args, Subcommand};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::Command as Process;
use std::str::FromStr;
use std::thread;
use tegula::{Error, Options, Order, Result, Topology};
use tegula_nodes::local::{LocalNodes, Relay, Up, folder, seat};
use tegula_nodes::{Carrier, Here, Machines, Rules, Units};

/// The nodes of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NodesFlag {
    /// Processes on this machine, one of each shape.
    Local(Vec<Shape>),
    /// Those that are up on this machine, also such as come later.
    Up,
    /// The machines of the Ray cluster at this address.
    Ray(String),
}

/// Nodes that wait for commands.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Start nodes on this machine that take part in all commands with --nodes up, until they are interrupted.
    Up(Flags),
}

#[derive(Args)]
pub(crate) struct Flags {
    /// Number of nodes, which share the machine's workers.
    #[arg(long, value_name = "N", value_parser = count)]
    demo: usize,

    /// Workers of all nodes together [default: one per processor].
    #[arg(short = 'j', long, value_name = "N", value_parser = count)]
    workers: Option<usize>,
}

/// The workers and the memory of a node, unless it has the usual ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) workers: Option<usize>,
    pub(crate) memory: Option<u64>,
    /// The units in which other nodes send it the input; `None` if it reads the input itself.
    pub(crate) streamed: Option<Units>,
    /// Where other nodes reach it; on this machine if nothing is said.
    pub(crate) host: Option<IpAddr>,
}

const HINT: &str = "write local: and a number of nodes (local:4), or numbers with the workers and the memory of \
                    each (local:4x1,1x2:512M), and :streamed after the memory of nodes to which others send the input, \
                    or :streamed=1M if in units of that size; up for nodes that `tegula nodes up` has started; or the address of a Ray cluster (ray://auto, \
                    ray://host:port)";
/// Names the interpreter of Python that has the package, which carries messages over Ray.
const PYTHON: &str = "TEGULA_PYTHON";
/// The most nodes of a command: each is a process, with threads that wait for it.
const NODES_MOST: usize = 256;

/// Parses `local:4`, `local:4x1,1x2:512M` or `ray://auto`; the error is a message for the user.
pub(crate) fn parse(text: &str) -> Result<NodesFlag, String> {
    if let Some(address) = text.strip_prefix("ray://").filter(|address| !address.is_empty()) {
        return Ok(NodesFlag::Ray(match address {
            "auto" => address.to_owned(),
            _ => text.to_owned(),
        }));
    }
    if text == "up" {
        return Ok(NodesFlag::Up);
    }
    let nodes = text.strip_prefix("local:").ok_or(HINT)?;
    let mut shapes = Vec::new();
    for some in nodes.split(',') {
        let (nodes, shape) = some.split_once('x').unwrap_or((some, ""));
        let (nodes, shape) = (count(nodes).map_err(|_| HINT)?, shape.parse::<Shape>()?);
        shapes.extend(std::iter::repeat_n(shape, nodes.min(NODES_MOST + 1)));
        if shapes.len() > NODES_MOST {
            return Err(format!("give {NODES_MOST} nodes at most"));
        }
    }
    if shapes.iter().all(|shape| shape.streamed.is_some()) {
        return Err("at least one node must read the input: leave out one :streamed".to_owned());
    }
    Ok(NodesFlag::Local(shapes))
}

/// Returns the arguments of the nodes that a flag describes, or else where they are.
pub fn described(text: &str) -> Result<Vec<String>, String> {
    Ok(match parse(text)? {
        NodesFlag::Local(shapes) => shapes.into_iter().map(Shape::argument).collect(),
        NodesFlag::Up => vec!["up".to_owned()],
        NodesFlag::Ray(address) => vec![address],
    })
}

impl FromStr for Shape {
    type Err = String;

    /// Parses `2`, `2:512M`, `:512M`, `2:512M:streamed`, `2:512M:streamed=1M` or nothing, and `@10.0.0.7` after it.
    fn from_str(text: &str) -> Result<Shape, String> {
        let (text, host) = match text.split_once('@') {
            Some((text, host)) => (text, Some(host.parse().map_err(|_| HINT)?)),
            None => (text, None),
        };
        let (text, streamed) = match text.split_once(":streamed") {
            Some((text, "")) => (text, Some(Units::ByRate)),
            Some((text, size)) => {
                let size = size.strip_prefix('=').ok_or(HINT)?;
                (text, Some(Units::Of(size::parse(size)?)))
            }
            None => (text, None),
        };
        let (workers, memory) = text.split_once(':').unwrap_or((text, ""));
        let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Ok(Shape {
            workers: given(workers).map(|workers| count(&workers)).transpose()?,
            memory: given(memory).map(|memory| size::parse(&memory)).transpose()?,
            streamed,
            host,
        })
    }
}

impl Shape {
    fn argument(self) -> String {
        let text = |number: Option<u64>| number.map_or(String::new(), |number| number.to_string());
        let workers = text(self.workers.map(|workers| workers as u64));
        let streamed = match self.streamed {
            Some(Units::ByRate) => ":streamed".to_owned(),
            Some(Units::Of(size)) => format!(":streamed={size}"),
            None => String::new(),
        };
        let host = self.host.map_or(String::new(), |host| format!("@{host}"));
        format!("--as-node={workers}:{}{streamed}{host}", text(self.memory))
    }
}

/// Returns where the jobs of a command run.
pub(crate) fn machines(flags: &RunFlags) -> Result<Machines> {
    if let Some(shape) = flags.as_node {
        let fault = |cause| Error::System { action: "open the pipes to the driver", cause };
        let from = io::stdin().as_fd().try_clone_to_owned().map_err(fault)?;
        let to = io::stdout().as_fd().try_clone_to_owned().map_err(fault)?;
        let here = Here {
            memory_bytes: shape.memory.or(flags.memory),
            streamed: shape.streamed,
            host: shape.host.unwrap_or(Ipv4Addr::LOCALHOST.into()),
        };
        return Ok(Machines::Node(seat(File::from(from), File::from(to), here)?));
    }
    let Some(nodes) = &flags.nodes else { return Ok(Machines::This) };
    let keeps_tiles = flags.incremental || flags.keep == KeepFlag::Partials;
    refuse(
        flags,
        keeps_tiles,
        "nodes keep no tiles apart; leave out --incremental and --keep partials",
    )?;
    let carrier: Box<dyn Carrier> = match nodes {
        NodesFlag::Local(shapes) => {
            shapes.iter().try_for_each(|shape| check_units(flags, shape))?;
            let all = flags.workers.unwrap_or_else(|| Topology::detect().workers());
            let usual = Some((all / shapes.len()).max(1));
            let shaped = |shape: &Shape| Shape { workers: shape.workers.or(usual), ..*shape };
            Box::new(LocalNodes::start(
                shapes.iter().map(shaped).map(|shape| node(shape, words())),
            )?)
        }
        NodesFlag::Up => Box::new(LocalNodes::up(folder()?, words())?),
        NodesFlag::Ray(address) => Box::new(over_ray(address)?),
    };
    let rules = Rules::default();
    let gathered_most = flags.gather.unwrap_or(rules.gathered_most);
    let rules = Rules { gathered_most, ..rules };
    Ok(Machines::over(carrier, rules))
}

/// Refuses units that are too small, or too large for the memory of their node.
fn check_units(flags: &RunFlags, shape: &Shape) -> Result<()> {
    let sizes = Units::sizes(shape.memory.or(flags.memory));
    let is_refused = matches!(shape.streamed, Some(Units::Of(size)) if !sizes.contains(&size));
    let (least, most) = (size::show(*sizes.start()), size::show(*sizes.end()));
    refuse(flags, is_refused, &format!("a node with this memory takes units of {least} to {most}"))
}

/// Refuses nodes to which others send the input, for a command of several jobs.
pub(crate) fn refuse_streamed(flags: &RunFlags) -> Result<()> {
    let has_streamed = match &flags.nodes {
        Some(NodesFlag::Local(shapes)) => shapes.iter().any(|shape| shape.streamed.is_some()),
        _ => false,
    };
    refuse(flags, has_streamed, "each node reads the input of this command; leave out :streamed")
}

/// Refuses parts of an answer that are not that of one machine one after the other, and a folder with files.
pub(crate) fn check_parts(flags: &RunFlags, options: &Options) -> Result<()> {
    let refuse = |cause: &str| Err(Error::Option { option: "--parts", cause: cause.to_owned() });
    if options.order != Order::None || options.top.is_some() {
        return refuse(
            "a node has keys from all of the order; give --order none, and leave out --top",
        );
    }
    if flags.state.is_some() {
        return refuse("with a state, all pairs come together in this process; leave out --state");
    }
    let mut files = flags.parts.as_ref().and_then(|folder| fs::read_dir(folder).ok()).into_iter();
    match !flags.is_node() && files.any(|mut files| files.next().is_some()) {
        true => refuse("the folder has files; name one that is empty or not there yet"),
        false => Ok(()),
    }
}

/// Refuses flags that a command over nodes cannot have.
pub(crate) fn refuse(flags: &RunFlags, is_there: bool, cause: &str) -> Result<()> {
    match flags.nodes.is_some() && is_there {
        true => Err(Error::Option { option: "--nodes", cause: cause.to_owned() }),
        false => Ok(()),
    }
}

/// Returns the words of this process's command after the program.
fn words() -> &'static [OsString] {
    COMMAND_LINE.get().and_then(|words| words.get(1..)).unwrap_or_default()
}

/// Returns a command as that of a node. An interrupt reaches the driver alone, which ends its nodes.
fn node(shape: Shape, words: &[OsString]) -> Process {
    let mut words = words.iter();
    let mut node = Process::new(crate::own_program());
    node.args(words.next()).arg(shape.argument()).args(words).process_group(0);
    node
}

/// Carries out `tegula nodes`.
pub(crate) fn run(Command::Up(Flags { demo, workers }): &Command) -> Result<()> {
    let all = workers.unwrap_or_else(|| Topology::detect().workers());
    let shape = Shape { workers: Some((all / demo).max(1)), ..Shape::default() };
    Session::command(|session| {
        let folder = folder()?;
        let nodes = (0..*demo).map(|_| Up::listen(&folder)).collect::<Result<Vec<Up>>>()?;
        exit::say(&format!("{demo} nodes are up for commands with --nodes up; Ctrl-C ends them"));
        // The program waits for their sockets to be removed.
        let _open = session.stop().files.open();
        thread::scope(|scope| {
            let serve = |up: &Up| up.serve(session.cancel(), &|words| node(shape, &words));
            let threads: Vec<_> = nodes.iter().map(|up| scope.spawn(move || serve(up))).collect();
            threads.into_iter().try_for_each(|thread| match thread.join() {
                Ok(served) => served,
                Err(panic) => std::panic::resume_unwind(panic),
            })
        })?;
        drop(nodes);
        Err(Error::Cancelled)
    })
}

/// Returns the nodes of a Ray cluster, on each of which the Python package starts this process's command as a node.
fn over_ray(address: &str) -> Result<Relay> {
    let python = std::env::var_os(PYTHON).unwrap_or_else(|| "python3".into());
    let mut command = Process::new(&python);
    command.args(["-P", "-m", "tegula._ray.relay", address]).args(words()).process_group(0);
    Relay::start(command).map_err(|error| {
        let python = python.display();
        let cause = format!(
            "{error}; {python} must have Tegula's package and Ray (pip install tegula 'ray>=2.50'); \
             {PYTHON} names another interpreter"
        );
        Error::Option { option: "--nodes", cause }
    })
}

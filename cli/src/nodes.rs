//! `--nodes`: several processes do a command's jobs together. A node is the same command once more, with a flag that
//! says so: it makes the same jobs, and serves them instead of running them.

use crate::flags::{KeepFlag, RunFlags, count};
use crate::{COMMAND_LINE, size};
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::str::FromStr;
use tegula::{Error, Result, Topology};
use tegula_nodes::Machines;
use tegula_nodes::local::{LocalNodes, seat};

/// The nodes of a command, one shape each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NodesFlag(Vec<Shape>);

/// The workers and the memory of a node, unless it has the usual ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) workers: Option<usize>,
    pub(crate) memory: Option<u64>,
    /// Whether other nodes send it the input.
    pub(crate) is_streamed: bool,
}

const HINT: &str = "write local: and a number of nodes (local:4), or numbers with the workers and the memory of \
                    each (local:4x1,1x2:512M), and :streamed after the memory of nodes to which others send the input";
/// The most nodes of a command: each is a process, with threads that wait for it.
const NODES_MOST: usize = 256;

/// Parses `local:4` or `local:4x1,1x2:512M`; the error is a message for the user.
pub(crate) fn parse(text: &str) -> Result<NodesFlag, String> {
    let Some(nodes) = text.strip_prefix("local:") else {
        return Err(match text.starts_with("ray:") {
            true => "nodes of Ray are driven from Python: job.run(on=tg.ray(\"auto\"))".to_owned(),
            false => HINT.to_owned(),
        });
    };
    let mut shapes = Vec::new();
    for some in nodes.split(',') {
        let (nodes, shape) = some.split_once('x').unwrap_or((some, ""));
        let (nodes, shape) = (count(nodes).map_err(|_| HINT)?, shape.parse::<Shape>()?);
        shapes.extend(std::iter::repeat_n(shape, nodes.min(NODES_MOST + 1)));
        if shapes.len() > NODES_MOST {
            return Err(format!("give {NODES_MOST} nodes at most"));
        }
    }
    if shapes.iter().all(|shape| shape.is_streamed) {
        return Err("at least one node must read the input: leave out one :streamed".to_owned());
    }
    Ok(NodesFlag(shapes))
}

impl FromStr for Shape {
    type Err = String;

    /// Parses `2`, `2:512M`, `:512M`, `2:512M:streamed` or nothing.
    fn from_str(text: &str) -> Result<Shape, String> {
        let (text, is_streamed) = match text.strip_suffix(":streamed") {
            Some(text) => (text, true),
            None => (text, false),
        };
        let (workers, memory) = text.split_once(':').unwrap_or((text, ""));
        let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Ok(Shape {
            workers: given(workers).map(|workers| count(&workers)).transpose()?,
            memory: given(memory).map(|memory| size::parse(&memory)).transpose()?,
            is_streamed,
        })
    }
}

impl Shape {
    fn argument(self) -> String {
        let text = |number: Option<u64>| number.map_or(String::new(), |number| number.to_string());
        let workers = text(self.workers.map(|workers| workers as u64));
        let streamed = if self.is_streamed { ":streamed" } else { "" };
        format!("--as-node={workers}:{}{streamed}", text(self.memory))
    }
}

/// Returns where the jobs of a command run.
pub(crate) fn machines(flags: &RunFlags) -> Result<Machines> {
    if let Some(shape) = flags.as_node {
        let fault = |cause| Error::System { action: "open the pipes to the driver", cause };
        let from = io::stdin().as_fd().try_clone_to_owned().map_err(fault)?;
        let to = io::stdout().as_fd().try_clone_to_owned().map_err(fault)?;
        let memory = shape.memory.or(flags.memory);
        let seat = seat(File::from(from), File::from(to), memory, !shape.is_streamed)?;
        return Ok(Machines::Node(seat));
    }
    let Some(NodesFlag(shapes)) = &flags.nodes else { return Ok(Machines::This) };
    let keeps_tiles = flags.incremental || flags.keep == KeepFlag::Partials;
    refuse(
        flags,
        keeps_tiles,
        "nodes keep no tiles apart; leave out --incremental and --keep partials",
    )?;
    let all = flags.workers.unwrap_or_else(|| Topology::detect().workers());
    let usual = (all / shapes.len()).max(1);
    let commands = shapes
        .iter()
        .map(|shape| command(Shape { workers: shape.workers.or(Some(usual)), ..*shape }));
    Ok(Machines::over(Box::new(LocalNodes::start(commands)?)))
}

/// Refuses nodes to which others send the input, for a command of several jobs.
pub(crate) fn refuse_streamed(flags: &RunFlags) -> Result<()> {
    let streamed = |NodesFlag(shapes): &NodesFlag| shapes.iter().any(|shape| shape.is_streamed);
    let has_streamed = flags.nodes.as_ref().is_some_and(streamed);
    refuse(flags, has_streamed, "each node reads the input of this command; leave out :streamed")
}

/// Refuses flags that a command over nodes cannot have.
pub(crate) fn refuse(flags: &RunFlags, is_there: bool, cause: &str) -> Result<()> {
    match flags.nodes.is_some() && is_there {
        true => Err(Error::Option { option: "--nodes", cause: cause.to_owned() }),
        false => Ok(()),
    }
}

/// Returns this process's command as that of a node. An interrupt reaches the driver alone, which ends its nodes.
fn command(shape: Shape) -> Command {
    let words = COMMAND_LINE.get().map_or(&[][..], Vec::as_slice);
    let mut words = words.iter().skip(1);
    let mut command = Command::new(crate::own_program());
    command.args(words.next()).arg(shape.argument()).args(words).process_group(0);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_parsed_or_refused_with_a_hint() {
        let shapes = |text: &str| parse(text).map(|NodesFlag(shapes)| shapes);
        let shape = |workers, memory| Shape { workers, memory, is_streamed: false };
        assert_eq!(shapes("local:2"), Ok(vec![shape(None, None); 2]));
        let mixed =
            vec![shape(Some(1), None), shape(Some(1), None), shape(Some(2), Some(512 << 20))];
        assert_eq!(shapes("local:2x1,1x2:512M"), Ok(mixed));
        for bad in [
            "",
            "4",
            "local:",
            "local:0",
            "local:2x0",
            "local:-1",
            "local:2x1:z",
            "local:999",
            "ray:auto",
            "local:2x1:1G:streamed",
            "local:1,1x:streame",
        ] {
            assert!(shapes(bad).is_err(), "{bad}");
        }
        for is_streamed in [false, true] {
            let shape = Shape { is_streamed, ..shape(Some(3), Some(1 << 30)) };
            let argument = shape.argument();
            assert_eq!(argument.strip_prefix("--as-node=").map(str::parse), Some(Ok(shape)));
        }
    }
}
